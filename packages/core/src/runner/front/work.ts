// A worker: finds threads that can move by themselves and moves them. What must not be lost is in the store; this only
// has to look often enough.

import type { Clock } from "../../clock.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { Log } from "../../log.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { ThreadRow } from "../../store/store.ts";
import type { Slots } from "../thread/slots.ts";
import { Troubles } from "./troubles.ts";

/** The options of `runner.work()`. */
export interface WorkOptions {
  /** How many threads at once; 4 by default. The runner's own `concurrency` bounds it. */
  readonly concurrency?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait before looking again when there was nothing to do; longer where a look takes long. */
  readonly pollMs?: number | undefined;
}

const OPTIONS: KnownOptions<WorkOptions> = { concurrency: true, signal: true, pollMs: true };

/** What the runner does for its worker. */
export interface WorkHost {
  /** Threads that crashed, or have an input waiting while they are idle. */
  find(): Promise<readonly ThreadRow[]>;
  /** Moves one to its next end or pause; false where it could not, or rejects with why. */
  move(row: ThreadRow): Promise<boolean>;
  /** Told what keeps it from its work. */
  readonly log: Log;
  readonly clock: Clock;
  /** Bounds the threads that this process runs, also for enqueue() and send(). */
  readonly slots: Slots;
  /** True once the runner lets go of its threads. */
  readonly closed: boolean;
}

/** How many rounds a thread that could not be moved is left alone, so that it does not keep others from their turn. */
const REST_ROUNDS = 10;

/** Of its time, a worker with nothing to do spends at most one part in this many looking: a store of many threads has others to serve. */
const LOOK_PART = 10;

/** However long a look took: it may have waited for a store that was away. */
const LONGEST_WAIT_MS = 2_000;

/** Works until `signal` fires or the runner is closed, and then until what it has begun has ended. */
export async function workOn(host: WorkHost, options: WorkOptions): Promise<void> {
  refuseUnknown("work()", options, OPTIONS);
  const { concurrency = 4, signal, pollMs = 200 } = options;
  if (!(concurrency >= 1)) throw invalid("concurrency", concurrency, "a number, 1 or more");
  if (!(typeof pollMs === "number" && pollMs >= 0))
    throw invalid("pollMs", pollMs, "a number of milliseconds, 0 or more");
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw invalid("signal", signal, "an AbortSignal");
  const busy = new Map<string, Promise<void>>();
  const resting = new Map<string, number>();
  const looks = new Troubles(host.log);
  const moves = new Troubles(host.log);
  for (let round = 0; !signal?.aborted && !host.closed; round++) {
    for (const [threadId, until] of resting) if (until <= round) resting.delete(threadId);
    const lookedAt = host.clock.now();
    const rows = busy.size < concurrency ? await found(host, looks) : [];
    const waitMs = Math.min((LOOK_PART - 1) * (host.clock.now() - lookedAt), LONGEST_WAIT_MS);
    for (const { threadId, ...row } of rows) {
      if (busy.size >= concurrency || signal?.aborted) break;
      if (busy.has(threadId) || resting.has(threadId)) continue;
      const giveBack = host.slots.take(threadId);
      if (giveBack === undefined) break;
      const moved = couldMove(host, { threadId, ...row }, moves).then((could) => {
        giveBack();
        busy.delete(threadId);
        if (!could) resting.set(threadId, round + REST_ROUNDS);
      });
      busy.set(threadId, moved);
    }
    await (busy.size >= concurrency
      ? oneOf(busy.values(), signal)
      : wait(host.clock, Math.max(pollMs, waitMs), signal));
  }
  await Promise.all(busy.values());
}

function invalid(option: string, value: unknown, needed: string): BelayError {
  return belayError("OPTION_INVALID", { option, value: String(value), needed });
}

async function found(host: WorkHost, troubles: Troubles): Promise<readonly ThreadRow[]> {
  try {
    const rows = await host.find();
    troubles.over();
    return rows;
  } catch (error) {
    troubles.tell(error);
    return [];
  }
}

async function couldMove(host: WorkHost, row: ThreadRow, troubles: Troubles): Promise<boolean> {
  try {
    const could = await host.move(row);
    if (could) troubles.over();
    return could;
  } catch (error) {
    // Somebody else was faster, or the thread cannot be read or written: it is looked at again.
    troubles.tell(error, row.threadId);
    return false;
  }
}

/** Waits for one of them, or for the signal; leaves nothing behind on it. */
async function oneOf(busy: Iterable<Promise<void>>, signal: AbortSignal | undefined): Promise<void> {
  let stop: () => void = () => {};
  const stopped = new Promise<void>((resolve) => (stop = resolve));
  signal?.addEventListener("abort", stop, { once: true });
  await Promise.race([...busy, stopped]);
  signal?.removeEventListener("abort", stop);
}

function wait(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = clock.setTimeout(done, ms);
    function done() {
      clock.clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done, { once: true });
  });
}
