// The attack: run a scenario once to count its points, then once for each point and each fault, going on to the end
// each time, and check what must hold however it was cut. People test their own agents with it.
//
// Long, and still one piece: a fault, what it leaves behind and what must hold after it are read together.

import type { Agent } from "../agent.ts";
import { type Clock, systemClock } from "../clock.ts";
import { errorText } from "../error.ts";
import type { BelayEvent } from "../event.ts";
import { type Answer, approve, reject, respond } from "../interrupt/answer.ts";
import { type Interrupt, isRequest } from "../interrupt/interrupt.ts";
import type { Message } from "../message.ts";
import type { ModelRequest } from "../model/model.ts";
import { onPoint, type PointName } from "../point.ts";
import type { Receipt } from "../runner/ending.ts";
import type { InterruptOptions } from "../runner/options.ts";
import { readFacts } from "../runner/read-facts.ts";
import type { Run, RunResult } from "../runner/run.ts";
import { Runner } from "../runner/runner.ts";
import type { Session } from "../runner/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { Answering, answerFaults } from "./answering.ts";
import { type FaultyStore, faultyStore } from "./faulty-store.ts";
import { factProblems, inputsIn, shownProblems } from "./journal-checks.ts";
import { promptProblems } from "./providers/render.ts";
import { type Effect, effectProblems } from "./request-checks.ts";

/** Everything that can happen at a point. Where nobody is asked anything, those that need it do nothing. */
export const allFaults = [
  "stop",
  "stop-twice",
  "stop-after-model",
  "stop-after-tools",
  "pause",
  /** The process lets go of the thread, and another one goes on. */
  "close",
  /** The process dies. */
  "crash",
  /** The process stands still until another one has taken over and come to the end. */
  "freeze",
  /** The store does what it is asked next, and its answer is lost. */
  "lost-answer",
  "steer",
  "enqueue",
  /** Another process stops it, also while it waits for people. */
  "stop-elsewhere",
  /** The next time it waits for people, the person stops it. */
  "stop-waiting",
  /** The next time it waits for people, the person says something else. */
  "new-input",
  /** The time of what is open is over, or of what is asked next. */
  "expire",
  ...answerFaults,
] as const;

export type Fault = (typeof allFaults)[number];

/** One pass, as it is told to `onPass`. */
export interface Pass {
  readonly fault: Fault;
  /** The number of the point, from 1, and what it is; undefined where the pass never came there. */
  readonly at: number;
  readonly point: PointName | undefined;
  readonly problems: readonly string[];
}

export interface ScenarioKit {
  /**
   * Call it where a tool touches the world, with a name that tells this effect from all others: `effect(ctx.address)`,
   * and, for a tool that does several things, one below it; inside a step, `${ctx.address}/s:${key}`.
   */
  effect(name: string, options?: EffectOptions): void;
  /** The time of the pass, which faults move on: what expires is told by it. */
  now(): number;
}

export interface EffectOptions {
  /** The key of the ask in this call that must be answered before; `ask#0` is the first without one. */
  readonly after?: string;
}

export interface Scenario<Out = unknown, Deps = unknown> {
  /** A new agent for each pass. Its model must answer the same way each time: a scripted one does. */
  agent(kit: ScenarioKit): Agent<Out, Deps>;
  readonly input: string;
  readonly deps?: Deps;
  /** What the person does besides, each pass anew; called when the run has begun. */
  play?(session: Session<Out>): void | Promise<void>;
  /** What the person says to a request. By default approvals are given, questions are answered with "yes", and calls of unknown outcome are skipped. */
  answer?(request: Interrupt): Answer;
  /** In memory by default. Leases must end by this clock. */
  store?(clock: Clock): Store | Promise<Store>;
  readonly faults?: readonly Fault[];
  /** At most so many points for each fault, spread evenly, and others for the next one. All of them by default. */
  readonly mostPoints?: number;
  /** Effects that may happen again after a crash: those of tools that are repeatable. */
  repeatable?(effect: string): boolean;
  /** True when the end need not be the uninterrupted one, for instance because a call's outcome is unknown after a crash. */
  readonly anyEnd?: boolean;
  /** Told of each pass when it is over. */
  onPass?(pass: Pass): void;
}

