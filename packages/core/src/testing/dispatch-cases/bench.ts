// Shared by the cases of the dispatcher suite: threads to wake, and a witness of the calls of `move`.

import { ok } from "node:assert/strict";
import type { Dispatcher, Moved, ThreadRef } from "../../dispatch/dispatcher.ts";
import { type ServePlan, serveRecorded, type WakeRecord } from "./serve-plan.ts";

/** A process that serves. `startChild` of a test, or a child process with its lines. */
export interface ServingProcess {
  /** Everything it has printed. */
  readonly lines: readonly string[];
  signal(name: NodeJS.Signals): unknown;
  readonly exited: Promise<unknown>;
}

/** An engine to be certified, with nothing waiting in it. */
export interface DispatcherUnderTest {
  /** Opens a dispatcher on the engine, as another process would. The suite closes it. */
  open(): Dispatcher | Promise<Dispatcher>;
  /** If the store is the engine: records the cause of a wake, and takes it off the record when the thread is moved. */
  readonly record?: WakeRecord | undefined;
  /** Starts a process that calls `serveAsPlanned()` with this plan. Without it, cases that kill are skipped. */
  start?(plan: ServePlan): ServingProcess | Promise<ServingProcess>;
  /** Without it, the case that takes the engine away is skipped. */
  readonly engine?: { stop(): Promise<unknown>; start(): Promise<unknown> } | undefined;
  close?(): unknown;
}

/** How the adapter describes its engine. */
export interface DispatcherTraits {
  /** The most that a wake or a timer is late on an idle machine. */
  readonly latenessMs: number;
  /** The most time until the wake of a killed process is delivered again. */
  readonly redeliveryMs: number;
  readonly order: "fair" | "fifo";
  /** Never calls `move` twice at once for one thread. */
  readonly exclusive: boolean;
  /** How many wakes the case about a backlog sends. */
  readonly backlog: number;
  /** How much longer a busy machine may take than an idle one. */
  readonly slackMs: number;
}

export type DispatcherCheck = (bench: DispatchBench) => Promise<void>;

/** One call of `move`. */
export interface Call {
  readonly thread: ThreadRef;
  readonly at: number;
  endedAt?: number;
}

type Mover = (thread: ThreadRef, nth: number) => Moved | Promise<Moved>;

/** A dispatcher that serves in this process. */
export interface Server {
  readonly calls: readonly Call[];
  /** The most calls at once. */
  readonly most: number;
  stop(): Promise<void>;
}

let counter = 0;

export class DispatchBench {
  readonly traits: DispatcherTraits;
  readonly #under: DispatcherUnderTest;
  readonly #opened: Dispatcher[] = [];
  readonly #ends: (() => Promise<unknown>)[] = [];

  constructor(under: DispatcherUnderTest, traits: DispatcherTraits) {
    this.#under = under;
    this.traits = traits;
  }

  get engine() {
    return this.#under.engine!;
  }

  thread(tenant = "acme"): ThreadRef {
    counter += 1;
    return { tenant, threadId: `thread-${process.pid}-${counter}` };
  }

  async open(): Promise<Dispatcher> {
    const dispatcher = await this.#under.open();
    this.#opened.push(dispatcher);
    return dispatcher;
  }

  /** Wakes a thread after its cause is on record. */
  async wake(dispatcher: Dispatcher, thread: ThreadRef, options: { at?: number; id?: string } = {}): Promise<void> {
    await this.#under.record?.wake(thread, options.at);
    await dispatcher.wake(thread, options);
  }

  /** Serves in this process. `move` gets the number of the call for its thread, from 1 on. */
  serve(dispatcher: Dispatcher, move: Mover = () => ({}), concurrency = 4): Server {
    const ending = new AbortController();
    const calls: Call[] = [];
    let running = 0;
    let most = 0;
    const witness = async (thread: ThreadRef): Promise<Moved> => {
      const call: Call = { thread, at: Date.now() };
      calls.push(call);
      running += 1;
      most = Math.max(most, running);
      try {
        return await move(thread, calls.filter((each) => isSame(each.thread, thread)).length);
      } finally {
        running -= 1;
        call.endedAt = Date.now();
      }
    };
    const served = dispatcher.serve(serveRecorded(witness, this.#under.record), { concurrency, signal: ending.signal });
    const stop = async () => {
      ending.abort();
      await served;
    };
    this.#ends.push(stop);
    return {
      calls,
      get most() {
        return most;
      },
      stop,
    };
  }

  async start(plan: ServePlan): Promise<ServingProcess> {
    const child = await this.#under.start!(plan);
    this.#ends.push(async () => child.signal("SIGKILL"));
    return child;
  }

  async until(happened: () => boolean, what: string, withinMs: number): Promise<void> {
    const end = Date.now() + withinMs;
    while (!happened()) {
      ok(Date.now() < end, `waited ${withinMs} ms for ${what} in vain`);
      await sleep(5);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end().catch(() => {})));
    await Promise.all(this.#opened.map((dispatcher) => dispatcher.close()));
    await this.#under.close?.();
  }
}

export function isSame(a: ThreadRef, b: ThreadRef): boolean {
  return a.tenant === b.tenant && a.threadId === b.threadId;
}

export function callsOf({ calls }: Server, thread: ThreadRef): readonly Call[] {
  return calls.filter((call) => isSame(call.thread, thread));
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
