// One after the other: the output of each is the input of the next (W1).

import { type Agent, type Ended, published } from "../agent.ts";
import type { Frame } from "../frame.ts";
import type { HooksGiven } from "../hooks/hooks.ts";
import type { Json } from "../json.ts";
import type { KnownOptions } from "../refuse-unknown.ts";
import { type ChildInput, runChild, wordsOf } from "./child.ts";
import { type AnyAgent, agentsOf, completed, composite, inputOf } from "./composite.ts";

/** The options of `sequential()`. */
export interface SequentialOptions<Deps> {
  readonly name: string;
  readonly agents: readonly Agent<unknown, Deps>[];
  readonly hooks?: HooksGiven<Deps> | undefined;
}

const OPTIONS: KnownOptions<SequentialOptions<never>> = { name: true, agents: true, hooks: true };

/** Defines an agent that runs others one after the other; the output of one is the input of the next. */
export function sequential<Deps = unknown>(options: SequentialOptions<Deps>): Agent<unknown, Deps> {
  const children = agentsOf("sequential()", options, OPTIONS, "one after the other");
  const { name, hooks } = options;
  return published(
    composite({ kind: "sequential", name, children, hooks, run: (frame) => runAll(frame, children) }),
  ) as Agent<unknown, Deps>;
}

async function runAll(frame: Frame, agents: readonly AnyAgent[]): Promise<Ended> {
  let input: ChildInput = inputOf(frame);
  for (const [i, agent] of agents.entries()) {
    const end = await runChild(frame, { agent, path: `${frame.place.runPath}/${i}:${agent.name}` }, input);
    if (end.how !== "completed") return end;
    if (end.action !== undefined) return completed(frame, end.output, end.action);
    input = { value: end.output };
  }
  return completed(frame, valueIn(input));
}

export function valueIn(input: ChildInput): Json {
  return "value" in input ? input.value : wordsOf(input.messages);
}
