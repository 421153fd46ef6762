// The time of the next look at a thread, for an engine.

import type { Moved } from "../../dispatch/dispatcher.ts";
import { isMovable, type ThreadRow } from "../../store/store.ts";

/** When to look again at a thread that no one could move a step. */
const STUCK_MS = 5_000;

/** When to look at a thread that is as `row` says, and was at `before` when it was moved. */
export function nextLook(row: ThreadRow, now: number, leaseTtlMs: number, before?: ThreadRow): Moved {
  const { head, lease, rest, state } = row;
  if (lease !== undefined) {
    // Named by the period that the lease ends in: of many looks at a thread that is held, one timer remains.
    const isWanted = state === "running" || row.answered || row.queued;
    return isWanted ? { again: lease.until, id: `lease-${lease.fence}-${Math.ceil(lease.until / leaseTtlMs)}` } : {};
  }
  if (isMovable(row, now))
    return before?.head === head ? { again: now + STUCK_MS, id: `stuck-${head}` } : { again: now, id: `head-${head}` };
  if (state === "paused" && rest?.dueAt !== undefined) return { again: rest.dueAt, id: `due-${head}` };
  return {};
}
