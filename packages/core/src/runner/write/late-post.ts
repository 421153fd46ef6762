// Sends the results of calls that were left behind to the store (S5). Invariants:
// 1. A result that the store does not take is sent again while the runner is open: its key makes another try harmless.
// 2. Closing the runner ends all waits. Each result has one more try, and then the log names the lost ones. A store that does
//    not answer is not waited for without end.
// 3. Nothing here keeps a process alive.

import { backgroundTimer, type Clock } from "../../clock.ts";
import { BelayError, belayError, errorText } from "../../error.ts";
import type { Log } from "../../log.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";

export interface LateParcel {
  readonly key: ThreadKey;
  /** When the thread was made. A thread made again under the same name made no such call. */
  readonly since: number | undefined;
  readonly command: Command;
  readonly place: { readonly runId: string; readonly agentName: string; readonly runPath: string };
  readonly callId: string;
  readonly tool: string;
}

const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 30_000;
const LAST_TRY_MS = 1_000;

/** The errors after which it tries again: the store may be back later. */
const PASSING = new Set(["STORE_FAILED", "STORE_FULL"]);

export class LatePost {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #sending = new Map<LateParcel, Promise<boolean>>();
  /** The calls that end the present waits. */
  readonly #waits = new Set<() => void>();
  #closed = false;

  constructor(store: Store, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Resolves to true if the result waits in the store now and did not before. Never rejects. */
  send(parcel: LateParcel): Promise<boolean> {
    const sent = this.#send(parcel).finally(() => this.#sending.delete(parcel));
    this.#sending.set(parcel, sent);
    return sent;
  }

  /** Resolves when no result is on its way any more. A later one has one try. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const end of this.#waits) end();
    if (this.#sending.size === 0) return;
    await new Promise<void>((over) => {
      const timer = this.#clock.setTimeout(over, LAST_TRY_MS);
      void Promise.all(this.#sending.values()).then(() => {
        this.#clock.clearTimeout(timer);
        over();
      });
    });
    for (const parcel of this.#sending.keys()) this.#lost(parcel, new Error("the store does not answer"));
    this.#sending.clear();
  }

  async #send(parcel: LateParcel): Promise<boolean> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(4 * wait, LONGEST_WAIT_MS)) {
      const isLast = this.#closed;
      try {
        return await this.#try(parcel);
      } catch (error) {
        if (isLast || (error instanceof BelayError && !PASSING.has(error.code))) {
          this.#lost(parcel, error);
          return false;
        }
      }
      await this.#wait(wait);
    }
  }

  async #try({ key, since, command }: LateParcel): Promise<boolean> {
    const found = await this.#store.load(key, Number.MAX_SAFE_INTEGER);
    return found?.row.createdAt === since && (await this.#store.send(key, command));
  }

  #wait(ms: number): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((over) => {
      const end = () => {
        this.#waits.delete(end);
        this.#clock.clearTimeout(timer);
        over();
      };
      const timer = backgroundTimer(this.#clock, end, ms);
      this.#waits.add(end);
    });
  }

  #lost({ key, place, callId, tool }: LateParcel, thrown: unknown): void {
    const { threadId } = key;
    // The thread was deleted meanwhile.
    if (thrown instanceof BelayError && thrown.code === "THREAD_UNKNOWN") return;
    const error = belayError("LATE_LOST", { threadId, callId, tool, reason: errorText(thrown) }, thrown);
    try {
      this.#log({ level: "warn", error, threadId, ...place });
    } catch {
      // The log fails, too.
    }
  }
}
