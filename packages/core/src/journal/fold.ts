// From lines to a state.

import { decode, type Line } from "./codec.ts";
import { reduce } from "./reduce.ts";
import type { ThreadState } from "./state.ts";

/** Folds `lines`, which follow what `state` has already read. */
export function fold(state: ThreadState, lines: readonly Line[]): void {
  for (const line of lines) for (const fact of decode(state.threadId, line)) reduce(state, fact);
}
