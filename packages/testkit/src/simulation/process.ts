// One process around a thread: a runner on a store that can fail, its session, and all its calls. A process can be killed, or
// frozen and revived; then the store reports the changes in between.

import {
  type Agent,
  type Answer,
  BelayError,
  type Clock,
  createRunner,
  type Handle,
  type Interrupt,
  type Run,
  type Runner,
  type RunnerOptions,
  type RunResult,
  type Session,
  type Store,
} from "@belay/core";
import { type FaultyStore, faultyStore, isRequest } from "@belay/core/inside";
import { Reader } from "./reader.ts";
import { type Actor, LEASE_MS, placeOf, THREAD, type Watched } from "./segment.ts";
import type { Witness } from "./witness.ts";

export interface ProcessOptions {
  readonly number: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly witness: Witness;
  /** Stops may take back text that readers were shown. */
  readonly rollsBack: boolean;
  /** Whether every turn must have one start and one end. */
  readonly turns: boolean;
  /** Whether the simulation itself brings this failure about. */
  expects?(error: BelayError): boolean;
}

export class Process implements Actor {
  readonly number: number;
  readonly store: FaultyStore;
  readonly witness: Witness;
  /** Promises that have not settled, and the request behind each. */
  readonly pending = new Map<Promise<unknown>, string>();
  /** Readers of the thread. */
  readonly readers: Reader[] = [];
  readonly watched: Watched[] = [];
  /** How often it was asked to run or resume. A handle begins its segment later. */
  begun = 0;
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

  get current(): Watched | undefined {
    return this.watched.find((each) => each.result === undefined);
  }

