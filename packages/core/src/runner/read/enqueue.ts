import type { BelayEvent, DeltaEvent } from "../../event.ts";

/** Adds an event to the end of a queue, where `from` is the first that waits. Pieces of one text that follow each other become one. */
export function enqueue<E extends BelayEvent>(queue: (E | DeltaEvent)[], event: E, from = 0): void {
  const last = queue.length > from ? queue.at(-1) : undefined;
  const merged = last && mergeDeltas(last, event);
  if (merged === undefined) queue.push(event);
  else queue[queue.length - 1] = merged;
}

/** Returns two pieces of one text as one piece; undefined if they do not follow each other. */
function mergeDeltas(last: BelayEvent, next: BelayEvent): DeltaEvent | undefined {
  if (last.type !== next.type || (next.type !== "text-delta" && next.type !== "reasoning-delta")) return undefined;
  const before = last as DeltaEvent;
  if (before.messageId !== next.messageId || before.attempt !== next.attempt) return undefined;
  if (before.offset + before.text.length !== next.offset) return undefined;
  return { ...before, text: before.text + next.text };
}
