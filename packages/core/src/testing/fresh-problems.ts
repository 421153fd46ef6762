// A session that reads everything anew must see the same history as the one that lived through it.

import type { Message } from "../message.ts";
import type { Runner } from "../runner/front/runner.ts";

/** Closes `runner`, which has not seen the thread before. */
export async function freshProblems<Out, Deps>(
  runner: Runner<Out, Deps>,
  threadId: string,
  messages: readonly Message[],
): Promise<string[]> {
  const fresh = await runner.open(threadId);
  const same = JSON.stringify(strip(fresh.messages)) === JSON.stringify(strip(messages));
  await runner.close();
  return same ? [] : ["a fresh session reads another history"];
}

function strip(messages: readonly Message[]): unknown {
  return messages.map(({ id, role, parts, interrupted }) => ({ id, role, parts, interrupted }));
}