  /** Opens the thread with an agent. The agent refers to its process, so it is made after it. */
  begin(
    agent: Agent<unknown, unknown>,
    more: Pick<RunnerOptions<unknown, unknown>, "maxHot" | "unattended"> = {},
  ): void {
    const { clock } = this.#options;
    const { store } = this;
    this.#runner = createRunner<unknown, unknown>({
      agent,
      store,
      clock,
      leaseTtlMs: LEASE_MS,
      log: () => {},
      ...more,
    });
    this.open();
  }

  /** Opens the thread; the session is set some time later, unless the store refuses. */
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

  /** Returns the code of a refusal. A code that only a wrong runtime gives is a problem. */
  refusal(what: string, error: unknown): string {
    const code = error instanceof BelayError ? error.code : undefined;
    this.witness.note(`  p${this.number} ${what}: ${code ?? String(error)}`);
    // terminate() of a terminated thread.
    if (code === "INVALID_STATE_TRANSITION" && what === "terminate") return code;
    if (code !== undefined && this.#options.expects?.(error as BelayError)) return code;
    if (code !== undefined && !BUGS.has(code)) return code;
    if (error instanceof Error && /(before|after) the commit$/.test(error.message)) return "STORE_FAILED";
    this.witness.problem(`p${this.number} ${what}: ${error instanceof Error ? error.stack : String(error)}`);
    return "?";
  }

  /** Begins a segment and follows it. `ended` gets its result, and the code of its failure. */
  watch(what: string, begin: () => Run, ended: (result: RunResult, code: string) => void = () => {}): void {
    try {
      this.#follow(what, begin(), true, ended);
      this.begun += 1;
    } catch (error) {
      this.refusal(what, error);
    }
  }

  /** Resumes by a handle and follows the segment. `taken` is called when it has begun, or with the code of the refusal. */
  resumeBy(
    handle: Handle,
    input: readonly string[],
    taken: (refusal: string | undefined) => void,
    ended: (result: RunResult, code: string) => void,
  ): void {
    const what = "resume by handle";
    this.begun += 1;
    const begun = this.runner.resume(handle, input.length > 0 ? { input } : {}).then(
      (run) => {
        taken(undefined);
        this.#follow(what, run, false, ended);
        return run.result;
      },
      (error: unknown) => taken(this.refusal(what, error)),
    );
    this.own(what, begun);
  }

  /** `live`: the run was in our hands before it began, so that its reader misses nothing. */
  #follow(what: string, run: Run, live: boolean, ended: (result: RunResult, code: string) => void): void {
    const reader = live
      ? new Reader(`run of p${this.number}`, {
          misses: () => false,
          isHere: () => true,
          rollsBack: this.#options.rollsBack,
          turns: this.#options.turns,
          first: undefined,
          head: 0,
          problem: (problem) => this.witness.problem(problem),
        })
      : undefined;
    const watched: Watched = {
      run,
      result: undefined,
      begun: false,
      last: Number.POSITIVE_INFINITY,
      stopping: false,
      rolledBack: false,
      reader,
    };
    this.watched.push(watched);
    void this.#look(watched);
    const settled = run.result.then((result) => {
      watched.result = result;
      watched.last = this.witness.facts(THREAD).length;
      const code = result.status === "failed" ? this.refusal(what, result.error) : "";
      this.#ended(what, result, code);
      ended(result, code);
    });
    this.own(what, settled);
  }

  #ended(what: string, result: RunResult, code: string): void {
    const here = `p${this.number} ${what}`;
    // The fence shows a process that it lost the thread: no other process may write under it.
    if (code === "STORE_CONFLICT") this.witness.problem(`${here}: another process wrote under its fence`);
    const type = result.status === "interrupted" ? result.interruptType : "";
    if (result.status !== "failed") this.witness.note(`  ${here}: ${result.status} ${type}`);
    if (result.status !== "interrupted") return;
    this.witness.issued(result.handle);
    const waits = ({ kind }: Interrupt) => kind === "rerun";
    if (type === "tool_interrupt" && !result.interrupts.some((each) => isRequest(each) || waits(each))) {
      this.witness.problem(`${here} waits for people, and asks them nothing`);
    }
  }

  /** Answers a request, by the session or the runner, whichever process has the thread. `vain`: it cannot count. */
  answer(by: Pick<Session<unknown>, "answer">, id: string, answer: Answer, vain = false): void {
    const said = this.witness.answers(this.number, id, answer.by!, vain);
    const what = `answer ${id}`;
    const told = by.answer(id, answer).then(
      () => {
        said.told = "it counts";
      },
      (error: Error) => {
        // Whether it counts is in the journal, or nowhere.
        if (NO_WORD.test(this.refusal(what, error))) said.lost = true;
        else said.told = error;
      },
    );
    this.own(what, told);
  }

  kill(): void {
    this.dead = true;
    this.witness.died(this.number);
    this.store.kill();
    this.#reading?.abort();
  }

  close(): void {
    const { session } = this;
    if (session === undefined) return;
    for (const each of this.watched) if (each.result === undefined) each.stopping = true;
    this.session = undefined;
    this.witness.leaveBehind(this.number);
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

  /** Returns text that people saw and no message has, though its segment ended in an orderly way. */
  lostText(): string[] {
    return this.watched.flatMap(({ reader, result, rolledBack }) => {
      const orderly = result?.status === "completed" || (result?.status === "interrupted" && !rolledBack);
      const lost = orderly ? (reader?.lost() ?? []) : [];
      return lost.map((text) => `p${this.number} showed ${JSON.stringify(text)}, not kept`);
    });
  }

  /** As the person that started the run sees it. */
  async #look(watched: Watched): Promise<void> {
    const { run, reader } = watched;
    try {
      for await (const event of run) {
        if (this.dead) return;
        watched.begun = true;
        this.witness.seen(event);
        reader?.see(event);
      }
    } catch (error) {
      this.refusal("reading a run", error);
    }
  }

  async #read(session: Session<unknown>): Promise<void> {
    const reading = new AbortController();
    this.#reading = reading;
    const { witness } = this;
    const { rollsBack, turns } = this.#options;
    /** The segments that this process runs itself: another one may have begun them under the same id. */
    const own = new Set<string>();
    const reader = new Reader(`reader of p${this.number}`, {
      misses: () => witness.disturbed,
      isHere: (event) => {
        const place = placeOf(event);
        const watched = this.watched.find((each) => each.begun && placeOf(each.run) === place);
        if (watched?.result === undefined && watched !== undefined && session.state === "running") own.add(place);
        return own.has(place) && event.seq <= watched!.last;
      },
      rollsBack,
      turns,
      first: 1,
      head: witness.facts(THREAD).length,
      problem: (what) => witness.problem(what),
    });
    this.readers.push(reader);
    try {
      for await (const event of session.events({ signal: reading.signal })) {
        if (this.dead) return;
        witness.seen(event);
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

/** Codes that leave open whether an answer counts. */
const NO_WORD = /^(SESSION_CLOSED|RUNNER_|STORE_|FENCED|THREAD_LOST|\?)/;
