// An interrupt as the root sees it: each level of agents says where in it something waits, down to the interrupt itself.

import type { Json } from "../json.ts";
import type { Interrupt } from "./interrupt.ts";

/** At the bottom it is the interrupt as it was raised; above, what is told of the first one below, and where that is. */
export type InterruptView = Interrupt & { readonly data: InterruptData };

export type InterruptData =
  | {
      readonly type: "workflow";
      /** What the agent was given. */
      readonly origInput: Json;
      /** Which of its agents it has come to, from 0. */
      readonly sequentialIndex: number;
      /** How many rounds it has finished. */
      readonly loopIterations: number;
      /** By the place of the agent among those that run at once: all and only those that are interrupted. */
      readonly parallel: { readonly [index: number]: InterruptView };
      /** Of the one agent that was running; not there where it was stopped between two of them. */
      readonly interrupt?: InterruptView;
    }
  /** In calls of its turn, or in code of its own. */
  | ({ readonly type: "tools"; readonly interrupts: readonly InterruptView[] } & Partial<RerunData>)
  | { readonly type: "graph"; readonly interrupts: readonly InterruptView[] }
  | { readonly type: "none" };

/** The calls of a turn in which some ask to be run again, by their ids. */
export interface RerunData {
  /** The results of the calls that have ended: they are kept. */
  readonly executedTools: { readonly [callId: string]: Json };
  /** The calls that resume() runs again. */
  readonly rerunTools: readonly string[];
  /** What those gave to rerun(). */
  readonly extra: { readonly [callId: string]: Json };
}

/** What an agent knows of itself when it is asked what its interrupts look like from outside. */
export interface Inside {
  readonly input: Json;
  /** The agents inside it that have begun, by the last part of their path; with a view where they are interrupted. */
  readonly children: readonly {
    readonly segment: string;
    readonly ended: boolean;
    readonly view: InterruptView | undefined;
  }[];
  /** Interrupts of its own. */
  readonly own: readonly InterruptView[];
}

/** An interrupt as it was raised. */
export function leaf(interrupt: Interrupt): InterruptView {
  return { data: { type: "none" }, ...interrupt };
}
