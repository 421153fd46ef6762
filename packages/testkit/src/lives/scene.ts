// The life around a tree of agents, as the tree sees it.

import type { Message } from "@belay/core";
import type { EffectPlace, Stage } from "../simulation/effect.ts";

export interface Scene extends Stage {
  /** Of the tree; every process of a life has the same tree. */
  readonly seed: number;
  /** Hooks are hung onto agents, and fail at times. */
  readonly hooked: boolean;
  /** Agents have permission rules. */
  readonly ruled: boolean;
  /** Its process has other code than the rest: it diverges from the record. */
  readonly other: boolean;
  chance(n: number): number;
  /** Ends a call that ignored its signal, also if no code waits for it. */
  spoke(place: EffectPlace): void;
  /** A model was asked. */
  asked(agent: string, messages: readonly Message[], prefill: boolean): void;
  /** False once models in a calm life have called enough. */
  mayCall(): boolean;
}
