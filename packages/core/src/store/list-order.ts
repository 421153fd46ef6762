import type { ListPlace } from "./store.ts";

/** Compares two places of a list: the last time first, and of one time the last id, by its UTF-8 bytes, first. */
export function inListOrder(a: ListPlace, b: ListPlace): number {
  return b.at - a.at || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
}
