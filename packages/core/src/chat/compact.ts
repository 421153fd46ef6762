// Keeps a long thread under a budget of tokens (H4): models read a recorded summary in place of the oldest messages; the
// originals stay in the journal and in session.messages. Invariants:
// 1. The cut never separates a call from its result, so the prompt stays valid (H1).
// 2. A summary is a message like any other: recorded once, in the journal, before a model reads it. A stop or a crash
//    while it is made leaves the history as it was.
// 3. The budget is of the whole request: it includes the instructions, the tools and the schema of the answer.
// 4. Before a request there is at most one summary, with any gain.

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { contentOf, contentText } from "../content.ts";
import { belayError } from "../error.ts";
import type { Frame } from "../frame.ts";
import type { Json } from "../json.ts";
import { addUsage, type Message, type Usage } from "../message.ts";
import type { ModelCallEnd } from "./call-model.ts";
import type { ChatDefinition, ContextBudget, SummaryWish } from "./definition.ts";
import { instructionsIn } from "./instructions.ts";
import { callHooked } from "./model-hooks.ts";
import { continueNote } from "./request.ts";
import { sizeOf, tokensBeside, tokensOf } from "./tokens-of.ts";

const INSTRUCTIONS = `Summarise the conversation below for the assistant who will go on with it and will see nothing else of it.
Keep, in this order: what the user asked for, in their words; decisions and constraints; what was done, with names, paths, ids and numbers
exactly as they are; what failed and why; what is still open. Write plainly, without comments of your own.`;

/** The budget with the words of a person in the instructions of its summary. */
export function withFocus(budget: ContextBudget, wish: SummaryWish | undefined): ContextBudget {
  const focus = wish?.focus?.trim() ?? "";
  if (focus === "") return budget;
  return {
    ...budget,
    instructions: `${budget.instructions ?? INSTRUCTIONS}\nThe user asks to keep above all: ${focus}`,
  };
}

/**
 * Resolves to undefined if the prompt fits, now or after a summary, or cannot be made shorter; to an end if the run cannot
 * continue. `force` shortens it although it seems to fit.
 */
export async function keepWithin(
  frame: Frame,
  agent: ChatDefinition,
  budget: ContextBudget,
  force: boolean,
): Promise<Ended | undefined> {
  const { maxTokens } = budget;
  const beside = besideHistory(frame, agent);
  if (beside >= maxTokens) {
    const reason = `instructions, tools and output schema alone take about ${beside} of the ${maxTokens} tokens of its budget`;
    return failed(agent.model.id, reason);
  }
  const cut = cutIndex(frame.scope.prompt, leftOf(budget, beside), force);
  if (cut === undefined) return undefined;
  const covered = frame.scope.prompt.slice(0, cut);
  const model = budget.model ?? agent.model;
  let summary = "";
  let usage: Usage | undefined;
  const pieces = new Pieces(covered.map(transcript));
  const stopped = (): Ended => {
    return { how: "stopped", facts: [], partialText: "", calls: noCalls, attempt: frame.scope.attempt + 1 };
  };
  while (!pieces.over) {
    // A summary for later, which came with the piece before: none is recorded yet.
    if (frame.signal.halts("after-tools")) return stopped();
    const asked = (chunk: string) => request(budget.instructions ?? INSTRUCTIONS, summary, chunk);
    const around = asked("").reduce((sum, message) => sum + tokensOf(message), 0);
    // A summary that fills the budget leaves a share all the same: by a few words at a time it would be asked for without end.
    const chunk = pieces.next(Math.max(maxTokens * 0.25, Math.min(maxTokens * 0.7, maxTokens - around)));
    const call = {
      model,
      request: { messages: asked(chunk), tools: [] },
      messageId: "summary",
      timeouts: agent.timeouts,
      retry: agent.retry,
      attempt: 0,
      quiet: true,
    };
    const { turn } = frame.scope;
    frame.draft({ type: "model-wait", reason: "summary" }, 1);
    const end = await new Promise<ModelCallEnd>((ended) => callHooked(frame, agent, call, turn + 1, ended));
    if (end.how === "stopped") return stopped();
    if (end.how === "failed") return { how: "failed", facts: [], error: end.error };
    if (end.answer.usage !== undefined) usage = addUsage(usage, end.answer.usage);
    summary = end.answer.text().trim();
    if (summary === "") return failed(model.id, "the summary is empty");
  }
  const last = covered.at(-1)!;
  const { runId, segment, runPath } = frame.place;
  // A person's message to several agents has one id in all of their histories.
  const place = runPath.includes("/") ? `${runId}.${runPath}` : runId;
  const message: Message = {
    id: `${place}.s${segment}.${last.id}`,
    role: "user",
    parts: [{ type: "text", text: `[Summary of the conversation so far]\n${summary}` }],
    at: frame.clock.now(),
    origin: "runtime",
    model: model.id,
    ...(usage && { usage }),
    summary: { coversTo: last.id },
  };
  await frame.record(() => [frame.message(message, 0, 1)]);
  return undefined;
}

