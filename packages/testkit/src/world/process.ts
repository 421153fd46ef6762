// One process of a world: a runner on its own faulty store, what it was asked for and what it said. A process can be
// killed, or frozen and revived; then the store tells it what happened meanwhile.

import {
  type Answer,
  agent,
  BelayError,
  type BelayEvent,
  type Clock,
  createRunner,
  type Model,
  messageText,
  type Run,
  type Runner,
  type RunResult,
  type Session,
  type Store,
} from "@belay/core";
import { type FaultyStore, faultyStore, isBlank, isFact, type SaidAnswer } from "@belay/core/inside";
import { type ToolHost, worldTools } from "./tools.ts";

export const LEASE_MS = 1_000;

export interface Watched {
  readonly run: Run;
  result: RunResult | undefined;
  /** Set at once when someone stops it now: nothing may start after that. */
  stopping: boolean;
  rolledBack: boolean;
}

interface Shown {
  text: string;
  attempt: number;
  kept: boolean;
  readonly place: string;
}

export interface ProcessHost {
  readonly clock: Clock;
  readonly model: Model;
  readonly repair: "synthetic" | "drop";
  readonly threadId: string;
  problem(what: string): void;
  seen(event: BelayEvent): void;
}

export const placeOf = (of: { readonly runId: string; readonly segment: number }): string =>
  `${of.runId}.${of.segment}`;

export class Process {
  readonly number: number;
  readonly store: FaultyStore;
  readonly runner: Runner;
  readonly watched: Watched[] = [];
  /** How often it was asked to begin, or to go on: by a handle it does so later. */
  begun = 0;
  readonly pending = new Set<Promise<unknown>>();
  readonly said: SaidAnswer[] = [];
  session: Session | undefined;
  dead = false;
  /** It stood still at some time: what it started then, it may have started after others took over. */
  wasFrozen = false;
  readonly #host: ProcessHost;
  readonly #shown = new Map<string, Shown>();
  #opening = false;
  #reading: AbortController | undefined;

  constructor(number: number, host: ProcessHost, inner: Store, tools: Omit<ToolHost, "process" | "dead">) {
    this.number = number;
    this.#host = host;
    this.store = faultyStore(inner);
    const self = this;
    const toolHost: ToolHost = {
      process: number,
      get dead() {
        return self.dead;
      },
      get calm() {
        return tools.calm;
      },
      now: () => tools.now(),
      began: (effect) => tools.began(effect),
      released: () => tools.released(),
    };
    const { model, repair, clock } = host;
    const helper = agent({
      name: "helper",
      model,
      tools: worldTools(toolHost),
      repair,
      graceMs: 100,
      maxTurns: 12,
      settings: { retry: { attempts: 2, delayMs: 0, maxDelayMs: 0 } },
    });
    this.runner = createRunner<string, unknown>({ agent: helper, store: this.store, clock, leaseTtlMs: LEASE_MS });
  }

  get alive(): boolean {
    return !this.dead;
  }

  /** The stretch that has not ended, if there is one. */
  get current(): Watched | undefined {
    return this.watched.find((each) => each.result === undefined);
  }

