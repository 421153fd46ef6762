// The parts of an attack, as an author writes them down: an agent, its input, and the faults.

import type { Agent } from "../agent.ts";
import type { Clock } from "../clock.ts";
import type { Answer } from "../interrupt/answer.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Session } from "../runner/front/session.ts";
import type { Store } from "../store/store.ts";
import { answerFaults } from "./answering.ts";
import type { AttackPoint } from "./numbered.ts";

/** Everything that can happen at a point. In a scenario without requests, faults of requests do nothing. */
export const allFaults = [
  "stop",
  "stop-twice",
  "stop-after-model",
  "stop-after-tools",
  "pause",
  /** The process releases the thread, and another one resumes. */
  "close",
  /** The process dies. */
  "crash",
  /** The process stands still until another one has taken over and come to the end. */
  "freeze",
  /** The store does the next operation, and its answer is lost. */
  "lost-answer",
  "steer",
  "enqueue",
  /** Another process stops it, also while it waits for people. */
  "stop-elsewhere",
  /** The next time it waits for people, the person stops it. */
  "stop-waiting",
  /** The next time it waits for people, the person says something else. */
  "new-input",
  /** The deadline of the open requests has passed, or that of the next one. */
  "expire",
  ...answerFaults,
] as const;

/** Something that `interruptAnywhere()` does at a point. */
export type Fault = (typeof allFaults)[number];

/** One pass, as `onPass` gets it. */
export interface Pass {
  readonly fault: Fault;
  /** The number of the point, from 1, and its kind; undefined if the pass never reached it. */
  readonly at: number;
  readonly point: AttackPoint | undefined;
  readonly problems: readonly string[];
}

/** Receives the effects of the agent of a scenario. */
export interface ScenarioKit {
  /**
   * Call it at each effect of a tool, with a unique name: `effect(ctx.address)`, and, for a tool with several effects, a name
   * below it; inside a step, `${ctx.address}/s:${key}`.
   */
  effect(name: string, options?: EffectOptions): void;
  /** The time of the pass, which faults move forward. Deadlines follow it. */
  now(): number;
}

/** The options of `effect()`. */
export interface EffectOptions {
  /** The key of the ask in this call that must be answered before; `ask#0` is the first without one. */
  readonly after?: string | undefined;
}

/** An agent, its input, and its faults: the options of `interruptAnywhere()`. */
export interface Scenario<Out = unknown, Deps = unknown> {
  /** A new agent for each pass. Its model must answer the same way each time: a scripted one does. */
  agent(kit: ScenarioKit): Agent<Out, Deps>;
  readonly input: string;
  readonly deps?: Deps;
  /** The person's other acts, again in each pass; called when the run has begun. */
  play?(session: Session<Out>): void | Promise<void>;
  /**
   * Returns the person's answer to a request. By default approvals are given, questions are answered with "yes", and calls of
   * unknown outcome are skipped.
   */
  answer?(request: Interrupt): Answer;
  /** A new one for each pass; in memory by default. Leases must end by this clock. */
  store?(clock: Clock): Store | Promise<Store>;
  readonly faults?: readonly Fault[];
  /** At most so many points for each fault, spread evenly, and others for the next one. All of them by default. */
  readonly mostPoints?: number;
  /** A pass that takes longer than this hangs, and ends the attack; ten seconds by default. */
  readonly passMs?: number;
  /** Effects that may happen again after a crash: those of tools that are repeatable. */
  repeatable?(effect: string): boolean;
  /** True when the end need not be the uninterrupted one, for instance because a call's outcome is unknown after a crash. */
  readonly anyEnd?: boolean;
  /** Called for each pass when it is over. */
  onPass?(pass: Pass): void;
}
