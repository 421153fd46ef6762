// The dispatcher without an engine: a loop that asks the store for due threads. A wake need not be stored, because its cause is on
// record; it only makes the loop of this process look at once.
//
// 1. The longest waiting come first, as many as there is room for. Each worker takes some of the first ones at random.
// 2. A thread whose move failed rests, longer each time. So does one that is due again with the head that it had before it was
//    moved: it has made no step. Neither keeps another thread from its turn.
// 3. Two workers that take one row both read the thread, and one of them does so in vain. A loop chooses among more rows if other
//    workers take many.
// 4. A slow look is followed by a longer pause: the store has other callers.

import { type Clock, systemClock } from "../clock.ts";
import { type BelayError, belayError } from "../error.ts";
import { consoleLog, type Log } from "../log.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import type { DueThread, Store } from "../store/store.ts";
import type { Dispatcher, Moved, ThreadRef } from "./dispatcher.ts";
import { nameOf, Rivals } from "./rivals.ts";
import { Troubles } from "./troubles.ts";

/** The options of `pollingDispatcher()`. */
export interface PollingOptions {
  /** How long to wait before the next look when nothing was due; longer if a look takes long. 250 ms by default. */
  readonly pollMs?: number | undefined;
  /** Only threads of this tenant; by default of all tenants. */
  readonly tenant?: string | undefined;
  /** Receives failures that keep the loop from its work; the console by default. */
  readonly log?: Log | undefined;
  readonly clock?: Clock | undefined;
}

const OPTIONS: KnownOptions<PollingOptions> = { pollMs: true, tenant: true, log: true, clock: true };

const POLL_MS = 250;
/** A worker that is alone chooses among this many for each thread that it has room for. */
const CHOICE = 4;
const LEAST_CHOICE = 16;
const MOST_CHOICE = 256;
/** A thread without a step forward rests for this many polls, and then twice as long each time. */
const REST_POLLS = 10;
const LONGEST_REST_MS = 30_000;
/** How often rests that are long over are removed: a loop looks hundreds of times a second. */
const FORGET_MS = 1_000;
/** Of its time, a loop with nothing to do spends at most one part in this many looking. */
const LOOK_PART = 10;
/** However long a look took: it may have waited for a store that was away. */
const LONGEST_WAIT_MS = 2_000;

interface Rest {
  readonly head: number;
  readonly failed: boolean;
  readonly tries: number;
  readonly until: number;
}

/** The state of one call of `serve()`. */
interface Serving {
  readonly busy: Map<string, Promise<void>>;
  readonly rests: Map<string, Rest>;
  readonly rivals: Rivals;
  /** How many rows of the last look were of threads that are busy or rest here. */
  hidden: number;
}

interface Look {
  /** In the order in which this worker takes them. */
  readonly free: readonly DueThread[];
  /** No more are due. */
  readonly isAll: boolean;
}

const NOTHING: Look = { free: [], isAll: true };

/**
 * Dispatches threads by asking the store, without an engine. The default of `createWorker()`.
 *
 * Order: first in, first out over all tenants. Timers: as late as a poll takes. Two calls for one thread at once are possible
 * in two processes, and not in one.
 *
 * @example
 * ```ts
 * const worker = createWorker({ store, runner, dispatcher: pollingDispatcher(store, { pollMs: 50 }), concurrency: 16 });
 * ```
 */
export function pollingDispatcher(store: Pick<Store, "due">, options: PollingOptions = {}): Dispatcher {
  refuseUnknown("pollingDispatcher()", options, OPTIONS);
  return new PollingDispatcher(store, options);
}

class PollingDispatcher implements Dispatcher {
  readonly #store: Pick<Store, "due">;
  readonly #tenant: string | undefined;
  readonly #pollMs: number;
  readonly #clock: Clock;
  readonly #looks: Troubles;
  readonly #closing = new AbortController();
  /** Ends the pause of each loop. */
  readonly #pauses = new Set<() => void>();

  constructor(
    store: Pick<Store, "due">,
    { pollMs = POLL_MS, tenant, log = consoleLog, clock = systemClock }: PollingOptions,
  ) {
    if (!(typeof pollMs === "number" && pollMs >= 0))
      throw invalid("pollMs", pollMs, "a number of milliseconds, 0 or more");
    this.#store = store;
    this.#tenant = tenant;
    this.#pollMs = pollMs;
    this.#clock = clock;
    this.#looks = new Troubles(log);
  }

