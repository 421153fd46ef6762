// A segment of a run in one process, and the process as a witness sees it.

import type { Run, RunResult } from "@belay/core";
import type { Reader } from "./reader.ts";

export const LEASE_MS = 1_000;
export const THREAD = "thread";

/** A segment that a process runs. */
export interface Watched {
  readonly run: Run;
  result: RunResult | undefined;
  /** It has begun here: it has facts. */
  begun: boolean;
  /** The head of the thread when it ended: calls that are answered later may run elsewhere. */
  last: number;
  /** Set at once when a person stops it now: nothing may start after that. */
  stopping: boolean;
  /** A stop rolled back its text. */
  rolledBack: boolean;
  /** Reads the run from its first event; undefined where the run began before it could. */
  readonly reader: Reader | undefined;
}

export interface Actor {
  readonly number: number;
  readonly dead: boolean;
  readonly watched: readonly Watched[];
  /** The segment that has not ended, if there is one. */
  readonly current: Watched | undefined;
}

export const placeOf = (of: { readonly runId?: string; readonly segment?: number }): string =>
  `${of.runId}.${of.segment}`;
