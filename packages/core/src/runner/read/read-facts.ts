// Facts of a thread from the store, for readers.

import { belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { decode } from "../../journal/codec.ts";
import { LineReader } from "../../journal/line-reader.ts";
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

/** Returns the place of the last fact of a loaded thread. */
export function endOf({ row, lines }: Loaded): Pick<Fact, "runId" | "segment" | "attempt"> | undefined {
  const last = lines.at(-1);
  return last && decode(row.threadId, last, () => null).at(-1);
}

/** Returns the facts after `after`, as they were when they were live. */
export async function readFacts(store: Store, key: ThreadKey, after: number): Promise<readonly Fact[]> {
  return (await factsAndRow(store, key, after))?.facts ?? [];
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

/**
 * Returns the facts after `after`, and the row of the same moment; undefined if there is no such thread.
 *
 * Stops after the line that has more than `most` facts together with those before it: it says that there is a next page. The
 * lines from the beginning on are read if the message of a call, or a request that a pause waits for, lies before `after`.
 */
export async function factsAndRow(
  store: Store,
  key: ThreadKey,
  after: number,
  most = Number.POSITIVE_INFINITY,
  from = after,
): Promise<{ readonly facts: readonly Fact[]; readonly row: ThreadRow } | undefined> {
  const loaded = await loadThread(store, key, from);
  if (loaded === undefined) return undefined;
  const reader = new LineReader(key.threadId);
  const facts: Fact[] = [];
  for (const line of loaded.lines) {
    facts.push(...reader.read(line).filter(({ seq }) => seq > after));
    if (facts.length > most) break;
  }
  if (reader.isMissing && from > 0) return factsAndRow(store, key, after, most, 0);
  return { facts, row: loaded.row };
}
