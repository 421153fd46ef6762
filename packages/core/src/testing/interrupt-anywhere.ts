// The attack: run a scenario once to count its points, then once for each point and each fault, going on to the end
// each time, and check what must hold however it was cut. People test their own agents with it.

import { type Clock, systemClock } from "../clock.ts";
import { errorText } from "../error.ts";
import { onPoint } from "../point.ts";
import type { RunResult } from "../runner/run.ts";
import { memoryStore } from "../store/memory.ts";
import { Attack, type Plan } from "./attack.ts";
import type { AttackPoint } from "./numbered.ts";
import { allFaults, type Scenario } from "./scenario.ts";

export interface AttackReport {
  /** Points of the uninterrupted run. */
  readonly points: number;
  readonly passes: number;
  /** Passes whose point never came: nothing happened in them, and they say nothing. */
  readonly unstruck: number;
  readonly problems: readonly string[];
}

/** The pass that is under way, if there is one: points are its own. */
interface Stage {
  attack: Pick<Attack<unknown, never>, "heard"> | undefined;
}

/** Throws, with every problem found, unless all passes keep the promises. One at a time in a process. */
export async function interruptAnywhere<Out, Deps>(scenario: Scenario<Out, Deps>): Promise<AttackReport> {
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
  if (whole.problems.length > 0) throw new Error(`Without any fault:\n${whole.problems.join("\n")}`);
  const problems: string[] = [];
  let passes = 0;
  let unstruck = 0;
  const faults = scenario.faults ?? allFaults;
  for (const [i, fault] of faults.entries()) {
    for (const at of spread(whole.points, scenario.mostPoints, i / faults.length)) {
      passes += 1;
      const outcome = await pass(scenario, stage, { fault, at });
      const { point } = outcome;
      if (point === undefined) unstruck += 1;
      const found = [...outcome.problems];
      if (!scenario.anyEnd) found.push(...endProblems(whole.result, outcome));
      problems.push(...found.map((problem) => `${fault} at point ${at} (${point ?? "never came"}): ${problem}`));
      scenario.onPass?.({ fault, at, point, problems: found });
    }
  }
  if (problems.length > 0) {
    throw new Error(`${problems.length} problems in ${passes} passes:\n${problems.slice(0, 40).join("\n")}`);
  }
  return { points: whole.points, passes, unstruck, problems };
}

/** Numbers from 1 to `all`, `most` of them; `shift` moves them by that part of the way from one to the next. */
function spread(all: number, most = all, shift = 0): number[] {
  const count = Math.min(all, Math.max(1, most));
  return Array.from({ length: count }, (_, i) => 1 + Math.floor(((i + shift) * all) / count));
}

interface Outcome {
  readonly points: number;
  readonly point: AttackPoint | undefined;
  /** Undefined where it came to no end. */
  readonly result: RunResult<unknown> | undefined;
  /** A request was withdrawn, or its time was over: then the end may be another one. */
  readonly unanswered: boolean;
  readonly problems: readonly string[];
}

async function pass<Out, Deps>(scenario: Scenario<Out, Deps>, stage: Stage, plan: Plan | undefined): Promise<Outcome> {
  let skew = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skew };
  const store = await (scenario.store?.(clock) ?? memoryStore({ clock }));
  const time = {
    clock,
    pass(ms: number) {
      skew += ms;
    },
  };
  const attack = new Attack(scenario, store, time, plan);
  stage.attack = attack;
  try {
    const result = await attack.run();
    const problems = await attack.check();
    return { points: attack.points, point: attack.struck, result, unanswered: attack.unanswered, problems };
  } catch (error) {
    const problems = [`it threw: ${errorText(error)}`];
    return { points: attack.points, point: attack.struck, result: undefined, unanswered: false, problems };
  } finally {
    stage.attack = undefined;
    await attack.end();
  }
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
