// The title of a thread in lists: the one that the store has, or the first words of a person in it.

import { messageText, type Runner } from "@belay/core";
import { factsOf } from "../facts.ts";

type ThreadRow = Awaited<ReturnType<Runner["threads"]>>["items"][number];

/** They come early, or not at all. */
const LOOK_AT = 20;

/** Returns the title of a thread. One of an earlier release has none in the store until its next append. */
export async function titleOf(
  runner: Runner,
  { threadId, head, title }: Pick<ThreadRow, "threadId" | "head" | "title">,
): Promise<string | undefined> {
  if (title !== undefined) return title;
  for (const fact of await factsOf(runner, threadId, Math.min(head, LOOK_AT)).catch(() => [])) {
    if (fact.type === "message" && fact.message.origin === "person") return messageText(fact.message);
  }
  return undefined;
}