function failed(model: string, reason: string): Ended {
  return { how: "failed", facts: [], error: belayError("CONTEXT_OVERFLOW", { model, reason }) };
}

function besideHistory({ scope }: Frame, agent: ChatDefinition): number {
  const { request } = agent;
  const instructions = instructionsIn(scope, agent);
  const own = instructions === undefined ? 0 : tokensOf(instructions);
  return tokensBeside(request) + own + (scope.last === "cut" ? tokensOf(continueNote) : 0);
}

/** The budget of the history: its newest messages keep the same share of it. */
function leftOf({ maxTokens, keepTokens }: ContextBudget, beside: number): ContextBudget {
  const left = maxTokens - beside;
  return keepTokens === undefined
    ? { maxTokens: left }
    : { maxTokens: left, keepTokens: Math.floor(keepTokens - (keepTokens * beside) / maxTokens) };
}

/** How many of the oldest messages to cover; undefined when the prompt fits or nothing can be gained. */
export function cutIndex(prompt: readonly Message[], budget: ContextBudget, force = false): number | undefined {
  const sizes = prompt.map(tokensOf);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= budget.maxTokens && !force) return undefined;
  const usual = budget.keepTokens ?? Math.floor(budget.maxTokens / 3);
  const keep = force ? Math.min(usual, Math.floor(total / 3)) : usual;
  let kept = 0;
  let cut = prompt.length;
  while (cut > 0 && (kept + sizes[cut - 1]! <= keep || cut === prompt.length)) {
    cut -= 1;
    kept += sizes[cut]!;
  }
  // A result stays with its call.
  while (cut > 0 && prompt[cut]?.role === "tool") cut -= 1;
  const gain = cut > 1 || (cut === 1 && prompt[0]!.summary === undefined);
  return gain ? cut : undefined;
}

function resultText(output: Json): string {
  const parts = contentOf(output);
  if (parts !== undefined) return contentText(parts);
  return typeof output === "string" ? output : JSON.stringify(output);
}

function transcript(message: Message): string {
  const words = message.parts.map((part) => {
    switch (part.type) {
      case "call":
        return `[calls ${part.tool} ${JSON.stringify(part.args)}]`;
      case "result":
        return `[${part.tool}, ${part.outcome}: ${resultText(part.output)}]`;
      case "file":
        return `[file ${part.name ?? part.mediaType}]`;
      case "text":
        return part.text;
      default:
        return "";
    }
  });
  const who = message.role === "user" && message.origin === "runtime" ? "note" : message.role;
  return `${who}: ${words.filter((w) => w !== "").join("\n")}`;
}

/** However little room there is, reading continues. */
const LEAST_BYTES = 400;

/** Texts in order, as many at once as there is room for; a single one that is too long is cut in pieces. */
class Pieces {
  readonly #texts: readonly string[];
  #index = 0;
  /** How much of the text at the index was given. */
  #at = 0;

  constructor(texts: readonly string[]) {
    this.#texts = texts.filter((text) => text !== "");
  }

  get over(): boolean {
    return this.#index === this.#texts.length;
  }

  next(tokens: number): string {
    const most = Math.max(LEAST_BYTES, Math.floor(tokens * 4));
    let piece = "";
    for (let room = most; !this.over; ) {
      const text = this.#texts[this.#index]!;
      const length = Math.max(100, Math.floor((most * text.length) / sizeOf(text)));
      let end = Math.min(this.#at + length, text.length);
      // Not between the halves of a character.
      if (end < text.length && text.charCodeAt(end - 1) >>> 10 === 0b110110) end -= 1;
      const part = text.slice(this.#at, end);
      room -= sizeOf(part) + 2;
      if (piece !== "" && room < 0) break;
      piece += piece === "" ? part : `\n\n${part}`;
      this.#at = end;
      if (end < text.length) continue;
      this.#index += 1;
      this.#at = 0;
    }
    return piece;
  }
}

function request(instructions: string, before: string, chunk: string): Message[] {
  const earlier = before === "" ? "" : `The summary of what came before:\n${before}\n\nThe conversation goes on:\n`;
  return [
    { id: "summarise", role: "system", parts: [{ type: "text", text: instructions }], at: 0, origin: "runtime" },
    {
      id: "conversation",
      role: "user",
      parts: [{ type: "text", text: `${earlier}${chunk}` }],
      at: 0,
      origin: "runtime",
    },
  ];
}
