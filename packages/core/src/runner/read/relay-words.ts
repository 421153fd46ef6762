// The bodies that a relay carries. Stores do not read them.

import type { Draft } from "../../event.ts";

/** From a reader: it follows the thread for the next `ttlMs`, or leaves (0). With `want` it needs the text so far. */
export interface Follow {
  readonly reader: string;
  readonly ttlMs: number;
  readonly want: boolean;
}

/** From an owner: drafts since its last batch. `n` counts its batches, so that a reader notices a lost one. */
export interface Batch {
  readonly owner: string;
  readonly n: number;
  readonly drafts: readonly Draft[];
  /** The owner has ended its tenure. */
  readonly over: boolean;
}

export function readFollow(body: string): Follow | undefined {
  const { reader, ttlMs, want } = parsed(body);
  if (typeof reader !== "string" || typeof ttlMs !== "number") return undefined;
  return { reader, ttlMs, want: want === true };
}

export function readBatch(body: string): Batch | undefined {
  const { owner, n, drafts, over } = parsed(body);
  if (typeof owner !== "string" || typeof n !== "number" || !Array.isArray(drafts)) return undefined;
  return { owner, n, drafts, over: over === true };
}

function parsed(body: string): { readonly [field: string]: unknown } {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
