// Removes threads that have ended and were not written to since. A thread is deleted at the head by which it was judged: if
// it was written to in the meantime, it stays.

import { belayError } from "../../error.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { ListPlace, Store, ThreadRow } from "../../store/store.ts";

/** The options of `runner.prune()`. */
export interface PruneOptions {
  /** How long nothing must have been written to a thread. */
  readonly idleMs: number;
  /** Also removes paused threads, with any cause, and threads that never began. */
  readonly paused?: boolean | undefined;
  /** Only returns the ids that it would remove. */
  readonly dryRun?: boolean | undefined;
}

const ENDED = ["completed", "terminated", "error"] as const;
const NOT_ENDED = ["created", "initialized", "running", "paused"] as const;
/** How many threads are read at once. */
const PAGE = 500;

/**
 * Returns the ids of the threads that are removed, or would be. Reads only threads that are old enough, by the index that lists
 * use: of a million threads, a prune each night looks at those of one day.
 */
export async function pruneThreads(
  store: Store,
  tenant: string,
  now: number,
  { idleMs, paused = false, dryRun = false }: PruneOptions,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const state of paused ? [...ENDED, ...NOT_ENDED] : ENDED) {
    // All that were last written to at `now - idleMs` or before.
    let after: ListPlace = { at: now - idleMs + 1, id: "" };
    for (;;) {
      const rows = await store.page(tenant, { state, after, limit: PAGE });
      for (const row of rows) {
        const { threadId, head } = row;
        if (!isFree(row)) continue;
        if (dryRun || (await store.delete({ tenant, threadId }, head))) removed.push(threadId);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = { at: last.updatedAt, id: last.threadId };
    }
  }
  return removed;
}

function isFree({ lease, queued, answered, damaged }: ThreadRow): boolean {
  return lease === undefined && !queued && !answered && !damaged;
}

const OPTIONS: KnownOptions<PruneOptions> = { idleMs: true, paused: true, dryRun: true };

export function readPrune(options: PruneOptions): PruneOptions {
  refuseUnknown("prune()", options ?? {}, OPTIONS);
  return { ...options, idleMs: readIdle("idleMs", options?.idleMs) };
}

function readIdle(option: string, value: unknown): number {
  if (typeof value === "number" && value >= 0) return value;
  throw belayError("OPTION_INVALID", { option, value: String(value), needed: "a number of milliseconds, 0 or more" });
}
