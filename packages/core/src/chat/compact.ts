// Keeps a long thread under a budget of tokens (H4): what is oldest is replaced, in what the model reads, by a recorded
// summary; the originals stay in the journal and in session.messages. Invariants:
// 1. The cut never separates a call from its result, so the prompt stays valid (H1).
// 2. A summary is a message like any other: recorded once, in the journal, before a model reads it. A stop or a crash
//    while it is made leaves the history as it was.

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { belayError } from "../error.ts";
import type { Frame } from "../frame.ts";
import type { Json } from "../json.ts";
import { addUsage, type Message, type Part, type Usage } from "../message.ts";
import type { ChatDefinition, ContextBudget } from "./definition.ts";
import { callHooked } from "./model-hooks.ts";

const INSTRUCTIONS = `Summarise the conversation below for the assistant who will go on with it and will see nothing else of it.
Keep, in this order: what the user asked for, in their words; decisions and constraints; what was done, with names, paths, ids and numbers
exactly as they are; what failed and why; what is still open. Write plainly, without comments of your own.`;

/** Undefined when the prompt fits, or fits now, or cannot be made shorter; an end when it cannot go on. `force` shortens it although it seems to fit. */
export async function keepWithin(
  frame: Frame,
  agent: ChatDefinition,
  budget: ContextBudget,
  force: boolean,
): Promise<Ended | undefined> {
  const cut = cutIndex(frame.scope.prompt, budget, force);
  if (cut === undefined) return undefined;
  const covered = frame.scope.prompt.slice(0, cut);
  const model = budget.model ?? agent.model;
  let summary = "";
  let usage: Usage | undefined;
  for (const chunk of chunks(covered.map(transcript), budget.maxTokens)) {
    const call = {
      model,
      request: { messages: request(budget.instructions ?? INSTRUCTIONS, summary, chunk), tools: [] },
      messageId: "summary",
      timeouts: agent.timeouts,
      retry: agent.retry,
      attempt: 0,
      quiet: true,
    };
    const end = await callHooked(frame, agent, call, frame.scope.turn + 1);
    const attempt = frame.scope.attempt + 1;
    if (end.how === "stopped") return { how: "stopped", facts: [], partialText: "", calls: noCalls, attempt };
    if (end.how === "failed") return { how: "failed", facts: [], error: end.error };
    if (end.answer.usage !== undefined) usage = addUsage(usage, end.answer.usage);
    summary = end.answer.text().trim();
    if (summary === "") {
      return {
        how: "failed",
        facts: [],
        error: belayError("CONTEXT_OVERFLOW", { model: model.id, reason: "the summary is empty" }),
      };
    }
  }
  const last = covered.at(-1)!;
  const { runId, segment } = frame.place;
  const message: Message = {
    id: `${runId}.s${segment}.${last.id}`,
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

/** Messages never change, and each is looked at before every turn. */
const known = new WeakMap<Message, number>();

/** About four bytes to a token, in every script, and a little for the frame around them. Providers count differently. */
export function tokensOf(message: Message): number {
  let tokens = known.get(message);
  if (tokens === undefined) {
    let bytes = 16;
    for (const part of message.parts) bytes += partSize(part);
    tokens = Math.ceil(bytes / 4);
    known.set(message, tokens);
  }
  return tokens;
}

function sizeOf(value: Json): number {
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}

function partSize(part: Part): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return sizeOf(part.text);
    case "call":
      return sizeOf(part.tool) + sizeOf(part.args);
    case "result":
      return sizeOf(part.output);
    case "file":
      return "base64" in part.data ? Math.min(part.data.base64.length, 6_000) : 400;
    case "opaque":
      return sizeOf(part.provider.data);
    default:
      return part satisfies never;
  }
}

function transcript(message: Message): string {
  const words = message.parts.map((part) => {
    switch (part.type) {
      case "call":
        return `[calls ${part.tool} ${JSON.stringify(part.args)}]`;
      case "result":
        return `[${part.tool}, ${part.outcome}: ${typeof part.output === "string" ? part.output : JSON.stringify(part.output)}]`;
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

/** Texts that fit the budget one at a time, in order; a single text that is too long is cut in pieces. */
function chunks(texts: readonly string[], maxTokens: number): string[] {
  const most = Math.max(400, Math.floor(maxTokens * 4 * 0.7));
  const out: string[] = [];
  let current = "";
  let room = most;
  for (const text of texts) {
    const length = Math.max(100, Math.floor((most * text.length) / sizeOf(text)));
    for (let i = 0, end = 0; i < text.length; i = end) {
      end = Math.min(i + length, text.length);
      // Not between the halves of a character.
      if (end < text.length && text.charCodeAt(end - 1) >>> 10 === 0b110110) end -= 1;
      const piece = text.slice(i, end);
      const size = sizeOf(piece);
      if (current !== "" && size > room) {
        out.push(current);
        current = "";
        room = most;
      }
      current += current === "" ? piece : `\n\n${piece}`;
      room -= size;
    }
  }
  if (current !== "") out.push(current);
  return out;
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
