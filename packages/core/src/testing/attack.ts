// One pass of an attack: a thread, the process that runs it, the fault at one point, and the resumes up to the end; then the
// checks that hold after any cut.

import type { Clock } from "../clock.ts";
import { errorText } from "../error.ts";
import type { BelayEvent } from "../event.ts";
import { type Answer, approve, readAnswer } from "../interrupt/answer.ts";
import { type Interrupt, isRequest } from "../interrupt/interrupt.ts";
import type { ModelRequest } from "../model/model.ts";
import type { PointName } from "../point.ts";
import { LiveRunner, type Runner } from "../runner/front/runner.ts";
import { type Session, threadOf } from "../runner/front/session.ts";
import type { InterruptOptions } from "../runner/given/options.ts";
import { readFacts } from "../runner/read/read-facts.ts";
import type { Run, RunResult } from "../runner/read/run.ts";
import type { Append, Store } from "../store/store.ts";
import { Answering, usualAnswer } from "./answering.ts";
import { AskedStops } from "./asked-stops.ts";
import { Effects } from "./effects.ts";
import { type FaultyStore, faultyStore } from "./faulty-store.ts";
import { freshProblems } from "./fresh-problems.ts";
import { factProblems, inputsIn, sentProblems } from "./journal-checks.ts";
import { type AttackPoint, numberedClock, numberedStore } from "./numbered.ts";
import { observedSession } from "./observed-session.ts";
import { promptProblems } from "./providers/render.ts";
import type { Fault, Scenario } from "./scenario.ts";
import { shownProblems } from "./shown.ts";

/** The point and the fault of a pass. */
export interface Plan {
  readonly fault: Fault;
  readonly at: number;
}

/** The time of a pass, and how it moves on. */
export interface PassTime {
  readonly clock: Clock;
  pass(ms: number): void;
}

export const attackedThread = { tenant: "default", threadId: "thread" };

const LEASE_MS = 60_000;
const MOST_RESUMES = 25;

