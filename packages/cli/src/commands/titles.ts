// The title of a thread in lists: the first words of a person in it.

import { messageText, type Runner } from "@belay/core";
import { factsOf } from "../facts.ts";

/** They come early, or not at all. */
const LOOK_AT = 20;

export async function titleOf(runner: Runner, threadId: string, head: number): Promise<string | undefined> {
  for (const fact of await factsOf(runner, threadId, Math.min(head, LOOK_AT)).catch(() => [])) {
    if (fact.type === "message" && fact.message.origin === "person") return messageText(fact.message);
  }
  return undefined;
}
