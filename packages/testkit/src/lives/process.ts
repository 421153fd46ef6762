// One process of a life: a runner on a store that can fail, its session on the thread, and all that it was asked for.

import {
  BelayError,
  type Clock,
  createRunner,
  type Run,
  type Runner,
  type RunResult,
  type Session,
  type Store,
} from "@belay/core";
import { type FaultyStore, faultyStore, isRequest } from "@belay/core/inside";
import type { AnyAgent } from "./code.ts";
import { Reader, type ReaderHost } from "./reader.ts";
import type { GivenWords, Witness } from "./witness.ts";

export const LEASE_MS = 1_000;
export const THREAD = "thread";

export interface ProcessOptions {
  readonly number: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly maxHot: number;
  readonly rollsBack: boolean;
  readonly unattended: boolean;
  /** Code may go another way than what is on record. */
  readonly diverges: boolean;
  readonly witness: Witness;
}

export class LifeProcess {
  readonly number: number;
  readonly store: FaultyStore;
  readonly witness: Witness;
  /** Promises that have not settled, and what was asked for. */
  readonly pending = new Map<Promise<unknown>, string>();
  readonly readers: Reader[] = [];
  session: Session<unknown> | undefined;
  dead = false;
  readonly #options: ProcessOptions;
  #runner: Runner<unknown, unknown> | undefined;
  #opening = false;
  #reading: AbortController | undefined;

  constructor(options: ProcessOptions) {
    this.number = options.number;
    this.witness = options.witness;
    this.store = faultyStore(options.store);
    this.#options = options;
  }

  get runner(): Runner<unknown, unknown> {
    return this.#runner!;
  }

  /** The tree knows its process, so it comes after that. */
  begin(agent: AnyAgent): void {
    const { clock, maxHot, unattended } = this.#options;
    const log = () => {};
    const { store } = this;
    this.#runner = createRunner({ agent, store, clock, leaseTtlMs: LEASE_MS, maxHot, unattended, log });
    this.open();
  }

  open(): void {
    if (this.session !== undefined || this.#opening) return;
    this.#opening = true;
    const opened = this.runner.open(THREAD).then((session) => {
      this.session = session;
      void this.#read(session);
    });
    this.own(
      "open",
      opened.finally(() => (this.#opening = false)),
    );
  }

  /** Follows a promise to its end. */
  own(what: string, promise: Promise<unknown>): void {
    const settled: Promise<unknown> = promise
      .catch((error: unknown) => this.refusal(what, error))
      .finally(() => this.pending.delete(settled));
    this.pending.set(settled, what);
  }

  /** A refusal is a value; what says that the runtime itself is wrong is a problem. */
  refusal(what: string, error: unknown): string {
    const code = error instanceof BelayError ? error.code : undefined;
    this.witness.note(`  p${this.number} ${what}: ${code ?? String(error)}`);
    // terminate() of what is terminated.
    if (code === "INVALID_STATE_TRANSITION" && what === "terminate") return code;
    if (code === "AGENT_FAILED" && /hook|on purpose/.test((error as Error).message)) return code;
    if (code === "REPLAY_DIVERGED" && this.#options.diverges) return code;
    if (code !== undefined && !BUGS.has(code)) return code;
    if (error instanceof Error && /(before|after) the commit$/.test(error.message)) return "STORE_FAILED";
    this.witness.problem(`p${this.number} ${what}: ${error instanceof Error ? error.stack : String(error)}`);
    return "?";
  }

  /** Begins a stretch and follows it; `texts` is what was said with it. */
  watch(what: string, begin: () => Run, texts: readonly string[] = [], to?: string): void {
    const given = texts.map((text): GivenWords => ({ text, to, taken: undefined }));
    this.witness.note(`p${this.number} ${what} ${texts.join(", ")}`);
    try {
      const run = begin();
      this.witness.given.push(...given);
      this.own(
        what,
        run.result.then((result) => this.#ended(what, result, given)),
      );
    } catch (error) {
      this.refusal(what, error);
    }
  }

  #ended(what: string, result: RunResult, given: readonly GivenWords[]): void {
    if (result.status === "failed") {
      const code = this.refusal(what, result.error);
      if (NOT_TAKEN.has(code)) for (const each of given) each.taken = false;
      return;
    }
    const type = result.status === "interrupted" ? result.interruptType : "";
    this.witness.note(`  p${this.number} ${what}: ${result.status} ${type}`);
    if (result.status === "terminated") return;
    for (const each of given) each.taken = true;
    if (result.status !== "interrupted") return;
    this.witness.issued(result.handle);
    if (type === "tool_interrupt" && !result.interrupts.some(isRequest)) {
      this.witness.problem(`p${this.number} ${what} waits for people, and asks them nothing`);
    }
  }

  kill(): void {
    this.dead = true;
    this.store.kill();
    this.#reading?.abort();
  }

  close(): void {
    const { session } = this;
    this.session = undefined;
    this.witness.leaveBehind(this.number);
    if (session !== undefined)
      this.own(
        "close",
        session.close().finally(() => this.#reading?.abort()),
      );
  }

  drain(timeoutMs: number): void {
    this.session = undefined;
    this.witness.leaveBehind(this.number);
    const drained = this.runner.drain({ timeoutMs }).then(() => this.runner.close());
    this.own(
      "drain",
      drained.finally(() => {
        this.dead = true;
        this.#reading?.abort();
      }),
    );
  }

  async #read(session: Session<unknown>): Promise<void> {
    const reading = new AbortController();
    this.#reading = reading;
    const { witness } = this;
    const { rollsBack } = this.#options;
    const host: ReaderHost = {
      rollsBack,
      head: witness.facts(THREAD).length,
      get disturbed() {
        return witness.disturbed;
      },
      problem: (what) => witness.problem(what),
    };
    const reader = new Reader(`reader of p${this.number}`, host);
    this.readers.push(reader);
    try {
      for await (const event of session.events({ signal: reading.signal })) {
        if (this.dead) return;
        reader.see(event);
      }
    } catch (error) {
      this.refusal("reading", error);
    }
  }
}

/** Codes that say that the runtime itself is wrong. */
const BUGS = new Set<string>([
  "JOURNAL_CORRUPT",
  "JOURNAL_VERSION",
  "REPLAY_DIVERGED",
  "AGENT_FAILED",
  "INVALID_STATE_TRANSITION",
  "INTERNAL",
]);

/** Codes by which words given with a run are refused. */
const NOT_TAKEN = new Set<string>([
  "THREAD_BUSY",
  "TOKEN_SPENT",
  "INVALID_STATE",
  "NEED_RESUME",
  "OPTION_INVALID",
  "ANSWER_AMBIGUOUS",
  "ANSWER_INVALID",
]);
