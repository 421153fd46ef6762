// The attack: run a scenario once to count its points, then once for each point and each fault, resuming to the end
// each time, and check the promises after each cut. Users test their own agents with it.

import { type Clock, systemClock } from "../clock.ts";
import { belayError, errorText } from "../error.ts";
import { onPoint } from "../point.ts";
import type { RunResult } from "../runner/read/run.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { Attack, attackedThread, type Plan } from "./attack.ts";
import type { AttackPoint } from "./numbered.ts";
import { checkScenario } from "./read-scenario.ts";
import { allFaults, type Scenario } from "./scenario.ts";

const PASS_MS = 10_000;
/** Node fires a longer timer at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** What `interruptAnywhere()` did. */
export interface AttackReport {
  /** Points of the uninterrupted run. */
  readonly points: number;
  readonly passes: number;
  /** Passes that never reached their point: without a fault, they check nothing. */
  readonly unstruck: number;
  readonly problems: readonly string[];
}

/** The pass that is under way, if there is one: points are its own. */
interface Stage {
  attack: Pick<Attack<unknown, never>, "heard"> | undefined;
}

/** Throws, with every problem found, unless all passes keep the promises. One at a time in a process. */
export async function interruptAnywhere<Out, Deps>(scenario: Scenario<Out, Deps>): Promise<AttackReport> {
  checkScenario(scenario);
  const stage: Stage = { attack: undefined };
  const off = onPoint((name, detail) => stage.attack?.heard(name, detail));
  try {
    return await attackAll(scenario, stage);
  } finally {
    off();
  }
}

async function attackAll<Out, Deps>(scenario: Scenario<Out, Deps>, stage: Stage): Promise<AttackReport> {
  const whole = await pass(scenario, stage, undefined);
  const without = [...failure(whole.result), ...whole.problems];
  if (without.length > 0) throw new Error(`Without any fault:\n${without.join("\n")}`);
  const problems: string[] = [];
  let passes = 0;
  let unstruck = 0;
  for (const plan of plans(scenario, whole.points)) {
    const { fault, at } = plan;
    passes += 1;
    const outcome = await pass(scenario, stage, plan);
    const { point } = outcome;
    if (point === undefined) unstruck += 1;
    const found = [...outcome.problems];
    if (!scenario.anyEnd) found.push(...endProblems(whole.result, outcome));
    problems.push(...found.map((problem) => `${fault} at point ${at} (${point ?? "never came"}): ${problem}`));
    scenario.onPass?.({ fault, at, point, problems: found });
    // It may continue after all, and its points would be taken for those of the next pass.
    if (outcome.hangs) break;
  }
  if (problems.length > 0) {
    throw new Error(`${problems.length} problems in ${passes} passes:\n${problems.slice(0, 40).join("\n")}`);
  }
  return { points: whole.points, passes, unstruck, problems };
}

function* plans({ faults = allFaults, mostPoints }: Pick<Scenario, "faults" | "mostPoints">, points: number) {
  for (const [i, fault] of faults.entries()) {
    for (const at of spread(points, mostPoints, i / faults.length)) yield { fault, at } satisfies Plan;
  }
}

/** Numbers from 1 to `all`, `most` of them; `shift` moves them by that part of the way from one to the next. */
function spread(all: number, most = all, shift = 0): number[] {
  const count = Math.min(all, most);
  return Array.from({ length: count }, (_, i) => 1 + Math.floor(((i + shift) * all) / count));
}

interface Outcome {
  readonly points: number;
  readonly point: AttackPoint | undefined;
  /** Undefined if it did not end. */
  readonly result: RunResult<unknown> | undefined;
  /** A request was withdrawn, or its time was over: then the end may be another one. */
  readonly unanswered: boolean;
  readonly problems: readonly string[];
  /** It came to no end in time. */
  readonly hangs?: boolean;
}

async function pass<Out, Deps>(scenario: Scenario<Out, Deps>, stage: Stage, plan: Plan | undefined): Promise<Outcome> {
  let skew = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skew };
  const store = await newStore(scenario, clock);
  const time = {
    clock,
    pass(ms: number) {
      skew += ms;
    },
  };
  const attack = new Attack(scenario, store, time, plan);
  stage.attack = attack;
  const { passMs = PASS_MS } = scenario;
  const none = { result: undefined, unanswered: false };
  try {
    const result = await within(passMs, attack.run());
    if (result === "late") {
      const problems = [
        `it did not end within ${passMs} ms (passMs); its last point was ${attack.points} (${attack.last})`,
      ];
      return { ...none, points: attack.points, point: attack.struck, problems, hangs: true };
    }
    const problems = await attack.check();
    return { points: attack.points, point: attack.struck, result, unanswered: attack.unanswered, problems };
  } catch (error) {
    return { ...none, points: attack.points, point: attack.struck, problems: [`it threw: ${errorText(error)}`] };
  } finally {
    stage.attack = undefined;
    // A hanging run may hang here, too.
    await within(passMs, attack.end());
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), Math.min(ms, LONGEST_MS));
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** One that has been used, or is none, would make passes in which nothing is tried. */
async function newStore<Out, Deps>(scenario: Scenario<Out, Deps>, clock: Clock): Promise<Store> {
  if (scenario.store === undefined) return memoryStore({ clock });
  const store = await scenario.store(clock);
  const used = typeof store?.load !== "function" ? "none" : (await store.load(attackedThread)) && "one that was used";
  if (used === undefined) return store;
  throw belayError("OPTION_INVALID", { option: "store", value: used, needed: "a function that makes a new store" });
}

/** Cut anywhere, what fails at its first step fails there again: nothing beyond it would be tried. */
function failure(result: RunResult<unknown> | undefined): string[] {
  return result?.status === "failed" ? [`it failed: ${result.error.code}: ${result.error.message}`] : [];
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
