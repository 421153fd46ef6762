// What a tree of agents in one process sees of the life around it.

import type { Message } from "@belay/core";
import type { Effect, EffectKind, EffectPlace } from "../simulation/effect.ts";

export interface Scene {
  /** Of the tree; every process of a life has the same tree. */
  readonly seed: number;
  /** Hooks are hung onto agents, and fail at times. */
  readonly hooked: boolean;
  /** Agents have rules for what may run. */
  readonly ruled: boolean;
  readonly dead: boolean;
  /** Its process has other code than the rest: it goes another way than what is on record. */
  readonly other: boolean;
  /** True at the end of a life: nothing unusual happens any more. */
  readonly calm: boolean;
  now(): number;
  chance(n: number): number;
  began(tool: string, place: EffectPlace, how?: EffectKind): Effect;
  /** Calls `letGo` when those that heed nothing are let go. */
  untilLetGo(letGo: () => void): void;
  /** A call that heeded nothing gives its result, whoever still waits for it. */
  spoke(place: EffectPlace): void;
  /** A model was asked. */
  asked(agent: string, messages: readonly Message[], prefill: boolean): void;
  /** False once models in a calm life have called enough. */
  mayCall(): boolean;
}
