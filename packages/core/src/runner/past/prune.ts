// Which threads may go: those that have ended and were left alone since. Whoever comes back to one meanwhile is faster,
// or finds it gone: a thread is deleted by the head it was judged by.

import { belayError } from "../../error.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { Store, ThreadRow } from "../../store/store.ts";

/** The options of `runner.prune()`. */
export interface PruneOptions {
  /** How long nothing must have been written to a thread. */
  readonly idleMs: number;
  /** Also those that are paused, by whatever: a stop, a question, a crash; and those that never began. */
  readonly paused?: boolean | undefined;
  /** Only tells which it would remove. */
  readonly dryRun?: boolean | undefined;
}

/** Ids of the threads that are removed, or would be. */
export async function pruneThreads(
  store: Store,
  tenant: string,
  rows: readonly ThreadRow[],
  now: number,
  { idleMs, paused = false, dryRun = false }: PruneOptions,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const row of rows) {
    const { threadId, head, updatedAt } = row;
    if (!isOver(row, paused) || updatedAt > now - idleMs) continue;
    if (dryRun || (await store.delete({ tenant, threadId }, head))) removed.push(threadId);
  }
  return removed;
}

function isOver({ state, lease, queued, answered, damaged }: ThreadRow, paused: boolean): boolean {
  if (lease !== undefined || queued || answered || damaged) return false;
  switch (state) {
    case "completed":
    case "terminated":
    case "error":
      return true;
    case "created":
    case "initialized":
    case "running":
    case "paused":
      return paused;
    default:
      return state satisfies never;
  }
}

const OPTIONS: KnownOptions<PruneOptions> = { idleMs: true, paused: true, dryRun: true };

export function readPrune(options: PruneOptions): PruneOptions {
  refuseUnknown("prune()", options ?? {}, OPTIONS);
  return { ...options, idleMs: readIdle("idleMs", options?.idleMs) };
}

export function readIdle(option: string, value: unknown): number {
  if (typeof value === "number" && value >= 0) return value;
  throw belayError("OPTION_INVALID", { option, value: String(value), needed: "a number of milliseconds, 0 or more" });
}