  /** Opens the thread; the session is there some time later, unless the store refuses. */
  open(): void {
    if (this.session !== undefined || this.#opening) return;
    this.#opening = true;
    const opened = this.runner.open(this.#host.threadId).then((session) => {
      this.session = session;
      void this.#read(session);
    });
    this.own(opened.finally(() => (this.#opening = false)));
  }

  /** Answers a request, whoever has the thread; `said` is told what becomes of it. */
  answer(id: string, answer: Answer, said: SaidAnswer): void {
    this.said.push(said);
    const told = this.runner.answer(id, { ...answer, by: said.by }).then(
      () => {
        said.told = "it counts";
      },
      (error: Error) => {
        // Whether it was taken is in the journal, or nowhere.
        if (NO_WORD.has(this.refusal(error))) said.lost = true;
        else said.told = error;
      },
    );
    this.own(told);
  }

  /** Follows a promise to its end; its refusals are values, anything else is a problem. */
  own(promise: Promise<unknown>): void {
    const settled = promise.catch((error: unknown) => this.refusal(error)).finally(() => this.pending.delete(settled));
    this.pending.add(settled);
  }

  refusal(error: unknown): string {
    if (error instanceof BelayError && !BUGS.has(error.code)) return error.code;
    if (error instanceof Error && /(before|after) the commit$/.test(error.message)) return "STORE_FAILED";
    this.#host.problem(`process ${this.number}: ${error instanceof Error ? error.stack : String(error)}`);
    return "?";
  }

  /** `live`: the run is in our hands before it begins, so that we see all that it says. */
  watch(run: Run, live: boolean, ended: (result: RunResult) => void): Watched {
    const watched: Watched = { run, result: undefined, stopping: false, rolledBack: false };
    void this.#look(run, live);
    this.watched.push(watched);
    // By a handle it was asked for before.
    if (live) this.begun += 1;
    this.own(
      run.result.then((result) => {
        watched.result = result;
        if (result.status === "failed") this.refusal(result.error);
        // Whoever lost the thread is told so by its fence: nobody else may write under it.
        if (result.status === "failed" && result.error.code === "STORE_CONFLICT") {
          this.#host.problem(`process ${this.number}: someone wrote under its fence`);
        }
        ended(result);
      }),
    );
    return watched;
  }

  close(): void {
    const { session } = this;
    if (session === undefined) return;
    for (const each of this.watched) if (each.result === undefined) each.stopping = true;
    this.session = undefined;
    this.own(session.close().finally(() => this.#reading?.abort()));
  }

  kill(): void {
    this.dead = true;
    for (const said of this.said) said.lost ||= said.told === undefined;
    this.store.kill();
    this.#reading?.abort();
  }

  async #read(session: Session): Promise<void> {
    const reading = new AbortController();
    this.#reading = reading;
    try {
      for await (const event of session.events({ signal: reading.signal })) {
        if (this.dead) return;
        this.#host.seen(event);
      }
    } catch (error) {
      this.refusal(error);
    }
  }

  /** As the person sees it who started the run. */
  async #look(run: Run, live: boolean): Promise<void> {
    try {
      for await (const event of run) {
        if (this.dead) return;
        if (isFact(event)) this.#host.seen(event);
        if (live) this.#show(event);
      }
    } catch (error) {
      this.refusal(error);
    }
  }

  #show(event: BelayEvent): void {
    const here = `process ${this.number}, fact ${event.seq}`;
    if (event.type === "gap") this.#shown.clear();
    if (event.type === "superseded") this.#shown.delete(event.messageId);
    if (event.type === "text-delta") {
      const shown = this.#shown.get(event.messageId) ?? {
        text: "",
        attempt: event.attempt,
        kept: false,
        place: placeOf(event),
      };
      if (shown.attempt !== event.attempt) this.#host.problem(`${here}: attempt ${event.attempt} without superseded`);
      if (shown.text.length !== event.offset)
        this.#host.problem(`${here}: text at ${event.offset} after ${shown.text}`);
      shown.text += event.text;
      this.#shown.set(event.messageId, shown);
    }
    if (event.type !== "message" || event.message.role !== "assistant") return;
    const shown = this.#shown.get(event.message.id);
    const kept = messageText(event.message);
    if (kept !== (shown?.text ?? "") && !(kept === "" && isBlank(shown?.text ?? ""))) {
      this.#host.problem(`${here}: shown ${JSON.stringify(shown?.text)}, kept ${JSON.stringify(kept)}`);
    }
    if (shown !== undefined) shown.kept = true;
  }

  /** Text that people saw and that no message has, though its stretch ended in an orderly way. */
  lostText(): string[] {
    return [...this.#shown.values()].flatMap(({ text, kept, place }) => {
      const watched = this.watched.findLast((each) => placeOf(each.run) === place);
      const { result } = watched ?? {};
      const orderly = result?.status === "completed" || (result?.status === "interrupted" && !watched?.rolledBack);
      return orderly && !kept && !isBlank(text)
        ? [`process ${this.number} showed ${JSON.stringify(text)}, not kept`]
        : [];
    });
  }
}

/** Codes by which an answer comes to nothing that its sender could know. */
const NO_WORD = new Set<string>(["STORE_FAILED", "STORE_CONFLICT", "FENCED", "SESSION_CLOSED", "RUNNER_CLOSED"]);

/** Codes that say that the runtime itself is wrong. */
const BUGS = new Set<string>(["AGENT_FAILED", "JOURNAL_CORRUPT", "JOURNAL_VERSION", "INVALID_STATE_TRANSITION"]);
