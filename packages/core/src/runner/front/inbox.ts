// What waits for people, over all threads: the store's rows, read. A row is a copy of what stands in a journal: one that is
// damaged is no item, whatever is asked for, and told beside the items and in the log, so that no list is shorter than it
// should be without a word (P7).

import { belayError } from "../../error.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { isExpired, mayAnswer, type Vote } from "../../interrupt/decision.ts";
import type { Interrupt, RequestKind } from "../../interrupt/interrupt.ts";
import { vouched } from "../../interrupt/vouched.ts";
import { fold } from "../../journal/fold.ts";
import { openRequests } from "../../journal/requests.ts";
import { newThread } from "../../journal/state.ts";
import { type Json, toJson } from "../../json.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { ListPlace, RequestRow } from "../../store/store.ts";
import type { RequestBody } from "../decide/requests.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type PageOptions, readLimit } from "./page.ts";

/** An open request. `id` is what runner.answer() takes. */
export interface InboxItem extends Omit<Interrupt, "kind" | "message" | "calls"> {
  readonly kind: RequestKind;
  readonly threadId: string;
  readonly runId: string;
  /** The approvals given so far, if it needs several. */
  readonly approvals: readonly Vote[];
}

/** A request that the store cannot read: nobody knows whether a filter means it. */
export interface DamagedRequest {
  /** As it stands in the store, and maybe damaged itself. */
  readonly id: string;
  /** The thread whose journal has this request open; undefined where that cannot be told. */
  readonly threadId?: string;
}

/** A page of open requests, the oldest first. */
export interface Inbox {
  readonly items: readonly InboxItem[];
  /** All requests that the store cannot read, on every page: whether a filter means them is unknown. */
  readonly damaged: readonly DamagedRequest[];
  /** The cursor of the next page; undefined after the last one. */
  readonly next?: string;
}

/** Which requests `runner.inbox()` lists. */
export interface InboxFilter extends PageOptions {
  readonly threadId?: string | undefined;
  readonly kind?: RequestKind | undefined;
  readonly tool?: string | undefined;
  /** Only what this person may answer. */
  readonly by?: string | undefined;
}

const FILTER: KnownOptions<InboxFilter> = {
  threadId: true,
  kind: true,
  tool: true,
  by: true,
  limit: true,
  cursor: true,
};

/** `logged` has the damaged ones that the log has heard of. */
export async function readInbox(
  setup: Setup,
  tenant: string,
  filter: InboxFilter,
  logged: Set<string>,
): Promise<Inbox> {
  refuseUnknown("inbox()", filter, FILTER);
  const { threadId, kind, tool, by } = filter;
  const limit = readLimit(filter.limit);
  const list: Json = ["inbox", tenant, { threadId, kind, tool, by }].map((each) => toJson(each, "The filter"));
  const after = readCursor(list, filter.cursor);
  const rows = await setup.store.requests(tenant);
  const damaged: DamagedRequest[] = [];
  for (const row of rows) {
    if (row.damaged !== true) continue;
    const { id } = row;
    if (!logged.has(id)) tell(setup, id);
    logged.add(id);
    const threadId = await askerOf(setup, tenant, row);
    if (threadId === undefined) damaged.push({ id });
    else if (filter.threadId === undefined || filter.threadId === threadId) damaged.push({ id, threadId });
  }
  const all = itemsOf(rows, filter, setup, await groupsOf(setup, rows, filter.by));
  const from = after === undefined ? 0 : indexAfter(all, after);
  const items = all.slice(from, from + limit);
  const last = items.at(-1);
  if (last === undefined || from + limit >= all.length) return { items, damaged };
  return { items, damaged, next: writeCursor(list, { at: last.raisedAt, id: last.id }) };
}

/** Returns where the page after a place begins. If the request there was decided, those of its time may be listed twice. */
function indexAfter(items: readonly InboxItem[], { at, id }: ListPlace): number {
  const same = items.findIndex((item) => item.id === id);
  if (same !== -1) return same + 1;
  const later = items.findIndex(({ raisedAt }) => raisedAt >= at);
  return later === -1 ? items.length : later;
}

function tell({ log }: Setup, id: string): void {
  const error = belayError("STORE_CORRUPT", { problem: `request ${id} does not fit its checksum` });
  log({ level: "warn", error, threadId: "", runId: "", agentName: "", runPath: "" });
}

/** The row's word for its thread, where that thread's journal proves it. */
async function askerOf({ store }: Setup, tenant: string, row: RequestRow): Promise<string | undefined> {
  const { id, threadId } = row;
  const state = newThread(threadId);
  try {
    fold(state, (await loadThread(store, { tenant, threadId }))?.lines ?? []);
  } catch {
    // Whatever keeps it from being read is said by whoever opens it.
    return undefined;
  }
  return openRequests(state).some((open) => open.id === id) ? threadId : undefined;
}

/** Returns the groups that the requests name and the person belongs to, if the runner's `groups` is a function. */
async function groupsOf(
  { memberOf }: Setup,
  rows: readonly RequestRow[],
  by: string | undefined,
): Promise<readonly string[]> {
  if (memberOf === undefined || by === undefined) return [];
  const named = new Set<string>();
  for (const { body, damaged } of rows) {
    const { approvers = [] } = damaged ? {} : (JSON.parse(body) as { interrupt: Interrupt }).interrupt;
    for (const approver of approvers) named.add(approver);
  }
  const anything: Answer = { type: "reject", reason: "", by };
  return (await vouched(memberOf, { approvers: [...named] }, anything)).groups ?? [];
}

function itemsOf(
  rows: readonly RequestRow[],
  { threadId, kind, tool, by }: InboxFilter,
  { clock, groups }: Pick<Setup, "clock" | "groups">,
  known: readonly string[],
): InboxItem[] {
  const now = clock.now();
  const items: InboxItem[] = [];
  for (const row of rows) {
    if (row.damaged || (threadId !== undefined && row.threadId !== threadId)) continue;
    if (row.expiresAt !== undefined && row.expiresAt <= now) continue;
    const body = JSON.parse(row.body) as RequestBody;
    const { interrupt } = body;
    if (kind !== undefined && interrupt.kind !== kind) continue;
    if (tool !== undefined && interrupt.tool !== tool) continue;
    if (by !== undefined && !mayAnswer(interrupt, by, groups, known)) continue;
    if (!isExpired(interrupt, now)) items.push(itemOf(row.threadId, body));
  }
  return items;
}

/** Returns a request as lists show it. */
export function itemOf(threadId: string, { runId, interrupt, approvals = [] }: RequestBody): InboxItem {
  return { threadId, runId, ...(interrupt as Omit<InboxItem, "threadId" | "runId" | "approvals">), approvals };
}
