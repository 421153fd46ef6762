// The attack: run a scenario once to count its points, then once for each point and each fault, going on to the end
// each time, and check what must hold however it was cut. People test their own agents with it.

import type { Agent } from "../agent.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { BelayEvent } from "../event.ts";
import type { Message } from "../message.ts";
import type { ModelRequest } from "../model/model.ts";
import { onPoint, type PointName } from "../point.ts";
import { readFacts } from "../runner/read-facts.ts";
import type { RunResult } from "../runner/run.ts";
import { createRunner, type Runner } from "../runner/runner.ts";
import type { Session } from "../runner/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { faultyStore } from "./faulty-store.ts";
import { factProblems, shownProblems } from "./journal-checks.ts";
import { promptProblems } from "./providers/render.ts";

export type Fault = "stop" | "stop-twice" | "stop-after-model" | "stop-after-tools" | "pause" | "crash";

export const allFaults: readonly Fault[] = [
  "stop",
  "stop-twice",
  "stop-after-model",
  "stop-after-tools",
  "pause",
  "crash",
];

export interface ScenarioKit {
  /** Call it where a tool touches the world, with a name that tells this effect from all others: `effect(ctx.address)`. */
  effect(name: string): void;
}

export interface Scenario<Out = unknown, Deps = unknown> {
  /** A new agent for each pass. Its model must answer the same way each time: a scripted one does. */
  agent(kit: ScenarioKit): Agent<Out, Deps>;
  readonly input: string;
  readonly deps?: Deps;
  /** What the person does besides, each pass anew; called when the run has begun. */
  play?(session: Session<Out>): void | Promise<void>;
  /** In memory by default. Leases must end by this clock. */
  store?(clock: Clock): Store | Promise<Store>;
  readonly faults?: readonly Fault[];
  /** Effects that may happen again after a crash: those of tools that are repeatable. */
  repeatable?(effect: string): boolean;
  /** True when the end need not be the uninterrupted one, for instance because a call's outcome is unknown after a crash. */
  readonly anyEnd?: boolean;
}

export interface AttackReport {
  /** Points of the uninterrupted run. */
  readonly points: number;
  readonly passes: number;
  readonly problems: readonly string[];
}

const LEASE_MS = 60_000;
const MOST_RESUMES = 25;

/** Throws, with every problem found, unless all passes keep the promises. */
export async function interruptAnywhere<Out, Deps>(scenario: Scenario<Out, Deps>): Promise<AttackReport> {
  const whole = await pass(scenario, undefined);
  if (whole.problems.length > 0) throw new Error(`Without any fault:\n${whole.problems.join("\n")}`);
  const problems: string[] = [];
  let passes = 0;
  for (const fault of scenario.faults ?? allFaults) {
    for (let at = 1; at <= whole.points; at++) {
      passes += 1;
      const outcome = await pass(scenario, { fault, at });
      const found = [...outcome.problems];
      if (!scenario.anyEnd) found.push(...endProblems(whole.result, outcome.result));
      problems.push(...found.map((problem) => `${fault} at point ${at} (${outcome.point}): ${problem}`));
    }
  }
  if (problems.length > 0) {
    throw new Error(`${problems.length} problems in ${passes} passes:\n${problems.slice(0, 40).join("\n")}`);
  }
  return { points: whole.points, passes, problems };
}

interface Outcome {
  readonly points: number;
  readonly point: PointName | undefined;
  readonly result: RunResult<unknown>;
  readonly problems: string[];
}

async function pass<Out, Deps>(
  scenario: Scenario<Out, Deps>,
  plan: { readonly fault: Fault; readonly at: number } | undefined,
): Promise<Outcome> {
  let skew = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skew };
  const store = await (scenario.store?.(clock) ?? memoryStore({ clock }));
  const attack = new Attack(scenario, store, clock);
  let points = 0;
  let struck: PointName | undefined;
  const off = onPoint((name, detail) => {
    points += 1;
    if (name === "model:request") attack.sent(detail as ModelRequest);
    if (plan === undefined || points !== plan.at) return;
    struck = name;
    attack.strike(plan.fault, () => (skew += LEASE_MS + 1));
  });
  try {
    const result = await attack.run();
    return { points, point: struck, result, problems: await attack.check() };
  } finally {
    off();
    await attack.end();
  }
}

class Attack<Out, Deps> {
  readonly #scenario: Scenario<Out, Deps>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #key = { tenant: "default", threadId: "thread" };
  readonly #effects: string[] = [];
  readonly #problems: string[] = [];
  readonly #shown: BelayEvent[] = [];
  readonly #readers = new AbortController();
  #side = faultyStore({} as Store);
  #runner: Runner<Out, Deps> | undefined;
  #session: Session<Out> | undefined;
  #crashed: () => void = () => {};
  #crash: Promise<"crash"> | undefined = new Promise((resolve) => (this.#crashed = () => resolve("crash")));
  #requests = 0;

