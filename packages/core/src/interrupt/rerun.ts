// Lets a tool, a custom agent or a node that cannot continue yet ask to run again (O1). The run pauses, the others keep
// their results, and resume() runs that code again with its original input. Its recorded steps are kept.

import type { Clock } from "../clock.ts";
import { BelayError, catalogue } from "../error.ts";
import { type Json, toJson } from "../json.ts";
import type { Interrupt } from "./interrupt.ts";

export class Rerun extends BelayError {
  override readonly name = "Rerun";
  readonly extra: Json;

  constructor(extra: Json) {
    const { message, hint } = catalogue.RERUN_OUTSIDE;
    super("RERUN_OUTSIDE", message({}), hint, {});
    this.extra = extra;
  }
}

/**
 * Returns an error to throw in a tool, a custom agent or a node: the run pauses, and resume() runs that code again with its
 * original input. `extra` is plain JSON for readers of the interrupt.
 *
 * @example
 * execute: async ({ query }, { deps }) => {
 *   if (deps.apiKey === undefined) throw rerun({ missing: "apiKey" });
 *   return search(deps.apiKey, query);
 * }
 */
export function rerun(extra: unknown = null): Error {
  return new Rerun(toJson(extra, WHAT));
}

export const WHAT = "What rerun() was given";

interface Place {
  readonly runId: string;
  readonly segment: number;
}

/** Returns the interrupt of code at `address` that asks to be run again. */
export function rerunInterrupt(
  { runId, segment }: Place,
  clock: Clock,
  extra: Json,
  more: Pick<Interrupt, "address" | "by"> & Partial<Interrupt>,
): Interrupt {
  const id = `${runId}.${segment}.${more.address}`;
  return { id, kind: "rerun", raisedAt: clock.now(), reason: "rerun", ...more, ...(extra !== null && { extra }) };
}

/** Returns the address of the interrupt of a call or a custom agent that asks to be run again. */
export function rerunAddress(address: string): string {
  return `${address}/rerun`;
}
