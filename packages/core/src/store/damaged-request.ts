// A request whose row does not fit its checksum: only its id and its thread's id are reported, for a search; no other field is
// trusted.

import type { RequestRow } from "./store.ts";
import { fromText } from "./text.ts";

/** Both as stored. */
export function damagedRequest(id: unknown, threadId: unknown): RequestRow {
  return { id: anyText(id), threadId: anyText(threadId), body: "", damaged: true };
}

/** Reads text that may be damaged: decoded, or else as stored. */
export function anyText(stored: unknown): string {
  const text = String(stored ?? "");
  try {
    return fromText(text);
  } catch {
    return text;
  }
}
