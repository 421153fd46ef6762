// The facts of a thread up to its present head; any process may be running it meanwhile.

import type { BelayEvent, Draft, Fact, Runner } from "@belay/core";
import { allThreads } from "./all-threads.ts";

const drafts: ReadonlySet<string> = new Set<Draft["type"]>([
  "turn-start",
  "turn-end",
  "text-delta",
  "reasoning-delta",
  "tool-input-delta",
  "tool-progress",
  "model-wait",
  "superseded",
  "gap",
  "owner-lost",
]);

export function isFact(event: BelayEvent): event is Fact {
  return !drafts.has(event.type);
}

/** Reads up to the given head, or to the present one. */
export async function factsOf(runner: Runner, threadId: string, known?: number): Promise<Fact[]> {
  const head = known ?? (await allThreads(runner)).find((each) => each.threadId === threadId)?.head ?? 0;
  const facts: Fact[] = [];
  if (head === 0) return facts;
  const end = new AbortController();
  for await (const event of runner.events(threadId, { signal: end.signal })) {
    if (isFact(event) && event.seq === facts.length + 1) facts.push(event);
    if (facts.length >= head) end.abort();
  }
  return facts.slice(0, head);
}
