// A model without a provider. A plan decides the answer to a question from the results so far: it needs no memory, so a run that was
// stopped anywhere continues from the history in its request.

import { setTimeout as sleep } from "node:timers/promises";
import { type Json, type Message, type Model, type ModelEvent, messageText } from "@belay/core";

export interface Call {
  readonly tool: string;
  readonly args: { readonly [name: string]: Json };
}

export interface Step {
  readonly think?: string;
  readonly say?: string;
  readonly calls?: readonly Call[];
  /** The provider fails instead. */
  readonly fails?: string;
}

/** `turn` counts from 0 since the person's last words; `results` are the outcomes of its calls so far. */
export type Plan = (question: string, turn: number, results: readonly string[]) => Step;

export function plannedModel(id: string, plan: Plan, delayMs: () => number): Model {
  return {
    id,
    async *stream({ messages }, { signal }): AsyncGenerator<ModelEvent> {
      const last = messages.at(-1)!;
      // The runtime asks to continue an answer that was cut.
      const goesOn = last.role === "user" && last.origin === "runtime";
      const history = goesOn ? messages.slice(0, -1) : messages;
      const asked = history.findLastIndex(({ role, origin }) => role === "user" && origin === "person");
      const since = history.slice(asked + 1);
      const cut = goesOn ? since.findLastIndex(({ role }) => role === "assistant") : -1;
      const turn = since.filter(({ role }, at) => role === "assistant" && at !== cut).length;
      const step = plan(messageText(history[asked]!), turn, resultsIn(since));
      if (step.fails !== undefined) throw Object.assign(new Error(step.fails), { statusCode: 400 });
      for (const text of pieces(step.think ?? "")) {
        await wait(delayMs(), signal);
        yield { type: "reasoning", text };
      }
      const said = cut === -1 ? "" : spoken(since[cut]!);
      const whole = step.say ?? "";
      for (const text of pieces(whole.startsWith(said) ? whole.slice(said.length) : whole)) {
        await wait(delayMs(), signal);
        yield { type: "text", text };
      }
      const { calls = [] } = step;
      for (const [at, { tool, args }] of calls.entries()) yield { type: "call", id: `${turn}_${at}`, tool, args };
      const inputTokens = Math.ceil(JSON.stringify(messages).length / 4);
      const usage = { inputTokens, outputTokens: Math.ceil((whole.length + JSON.stringify(calls).length) / 4) };
      yield { type: "finish", finish: calls.length > 0 ? "tool-calls" : "stop", usage };
    },
  };
}

function resultsIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "result" ? [part.outcome] : [])));
}

/** The text of a cut answer without the runtime's mark at its end. */
function spoken(message: Message): string {
  const texts = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return (message.interrupted !== undefined && texts.length > 1 ? texts.slice(0, -1) : texts).join("");
}

function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,14}(?=\s|$)|[\s\S]{1,14}/gu) ?? [];
}

function wait(ms: number, signal: AbortSignal): Promise<void> | undefined {
  if (ms === 0) return undefined;
  // Node's own timer leaves no listener behind.
  return sleep(ms, undefined, { signal }).catch(() => Promise.reject(signal.reason));
}