export interface AttackReport {
  /** Points of the uninterrupted run. */
  readonly points: number;
  readonly passes: number;
  readonly problems: readonly string[];
}

const LEASE_MS = 60_000;
const MOST_RESUMES = 25;

/** Who meets one of these was too late, and looks again. */
const lostRaces = new Set<string>(["THREAD_BUSY", "TOKEN_SPENT", "ANSWER_TAKEN", "ANSWER_EXPIRED", "ANSWER_WITHDRAWN"]);

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Throws, with every problem found, unless all passes keep the promises. */
export async function interruptAnywhere<Out, Deps>(scenario: Scenario<Out, Deps>): Promise<AttackReport> {
  const whole = await pass(scenario, undefined);
  if (whole.problems.length > 0) throw new Error(`Without any fault:\n${whole.problems.join("\n")}`);
  const problems: string[] = [];
  let passes = 0;
  const faults = scenario.faults ?? allFaults;
  for (const [i, fault] of faults.entries()) {
    for (const at of spread(whole.points, scenario.mostPoints, i / faults.length)) {
      passes += 1;
      const outcome = await pass(scenario, { fault, at });
      const found = [...outcome.problems];
      if (!scenario.anyEnd) found.push(...endProblems(whole.result, outcome));
      problems.push(...found.map((problem) => `${fault} at point ${at} (${outcome.point}): ${problem}`));
      scenario.onPass?.({ fault, at, point: outcome.point, problems: found });
    }
  }
  if (problems.length > 0) {
    throw new Error(`${problems.length} problems in ${passes} passes:\n${problems.slice(0, 40).join("\n")}`);
  }
  return { points: whole.points, passes, problems };
}

/** Numbers from 1 to `all`, `most` of them; `shift` moves them by that part of the way from one to the next. */
function spread(all: number, most = all, shift = 0): number[] {
  const count = Math.min(all, Math.max(1, most));
  return Array.from({ length: count }, (_, i) => 1 + Math.floor(((i + shift) * all) / count));
}

interface Outcome {
  readonly points: number;
  readonly point: PointName | undefined;
  /** Undefined where it came to no end. */
  readonly result: RunResult<unknown> | undefined;
  /** A request was withdrawn, or its time was over: then the end may be another one. */
  readonly unanswered: boolean;
  readonly problems: string[];
}

async function pass<Out, Deps>(
  scenario: Scenario<Out, Deps>,
  plan: { readonly fault: Fault; readonly at: number } | undefined,
): Promise<Outcome> {
  let skew = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skew };
  const store = await (scenario.store?.(clock) ?? memoryStore({ clock }));
  const attack = new Attack(scenario, store, clock, plan?.at ?? 0);
  let points = 0;
  /** What is read to check it is no part of it. */
  let over = false;
  let struck: PointName | undefined;
  const off = onPoint((name, detail) => {
    if (over) return;
    points += 1;
    if (name === "model:request") attack.sent(detail as ModelRequest);
    if (name === "answer:taken") attack.answering.decided(detail as string);
    if (plan !== undefined && points === plan.at) {
      struck = name;
      attack.strike(plan.fault, points, (ms) => (skew += ms));
    } else {
      attack.look();
    }
  });
  try {
    const result = await attack.run();
    over = true;
    const problems = await attack.check();
    return { points, point: struck, result, unanswered: attack.unanswered, problems };
  } catch (error) {
    const problems = [`it threw: ${errorText(error)}`];
    return { points, point: struck, result: undefined, unanswered: false, problems };
  } finally {
    off();
    await attack.end();
  }
}

