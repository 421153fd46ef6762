import { type BelayError, belayError } from "../../error.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { GuardOptions } from "../given/command-options.ts";

export interface Present {
  readonly runId: string | undefined;
  readonly segment: number;
  readonly state: string;
}

/** Returns the last segment of a thread, and its state. */
export function presentIn({ run, state }: Pick<ThreadState, "run" | "state">): Present {
  return { runId: run?.id, segment: run?.segment ?? 0, state };
}

export function isStale(
  { runId, segment }: GuardOptions,
  present: Partial<Pick<Present, "runId" | "segment">>,
): boolean {
  return (runId !== undefined && runId !== present.runId) || (segment !== undefined && segment !== present.segment);
}

/** Throws STALE if a command is for another segment than the present one (V2). */
export function refuseIfStale(threadId: string, guard: GuardOptions, present: Present): void {
  if (isStale(guard, present)) throw stale(threadId, guard, present);
}

export function stale(threadId: string, { runId, segment }: GuardOptions, present: Present): BelayError {
  return belayError("STALE", { threadId, runId, segment, present });
}