/** A caller that meets one of these was too late, and looks again. */
const lostRaces = new Set<string>([
  "ALREADY_RUNNING",
  "THREAD_BUSY",
  "TOKEN_SPENT",
  "ANSWER_TAKEN",
  "ANSWER_EXPIRED",
  "ANSWER_WITHDRAWN",
]);

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class Attack<Out, Deps> {
  readonly #scenario: Scenario<Out, Deps>;
  readonly store: Store;
  readonly clock: Clock;
  readonly #key = attackedThread;
  readonly #effects: Effects;
  readonly #answering: Answering;
  /** A runner of another process, for stops from there. */
  #elsewhere: Runner<Out, Deps> | undefined;
  /** The person's next act while the run waits for people, instead of an answer. */
  #turnAway: "stop-waiting" | "new-input" | undefined;
  /** The time of requests passes, once there are any. */
  #expiring = false;
  unanswered = false;
  #rolledBack = false;
  readonly #stops = new AskedStops();
  readonly #problems: string[] = [];
  readonly #shown: BelayEvent[] = [];
  readonly #readers = new AbortController();
  #side = faultyStore({} as Store);
  #runner: Runner<Out, Deps> | undefined;
  #session: Session<Out> | undefined;
  #crashed: () => void = () => {};
  #crash: Promise<"crash"> | undefined = new Promise((resolve) => (this.#crashed = () => resolve("crash")));
  /** The work of the frozen process, and its kind. */
  #frozen: { readonly side: FaultyStore; readonly runner: Runner<Out, Deps> | undefined } | undefined;
  /** The session of a process that is gone, and how much had been shown until then. */
  #lost: { readonly session: Session<Out> | undefined; readonly shown: number } | undefined;
  #closing: Promise<void> | undefined;
  #said: Fault | undefined;
  readonly #passTime: (ms: number) => void;
  readonly #plan: Plan | undefined;
  /** How many have come. */
  points = 0;
  last: AttackPoint | undefined;
  /** The point of the plan, if it has come. */
  struck: AttackPoint | undefined;
  /** Reads for checks are no part of it. */
  #over = false;

  constructor(scenario: Scenario<Out, Deps>, store: Store, time: PassTime, plan: Plan | undefined) {
    this.#scenario = scenario;
    this.#plan = plan;
    this.store = store;
    this.clock = time.clock;
    this.#passTime = time.pass;
    this.#effects = new Effects(store, this.#key);
    this.#answering = new Answering({
      store,
      runner: (on) => this.#newRunner(on) as unknown as Runner<unknown, never>,
      answer: (request) => this.#answer(request),
      died: () => this.#endLeases(),
    });
  }

  /** A point of the kernel. Loads are points of the store, also if the kernel has no point there. */
  heard(name: PointName, detail: unknown): void {
    if (name === "load:after" || this.#over) return;
    if (name === "append:before") this.#stops.made(detail as Append);
    if (name === "model:request") this.#sent(detail as ModelRequest);
    if (name === "model:failed") this.#stops.failed();
    if (name === "answer:taken") this.#answering.decided(detail as string);
    this.#passed(name);
  }

  #passed(point: AttackPoint): void {
    if (this.#over) return;
    this.points += 1;
    this.last = point;
    if (this.points === this.#plan?.at) {
      this.struck = point;
      return this.#strike(this.#plan);
    }
    this.#answering.look();
    if (this.#expiring) void this.#letExpire();
  }

  #sent(request: ModelRequest): void {
    const n = this.#stops.requested();
    for (const problem of promptProblems(request.messages)) this.#problems.push(`request ${n}: ${problem}`);
  }

  #endLeases(): void {
    this.#passTime(LEASE_MS + 1);
  }

  #strike({ fault, at }: Plan): void {
    const session = this.#session;
    switch (fault) {
      case "stop":
        return this.#stop(session, {});
      case "stop-twice":
        this.#stop(session, {});
        return this.#stop(session, { force: true });
      case "stop-after-model":
        return this.#stop(session, { mode: "after-model" });
      case "stop-after-tools":
        return this.#stop(session, { mode: "after-tools" });
      case "pause":
        void session?.pause();
        return;
      case "close":
        this.#closing = this.#runner?.close();
        return this.#crashed();
      case "crash":
        this.#side.kill();
        return this.#lose(session);
      case "freeze":
        this.#side.freeze();
        this.#frozen = { side: this.#side, runner: this.#runner };
        return this.#lose(session);
      case "lost-answer":
        return this.#side.plan("append", { fail: "after" });
      case "steer":
      case "enqueue": {
        if (session === undefined) return;
        this.#said = fault;
        const { store, clock } = this;
        const mail = { messages: [{ parts: [{ type: "text", text: `[${fault}]` }] }] };
        const kind = fault === "steer" ? "steer" : "input";
        // Straight to the store, as from another process; a thread that is not there yet takes nothing.
        const command = { key: fault, kind, body: JSON.stringify(mail), at: clock.now() } as const;
        void store.send(this.#key, command).catch(() => (this.#said = undefined));
        return;
      }
      case "stop-elsewhere": {
        this.#stops.askElsewhere(this.store, (store) => {
          this.#elsewhere = this.#newRunner(store);
          return this.#elsewhere.interrupt(this.#key.threadId);
        });
        return;
      }
      case "stop-waiting":
      case "new-input":
        this.#turnAway = fault;
        return;
      case "expire":
        this.#expiring = true;
        void this.#letExpire();
        return;
      case "answer-unknown":
        if (session !== undefined) void this.#answering.say(session, "nobody-asked", approve(), { vain: true });
        return this.#answering.begin(fault, at);
      case "answer":
      case "answer-twice":
      case "answer-late":
      case "answer-wrong":
      case "answer-crash":
        return this.#answering.begin(fault, at);
      default:
        fault satisfies never;
    }
  }

  /** Its process is gone. Its shown text may never be kept. */
  #lose(session: Session<Out> | undefined): void {
    this.#answering.lose(session);
    this.#lost = { session, shown: this.#shown.length };
    this.#endLeases();
    this.#crashed();
  }

  /** Once there is something that can expire. */
  async #letExpire(): Promise<void> {
    const times = (await this.store.requests(this.#key.tenant)).flatMap(({ expiresAt }) => expiresAt ?? []);
    const left = Math.max(...times) - this.clock.now();
    if (times.length === 0 || !this.#expiring) return;
    this.#passTime(Math.max(0, left) + 1);
    this.#expiring = false;
  }

  #stop(session: Session<Out> | undefined, options: InterruptOptions): void {
    if (session === undefined) return;
    this.#stops.ask(options.mode ?? "now", () => session.interrupt(options));
  }

  /** Runs to the end, resuming after every pause and every crash. Asking again under one id never begins a second run. */
  async run(): Promise<RunResult<unknown>> {
    const { input, play } = this.#scenario;
    if ((await this.#unlessCrashed(this.#open())) === "crash") await this.#open();
    let run: Run<Out> | "crash" = this.#session!.run(input, { id: "attack" });
    const played = observedSession(this.#session!, () => {
      this.#rolledBack = true;
    });
    void Promise.resolve(play?.(played)).catch((error) => {
      // After a fault, its actions may be refused.
      if (this.#plan === undefined) this.#problems.push(`play threw: ${errorText(error)}`);
    });
    for (let resumes = 0; resumes < MOST_RESUMES; resumes++) {
      const settled: RunResult<unknown> | "crash" = run === "crash" ? run : await this.#unlessCrashed(run.result);
      if (settled === "crash") {
        await this.#open();
        const { pauseType } = this.#session!;
        const stopped = pauseType !== undefined && pauseType !== "crash";
        run = stopped ? await this.#goOn() : this.#session!.run(input, { id: "attack" });
      } else if (settled.status === "interrupted") {
        run = await this.#goOn();
      } else if (settled.status === "failed" && lostRaces.has(settled.error.code)) {
        await this.#waitForOthers(resumes);
        run = await this.#goOn();
      } else {
        await this.#rest();
        return settled;
      }
    }
    throw new Error(`it did not end after ${MOST_RESUMES} resumes`);
  }

  /** Resumes as a person does: answers every request, one alone and the others together. */
  async #goOn(): Promise<Run<Out> | "crash"> {
    const session = this.#session!;
    const open = () => session.interrupts.filter(isRequest);
    const waiting = open();
    // Another one at another point.
    const first = waiting[(this.#plan?.at ?? 0) % waiting.length];
    if (first === undefined) return session.resume();
    if (this.#turnAway !== undefined) return this.#turnAwayFrom(session, this.#turnAway);
    if (this.#answering.answersAll) {
      await tick();
      return session.resume();
    }
    const said = this.#answering.say(session, first.id, this.#answer(first));
    if ((await this.#unlessCrashed(said)) === "crash") return "crash";
    // Between its answer and this.
    if ((await this.#unlessCrashed(tick())) === "crash") return "crash";
    return session.resume({ answers: Object.fromEntries(open().map((each) => [each.id, this.#answer(each)])) });
  }

  #answer(request: Interrupt): Answer {
    const { answer = usualAnswer } = this.#scenario;
    return readAnswer(request.id, answer(request), Number.POSITIVE_INFINITY);
  }

  async #turnAwayFrom(session: Session<Out>, how: "stop-waiting" | "new-input"): Promise<Run<Out>> {
    this.#turnAway = undefined;
    if (how === "new-input") {
      this.#said = how;
      return session.resume({ input: `[${how}]` });
    }
    const { accepted } = await session.interrupt({ reason: "direction_change" });
    if (!accepted) this.#problems.push("a stop while it waits for people is not accepted");
    return session.resume();
  }

  /** Another process has the thread, or was first. */
  async #waitForOthers(times: number): Promise<void> {
    for (let i = 0; i < 1 + times * 4; i++) await tick();
    await threadOf(this.#session!).refresh();
  }

  /** A waiting input becomes the next run; a process that stood still continues. */
  async #rest(): Promise<void> {
    const queued = async () => (await this.store.load(this.#key))?.row.queued ?? false;
    for (let i = 0; i < 200 && (this.#session!.state === "running" || (await queued())); i++) {
      if (this.#session!.state !== "completed" && this.#session!.state !== "running") break;
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    }
    const told = () => this.#answering.isSettled && this.#stops.isSettled;
    for (let i = 0; i < 300 && !told(); i++) {
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    }
    if (this.#frozen === undefined) return;
    const head = (await this.store.load(this.#key))?.row.head;
    this.#frozen.side.thaw();
    await new Promise<void>((resolve) => setTimeout(resolve, 5));
    const now = (await this.store.load(this.#key))?.row.head;
    if (now !== head) this.#problems.push(`a process that was taken over from wrote facts ${head! + 1} to ${now}`);
  }

  async check(): Promise<string[]> {
    this.#over = true;
    const facts = await readFacts(this.store, this.#key, 0);
    await tick();
    const excuses = { lost: this.#lost?.shown ?? 0, rolledBack: this.#rolledBack };
    this.#problems.push(...factProblems(facts), ...shownProblems(this.#shown, facts, excuses));
    const { repeatable = () => false, input } = this.#scenario;
    const frozen = this.#frozen !== undefined;
    this.#problems.push(...this.#effects.problems(facts, frozen, repeatable), ...this.#answering.problems(facts));
    const open = await this.store.requests(this.#key.tenant);
    for (const { id } of open) this.#problems.push(`the store has request ${id} open, and the run is over`);
    this.unanswered = facts.some(
      (fact) => fact.type === "request-answered" && ["withdraw", "expire"].includes(fact.answer.type),
    );
    const { commands = [] } = (await this.store.load(this.#key)) ?? {};
    const kept = inputsIn(this.#session!.messages);
    this.#problems.push(...this.#stops.problems(facts), ...sentProblems(input, this.#said, kept, commands));
    const { threadId } = this.#key;
    this.#problems.push(...(await freshProblems(this.#newRunner(this.store), threadId, this.#session!.messages)));
    return this.#problems;
  }

  async end(): Promise<void> {
    this.#readers.abort();
    // A process of a pass without an end stands still, and would not close.
    this.#frozen?.side.thaw();
    await this.#answering.end();
    await this.#elsewhere?.close();
    await this.#runner?.close();
    await this.#frozen?.runner?.close();
  }

  async #open(): Promise<void> {
    await this.#closing;
    this.#side = faultyStore(this.store);
    const passed = (point: AttackPoint) => this.#passed(point);
    const numbered = numberedStore(this.#side, passed, (append) => this.#stops.appending(append));
    this.#runner = this.#newRunner(numbered, numberedClock(this.clock, passed));
    this.#session = await this.#opened(this.#runner);
    void this.#listen(this.#session);
  }

  #newRunner(store: Store, clock = this.clock): Runner<Out, Deps> {
    const { deps } = this.#scenario;
    const agent = this.#scenario.agent({
      effect: (name, options) => this.#effects.happened(name, options),
      now: () => clock.now(),
    });
    return new LiveRunner<Out, Deps>({
      agent,
      store,
      clock,
      leaseTtlMs: LEASE_MS,
      ...(deps !== undefined && { deps }),
    });
  }

  /** A write of the dead process may arrive after its lease was ended: then the lease lasts again. */
  async #opened(runner: Runner<Out, Deps>): Promise<Session<Out>> {
    for (let tries = 0; ; tries++) {
      const session = await runner.open(this.#key.threadId);
      const row = (await this.store.load(this.#key, Number.MAX_SAFE_INTEGER))?.row;
      if (row?.lease === undefined || this.#lost === undefined || tries === 3) return session;
      this.#endLeases();
    }
  }

  async #listen(session: Session<Out>): Promise<void> {
    const after = this.#shown.reduce((last, event) => Math.max(last, event.seq), 0);
    for await (const event of session.events({ after, signal: this.#readers.signal })) {
      // Its code continues here; its text is gone with it, or stands still.
      if (session !== this.#lost?.session) this.#shown.push(event);
    }
  }

  /** There is one crash in a pass; after it nothing more is waited for but the work. */
  async #unlessCrashed<T>(work: Promise<T>): Promise<T | "crash"> {
    const crash = this.#crash;
    if (crash === undefined) return work;
    const first = await Promise.race([crash, work]);
    if (first === "crash") this.#crash = undefined;
    return first;
  }
}