class Attack<Out, Deps> {
  readonly #scenario: Scenario<Out, Deps>;
  readonly store: Store;
  readonly clock: Clock;
  readonly #key = { tenant: "default", threadId: "thread" };
  readonly #effects: Effect[] = [];
  /** Which of those that wait is answered by itself: another one at another point. */
  readonly #first: number;
  readonly answering: Answering;
  /** A runner of another process, for whoever stops from there. */
  #elsewhere: Runner<Out, Deps> | undefined;
  /** What the person does the next time that it waits for people, instead of answering. */
  #turnAway: "stop-waiting" | "new-input" | undefined;
  /** Lets the time of requests pass. */
  #expire: ((ms: number) => void) | undefined;
  unanswered = false;
  readonly #problems: string[] = [];
  readonly #shown: BelayEvent[] = [];
  readonly #readers = new AbortController();
  #side = faultyStore({} as Store);
  #runner: Runner<Out, Deps> | undefined;
  #session: Session<Out> | undefined;
  #crashed: () => void = () => {};
  #crash: Promise<"crash"> | undefined = new Promise((resolve) => (this.#crashed = () => resolve("crash")));
  #requests = 0;
  /** What the frozen process has to give back, and what it was. */
  #frozen: { readonly side: FaultyStore; readonly runner: Runner<Out, Deps> | undefined } | undefined;
  #still: Session<Out> | undefined;
  #closing: Promise<void> | undefined;
  /** A stop for now was asked for, and the stretch it is for has not ended. */
  #stopped: Session<Out> | undefined;
  readonly #receipts: Promise<Receipt>[] = [];
  #answered = 0;
  #sent: Fault | undefined;
  #endLeases: (() => void) | undefined;
  #passTime: (ms: number) => void = () => {};

  constructor(scenario: Scenario<Out, Deps>, store: Store, clock: Clock, first: number) {
    this.#scenario = scenario;
    this.#first = first;
    this.store = store;
    this.clock = clock;
    const { answer = usualAnswer } = scenario;
    this.answering = new Answering({
      store,
      runner: (on) => this.#newRunner(on) as unknown as Runner<unknown, never>,
      answer: (request) => answer(request),
      died: () => this.#passTime(LEASE_MS + 1),
    });
  }

