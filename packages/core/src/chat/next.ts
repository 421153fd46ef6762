// The result of a step of the loop: another step, or the end of the segment.

import { type Ended, type MetCall, noCalls } from "../agent.ts";
import type { Fact } from "../event.ts";

export type Next = Ended | "on";

/** A stop that cuts no text: facts that are not appended yet are recorded with it. */
export function stoppedWith(facts: readonly Fact[], calls: readonly MetCall[] = noCalls, attempt = 1): Ended {
  return { how: "stopped", facts, partialText: "", calls, attempt };
}
