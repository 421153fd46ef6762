// A model without a provider: it follows the plan that fits the question. A plan is begun anew for each call and handed the
// results that the history already has. So it needs no memory: stopped anywhere, it continues from the prompt.

import { type Message, type Model, type ModelEvent, messageText, type Part } from "@belay/core";
import { planFor, type Result, type Saying } from "./demo-plans.ts";

export const DEMO = "demo (offline)";

export interface DemoOptions {
  /** How long it takes over each word. */
  readonly delayMs?: number;
}

export function demoModel({ delayMs = 0 }: DemoOptions = {}): Model {
  return {
    id: "demo",
    async *stream({ messages }, { signal }): AsyncGenerator<ModelEvent> {
      const { think, say, calls } = sayingOf(messages);
      for (const text of pieces(think ?? "")) {
        await pause(delayMs, signal);
        yield { type: "reasoning", text };
      }
      for (const text of pieces(say)) {
        await pause(delayMs, signal);
        yield { type: "text", text };
      }
      for (const [at, { tool, args }] of calls.entries()) {
        yield { type: "call", id: `demo_${messages.length}_${at}`, tool, args };
      }
      yield { type: "finish", finish: calls.length > 0 ? "tool-calls" : "stop", usage: usageOf(messages, say) };
    },
  };
}

/** The runtime asks for a summary in these words of its own. */
function isSummary([first]: readonly Message[]): boolean {
  return first?.role === "system" && messageText(first).startsWith("Summarise the conversation");
}

/** Returns the questions of the person: the demo needs no other part of the history. */
function summaryOf(messages: readonly Message[]): string {
  const asked = messageText(messages.at(-1)!)
    .split("\n\n")
    .filter((part) => part.startsWith("user: "))
    .map((part) => `- ${part.slice("user: ".length, 200).replace(/\s+/g, " ")}`);
  return ["The person asked:", ...asked].join("\n");
}

function sayingOf(messages: readonly Message[]): Saying {
  if (isSummary(messages)) return { say: summaryOf(messages), calls: [] };
  // The runtime's note: the answer before it was cut, continue it.
  const last = messages.at(-1)!;
  const goesOn = last.origin === "runtime" && last.role === "user";
  const history = goesOn ? messages.slice(0, -1) : messages;
  const asked = history.findLastIndex(({ role, origin }) => role === "user" && origin === "person");
  const question = history[asked] === undefined ? "" : messageText(history[asked]);
  const plan = planFor(question, lastWords(history[asked - 1]));
  let step = plan.next([]);
  for (const results of resultsOf(history.slice(asked + 1))) if (!step.done) step = plan.next(results);
  const saying = step.done ? { say: step.value, calls: [] } : step.value;
  return goesOn ? { ...saying, say: rest(saying.say, messageText(history.at(-1)!)) } : saying;
}

/** The results of each turn, in the order of its calls. */
function resultsOf(history: readonly Message[]): Result[][] {
  const turns: Result[][] = [];
  for (const [at, message] of history.entries()) {
    if (message.role !== "tool") continue;
    if (history[at - 1]?.role !== "tool") turns.push([]);
    for (const part of message.parts) if (part.type === "result") turns.at(-1)!.push(resultOf(part));
  }
  return turns;
}

function resultOf({ outcome, output }: Part & { readonly type: "result" }): Result {
  // If the person edited the arguments, the result says so beside it.
  const inner = typeof output === "object" && output !== null && "output" in output ? output.output : output;
  return { outcome, text: typeof inner === "string" ? inner : JSON.stringify(inner) };
}

/** Returns the rest of an answer. */
function rest(whole: string, said: string): string {
  return whole.startsWith(said) ? whole.slice(said.length) : `\n\n${whole}`;
}

/** How an answer that the person cut off ended; its last part is the runtime's mark that says so. */
function lastWords(message: Message | undefined): string | undefined {
  if (message?.interrupted === undefined) return undefined;
  const words = messageText({ ...message, parts: message.parts.slice(0, -1) })
    .trim()
    .split(/\s+/);
  // A script without blanks is one long word.
  return words.slice(-4).join(" ").slice(-40) || undefined;
}

function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}(?=\s|$)|[\s\S]{1,12}/gu) ?? [];
}

/** A token is about four letters. */
function usageOf(messages: readonly Message[], say: string) {
  const sent = messages.reduce((sum, message) => sum + JSON.stringify(message.parts).length, 0);
  return { inputTokens: Math.ceil(sent / 4), outputTokens: Math.ceil(say.length / 4) };
}

function pause(ms: number, signal: AbortSignal): Promise<void> | undefined {
  if (ms === 0) return undefined;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const cancel = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", cancel);
      resolve();
    }, ms);
    signal.addEventListener("abort", cancel, { once: true });
  });
}
