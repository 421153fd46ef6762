// An interrupt: why and where a run stopped, and what it needs to go on.

import type { PauseType } from "../lifecycle.ts";

export interface Interrupt {
  readonly id: string;
  readonly kind: "user" | "manual";
  /** Where it happened: agent › turn › call. */
  readonly address: string;
  readonly raisedAt: number;
  readonly by: string;
  readonly reason?: string;
  /** Words of the person who stopped it, for the record; they are not part of the conversation. */
  readonly message?: string;
  /** Which calls it met, by id; not there where it met none. */
  readonly calls?: {
    readonly stopped: readonly string[];
    readonly finished: readonly string[];
    readonly notStarted: readonly string[];
    readonly late: readonly string[];
  };
}

/** Names one pause of one run; plain JSON. Its token works once. */
export interface Handle {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly token: string;
  readonly interruptType: PauseType;
  /** True when going on means reasoning again, false when an answer goes back into what asked for it. */
  readonly restartBlock: boolean;
}
