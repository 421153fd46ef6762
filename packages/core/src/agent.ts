// The interface every agent implements: a frame in, facts and drafts through the frame, an end out.

import type { BelayError } from "./error.ts";
import type { Fact } from "./event.ts";
import type { Frame } from "./frame.ts";
import type { Finish } from "./message.ts";

/** Which calls of the turn a stop met, by id. */
export interface StoppedCalls {
  readonly stopped: readonly string[];
  readonly finished: readonly string[];
  readonly notStarted: readonly string[];
}

/** `facts` go into the same append as the end itself; `turn` is the turn that ends with it; `attempt` is the next try of its model call. */
export type Ended = { readonly facts: readonly Fact[]; readonly turn?: number } & (
  | { readonly how: "completed"; readonly text: string; readonly output: unknown; readonly finish: Finish }
  | { readonly how: "stopped"; readonly partialText: string; readonly calls: StoppedCalls; readonly attempt: number }
  | { readonly how: "failed"; readonly error: BelayError; readonly attempt?: number }
);

/** `Out` is the type of a completed run's output, `Deps` what its tools need of the runner. Neither exists at run time. */
export interface Agent<out Out = unknown, in Deps = never> {
  readonly name: string;
  /** How calls that never started are told to the model when the person changes direction. */
  readonly repair: "synthetic" | "drop";
  run(frame: Frame): Promise<Ended>;
  readonly types?: { readonly output: Out; readonly deps: (deps: Deps) => void };
}

export const noCalls: StoppedCalls = { stopped: [], finished: [], notStarted: [] };
