// Failures that keep a worker from its work, for the log: its runs have no caller. Reported once, and not in every round, until
// the failure is over.

import { BelayError, belayError, errorText } from "../error.ts";
import type { Log } from "../log.ts";

/** A thread that another process took first is not reported; other failures of a run are on record. */
const TOLD = /^(STORE_(?!CONFLICT)|JOURNAL_|AGENT_(UNKNOWN|MISMATCH)|THREAD_SET_ASIDE|TENANT_UNKNOWN|ENGINE_AWAY)/;

export class Troubles {
  readonly #log: Log;
  readonly #told = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  tell(thrown: unknown, threadId = ""): void {
    const error =
      thrown instanceof BelayError ? thrown : belayError("STORE_FAILED", { reason: errorText(thrown) }, thrown);
    // The store fails for all threads alike, and so does an agent that is not there.
    const { reason, recorded } = error.details;
    const what = `${error.code} ${reason ?? recorded ?? error.message}`;
    if (!TOLD.test(what) || this.#told.has(what)) return;
    this.#told.add(what);
    try {
      this.#log({ level: "warn", error, threadId, runId: "", agentName: "", runPath: "" });
    } catch {
      // A log that fails, too, is past helping.
    }
  }

  /** The store works: should it fail again, that is news. */
  over(): void {
    for (const what of this.#told) if (/^(STORE|ENGINE)_/.test(what)) this.#told.delete(what);
  }
}
