// The open requests of all threads, read from the rows of the store. A row is a copy of a request in a journal. A damaged row is
// no item of any list. It is reported beside the items and in the log, so that no list is silently too short (P7).

import { belayError } from "../../error.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { isExpired, mayAnswer, type Vote } from "../../interrupt/decision.ts";
import type { Interrupt, RequestKind } from "../../interrupt/interrupt.ts";
import { vouched } from "../../interrupt/vouched.ts";
import { folded } from "../../journal/fold.ts";
import { openRequests } from "../../journal/requests.ts";
import { type Json, toJson } from "../../json.ts";
import type { RequestRow } from "../../store/store.ts";
import type { RequestBody } from "../decide/requests.ts";
import { anything, type Checks, checkOptions } from "../given/check.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { PAGE, type PageOptions, readPage, type Source, take } from "./page.ts";

/** An open request. `id` is what runner.answer() takes. */
export interface InboxItem extends Omit<Interrupt, "kind" | "message" | "calls"> {
  readonly kind: RequestKind;
  readonly threadId: string;
  readonly runId: string;
  /** The approvals given so far, if it needs several. */
  readonly approvals: readonly Vote[];
}

/** A request that the store cannot read: it may or may not match a filter. */
export interface DamagedRequest {
  /** The stored id. It may be damaged itself. */
  readonly id: string;
  /** The thread whose journal has this request open; undefined if that is unknown. */
  readonly threadId?: string;
}

/** A page of open requests, the oldest first. */
export interface Inbox {
  readonly items: readonly InboxItem[];
  /** Requests that the store cannot read, of those that were read for this page: whether a filter means them is unknown. */
  readonly damaged: readonly DamagedRequest[];
  /** The cursor of the next page; undefined after the last one. */
  readonly next?: string;
}

/** Which requests `runner.inbox()` lists. */
export interface InboxFilter extends PageOptions {
  readonly threadId?: string | undefined;
  readonly kind?: RequestKind | undefined;
  readonly tool?: string | undefined;
  /** Only requests that this person may answer. */
  readonly by?: string | undefined;
  /** Groups of that person beside those that the runner's `groups` names. */
  readonly groups?: readonly string[] | undefined;
}

const FILTER: Checks<InboxFilter> = {
  threadId: anything,
  kind: anything,
  tool: anything,
  by: anything,
  groups: anything,
  ...PAGE,
};

/** Returns a page of open requests. `logged` holds the damaged ones that were logged before. */
export async function readInbox(
  setup: Setup,
  tenant: string,
  filter: InboxFilter,
  logged: Set<string>,
): Promise<Inbox> {
  checkOptions("inbox()", filter, FILTER);
  const { threadId, kind, tool, by, groups } = filter;
  const list: Json = ["inbox", tenant, { threadId, kind, tool, by, groups }].map((each) => toJson(each, "The filter"));
  const isFiltered = [threadId, kind, tool, by].some((each) => each !== undefined);
  const damaged: DamagedRequest[] = [];
  let known: readonly string[] = [];
  const open: Source<RequestRow, InboxItem> = {
    isFiltered,
    rows: async (after, limit) => {
      const rows = await setup.store.requests(tenant, { after: after?.at, limit });
      damaged.push(...(await damagedIn(setup, tenant, rows, threadId, logged)));
      known = [...(groups ?? []), ...(await groupsOf(setup, rows, by))];
      return rows;
    },
    placeOf: ({ place, id }) => ({ at: place!, id }),
    itemOf: (row) => itemIn(row, filter, setup, known),
  };
  return { ...(await readPage(list, filter, (after, most) => take(open, after, most))), damaged };
}

/** Returns the requests that the store cannot read, but for those that are proven to be of another thread than `wanted`. */
async function damagedIn(
  setup: Setup,
  tenant: string,
  rows: readonly RequestRow[],
  wanted: string | undefined,
  logged: Set<string>,
): Promise<readonly DamagedRequest[]> {
  const damaged: DamagedRequest[] = [];
  for (const row of rows) {
    if (row.damaged !== true) continue;
    const { id } = row;
    if (!logged.has(id)) tell(setup, id);
    logged.add(id);
    const threadId = await askerOf(setup, tenant, row);
    if (threadId === undefined) damaged.push({ id });
    else if (wanted === undefined || wanted === threadId) damaged.push({ id, threadId });
  }
  return damaged;
}

function tell({ log }: Setup, id: string): void {
  const error = belayError("STORE_CORRUPT", { problem: `request ${id} does not fit its checksum` });
  log({ level: "warn", error, threadId: "", runId: "", agentName: "", runPath: "" });
}

/** Returns the thread that a damaged row names, if the journal of that thread proves it. */
async function askerOf({ store }: Setup, tenant: string, row: RequestRow): Promise<string | undefined> {
  const { id, threadId } = row;
  try {
    const state = folded(threadId, (await loadThread(store, { tenant, threadId }))?.lines ?? []);
    return openRequests(state).some((open) => open.id === id) ? threadId : undefined;
  } catch {
    // open() reports why the thread cannot be read.
    return undefined;
  }
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

function itemIn(
  row: RequestRow,
  { threadId, kind, tool, by }: InboxFilter,
  { clock, groups }: Pick<Setup, "clock" | "groups">,
  known: readonly string[],
): InboxItem | undefined {
  const now = clock.now();
  if (row.damaged || (threadId !== undefined && row.threadId !== threadId)) return undefined;
  if (row.expiresAt !== undefined && row.expiresAt <= now) return undefined;
  const body = JSON.parse(row.body) as RequestBody;
  const { interrupt } = body;
  if (kind !== undefined && interrupt.kind !== kind) return undefined;
  if (tool !== undefined && interrupt.tool !== tool) return undefined;
  if (by !== undefined && !mayAnswer(interrupt, by, groups, known)) return undefined;
  return isExpired(interrupt, now) ? undefined : itemOf(row.threadId, body);
}

/** Returns a request as lists show it. */
export function itemOf(threadId: string, { runId, interrupt, approvals = [] }: RequestBody): InboxItem {
  return { threadId, runId, ...(interrupt as Omit<InboxItem, "threadId" | "runId" | "approvals">), approvals };
}
