// Facts of a thread from the store, for readers.

import { belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { type Interrupt, isRequest } from "../../interrupt/interrupt.ts";
import { decode, type Line } from "../../journal/codec.ts";
import type { Json } from "../../json.ts";
import { point } from "../../point.ts";
import type { Loaded, Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import { storeError } from "./store-error.ts";

/** Reads a thread. An error of the store becomes a `STORE_` error. */
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

/** Returns the run and the segment of the last fact of a loaded thread. */
export function endOf({ row, lines }: Loaded): Pick<Fact, "runId" | "segment"> | undefined {
  const last = lines.at(-1);
  return last && decode(row.threadId, last, () => null).at(-1);
}

/** Returns the facts after `after`, as they were when they were live. `saw` gets the row of the same moment, if there is one. */
export async function readFacts(
  store: Store,
  key: ThreadKey,
  after: number,
  saw?: (row: ThreadRow | undefined) => void,
): Promise<readonly Fact[]> {
  const read = await factsAndRow(store, key, after);
  saw?.(read?.row);
  return read?.facts ?? [];
}

/** A part of a journal, in order. */
export interface JournalPage {
  readonly items: readonly Fact[];
  /** The seq of the last fact of the thread when the page was read. */
  readonly head: number;
  /** The `after` of the next page; undefined if this one is the last. */
  readonly next?: number;
}

/** Returns the first `limit` facts after `after`. Throws THREAD_UNKNOWN. */
export async function readPage(store: Store, key: ThreadKey, after: number, limit: number): Promise<JournalPage> {
  const read = await factsAndRow(store, key, after, limit);
  if (read === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
  const items = read.facts.slice(0, limit);
  const next = items.length < read.facts.length ? items.at(-1)?.seq : undefined;
  return { items, head: read.row.head, ...(next !== undefined && { next }) };
}

/** Stops after the line that has more than `most` facts together with those before it: it says that there is a next page. */
async function factsAndRow(
  store: Store,
  key: ThreadKey,
  after: number,
  most = Number.POSITIVE_INFINITY,
): Promise<{ readonly facts: readonly Fact[]; readonly row: ThreadRow } | undefined> {
  const loaded = await loadThread(store, key, after);
  if (loaded === undefined) return undefined;
  const span = { after, most };
  const read = decodeAll(key.threadId, loaded.lines, new Map(), span);
  const beyond = (facts: readonly Fact[]) => facts.filter((fact) => fact.seq > after);
  if (!read.missing) return { facts: beyond(read.facts), row: loaded.row };
  // The message of a call, or a request that a pause waits for, lies before the cursor.
  const whole = await loadThread(store, key);
  if (whole === undefined) return undefined;
  return { facts: beyond(decodeAll(key.threadId, whole.lines, new Map(), span).facts), row: whole.row };
}

function decodeAll(
  threadId: string,
  lines: readonly Line[],
  asked: Map<string, Json>,
  { after, most }: { readonly after: number; readonly most: number },
): { facts: Fact[]; missing: boolean } {
  const facts: Fact[] = [];
  let found = 0;
  let missing = false;
  const argsOf = (callId: string) => {
    const args = asked.get(callId);
    if (args === undefined) missing = true;
    return args;
  };
  const raised = new Map<string, Interrupt>();
  const requestOf = (id: string) => {
    const request = raised.get(id);
    if (request === undefined) missing = true;
    return request;
  };
  for (const line of lines) {
    for (const fact of decode(threadId, line, argsOf, requestOf)) {
      facts.push(fact);
      if (fact.seq > after) found += 1;
      if (fact.type === "action" && isRequest(fact.action.interrupted))
        raised.set(fact.action.interrupted.id, fact.action.interrupted);
      if (fact.type !== "message") continue;
      for (const part of fact.message.parts) if (part.type === "call") asked.set(part.id, part.args);
    }
    if (found > most) break;
  }
  return { facts, missing };
}