  sent(request: ModelRequest): void {
    this.#requests += 1;
    if (this.#stopped !== undefined) this.#problems.push(`request ${this.#requests} was made after the stop`);
    for (const problem of promptProblems(request.messages))
      this.#problems.push(`request ${this.#requests}: ${problem}`);
  }

  /** At every point. */
  look(): void {
    this.answering.look();
    if (this.#expire !== undefined) void this.#letExpire();
  }

  strike(fault: Fault, at: number, passTime: (ms: number) => void): void {
    const session = this.#session;
    this.#passTime = passTime;
    const endLeases = () => passTime(LEASE_MS + 1);
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
        this.answering.lose(session);
        this.#endLeases = endLeases;
        endLeases();
        return this.#crashed();
      case "freeze":
        this.#side.freeze();
        this.answering.lose(session);
        this.#frozen = { side: this.#side, runner: this.#runner };
        this.#still = session;
        this.#endLeases = endLeases;
        endLeases();
        return this.#crashed();
      case "lost-answer":
        return this.#side.plan("append", { fail: "after" });
      case "steer":
      case "enqueue": {
        if (session === undefined) return;
        this.#sent = fault;
        const { store, clock } = this;
        const mail = { messages: [{ parts: [{ type: "text", text: `[${fault}]` }] }] };
        const kind = fault === "steer" ? "steer" : "input";
        // Straight to the store, as from another process; a thread that is not there yet takes nothing.
        const command = { key: fault, kind, body: JSON.stringify(mail), at: clock.now() } as const;
        void store.send(this.#key, command).catch(() => (this.#sent = undefined));
        return;
      }
      case "stop-elsewhere": {
        this.#elsewhere = this.#newRunner(this.store);
        const receipt = this.#elsewhere.interrupt(this.#key.threadId);
        this.#receipts.push(receipt);
        void receipt.then(
          () => (this.#answered += 1),
          (error) => {
            this.#answered += 1;
            const early = (error as { code?: unknown }).code === "THREAD_UNKNOWN";
            if (!early) this.#problems.push(`a stop from elsewhere was refused: ${errorText(error)}`);
          },
        );
        return;
      }
      case "stop-waiting":
      case "new-input":
        this.#turnAway = fault;
        return;
      case "expire":
        this.#expire = passTime;
        void this.#letExpire();
        return;
      case "answer-unknown":
        if (session !== undefined) void this.answering.say(session, "nobody-asked", approve(), { vain: true });
        return this.answering.begin(fault, at);
      case "answer":
      case "answer-twice":
      case "answer-late":
      case "answer-wrong":
      case "answer-crash":
        return this.answering.begin(fault, at);
      default:
        fault satisfies never;
    }
  }

  /** Once there is something that can expire. */
  async #letExpire(): Promise<void> {
    const times = (await this.store.requests(this.#key.tenant)).flatMap(({ expiresAt }) => expiresAt ?? []);
    const left = Math.max(...times) - this.clock.now();
    if (times.length === 0 || this.#expire === undefined) return;
    this.#expire(Math.max(0, left) + 1);
    this.#expire = undefined;
  }

  #stop(session: Session<Out> | undefined, options: InterruptOptions): void {
    if (session === undefined) return;
    if (options.mode === undefined) this.#stopped = session;
    const receipt = session.interrupt(options);
    this.#receipts.push(receipt);
    void receipt.then(() => {
      this.#stopped = undefined;
      this.#answered += 1;
    });
  }

  effect(name: string, { after }: EffectOptions = {}): void {
    const effect: Effect = { name, after };
    this.#effects.push(effect);
    void this.store.load(this.#key, Number.MAX_SAFE_INTEGER).then((loaded) => {
      if (loaded !== undefined) effect.head = loaded.row.head;
    });
  }

  /** Runs to the end, going on after every pause and every crash. Asking again under one id never begins a second run. */
  async run(): Promise<RunResult<unknown>> {
    const { input, play } = this.#scenario;
    if ((await this.#unlessCrashed(this.#open())) === "crash") await this.#open();
    let run: Run<Out> | "crash" = this.#session!.run(input, { id: "attack" });
    void Promise.resolve(play?.(this.#session!)).catch(() => {});
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

  /** As a person does: with an answer to everything that is asked, one by itself and the others together. */
  async #goOn(): Promise<Run<Out> | "crash"> {
    const session = this.#session!;
    const { answer = usualAnswer } = this.#scenario;
    const open = () => session.interrupts.filter(isRequest);
    const waiting = open();
    const first = waiting[this.#first % waiting.length];
    if (first === undefined) return session.resume();
    if (this.#turnAway !== undefined) return this.#turnAwayFrom(session, this.#turnAway);
    if (this.answering.answersAll) {
      await tick();
      return session.resume();
    }
    const said = this.answering.say(session, first.id, answer(first));
    if ((await this.#unlessCrashed(said)) === "crash") return "crash";
    // Between its answer and this.
    if ((await this.#unlessCrashed(tick())) === "crash") return "crash";
    return session.resume({ answers: Object.fromEntries(open().map((request) => [request.id, answer(request)])) });
  }

  async #turnAwayFrom(session: Session<Out>, how: "stop-waiting" | "new-input"): Promise<Run<Out>> {
    this.#turnAway = undefined;
    if (how === "new-input") {
      this.#sent = how;
      return session.resume({ input: `[${how}]` });
    }
    const { accepted } = await session.interrupt({ reason: "direction_change" });
    if (!accepted) this.#problems.push("a stop while it waits for people is not accepted");
    return session.resume();
  }

  /** Somebody else has the thread, or was faster. */
  async #waitForOthers(times: number): Promise<void> {
    for (let i = 0; i < 1 + times * 4; i++) await tick();
    await this.#session!.refresh();
  }

  /** What waits becomes the next run; a process that stood still goes on where it was. */
  async #rest(): Promise<void> {
    const queued = async () => (await this.store.load(this.#key))?.row.queued ?? false;
    for (let i = 0; i < 200 && (this.#session!.state === "running" || (await queued())); i++) {
      if (this.#session!.state !== "completed" && this.#session!.state !== "running") break;
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    }
    const told = () => this.answering.isSettled && this.#answered === this.#receipts.length;
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
    const facts = await readFacts(this.store, this.#key, 0);
    await new Promise((resolve) => setImmediate(resolve));
    this.#problems.push(...factProblems(facts), ...shownProblems(this.#shown, facts));
    // Between the record of its start and its first step it may stand still, and compute that once more when it wakes.
    const { repeatable } = this.#scenario;
    const effects = this.#effects.filter(({ name }) => this.#frozen === undefined || !repeatable?.(name));
    this.#problems.push(...effectProblems(facts, effects), ...this.answering.problems(facts));
    const seen = new Set<string>();
    for (const { name } of this.#effects) {
      if (seen.has(name) && !this.#scenario.repeatable?.(name)) this.#problems.push(`effect ${name} happened twice`);
      seen.add(name);
    }
    const open = await this.store.requests(this.#key.tenant);
    for (const { id } of open) this.#problems.push(`the store has request ${id} open, and the run is over`);
    this.unanswered = facts.some(
      (fact) => fact.type === "request-answered" && ["withdraw", "expire"].includes(fact.answer.type),
    );
    if (this.#answered < this.#receipts.length) this.#problems.push("a stop got no receipt");
    this.#problems.push(...(await this.#inputProblems()), ...(await this.#freshProblems()));
    return this.#problems;
  }

  /** What people said is there once; what was sent is there once, or still waits. */
  async #inputProblems(): Promise<string[]> {
    const said = inputsIn(this.#session!.messages);
    const count = (text: string) => said.filter((each) => each === text).length;
    const problems: string[] = [];
    const { input } = this.#scenario;
    if (count(input) !== 1) problems.push(`the input is ${count(input)} times in the history`);
    if (this.#sent === undefined) return problems;
    const sent = count(`[${this.#sent}]`);
    const waits = ((await this.store.load(this.#key))?.commands ?? []).some(({ key }) => key === this.#sent);
    if (sent + (waits ? 1 : 0) !== 1) {
      problems.push(
        `what was sent by ${this.#sent} is ${sent} times in the history, and ${waits ? "waits" : "is gone"}`,
      );
    }
    return problems;
  }

  async end(): Promise<void> {
    this.#readers.abort();
    await this.answering.end();
    await this.#elsewhere?.close();
    await this.#runner?.close();
    await this.#frozen?.runner?.close();
  }

  /** A session that reads everything anew must see the same history. */
  async #freshProblems(): Promise<string[]> {
    const runner = this.#newRunner(this.store);
    const fresh = await runner.open(this.#key.threadId);
    const same = JSON.stringify(strip(fresh.messages)) === JSON.stringify(strip(this.#session!.messages));
    await runner.close();
    return same ? [] : ["a fresh session reads another history"];
  }

  async #open(): Promise<void> {
    await this.#closing;
    this.#side = faultyStore(this.store);
    this.#runner = this.#newRunner(this.#side);
    this.#session = await this.#opened(this.#runner);
    void this.#listen(this.#session);
  }

  #newRunner(store: Store): Runner<Out, Deps> {
    const { deps } = this.#scenario;
    const { clock } = this;
    const agent = this.#scenario.agent({
      effect: (name, options) => this.effect(name, options),
      now: () => clock.now(),
    });
    return new Runner<Out, Deps>({ agent, store, clock, leaseTtlMs: LEASE_MS, ...(deps !== undefined && { deps }) });
  }

  /** What the dead process had sent when it died may have come after its lease was ended: then that lasts again. */
  async #opened(runner: Runner<Out, Deps>): Promise<Session<Out>> {
    for (let tries = 0; ; tries++) {
      try {
        return await runner.open(this.#key.threadId);
      } catch (error) {
        if ((error as { code?: unknown }).code !== "THREAD_BUSY" || this.#endLeases === undefined || tries === 3)
          throw error;
        this.#endLeases();
      }
    }
  }

  async #listen(session: Session<Out>): Promise<void> {
    const after = this.#shown.reduce((last, event) => Math.max(last, event.seq), 0);
    for await (const event of session.events({ after, signal: this.#readers.signal })) {
      // Its code goes on here; what it would say stands still with it.
      if (session !== this.#still) this.#shown.push(event);
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

function usualAnswer({ kind }: Interrupt): Answer {
  if (kind === "approval") return approve();
  return kind === "unknown" ? reject("skip it") : respond("yes");
}

function strip(messages: readonly Message[]): unknown {
  return messages.map(({ id, role, parts, interrupted }) => ({ id, role, parts, interrupted }));
}

function endProblems(whole: RunResult<unknown> | undefined, { result: cut, unanswered }: Outcome): string[] {
  if (whole === undefined || cut === undefined) return [];
  if (whole.status !== cut.status) {
    const why = cut.status === "failed" ? ` (${cut.error.message})` : "";
    return [`it ended ${cut.status}${why}, uninterrupted ${whole.status}`];
  }
  if (whole.status !== "completed" || cut.status !== "completed" || unanswered) return [];
  const [a, b] = [JSON.stringify(whole.output), JSON.stringify(cut.output)];
  return a === b ? [] : [`its output is ${b}, uninterrupted ${a}`];
}