  async wake(_thread: ThreadRef, { at }: { at?: number; id?: string } = {}): Promise<void> {
    if (at === undefined || at <= this.#clock.now()) for (const end of this.#pauses) end();
  }

  async serve(
    move: (thread: ThreadRef) => Promise<Moved>,
    { concurrency, signal }: { concurrency: number; signal: AbortSignal },
  ): Promise<void> {
    if (!(concurrency >= 1)) throw invalid("concurrency", concurrency, "a number, 1 or more");
    const ending = AbortSignal.any([signal, this.#closing.signal]);
    const serving: Serving = { busy: new Map(), rests: new Map(), rivals: new Rivals(), hidden: 0 };
    const { busy, rests, rivals } = serving;
    let forgetAt = 0;
    while (!ending.aborted) {
      const lookedAt = this.#clock.now();
      if (lookedAt >= forgetAt) {
        for (const [name, { until }] of rests) if (until <= lookedAt - LONGEST_REST_MS) rests.delete(name);
        forgetAt = lookedAt + FORGET_MS;
      }
      const room = concurrency - busy.size;
      const { free, isAll } = room > 0 ? await this.#look(room, serving) : NOTHING;
      const tookMs = this.#clock.now() - lookedAt;
      // Moves may have ended meanwhile: there may be room for more than when the look began.
      const taken = ending.aborted ? [] : free.slice(0, concurrency - busy.size);
      rivals.took(taken, free);
      for (const row of taken) this.#take(row, move, serving);
      if (busy.size >= concurrency) await oneOf(busy.values(), ending);
      else if (isAll && !ending.aborted) await this.#pause(Math.min((LOOK_PART - 1) * tookMs, LONGEST_WAIT_MS), ending);
    }
    await Promise.all(busy.values());
  }

  async depth(): Promise<{ waiting: number; oldestAt?: number }> {
    const due = await this.#store.due(10_000, 0, this.#tenant);
    return { waiting: due.length, ...(due[0] !== undefined && { oldestAt: due[0].since }) };
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  /** Moves a thread, and has it rest afterwards. */
  #take(row: DueThread, move: (thread: ThreadRef) => Promise<Moved>, { busy, rests }: Serving): void {
    const name = nameOf(row);
    const rest = (failed: boolean) => {
      busy.delete(name);
      rests.set(name, this.#restOf(row, failed, rests.get(name)));
    };
    const moved = move({ tenant: row.tenant, threadId: row.threadId }).then(
      () => rest(false),
      // The mover logs why it failed.
      () => rest(true),
    );
    busy.set(name, moved);
  }

  /** Looks for threads that can be moved here: at least `room` of them, unless there are no more. */
  async #look(room: number, serving: Serving): Promise<Look> {
    const { busy, rests, rivals } = serving;
    const now = this.#clock.now();
    const isFree = (row: DueThread) => {
      const rest = rests.get(nameOf(row));
      const isResting = rest !== undefined && rest.until > now && (rest.failed || rest.head === row.head);
      return !isResting && !busy.has(nameOf(row));
    };
    const alone = Math.max(LEAST_CHOICE, CHOICE * room);
    const choice = Math.max(room, Math.min(MOST_CHOICE, Math.ceil(alone * (1 + rivals.perOwn))));
    for (let { hidden } = serving; ; hidden = 2 * hidden + choice) {
      const due = await this.#due(choice + hidden);
      if (due === undefined) return NOTHING;
      const isAll = due.length < choice + hidden;
      const free = due.filter(isFree);
      // Few of the threads that were moved are due again: read past them only if they leave too little.
      if (free.length < room && !isAll) continue;
      serving.hidden = due.length - free.length;
      rivals.found(due, isAll);
      // All that are left fit: nothing to choose.
      return { free: free.length <= room ? free : shuffled(free.slice(0, choice)), isAll };
    }
  }

  /** Reads due threads; undefined if the store fails. */
  async #due(limit: number): Promise<readonly DueThread[] | undefined> {
    try {
      const due = await this.#store.due(limit, 0, this.#tenant);
      this.#looks.over();
      return due;
    } catch (error) {
      this.#looks.tell(error);
      return undefined;
    }
  }

  #restOf({ head }: DueThread, failed: boolean, before: Rest | undefined): Rest {
    const isSame = failed ? before?.failed : before?.head === head;
    const tries = isSame ? before!.tries + 1 : 1;
    const ms = Math.min(LONGEST_REST_MS, REST_POLLS * this.#pollMs * 2 ** Math.min(tries - 1, 20));
    return { head, failed, tries, until: this.#clock.now() + ms };
  }

  #pause(leastMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#clock.clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#pauses.delete(end);
        resolve();
      };
      const timer = this.#clock.setTimeout(end, Math.max(this.#pollMs, leastMs));
      this.#pauses.add(end);
      signal.addEventListener("abort", end, { once: true });
    });
  }
}

function invalid(option: string, value: unknown, needed: string): BelayError {
  return belayError("OPTION_INVALID", { option, value: String(value), needed });
}

function shuffled<T>(list: T[]): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}

/** Waits for one of them, or for the signal; leaves nothing behind on it. */
async function oneOf(busy: Iterable<Promise<void>>, signal: AbortSignal): Promise<void> {
  let stop: () => void = () => {};
  const stopped = new Promise<void>((resolve) => (stop = resolve));
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([...busy, stopped]);
  signal.removeEventListener("abort", stop);
}
