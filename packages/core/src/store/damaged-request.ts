// Of a request whose row does not fit its checksum nothing is believed. Its name is told, and its thread's, for whoever
// looks for it.

import type { RequestRow } from "./store.ts";
import { fromText } from "./text.ts";

/** Both as they stand in the store. */
export function damagedRequest(id: unknown, threadId: unknown): RequestRow {
  return { id: anyText(id), threadId: anyText(threadId), body: "", damaged: true };
}

/** Text that may be damaged: as it should be read, or else as it stands. */
export function anyText(stored: unknown): string {
  const text = String(stored ?? "");
  try {
    return fromText(text);
  } catch {
    return text;
  }
}
