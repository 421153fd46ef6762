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
import { PAGE, type PageOptions, type Placed, readPage, type Source, take } from "./page.ts";

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

export async function readThreads(setup: Setup, tenant: string, filter: ThreadFilter): Promise<ThreadPage> {
  checkOptions("threads()", filter, FILTER);
  const { state = null, pauseType = null, agent, search = "" } = filter;
  const label = filter.label && { ...filter.label };
  const words = wordsIn(search);
  const list: Json = ["threads", tenant, { state, pauseType, agent: agent ?? null, label: label ?? {}, words }];
  const base = { agent, label, words: words.length > 0 ? words : undefined };
  const isMeant = (item: ThreadItem) =>
    (state === null || item.state === state) && (pauseType === null || item.pauseType === pauseType);
  const sourceOf = ({ byItem, ...part }: Part): Source<ListedRow, ThreadItem> => ({
    rows: (after, limit) => setup.store.page(tenant, { ...base, ...part, after, limit }),
    placeOf,
    itemOf: async (row) => {
      const item = await itemOf(setup, tenant, row);
      return (item.damaged ? !byItem : isMeant(item)) ? item : undefined;
    },
  });
  return readPage(list, filter, async (after, most) => {
    // If several parts of the list have a thread, the last one counts.
    const found = new Map<string, Placed<ThreadItem>>();
    // One after the other: a thread that a worker takes over meanwhile is in both, and not in neither.
    for (const part of partsOf(filter))
      for (const each of await take(sourceOf(part), after, most)) found.set(each.place.id, each);
    return [...found.values()].sort((a, b) => inListOrder(a.place, b.place));
  });
}

/** A query of the store. `byItem`: only the item shows whether a row is meant, so a damaged row is not. */
type Part = Pick<ThreadQuery, "state" | "pauseType"> & { readonly byItem?: true };

function partsOf({ state, pauseType }: ThreadFilter): readonly Part[] {
  const running: Part = { state: "running", byItem: true };
  if (pauseType !== undefined) {
    if (state !== undefined && state !== "paused") return [];
    return pauseType === "crash" ? [running] : [{ pauseType: "unlisted", byItem: true }, { pauseType }];
  }
  if (state === "running") return [running];
  return state === "paused" ? [running, { state }] : [{ state }];
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

function areLabels(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const texts = Object.values(value);
  return texts.length <= LABELS && texts.every((text) => typeof text === "string");
}
