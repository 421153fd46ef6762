// Lists of threads: the store's pages, with the state that each thread shows to people. After a crash a thread reads paused /
// crash (V6), although its last state on record is running; so a filter for one of the two queries the store for both.

import type { Json } from "../../json.ts";
import { moves, type PauseType, type SessionState } from "../../lifecycle.ts";
import { inListOrder } from "../../store/list-order.ts";
import type { ListedRow, ListPlace, ThreadQuery } from "../../store/store.ts";
import { wordsIn } from "../../store/words.ts";
import { type Checks, checkOptions, name, oneOf, optional } from "../given/check.ts";
import type { Setup } from "../given/setup.ts";
import { firstLoad, Recall } from "../read/recall.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { LIMIT, PAGE, type PageOptions } from "./page.ts";

/** Which threads to list. Each property that is given must hold. */
export interface ThreadFilter extends PageOptions {
  readonly state?: SessionState | undefined;
  readonly pauseType?: PauseType | undefined;
  /** The name of its agent. */
  readonly agent?: string | undefined;
  /** Every pair must be among its labels. */
  readonly label?: Readonly<Record<string, string>> | undefined;
  /** Each word of it must begin a word of the title or of a label's value, in whichever case. */
  readonly search?: string | undefined;
}

/** A thread in a list. */
export interface ThreadItem extends Omit<ListedRow, "named" | "unlisted"> {
  readonly title?: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A page of threads, and the cursor of the next one. */
export interface ThreadPage {
  readonly items: readonly ThreadItem[];
  /** The cursor of the next page; undefined after the last one. */
  readonly next?: string;
}

const PAUSES: Readonly<Record<PauseType, true>> = {
  user_interrupt: true,
  tool_interrupt: true,
  node_interrupt: true,
  manual: true,
  crash: true,
};

const SEARCH = 256;
const LABELS = 16;

const FILTER: Checks<ThreadFilter> = {
  state: oneOf(...Object.keys(moves)),
  pauseType: oneOf(...Object.keys(PAUSES)),
  agent: name(),
  label: optional(`at most ${LABELS} texts by key`, areLabels),
  search: optional(
    `text of ${SEARCH} characters at most`,
    (search) => typeof search === "string" && search.length <= SEARCH,
  ),
  ...PAGE,
};

type Asked = Omit<ThreadQuery, "limit" | "after">;

/** A query of the store, and which of its rows count. */
interface Source {
  readonly query: Asked;
  readonly counts?: (item: ThreadItem) => boolean;
}

export async function readThreads(setup: Setup, tenant: string, filter: ThreadFilter): Promise<ThreadPage> {
  checkOptions("threads()", filter, FILTER);
  const { state, pauseType } = filter;
  const base = readFilter(filter);
  const { limit = LIMIT } = filter;
  const list: Json = ["threads", tenant, { state: state ?? null, pauseType: pauseType ?? null, ...asJson(base) }];
  const after = readCursor(list, filter.cursor);
  const parts: (readonly ThreadItem[])[] = [];
  // One after the other: a thread that a worker takes over meanwhile is in both, and not in neither.
  for (const source of sourcesOf(state, pauseType, base))
    parts.push(await itemsOf(setup, tenant, source, after, limit + 1));
  const items = parts.length === 1 ? parts[0]! : merged(parts);
  if (items.length <= limit) return { items };
  const page = items.slice(0, limit);
  return { items: page, next: writeCursor(list, placeOf(page.at(-1)!)) };
}

/** Merges parts of a list. If several parts have a thread, the last one counts. */
function merged(parts: readonly (readonly ThreadItem[])[]): readonly ThreadItem[] {
  const found = new Map<string, ThreadItem>();
  for (const item of parts.flat()) found.set(item.threadId, item);
  return [...found.values()].sort((a, b) => inListOrder(placeOf(a), placeOf(b)));
}

function sourcesOf(state: SessionState | undefined, pauseType: PauseType | undefined, base: Asked): readonly Source[] {
  const crashed: Source = { query: { ...base, state: "running" }, counts: ({ lease }) => lease === undefined };
  if (pauseType !== undefined) {
    if (state !== undefined && state !== "paused") return [];
    if (pauseType === "crash") return [crashed];
    const unlisted: Source = {
      query: { ...base, pauseType: "unlisted" },
      counts: (item) => item.pauseType === pauseType,
    };
    return [unlisted, { query: { ...base, pauseType } }];
  }
  if (state === "running") return [{ query: { ...base, state }, counts: ({ lease }) => lease !== undefined }];
  return state === "paused" ? [crashed, { query: { ...base, state } }] : [{ query: { ...base, state } }];
}

/** Returns the first items of a source that count, at most `limit`. */
async function itemsOf(
  setup: Setup,
  tenant: string,
  { query, counts }: Source,
  first: ListPlace | undefined,
  limit: number,
): Promise<readonly ThreadItem[]> {
  const items: ThreadItem[] = [];
  for (let after = first; ; ) {
    const rows = await setup.store.page(tenant, { ...query, after, limit });
    for (const row of rows) {
      const item = row.unlisted ? await itemOf(setup, tenant, row) : knownItem(row);
      if (item.damaged ? counts === undefined : (counts?.(item) ?? true)) items.push(item);
      if (items.length === limit) return items;
    }
    if (rows.length < limit) return items;
    after = placeOf(rows.at(-1)!);
  }
}

/** Returns a thread of a page as lists show it. */
export async function itemOf(setup: Setup, tenant: string, row: ListedRow): Promise<ThreadItem> {
  const item = knownItem(row);
  if (!row.unlisted || row.damaged) return item;
  return { ...item, ...(await standingOf(setup, { tenant, threadId: row.threadId })), ...crashIn(row) };
}

function knownItem(row: ListedRow): ThreadItem {
  const { threadId, agent, state, head, createdAt, updatedAt, queued, answered, open, named } = row;
  const labels = named?.labels ?? {};
  // Set one by one: a page has many, and to spread them takes as long as to read them.
  const item: { -readonly [K in keyof ThreadItem]: ThreadItem[K] } = {
    threadId,
    agent,
    state,
    head,
    createdAt,
    updatedAt,
    queued,
    answered,
    open,
    labels,
  };
  if (named?.title !== undefined) item.title = named.title;
  if (row.pauseType !== undefined) item.pauseType = row.pauseType;
  if (row.runId !== undefined) item.runId = row.runId;
  if (row.rest !== undefined) item.rest = row.rest;
  if (row.parent !== undefined) item.parent = row.parent;
  if (row.lease !== undefined) item.lease = row.lease;
  if (row.damaged) item.damaged = true;
  else Object.assign(item, crashIn(row));
  return item;
}

/** Returns paused / crash for a thread with a dead owner (V6). */
function crashIn({ state, lease }: ListedRow): Pick<ThreadItem, "state" | "pauseType"> | undefined {
  return state === "running" && lease === undefined ? { state: "paused", pauseType: "crash" } : undefined;
}

/** Reads the pause and the run of a thread of an earlier release from its journal. */
async function standingOf({ store }: Setup, key: { readonly tenant: string; readonly threadId: string }) {
  const recall = new Recall(store, key, { gone: () => {}, saw: () => {} });
  try {
    const loaded = await firstLoad(store, key, false);
    if (loaded !== undefined) await recall.learn(loaded, false);
  } catch {
    // The error is for the caller that opens it; the list shows the thread without its pause.
    return {};
  }
  const { pauseType, runId } = recall.standing;
  return { ...(pauseType !== undefined && { pauseType }), ...(runId !== undefined && { runId }) };
}

function placeOf({ updatedAt, threadId }: Pick<ListedRow, "updatedAt" | "threadId">): ListPlace {
  return { at: updatedAt, id: threadId };
}

function readFilter({ agent, label, search = "" }: ThreadFilter): Asked {
  const words = wordsIn(search);
  return {
    ...(agent !== undefined && { agent }),
    ...(label !== undefined && { label: { ...label } }),
    ...(words.length > 0 && { words }),
  };
}

function areLabels(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const texts = Object.values(value);
  return texts.length <= LABELS && texts.every((text) => typeof text === "string");
}

function asJson({ agent, label = {}, words = [] }: Asked): { readonly [key: string]: Json } {
  return { agent: agent ?? null, label, words };
}
