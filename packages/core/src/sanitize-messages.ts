// Makes a history from another system fit for a model (H3). Belay's own histories never need it. Invariants:
// 1. A message that stays is the same object, unless only some of its parts had to go.
// 2. A call and its results stay together or go together, so running it again changes nothing.

import { belayError } from "./error.ts";
import { type CallPart, isBlank, type Message, type Part, type Role } from "./message.ts";

export type RemovalReason =
  /** A call without a result directly after its message; the whole group goes. */
  | "unanswered-call"
  /** A call id that an earlier call already has; the whole group goes. */
  | "duplicate-call-id"
  /** A result whose call is not in the message directly before it, or a second result of one call. */
  | "orphan-result"
  /** An assistant or tool message, or a text part of an assistant, that is blank. */
  | "blank"
  /** A part that messages of this role cannot have. */
  | "misplaced";

export interface Removal {
  /** The index of the message in the given list. */
  readonly index: number;
  readonly role: Role;
  readonly reason: RemovalReason;
  /** The indexes of the removed parts, if the rest of the message stayed. */
  readonly parts?: readonly number[];
}

export interface Sanitized {
  readonly messages: Message[];
  readonly sanitized: boolean;
  readonly removed: Removal[];
}

/** Removes the messages and parts that no provider accepts from a history of another system, and reports them. */
export function sanitizeMessages(messages: readonly Message[]): Sanitized {
  check(messages);
  const kept: Message[] = [];
  const removed: Removal[] = [];
  const callIds = new Set<string>();

  const remove = (index: number, reason: RemovalReason) => {
    removed.push({ index, role: messages[index]!.role, reason });
  };
  /** Keeps the parts that `verdict` accepts. The first reason counts for the message. */
  const keep = (index: number, verdict: (part: Part) => RemovalReason | undefined) => {
    const message = messages[index]!;
    const verdicts = message.parts.map(verdict);
    const reason = verdicts.find((found) => found !== undefined);
    if (reason === undefined) {
      kept.push(message);
      return;
    }
    const parts = message.parts.filter((_, i) => verdicts[i] === undefined);
    if (parts.length === 0) return remove(index, reason);
    kept.push({ ...message, parts });
    const gone = verdicts.flatMap((found, i) => (found === undefined ? [] : [i]));
    removed.push({ index, role: message.role, reason, parts: gone });
  };

  for (let index = 0; index < messages.length; ) {
    const message = messages[index]!;
    if (message.role === "tool") {
      remove(index, message.parts.length === 0 ? "blank" : "orphan-result");
      index += 1;
      continue;
    }
    if (message.role !== "assistant") {
      keep(index, misplacedOutside);
      index += 1;
      continue;
    }

    const calls = message.parts.filter((part) => part.type === "call");
    const end = endOfResults(messages, index + 1);
    if (calls.length === 0) {
      // The results after it are checked again as orphans.
      if (message.parts.some(says)) keep(index, blankOrMisplaced);
      else remove(index, message.parts.some((part) => part.type === "result") ? "orphan-result" : "blank");
      index += 1;
      continue;
    }

    const results = resultIds(messages, index + 1, end);
    const fault = groupFault(calls, results, callIds);
    const open = new Set(calls.map((call) => call.id));
    if (fault === undefined) {
      for (const id of open) callIds.add(id);
      keep(index, blankOrMisplaced);
      for (let at = index + 1; at < end; at += 1) {
        if (messages[at]!.parts.length === 0) remove(at, "blank");
        else
          keep(at, (part) =>
            part.type !== "result" ? "misplaced" : open.delete(part.id) ? undefined : "orphan-result",
          );
      }
    } else {
      remove(index, fault);
      for (let at = index + 1; at < end; at += 1) {
        const { parts } = messages[at]!;
        const ofGroup = parts.some((part) => part.type === "result" && open.has(part.id));
        remove(at, ofGroup ? fault : parts.length === 0 ? "blank" : "orphan-result");
      }
    }
    index = end;
  }
  return { messages: kept, sanitized: removed.length > 0, removed };
}

function endOfResults(messages: readonly Message[], from: number): number {
  let end = from;
  while (messages[end]?.role === "tool") end += 1;
  return end;
}

function resultIds(messages: readonly Message[], from: number, end: number): Set<string> {
  const ids = new Set<string>();
  for (const message of messages.slice(from, end)) {
    for (const part of message.parts) if (part.type === "result") ids.add(part.id);
  }
  return ids;
}

function groupFault(
  calls: readonly CallPart[],
  results: ReadonlySet<string>,
  taken: ReadonlySet<string>,
): RemovalReason | undefined {
  const ids = new Set(calls.map((call) => call.id));
  if (ids.size < calls.length || calls.some((call) => taken.has(call.id))) return "duplicate-call-id";
  return calls.every((call) => results.has(call.id)) ? undefined : "unanswered-call";
}

/**
 * Returns whether a part counts as an answer. Reasoning alone does not: no provider takes it back without the text or
 * call it led to.
 */
function says(part: Part): boolean {
  switch (part.type) {
    case "text":
      return !isBlank(part.text);
    case "reasoning":
    case "result":
      return false;
    default:
      return true;
  }
}

function blankOrMisplaced(part: Part): RemovalReason | undefined {
  if (part.type === "result") return "orphan-result";
  return part.type === "text" && isBlank(part.text) ? "blank" : undefined;
}

function misplacedOutside(part: Part): RemovalReason | undefined {
  if (part.type === "result") return "orphan-result";
  return part.type === "call" ? "unanswered-call" : undefined;
}

function check(messages: readonly Message[]): void {
  if (!Array.isArray(messages)) throw belayError("INPUT_INVALID", { problem: "it is no list of messages" });
  const index = messages.findIndex((message) => !Array.isArray(message?.parts));
  if (index >= 0) throw belayError("INPUT_INVALID", { problem: `item ${index} is no message with parts` });
}
