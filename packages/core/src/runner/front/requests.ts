// Requests that were decided, and single requests: the store's rows, and the journal for requests that an earlier release
// decided.

import { belayError } from "../../error.ts";
import type { Decision } from "../../interrupt/decision.ts";
import type { RequestKind } from "../../interrupt/interrupt.ts";
import { folded } from "../../journal/fold.ts";
import { type Json, toJson } from "../../json.ts";
import type { DecidedRow } from "../../store/store.ts";
import type { RequestBody } from "../decide/requests.ts";
import { anything, type Checks, checkOptions, required } from "../given/check.ts";
import { readId } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { type DamagedRequest, type InboxItem, itemOf } from "./inbox.ts";
import { PAGE, type PageOptions, readPage, type Source, take } from "./page.ts";

/** A request and how it was decided: `how`, `by`, `at`, and the note, the reason or the value that was given with it. */
export type DecidedRequest = InboxItem & Decision;

/** The options of `runner.requests()`. */
export interface RequestsFilter extends PageOptions {
  readonly state: "decided";
  readonly threadId?: string | undefined;
  readonly kind?: RequestKind | undefined;
  readonly tool?: string | undefined;
  /** Only requests that this person decided. */
  readonly by?: string | undefined;
}

/** A page of decided requests, the last decided first. */
export interface DecidedPage {
  readonly items: readonly DecidedRequest[];
  /** Requests of this page that the store cannot read. */
  readonly damaged: readonly DamagedRequest[];
  /** The cursor of the next page; undefined after the last one. */
  readonly next?: string;
}

/** One request, open or decided. */
export interface FoundRequest {
  readonly item: InboxItem;
  /** How it was decided; undefined while it is open. */
  readonly decided?: Decision;
}

const FILTER: Checks<RequestsFilter> = {
  state: required('"decided"; runner.inbox() lists the open ones', (state) => state === "decided"),
  threadId: anything,
  kind: anything,
  tool: anything,
  by: anything,
  ...PAGE,
};

export async function readDecided(setup: Setup, tenant: string, filter: RequestsFilter): Promise<DecidedPage> {
  checkOptions("requests()", filter, FILTER);
  const { threadId, kind, tool, by } = filter;
  if (threadId !== undefined) readId("threadId", threadId);
  const wanted = [kind, tool, by].map((each) => toJson(each ?? null, "The filter"));
  const isFiltered = wanted.some((each) => each !== null);
  const list: Json = ["decided", tenant, threadId ?? null, ...(isFiltered ? wanted : [])];
  const decided: Source<DecidedRow, Pick<DecidedPage, "items" | "damaged">> = {
    isFiltered,
    rows: (after, limit) => setup.store.decided(tenant, { threadId, after, limit }),
    placeOf: ({ decidedAt, id }) => ({ at: decidedAt, id }),
    itemOf: (row) => {
      if (row.damaged) return { items: [], damaged: [{ id: row.id, threadId: row.threadId }] };
      const item = decidedOf(row);
      return fits(item, filter) ? { items: [item], damaged: [] } : undefined;
    },
  };
  const { items: read, ...page } = await readPage(list, filter, (after, most) => take(decided, after, most));
  return { ...page, items: read.flatMap(({ items }) => items), damaged: read.flatMap(({ damaged }) => damaged) };
}

function fits(item: DecidedRequest, { kind, tool, by }: RequestsFilter): boolean {
  return (
    (kind === undefined || item.kind === kind) &&
    (tool === undefined || item.tool === tool) &&
    (by === undefined || item.by === by)
  );
}

function decidedOf({ threadId, body }: DecidedRow): DecidedRequest {
  const read = JSON.parse(body) as RequestBody & { readonly decision: Decision };
  return { ...itemOf(threadId, read), ...read.decision };
}

export async function readRequest(setup: Setup, tenant: string, given: string): Promise<FoundRequest | undefined> {
  const id = readId("id", given);
  const row = await setup.store.request(tenant, id);
  if (row?.damaged) throw belayError("STORE_CORRUPT", { problem: `request ${id} does not fit its checksum` });
  return row === undefined ? inJournal(setup, tenant, id) : found(row.threadId, JSON.parse(row.body));
}

function found(threadId: string, body: RequestBody): FoundRequest {
  const { decision } = body;
  return { item: itemOf(threadId, body), ...(decision && { decided: decision }) };
}

/** An earlier release kept nothing of a decided request but the thread that it was of. */
async function inJournal({ store }: Setup, tenant: string, id: string): Promise<FoundRequest | undefined> {
  const threadId = await store.requestThread(tenant, id);
  if (threadId === undefined) return undefined;
  const state = folded(threadId, (await loadThread(store, { tenant, threadId }))?.lines ?? []);
  const request = state.requests?.get(id);
  if (request === undefined) return undefined;
  const { interrupt, votes: approvals, decision } = request;
  return found(threadId, { runId: state.run?.id ?? "", interrupt, approvals, decision });
}
