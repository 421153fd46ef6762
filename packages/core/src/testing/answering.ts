// Other processes that answer the requests of a thread under attack, and their replies, compared with the journal.

import type { Fact } from "../event.ts";
import { type Answer, approve, reject, respond } from "../interrupt/answer.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Runner } from "../runner/front/runner.ts";
import type { Append, Store } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";
import { faultyStore } from "./faulty-store.ts";
import { answerProblems, type SaidAnswer } from "./request-checks.ts";

export const answerFaults = [
  /** Another process answers each request as soon as it is open, also while the run continues. */
  "answer",
  /** Two others do, at once and in two names. */
  "answer-twice",
  /** Another process answers a decided request. */
  "answer-late",
  /** Another process answers a request that does not exist. */
  "answer-unknown",
  /** Another process gives each request an answer that does not fit it. */
  "answer-wrong",
  /** Another process answers one request, and dies of it. */
  "answer-crash",
] as const;

export type AnswerFault = (typeof answerFaults)[number];

interface Said extends SaidAnswer {
  readonly to: Answerable;
}

interface Answerable {
  answer(id: string, answer: Answer): Promise<unknown>;
}

interface Manner {
  readonly vain?: boolean;
  readonly by?: string;
}

export interface AnsweringHost {
  readonly store: Store;
  runner(store: Store): Runner<unknown, never>;
  answer(request: Interrupt): Answer;
  /** A process has died. */
  died(): void;
}

export class Answering {
  readonly #host: AnsweringHost;
  readonly #said: Said[] = [];
  readonly #runners: Runner<unknown, never>[] = [];
  readonly #known = new Set<string>();
  readonly #decided = new Set<string>();
  #fault: AnswerFault | undefined;
  /** When a process that dies of its answer does: at which of its writes, before it or after. */
  #death = 0;
  #dying = false;
  #looking = false;
  #again = false;
  #over = false;

  constructor(host: AnsweringHost) {
    this.#host = host;
  }

  /** True where others answer everything: the person at the session need not. */
  get answersAll(): boolean {
    return this.#fault === "answer" || this.#fault === "answer-twice";
  }

  /** Answers from now on. `at` selects the variant. */
  begin(fault: AnswerFault, at: number): void {
    this.#fault = fault;
    this.#death = at;
    if (fault === "answer-unknown") void this.say(this.#runner(0), "nobody-asked", approve(), { vain: true });
    else this.look();
  }

  /** Request `id` has been decided. */
  decided(id: string): void {
    this.#decided.add(id);
    this.look();
  }

  /** Something may have changed. */
  look(): void {
    if (this.#fault === undefined || this.#over) return;
    if (this.#fault === "answer-late") {
      for (const id of this.#decided) {
        if (this.#isNew(id)) void this.say(this.#runner(0), id, reject("no"), { vain: true, by: "late" });
      }
      return;
    }
    this.#again = true;
    if (!this.#looking && this.#fault !== "answer-unknown") void this.#lookOn(this.#fault);
  }

  async #lookOn(fault: AnswerFault): Promise<void> {
    this.#looking = true;
    while (this.#again && !this.#over) {
      this.#again = false;
      for (const request of await this.#open()) this.#meet(fault, request);
    }
    this.#looking = false;
  }

  /** Returns the open requests, by any clock. */
  async #open(): Promise<Interrupt[]> {
    const rows = await this.#host.store.requests("default");
    return rows.map(({ body }) => (JSON.parse(body) as { interrupt: Interrupt }).interrupt);
  }

  #meet(fault: AnswerFault, request: Interrupt): void {
    const { id } = request;
    if (this.#over || !this.#isNew(id)) return;
    const answer = this.#host.answer(request);
    const { by = "another" } = answer;
    switch (fault) {
      case "answer":
        return void this.say(this.#runner(0), id, answer, { by });
      case "answer-twice":
        void this.say(this.#runner(0), id, answer, { by });
        return void this.say(this.#runner(1), id, answer, { by: "yet another" });
      case "answer-wrong":
        return void this.say(this.#runner(0), id, wrongAnswer(request), { vain: true, by });
      case "answer-crash":
        if (!this.#dying) void this.say(this.#mortal(), id, answer, { by });
        return;
      case "answer-late":
      case "answer-unknown":
        return;
      default:
        fault satisfies never;
    }
  }

  #isNew(id: string): boolean {
    if (this.#known.has(id)) return false;
    this.#known.add(id);
    return true;
  }

  #runner(index: number): Runner<unknown, never> {
    this.#runners[index] ??= this.#host.runner(this.#host.store);
    return this.#runners[index];
  }

  /** A process that dies at one of its writes, before or after the store has it. */
  #mortal(): Runner<unknown, never> {
    const side = faultyStore(this.#host.store);
    this.#dying = true;
    let left = 1 + (Math.floor(this.#death / 2) % 4);
    const die = () => {
      side.kill();
      this.lose(runner);
      this.#host.died();
    };
    const written = async <T>(write: () => Promise<T>): Promise<T> => {
      left -= 1;
      if (left === 0 && this.#death % 2 === 0) die();
      const answered = await write();
      if (left === 0) die();
      // A dead process reads nothing.
      return left <= 0 ? new Promise<never>(() => {}) : answered;
    };
    const runner = this.#host.runner(
      wrapStore(side, {
        append: (key, append: Append) => written(() => side.append(key, append)),
        send: (key, command) => written(() => side.send(key, command)),
      }),
    );
    return runner;
  }

  /** Sends it, and remembers the reply. */
  say(to: Answerable, id: string, answer: Answer, manner: Manner = {}): Promise<void> {
    const { vain = false, by = answer.by ?? "user" } = manner;
    const said: Said = { to, id, by, vain, told: undefined, lost: false };
    this.#said.push(said);
    const told = (word: "it counts" | Error) => {
      said.told = word;
    };
    return to.answer(id, { ...answer, by }).then(() => told("it counts"), told);
  }

  /** The process that it was said in is gone. */
  lose(to: Answerable | undefined): void {
    for (const said of this.#said) said.lost ||= said.to === to && said.told === undefined;
  }

  get isSettled(): boolean {
    return this.#said.every(({ told, lost }) => told !== undefined || lost);
  }

  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#runners.map((runner) => runner?.close()));
  }

  problems(facts: readonly Fact[]): string[] {
    return answerProblems(this.#said, facts);
  }
}

/** One that no request of this kind takes. */
function wrongAnswer({ kind, key }: Interrupt): Answer {
  if (kind === "approval" && key !== undefined) return respond("yes");
  return approve({ args: "no arguments" });
}

/** The default of a scenario. */
export function usualAnswer({ kind }: Interrupt): Answer {
  if (kind === "approval") return approve();
  return kind === "unknown" ? reject("skip it") : respond("yes");
}
