// Facts of a thread from the store, for readers.

import type { Fact } from "../../event.ts";
import { decode, type Line } from "../../journal/codec.ts";
import type { Json } from "../../json.ts";
import { point } from "../../point.ts";
import type { Loaded, Store, ThreadKey } from "../../store/store.ts";
import { storeError } from "./store-error.ts";

/** Reads a thread; whatever a store throws is a STORE_ error. */
export async function loadThread(
  store: Store,
  key: ThreadKey,
  after?: number | "snapshot" | "rest",
): Promise<Loaded | undefined> {
  try {
    const loaded = await store.load(key, after);
    point("load:after", loaded);
    return loaded;
  } catch (error) {
    throw storeError(key, error);
  }
}

/** The facts after `after`, as they were when they were live. */
export async function readFacts(store: Store, key: ThreadKey, after: number): Promise<readonly Fact[]> {
  const loaded = await loadThread(store, key, after);
  if (loaded === undefined) return [];
  const { facts, missing } = decodeAll(key.threadId, loaded.lines, new Map());
  if (!missing) return facts.filter((fact) => fact.seq > after);
  // A call whose message lies before the cursor: its arguments are only there.
  const whole = await loadThread(store, key);
  return decodeAll(key.threadId, whole?.lines ?? [], new Map()).facts.filter((fact) => fact.seq > after);
}

function decodeAll(
  threadId: string,
  lines: readonly Line[],
  asked: Map<string, Json>,
): { facts: Fact[]; missing: boolean } {
  const facts: Fact[] = [];
  let missing = false;
  const argsOf = (callId: string) => {
    const args = asked.get(callId);
    if (args === undefined) missing = true;
    return args;
  };
  for (const line of lines) {
    for (const fact of decode(threadId, line, argsOf)) {
      facts.push(fact);
      if (fact.type !== "message") continue;
      for (const part of fact.message.parts) if (part.type === "call") asked.set(part.id, part.args);
    }
  }
  return { facts, missing };
}
