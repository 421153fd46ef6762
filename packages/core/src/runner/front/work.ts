// runner.work(): the loop of one runner, over the threads of its tenant. createWorker() is for all tenants.

import { belayError } from "../../error.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";

/** The options of `runner.work()`. */
export interface WorkOptions {
  /** How many threads at once; 4 by default. The runner's own `concurrency` bounds it. */
  readonly concurrency?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait before the next look if there was nothing to do. The wait is longer if a look takes long. */
  readonly pollMs?: number | undefined;
}

const OPTIONS: KnownOptions<WorkOptions> = { concurrency: true, signal: true, pollMs: true };

/** Returns the options with their defaults; `pollingDispatcher` and its loop check the rest. */
export function readWork(options: WorkOptions): WorkOptions & { readonly concurrency: number } {
  refuseUnknown("work()", options, OPTIONS);
  const { signal, concurrency = 4, pollMs } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw belayError("OPTION_INVALID", { option: "signal", value: String(signal), needed: "an AbortSignal" });
  return { concurrency, signal, pollMs };
}
