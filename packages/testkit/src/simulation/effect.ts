// Effects of tools and steps: the record of what really happened, whichever process did it.

import type { Effect as NamedEffect } from "@belay/core/inside";

/** A tool or a step touched the world: under its name in the checks of a journal, with its outcome. */
export interface Effect extends NamedEffect {
  /** Names the call or the step by its address, not by its arguments. */
  readonly key: string;
  readonly callId: string;
  readonly tool: string;
  readonly threadId: string;
  readonly process: number;
  /** A step inside a call or inside code. */
  readonly step: boolean;
  ended: boolean;
  /** Its process died, closed its session, or lost the thread: no receipt of that process has to name it. */
  behind: boolean;
}

export interface EffectPlace {
  readonly threadId: string;
  readonly idempotencyKey: string;
  readonly callId?: string;
  readonly runId?: string;
  readonly segment?: number;
}

export interface EffectKind {
  /** The key of the step that it is. */
  readonly step?: string;
  /** The key of an ask that comes before it. */
  readonly after?: string;
  /** It may happen more than once. */
  readonly repeatable?: boolean;
}

/** The simulation, as the tools of one process see it. */
export interface Stage {
  readonly dead: boolean;
  /** True at the end: tools do nothing unusual any more. */
  readonly calm: boolean;
  now(): number;
  began(tool: string, place: EffectPlace, how?: EffectKind): Effect;
  /** Calls `letGo` when calls that ignore their signal are released. */
  untilLetGo(letGo: () => void): void;
}

/** In a dead process nothing happens any more. Each call has a promise of its own: a shared one would keep every dead process. */
export const never = (): Promise<never> => new Promise(() => {});
