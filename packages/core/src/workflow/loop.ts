// A loop: the output of a round is the input of the next, until `until` is true (W1).

import { type Agent, type Ended, published } from "../agent.ts";
import { belayError, shown } from "../error.ts";
import type { Frame } from "../frame.ts";
import type { HooksGiven } from "../hooks/hooks.ts";
import type { Json } from "../json.ts";
import type { KnownOptions } from "../refuse-unknown.ts";
import { type ChildInput, runChild } from "./child.ts";
import { type AnyAgent, agentsOf, completed, composite, inputOf } from "./composite.ts";
import { valueIn } from "./sequential.ts";

/** The options of `loop()`. */
export interface LoopOptions<Deps> {
  readonly name: string;
  /** One, or several that run one after the other in each round. */
  readonly agents: readonly Agent<unknown, Deps>[];
  /** The most rounds, 10 by default: after them the loop ends with the output of the last. */
  readonly maxIterations?: number | undefined;
  readonly hooks?: HooksGiven<Deps> | undefined;
  /** Returns after each round whether the loop ends. Must be pure: it is called again with recorded outputs. */
  until?(output: Json, iteration: number): boolean;
}

const OPTIONS: KnownOptions<LoopOptions<never>> = {
  name: true,
  agents: true,
  maxIterations: true,
  hooks: true,
  until: true,
};

/** Defines an agent that runs others again and again; the output of a round is the input of the next. */
export function loop<Deps = unknown>(options: LoopOptions<Deps>): Agent<unknown, Deps> {
  const children = agentsOf("loop()", options, OPTIONS, "again and again");
  const { name, maxIterations = 10, until, hooks } = options;
  const refuse = (problem: string) => belayError("AGENT_INVALID", { agent: String(name), problem });
  if (!Number.isInteger(maxIterations) || maxIterations < 1) {
    throw refuse(`maxIterations is ${shown(maxIterations)}, not a whole number from 1 on`);
  }
  if (until !== undefined && typeof until !== "function") throw refuse(`until is ${shown(until)}, not a function`);
  const run = (frame: Frame) => runAll(frame, children, maxIterations, until);
  const about = () => ({ maxIterations });
  return published(composite({ kind: "loop", name, children, shape: maxIterations, hooks, about, run })) as Agent<
    unknown,
    Deps
  >;
}

async function runAll(
  frame: Frame,
  agents: readonly AnyAgent[],
  maxIterations: number,
  until: LoopOptions<never>["until"],
): Promise<Ended> {
  let input: ChildInput = inputOf(frame);
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    for (const [i, agent] of agents.entries()) {
      const path = `${frame.place.runPath}/${iteration}.${i}:${agent.name}`;
      const end = await runChild(frame, { agent, path }, input);
      if (end.how !== "completed") return end;
      if (end.action?.breakLoop !== undefined) return completed(frame, end.output);
      if (end.action !== undefined) return completed(frame, end.output, end.action);
      input = { value: end.output };
    }
    const enough: unknown = until?.(valueIn(input), iteration);
    if (enough instanceof Promise) {
      const problem = "its until gave a promise; it must say at once, by what it is given";
      throw belayError("AGENT_INVALID", { agent: frame.place.agentName, problem });
    }
    if (enough) break;
  }
  return completed(frame, valueIn(input));
}
