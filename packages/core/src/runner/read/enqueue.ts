import type { BelayEvent, DeltaEvent } from "../../event.ts";

/** Returns two pieces of one text as one piece; undefined if they do not follow each other. */
export function mergeDeltas(last: BelayEvent, next: BelayEvent): DeltaEvent | undefined {
  if (last.type !== next.type || (next.type !== "text-delta" && next.type !== "reasoning-delta")) return undefined;
  const before = last as DeltaEvent;
  if (before.messageId !== next.messageId || before.attempt !== next.attempt) return undefined;
  if (before.offset + before.text.length !== next.offset) return undefined;
  return { ...before, text: before.text + next.text };
}
