// Waits for a moment of a run.

import { belayError } from "../error.ts";
import type { BelayEvent } from "../event.ts";

/**
 * Resolves to the first event of `type` in a run, so that a test can act at that moment. Rejects if the run ends without one.
 *
 * @example
 * ```ts
 * const run = session.run("Write a poem.");
 * await reached(run, "text-delta");
 * await session.interrupt();
 * ```
 */
export async function reached<T extends BelayEvent["type"]>(
  run: AsyncIterable<BelayEvent>,
  type: T,
): Promise<Extract<BelayEvent, { readonly type: T }>> {
  for await (const event of run) if (event.type === type) return event as Extract<BelayEvent, { readonly type: T }>;
  throw belayError("OPTION_INVALID", {
    option: "type",
    value: JSON.stringify(type),
    needed: "an event of this run, which has ended",
  });
}
