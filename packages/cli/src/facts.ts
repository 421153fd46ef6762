// The facts of a thread up to its present head; any process may be running it meanwhile.

import { type BelayEvent, type Draft, type Fact, isBelayError, type Runner } from "@belay/core";

const drafts: { readonly [T in Draft["type"]]: true } = {
  "turn-start": true,
  "turn-end": true,
  "text-delta": true,
  "reasoning-delta": true,
  "tool-input-delta": true,
  "tool-progress": true,
  "model-wait": true,
  superseded: true,
  gap: true,
  "owner-lost": true,
};

export function isFact(event: BelayEvent): event is Fact {
  return !Object.hasOwn(drafts, event.type);
}

/** Reads up to the given head, or to the present one; none if there is no such thread. */
export async function factsOf(runner: Runner, threadId: string, known?: number): Promise<Fact[]> {
  if (known === 0) return [];
  try {
    const { items } = await runner.journal(threadId, { limit: known ?? Number.MAX_SAFE_INTEGER });
    return [...items];
  } catch (error) {
    if (isBelayError(error) && error.code === "THREAD_UNKNOWN") return [];
    throw error;
  }
}
