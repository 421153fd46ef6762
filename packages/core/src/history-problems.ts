// H1 in Belay's own terms: the rules that the messages of a request must meet for every provider.

import { type CallPart, isBlank, type Message, type Part, type ResultPart, type Role } from "./message.ts";

const PARTS: { readonly [R in Role]: readonly Part["type"][] } = {
  system: ["text"],
  user: ["text", "file"],
  assistant: ["text", "file", "reasoning", "call", "opaque"],
  tool: ["result"],
};

export function historyProblems(messages: readonly Message[]): string[] {
  const problems: string[] = [];
  const callIds = new Set<string>();
  /** The calls of the last assistant message. Each needs one result in the tool messages directly after it. */
  let at = "";
  let open = new Map<string, CallPart>();
  let answered = new Set<string>();
  const close = () => {
    for (const id of open.keys()) problems.push(`${at}: call ${show(id)} has no result directly after its message`);
    open = new Map();
    answered = new Set();
  };

  for (const [index, message] of messages.entries()) {
    const unreadable = readingProblem(message, index);
    if (unreadable !== undefined) {
      problems.push(unreadable);
      continue;
    }
    const here = `message ${index} (${message.role})`;
    problems.push(...shapeProblems(message, index, here));
    if (message.role !== "tool") {
      close();
      at = here;
    }
    for (const part of message.parts) {
      if (part.type === "call") {
        if (part.id === "") problems.push(`${here}: a call of ${show(part.tool)} has no id`);
        if (callIds.has(part.id)) problems.push(`${here}: call id ${show(part.id)} is used twice`);
        callIds.add(part.id);
        open.set(part.id, part);
      } else if (part.type === "result") {
        const problem = answer(part, open, answered);
        if (problem !== undefined) problems.push(`${here}: ${problem}`);
      }
    }
  }
  close();
  return problems;
}

/** Returns the problem with a message that user code made, which may be any value. */
function readingProblem(message: Partial<Message> | null | undefined, index: number): string | undefined {
  const parts: unknown = message?.parts;
  if (!Array.isArray(parts)) return `message ${index} is ${show(message).slice(0, 100)}, which has no parts`;
  const wrong = parts.findIndex((part) => typeof part?.type !== "string" || (part.type === "text" && !isText(part)));
  return wrong < 0 ? undefined : `message ${index}: part ${wrong} is ${show(parts[wrong]).slice(0, 100)}`;
}

function isText({ text }: { readonly text?: unknown }): boolean {
  return typeof text === "string";
}

function answer(part: ResultPart, open: Map<string, CallPart>, answered: Set<string>): string | undefined {
  const call = open.get(part.id);
  if (call === undefined) {
    return answered.has(part.id)
      ? `call ${show(part.id)} has a second result`
      : `result ${show(part.id)} does not directly follow the message with its call`;
  }
  open.delete(part.id);
  answered.add(part.id);
  if (call.tool !== part.tool)
    return `result ${show(part.id)} is of ${show(part.tool)}, its call of ${show(call.tool)}`;
  return undefined;
}

function shapeProblems(message: Message, index: number, here: string): string[] {
  const problems: string[] = [];
  const allowed = PARTS[message.role];
  if (allowed === undefined) return [`${here}: the role is unknown`];
  if (message.role === "system" && index > 0) problems.push(`${here}: instructions are not the first message`);
  if (message.parts.length === 0) problems.push(`${here}: the message has no parts`);
  for (const [i, part] of message.parts.entries()) {
    if (!allowed.includes(part.type)) problems.push(`${here}: part ${i} is a ${part.type}`);
    if (part.type === "text" && isBlank(part.text)) problems.push(`${here}: text part ${i} is blank`);
    if (part.type === "reasoning" && part.provider === undefined) {
      problems.push(`${here}: reasoning part ${i} is not signed by its provider`);
    }
  }
  if (message.role === "assistant" && !message.parts.some(says)) problems.push(`${here}: the message is blank`);
  return problems;
}

/**
 * Returns whether a part counts as an answer. Reasoning alone does not: no provider takes it back without the text or
 * call it led to.
 */
function says(part: Part): boolean {
  if (part.type === "text") return !isBlank(part.text);
  return part.type !== "reasoning";
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
