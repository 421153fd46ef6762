// An engine in memory, for the suite of dispatchers: correct by default, and wrong in one way for each flaw. A process is a
// client of it that can be killed: its wakes go back, and its later calls have no effect.

import type { Dispatcher, Moved, ThreadRef } from "@belay/core/dispatch";
import { confirmed, deliver, retryPause, wakeName } from "@belay/core/dispatch";
import type { DispatcherUnderTest, ServePlan, ServingProcess } from "@belay/core/testing";

/** One way to be wrong. */
export type Flaw =
  | "drops wakes of a thread that is moved"
  | "drops the wakes of a killed process"
  | "delivers early"
  | "forgets timers when a process dies"
  | "forgets wakes when a process dies"
  | "ignores the concurrency"
  | "gives up after a failure"
  | "tries again without a pause"
  | "keeps its fetched wakes when it stops"
  | "begins new calls after the signal"
  | "keeps a timer for each look"
  | "drops the next look"
  | "counts timers as waiting"
  | "takes wakes while it is away"
  | "stays away";

interface Item {
  readonly thread: ThreadRef;
  readonly name: string;
  readonly at: number;
  readonly tries: number;
}

const TICK_MS = 5;

export class MemoryEngine {
  readonly flaw: Flaw | undefined;
  waiting: Item[] = [];
  isAway = false;
  /** Threads that are moved, over all processes. */
  readonly moved = new Set<string>();

  constructor(flaw?: Flaw) {
    this.flaw = flaw;
  }

  open(): EngineClient {
    return new EngineClient(this);
  }

  add(thread: ThreadRef, name: string, at = Date.now(), tries = 0): void {
    const isKnown = this.waiting.some((item) => item.name === name);
    if (isKnown && this.flaw !== "keeps a timer for each look") return;
    const early = this.flaw === "delivers early" ? 500 : 0;
    this.waiting.push({ thread, name, at: at - early, tries });
  }

  /** Takes one that is due. */
  take(): Item | undefined {
    if (this.isAway) return undefined;
    const index = this.waiting.findIndex(({ at }) => at <= Date.now());
    return index < 0 ? undefined : this.waiting.splice(index, 1)[0];
  }
}

export class EngineClient implements Dispatcher {
  readonly #engine: MemoryEngine;
  readonly #begun = new Set<Item>();
  readonly #closing = new AbortController();
  #dead = false;

  constructor(engine: MemoryEngine) {
    this.#engine = engine;
  }

  async wake(thread: ThreadRef, options: { at?: number; id?: string } = {}): Promise<void> {
    if (this.#engine.flaw === "drops wakes of a thread that is moved" && this.#engine.moved.has(thread.threadId))
      return;
    if (this.#engine.isAway && this.#engine.flaw === "takes wakes while it is away") return;
    await confirmed("memory", this.#engine.isAway ? Promise.reject(new Error("away")) : Promise.resolve());
    this.#engine.add(thread, wakeName(thread, options), options.at);
  }

  async serve(
    move: (thread: ThreadRef) => Promise<Moved>,
    { concurrency, signal }: { concurrency: number; signal: AbortSignal },
  ): Promise<void> {
    const { flaw } = this.#engine;
    const running = new Set<Promise<void>>();
    const fetched: Item[] = [];
    const over = () => this.#dead || (signal.aborted && flaw !== "begins new calls after the signal");
    for (let idle = 0; !over() && !(signal.aborted && idle > 200); idle++) {
      const room = flaw === "ignores the concurrency" ? Number.POSITIVE_INFINITY : concurrency;
      const most = flaw === "keeps its fetched wakes when it stops" ? 10 : 0;
      for (let next = this.#engine.take(); next !== undefined; next = this.#engine.take()) {
        fetched.push(next);
        if (fetched.length + running.size >= room + most) break;
      }
      while (fetched.length > 0 && running.size < room) {
        const call = this.#deliver(fetched.shift()!, move).finally(() => running.delete(call));
        running.add(call);
        idle = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
      if (this.#closing.signal.aborted) break;
    }
    if (flaw !== "keeps its fetched wakes when it stops") for (const item of fetched) this.#engine.waiting.push(item);
    if (!this.#dead) await Promise.all(running);
  }

  async #deliver(item: Item, move: (thread: ThreadRef) => Promise<Moved>): Promise<void> {
    const engine = this.#engine;
    this.#begun.add(item);
    engine.moved.add(item.thread.threadId);
    try {
      await deliver(item, move, async ({ thread, name }, at) => {
        if (!this.#dead && engine.flaw !== "drops the next look") engine.add(thread, name, at);
      });
    } catch {
      const tries = item.tries + 1;
      const pause = engine.flaw === "tries again without a pause" ? 0 : retryPause(tries);
      if (!this.#dead && engine.flaw !== "gives up after a failure")
        engine.add(item.thread, item.name, Date.now() + pause, tries);
    } finally {
      this.#begun.delete(item);
      engine.moved.delete(item.thread.threadId);
    }
  }

  /** Ends it as SIGKILL ends a process. */
  kill(): void {
    this.#dead = true;
    const { flaw } = this.#engine;
    if (flaw === "forgets timers when a process dies")
      this.#engine.waiting = this.#engine.waiting.filter(({ at }) => at <= Date.now());
    if (flaw === "forgets wakes when a process dies") this.#engine.waiting = [];
    if (flaw === "drops the wakes of a killed process") return;
    for (const { thread, name } of this.#begun) this.#engine.add(thread, name);
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  async depth(): Promise<{ waiting: number; oldestAt?: number }> {
    const { flaw, waiting: all } = this.#engine;
    const waiting = all.filter(({ at }) => at <= Date.now() || flaw === "counts timers as waiting");
    return {
      waiting: waiting.length,
      ...(waiting.length > 0 && { oldestAt: Math.min(...waiting.map(({ at }) => at)) }),
    };
  }
}

/** Makes an engine with its processes, for `dispatcherSuite()`. */
export function memoryEngine(flaw?: Flaw): DispatcherUnderTest {
  const engine = new MemoryEngine(flaw);
  return {
    open: () => engine.open(),
    start: (plan) => startHere(engine.open(), plan),
    engine: {
      stop: async () => {
        engine.isAway = true;
      },
      start: async () => {
        engine.isAway = flaw === "stays away";
      },
    },
  };
}

/** A process that is none: it serves by a plan in this one until it is killed. */
function startHere(client: EngineClient, { concurrency, moves }: ServePlan): ServingProcess {
  const lines: string[] = [];
  const ending = new AbortController();
  let exit: () => void = () => {};
  const exited = new Promise<void>((resolve) => (exit = resolve));
  const move = async ({ threadId }: ThreadRef): Promise<Moved> => {
    lines.push(`move ${threadId}`);
    const what = moves[threadId];
    if (what === "hang") await new Promise(() => {});
    lines.push(`moved ${threadId}`);
    return typeof what === "number" ? { again: Date.now() + what, id: "planned" } : {};
  };
  void client.serve(move, { concurrency, signal: ending.signal });
  return {
    lines,
    exited,
    signal() {
      client.kill();
      ending.abort();
      exit();
    },
  };
}
