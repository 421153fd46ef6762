// A worker: moves the threads of all tenants that a dispatcher names, each by the runner of its tenant. Beside it runs the
// sweep, which wakes threads that have waited for too long: an engine may be slow, lose a wake or be wiped, and that costs seconds.

import { type Clock, systemClock } from "../clock.ts";
import { belayError } from "../error.ts";
import { consoleLog, type Log } from "../log.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import type { Store } from "../store/store.ts";
import type { Dispatcher, Moved, ThreadRef } from "./dispatcher.ts";
import { pause } from "./engine.ts";
import { pollingDispatcher } from "./polling-dispatcher.ts";
import { Troubles } from "./troubles.ts";

/** The part of a runner that a worker needs. */
export interface MovingRunner {
  readonly tenant: string;
  move(threadId: string): Promise<Moved>;
  drain(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/** Returns the runner of a tenant; undefined if this worker has none. */
export type RunnerOfTenant = (tenant: string) => MovingRunner | undefined | Promise<MovingRunner | undefined>;

/** The options of `createWorker()`. */
export interface WorkerOptions {
  readonly store: Store;
  /** One runner, for the threads of its tenant, or a function from a tenant to its runner. It is asked once for each tenant. */
  readonly runner: MovingRunner | RunnerOfTenant;
  /** The engine; by default `pollingDispatcher(store)`, which needs none. */
  readonly dispatcher?: Dispatcher | undefined;
  /** How many threads at once, over all tenants; 4 by default. */
  readonly concurrency?: number | undefined;
  /** The least time between two sweeps, which is also how long a thread has to wait for one; 5 seconds by default. */
  readonly sweepMs?: number | undefined;
  /** Receives failures that keep the worker from its work; the console by default. */
  readonly log?: Log | undefined;
  readonly clock?: Clock | undefined;
}

const OPTIONS: KnownOptions<WorkerOptions> = {
  store: true,
  runner: true,
  dispatcher: true,
  concurrency: true,
  sweepMs: true,
  log: true,
  clock: true,
};

/** Moves threads in this process. Made by `createWorker()`. */
export interface Worker {
  /** Works until the signal fires or `drain()` is called, and then until the threads that it moves have come to a pause. */
  work(options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * Takes on nothing more, and lets go of all threads at their next boundary, as `runner.drain()` does. Other workers continue
   * them at once.
   */
  drain(options?: { readonly timeoutMs?: number }): Promise<void>;
}

const SWEEP_MS = 5_000;
/** So many threads are woken by one sweep. */
const MOST_SWEPT = 200;
/** The time until the next look at a thread of a tenant without a runner here. */
const NO_RUNNER_MS = 30_000;

/**
 * Makes a worker over all tenants.
 *
 * @example
 * ```ts
 * const worker = createWorker({ store, runner: (tenant) => runnerFor(tenant), dispatcher, concurrency: 16 });
 * process.once("SIGTERM", () => void worker.drain({ timeoutMs: 10_000 }));
 * await worker.work();
 * ```
 */
export function createWorker(options: WorkerOptions): Worker {
  refuseUnknown("createWorker()", options, OPTIONS);
  return new LiveWorker(options);
}

class LiveWorker implements Worker {
  readonly #store: Store;
  readonly #given: WorkerOptions["runner"];
  readonly #dispatcher: Dispatcher;
  readonly #concurrency: number;
  readonly #sweepMs: number;
  readonly #clock: Clock;
  readonly #moves: Troubles;
  readonly #sweeps: Troubles;
  readonly #runners = new Map<string, Promise<MovingRunner | undefined>>();
  readonly #leaving = new AbortController();

  constructor({ store, runner, dispatcher, concurrency = 4, sweepMs = SWEEP_MS, ...more }: WorkerOptions) {
    const { log = consoleLog, clock = systemClock } = more;
    if (!(concurrency >= 1)) throw invalid("concurrency", concurrency, "a number, 1 or more");
    if (!(sweepMs > 0)) throw invalid("sweepMs", sweepMs, "a number of milliseconds above 0");
    if (typeof store?.due !== "function") throw invalid("store", store, "a store, such as memoryStore() gives");
    if (typeof runner !== "function" && typeof runner?.move !== "function")
      throw invalid("runner", runner, "a runner, or a function from a tenant to its runner");
    this.#store = store;
    this.#given = runner;
    const tenant = typeof runner === "function" ? undefined : runner.tenant;
    this.#dispatcher = dispatcher ?? pollingDispatcher(store, { log, clock, tenant });
    this.#concurrency = concurrency;
    this.#sweepMs = sweepMs;
    this.#clock = clock;
    this.#moves = new Troubles(log);
    this.#sweeps = new Troubles(log);
  }

  async work({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    const leaving = this.#leaving.signal;
    const ending = signal === undefined ? leaving : AbortSignal.any([signal, leaving]);
    const served = new AbortController();
    const sweeping = this.#sweep(AbortSignal.any([ending, served.signal]));
    try {
      await this.#dispatcher.serve((thread) => this.#move(thread), { concurrency: this.#concurrency, signal: ending });
    } finally {
      // An engine that fails to serve ends the work: no sweep continues without its caller.
      served.abort();
    }
    await sweeping;
  }

  async drain(options: { readonly timeoutMs?: number } = {}): Promise<void> {
    this.#leaving.abort();
    const runners = await Promise.all(this.#runners.values());
    await Promise.all(runners.map((runner) => runner?.drain(options)));
  }

  async #move(thread: ThreadRef): Promise<Moved> {
    const { tenant, threadId } = thread;
    try {
      const runner = await this.#runnerOf(tenant);
      if (runner === undefined) throw belayError("TENANT_UNKNOWN", { tenant });
      const moved = await runner.move(threadId);
      this.#moves.over();
      return moved;
    } catch (error) {
      this.#moves.tell(error, threadId);
      if ((error as { code?: unknown }).code !== "TENANT_UNKNOWN") throw error;
      return { again: this.#clock.now() + NO_RUNNER_MS, id: "no-runner" };
    }
  }

  #runnerOf(tenant: string): Promise<MovingRunner | undefined> {
    const given = this.#given;
    let runner = this.#runners.get(tenant);
    if (runner !== undefined) return runner;
    runner = (async () => {
      if (typeof given === "function") return given(tenant);
      return given.tenant === tenant ? given : undefined;
    })();
    this.#runners.set(tenant, runner);
    // One that is not there may be made later.
    const forget = () => void this.#runners.delete(tenant);
    runner.then((made) => made ?? forget(), forget);
    return runner;
  }

  /**
   * Wakes threads that have waited for longer than a sweep takes. A thread with the same head and fence is woken under the same
   * name.
   */
  async #sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ms = this.#sweepMs * (1 + Math.random());
      await pause(ms, signal);
      if (signal.aborted) return;
      try {
        const tenant = typeof this.#given === "function" ? undefined : this.#given.tenant;
        for (const { head, fence, ...thread } of await this.#store.due(MOST_SWEPT, ms, tenant)) {
          if (signal.aborted) return;
          const { tenant, threadId } = thread;
          await this.#dispatcher.wake({ tenant, threadId }, { id: `sweep-${head}-${fence}` });
        }
        this.#sweeps.over();
      } catch (error) {
        this.#sweeps.tell(error);
      }
    }
  }
}

function invalid(option: string, value: unknown, needed: string): Error {
  return belayError("OPTION_INVALID", { option, value: String(value), needed });
}