  constructor(scenario: Scenario<Out, Deps>, store: Store, clock: Clock) {
    this.#scenario = scenario;
    this.#store = store;
    this.#clock = clock;
  }

  sent(request: ModelRequest): void {
    this.#requests += 1;
    for (const problem of promptProblems(request.messages))
      this.#problems.push(`request ${this.#requests}: ${problem}`);
  }

  strike(fault: Fault, endLeases: () => void): void {
    const session = this.#session;
    switch (fault) {
      case "stop":
        void session?.interrupt();
        return;
      case "stop-twice":
        void session?.interrupt();
        void session?.interrupt({ force: true });
        return;
      case "stop-after-model":
        void session?.interrupt({ mode: "after-model" });
        return;
      case "stop-after-tools":
        void session?.interrupt({ mode: "after-tools" });
        return;
      case "pause":
        void session?.pause();
        return;
      case "crash":
        this.#side.kill();
        endLeases();
        this.#crashed();
        return;
      default:
        fault satisfies never;
    }
  }

  /** Runs to the end, going on after every pause and every crash. */
  async run(): Promise<RunResult<unknown>> {
    if ((await this.#unlessCrashed(this.#open())) === "crash") await this.#open();
    let run = this.#session!.run(this.#scenario.input);
    void this.#scenario.play?.(this.#session!);
    let settled: RunResult<unknown> | "crash" = await this.#unlessCrashed(run.result);
    for (let resumes = 0; resumes < MOST_RESUMES; resumes++) {
      if (settled === "crash") {
        await this.#open();
        const { state } = this.#session!;
        if (state === "created") run = this.#session!.run(this.#scenario.input);
        else if (state === "paused") run = this.#session!.resume();
        else run = this.#session!.run("Go on.");
        settled = await run.result;
        continue;
      }
      if (settled.status !== "interrupted") return settled;
      settled = await this.#unlessCrashed(this.#session!.resume().result);
    }
    this.#problems.push(`it did not end after ${MOST_RESUMES} resumes`);
    return settled as RunResult<unknown>;
  }

  async check(): Promise<string[]> {
    const facts = await readFacts(this.#store, this.#key, 0);
    await new Promise((resolve) => setImmediate(resolve));
    this.#problems.push(...factProblems(facts), ...shownProblems(this.#shown, facts));
    const seen = new Set<string>();
    for (const effect of this.#effects) {
      if (seen.has(effect) && !this.#scenario.repeatable?.(effect))
        this.#problems.push(`effect ${effect} happened twice`);
      seen.add(effect);
    }
    this.#problems.push(...(await this.#freshProblems()));
    return this.#problems;
  }

  async end(): Promise<void> {
    this.#readers.abort();
    await this.#runner?.close();
  }

  /** A session that reads everything anew must see the same history. */
  async #freshProblems(): Promise<string[]> {
    const runner = createRunner<Out, Deps>({ agent: this.#agent(), store: this.#store, clock: this.#clock });
    const fresh = await runner.open(this.#key.threadId);
    const same = JSON.stringify(strip(fresh.messages)) === JSON.stringify(strip(this.#session!.messages));
    await runner.close();
    return same ? [] : ["a fresh session reads another history"];
  }

  async #open(): Promise<void> {
    this.#side = faultyStore(this.#store);
    const { deps } = this.#scenario;
    this.#runner = createRunner<Out, Deps>({
      agent: this.#agent(),
      store: this.#side,
      clock: this.#clock,
      leaseTtlMs: LEASE_MS,
      ...(deps !== undefined && { deps }),
    });
    this.#session = await this.#runner.open(this.#key.threadId);
    void this.#listen(this.#session);
  }

  async #listen(session: Session<Out>): Promise<void> {
    const after = this.#shown.reduce((last, event) => Math.max(last, event.seq), 0);
    for await (const event of session.events({ after, signal: this.#readers.signal })) this.#shown.push(event);
  }

  #agent(): Agent<Out, Deps> {
    return this.#scenario.agent({ effect: (name) => this.#effects.push(name) });
  }

  /** There is one crash in a pass; after it nothing more is waited for but the work. */
  async #unlessCrashed<T>(work: Promise<T>): Promise<T | "crash"> {
    const crash = this.#crash;
    if (crash === undefined) return work;
    const first = await Promise.race([work, crash]);
    if (first === "crash") this.#crash = undefined;
    return first;
  }
}

function strip(messages: readonly Message[]): unknown {
  return messages.map(({ id, role, parts, interrupted }) => ({ id, role, parts, interrupted }));
}

function endProblems(whole: RunResult<unknown>, cut: RunResult<unknown>): string[] {
  if (whole.status !== cut.status) {
    const why = cut.status === "failed" ? ` (${cut.error.message})` : "";
    return [`it ended ${cut.status}${why}, uninterrupted ${whole.status}`];
  }
  if (whole.status !== "completed" || cut.status !== "completed") return [];
  const [a, b] = [JSON.stringify(whole.output), JSON.stringify(cut.output)];
  return a === b ? [] : [`its output is ${b}, uninterrupted ${a}`];
}
