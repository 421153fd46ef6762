// runner.work(): the loop of one runner, over the threads of its tenant. createWorker() is for all tenants.

import { anything, type Checks, optional } from "../given/check.ts";

/** The options of `runner.work()`. */
export interface WorkOptions {
  /** How many threads at once; 4 by default. The runner's own `concurrency` bounds it. */
  readonly concurrency?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait before the next look if there was nothing to do. The wait is longer if a look takes long. */
  readonly pollMs?: number | undefined;
}

/** `pollingDispatcher` and its loop check the rest. */
export const WORK: Checks<WorkOptions> = {
  concurrency: anything,
  signal: optional("an AbortSignal", (value) => typeof (value as AbortSignal | null)?.addEventListener === "function"),
  pollMs: anything,
};
