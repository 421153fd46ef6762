// Hints over all threads of a tenant (L3). They are lossy and merge: a reader gets the latest head of a thread that changed, not
// each one. A reader that must miss nothing lists the threads at each `sync`.

import type { SessionState } from "../../lifecycle.ts";
import { anything, type Checks } from "../given/check.ts";
import type { Setup } from "../given/setup.ts";
import { itemOf, type ThreadItem } from "./threads.ts";

/** A hint that a thread has changed, or that any thread may have. */
export type ThreadChange =
  | { readonly type: "sync" }
  | {
      readonly type: "change";
      readonly threadId: string;
      readonly head: number;
      readonly state: SessionState;
      /** How many of its requests are open. */
      readonly open: number;
    };

/** The options of `runner.changes()`. */
export interface ChangesOptions {
  /** Ends the reading, and nothing else. */
  readonly signal?: AbortSignal | undefined;
}

export const CHANGES: Checks<ChangesOptions> = { signal: anything };

/** Hints that come within this time merge. */
const GATHER_MS = 20;
/** Threads that are compared if the store does not say which have changed. */
const TOP = 200;
/** More threads than this are not looked up one by one. */
const MOST_NAMED = 500;
/** The number of threads with a remembered last hint. */
const MOST_KNOWN = 10_000;

export async function* readChanges(setup: Setup, tenant: string, signal: AbortSignal): AsyncGenerator<ThreadChange> {
  const { store, clock } = setup;
  const named = new Set<string>();
  let any = false;
  let wake: () => void = () => {};
  const known = new Map<string, string>();
  const leave = store.watchTenant(tenant, (threadId) => {
    if (threadId === undefined || named.size >= MOST_NAMED) any = true;
    else named.add(threadId);
    wake();
  });
  const stop = () => wake();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await changed(setup, tenant, undefined, known).catch(() => {});
    yield { type: "sync" };
    while (!signal.aborted) {
      if (!any && named.size === 0) await new Promise<void>((resolve) => (wake = resolve));
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, GATHER_MS));
      if (signal.aborted) return;
      const ids = any ? undefined : [...named];
      any = false;
      named.clear();
      const news = await changed(setup, tenant, ids, known).catch(() => undefined);
      // If the store fails, the hints are lost, and its next answer may be some time away.
      if (news === undefined || (ids === undefined && news.length === TOP)) yield { type: "sync" };
      for (const { threadId, head, state, open } of news ?? []) yield { type: "change", threadId, head, state, open };
    }
  } finally {
    leave();
    signal.removeEventListener("abort", stop);
  }
}

/** Returns those of the named threads, or of the last changed ones, that are not as they were. */
async function changed(
  setup: Setup,
  tenant: string,
  threadIds: readonly string[] | undefined,
  known: Map<string, string>,
): Promise<readonly ThreadItem[]> {
  const rows = await setup.store.page(tenant, { threadIds, limit: threadIds?.length ?? TOP });
  const news: ThreadItem[] = [];
  for (const row of rows.toReversed()) {
    const item = await itemOf(setup, tenant, row);
    const now = `${item.head} ${item.state} ${item.open} ${item.createdAt}`;
    if (known.get(item.threadId) === now) continue;
    known.delete(item.threadId);
    known.set(item.threadId, now);
    const [oldest] = known.keys();
    if (known.size > MOST_KNOWN) known.delete(oldest!);
    news.push(item);
  }
  return news;
}
