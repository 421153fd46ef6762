// What a tree of agents in one process sees of the life around it.

import type { Message } from "../../message.ts";

/** Something touched the world. */
export interface Effect {
  readonly key: string;
  readonly callId: string;
  readonly tool: string;
  readonly threadId: string;
  readonly process: number;
  /** A step inside a call or inside code: it is computed again where a crash came before its record. */
  readonly step: boolean;
  ended: boolean;
  /** Its process died, or let go of it: no receipt speaks of it. */
  behind: boolean;
}

export interface EffectPlace {
  readonly threadId: string;
  readonly idempotencyKey: string;
  readonly callId?: string;
}

export interface Scene {
  /** Of the tree; every process of a life has the same tree. */
  readonly seed: number;
  /** Hooks are hung onto agents, and fail at times. */
  readonly hooked: boolean;
  /** Agents have rules for what may run. */
  readonly ruled: boolean;
  readonly dead: boolean;
  /** True at the end of a life: nothing unusual happens any more. */
  readonly calm: boolean;
  now(): number;
  chance(n: number): number;
  /** `repeatable`: it may happen more than once. */
  began(tool: string, place: EffectPlace, how?: { readonly step?: string; readonly repeatable?: boolean }): Effect;
  /** Calls `letGo` when those that heed nothing are let go. */
  untilLetGo(letGo: () => void): void;
  /** A call that heeded nothing gives its result, whoever still waits for it. */
  spoke(place: EffectPlace): void;
  /** A model was asked. */
  asked(agent: string, messages: readonly Message[], prefill: boolean): void;
  /** False once models in a calm life have called enough. */
  mayCall(): boolean;
}

/** In a process that is dead nothing happens any more. */
export const never = new Promise<never>(() => {});
