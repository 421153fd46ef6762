// The earlier inputs of a person, over all threads: the last one first, each once.

import { messageText, type Runner } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { readNote } from "../data/thread-notes.ts";
import { factsOf } from "../facts.ts";
import type { HistoryItem } from "../view/view.ts";

/** Facts that are read for it: a long past must not make a key slow. */
const MOST_FACTS = 20_000;
const MOST_INPUTS = 500;

export async function earlierInputs(runner: Runner, dataFolder: string): Promise<readonly HistoryItem[]> {
  const found = new Map<string, HistoryItem & { readonly at: number }>();
  let left = MOST_FACTS;
  for (const { threadId, head, damaged } of await allThreads(runner)) {
    if (damaged === true || head > left) continue;
    left -= head;
    const detail = readNote(dataFolder, threadId)?.folder.split("/").at(-1) ?? "";
    for (const fact of await factsOf(runner, threadId, head).catch(() => [])) {
      if (fact.type !== "message" || fact.message.origin !== "person") continue;
      const text = messageText(fact.message).trim();
      const known = found.get(text);
      if (text !== "" && (known === undefined || known.at < fact.at)) found.set(text, { text, detail, at: fact.at });
    }
  }
  return [...found.values()].sort((a, b) => b.at - a.at).slice(0, MOST_INPUTS);
}
