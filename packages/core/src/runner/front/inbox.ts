// What waits for people, over all threads: the store's rows, read. A row is a copy of what stands in a journal: one that is
// damaged is no item, whatever is asked for, and told beside the items and in the log, so that no list is shorter than it
// should be without a word (P7).

import { belayError } from "../../error.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { isExpired, mayAnswer } from "../../interrupt/decision.ts";
import type { Interrupt, RequestKind } from "../../interrupt/interrupt.ts";
import { vouched } from "../../interrupt/vouched.ts";
import { fold } from "../../journal/fold.ts";
import { openRequests } from "../../journal/requests.ts";
import { newThread } from "../../journal/state.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { RequestRow } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";

/** An open request. `id` is what runner.answer() takes. */
export interface InboxItem extends Omit<Interrupt, "kind" | "message" | "calls"> {
  readonly kind: RequestKind;
  readonly threadId: string;
  readonly runId: string;
}

/** A request that the store cannot read: nobody knows whether a filter means it. */
export interface DamagedRequest {
  /** As it stands in the store, and maybe damaged itself. */
  readonly id: string;
  /** The thread whose journal has this request open; undefined where that cannot be told. */
  readonly threadId?: string;
}

/**
 * A list, and beside it what is missing from it. `damaged` is always there; it is enumerable only where there is any, so that
 * an inbox without damage equals a plain list, and one with it does not.
 */
export type Inbox = InboxItem[] & { readonly damaged: readonly DamagedRequest[] };

/** Which requests `runner.inbox()` lists. */
export interface InboxFilter {
  readonly threadId?: string | undefined;
  readonly kind?: RequestKind | undefined;
  readonly tool?: string | undefined;
  /** Only what this person may answer. */
  readonly by?: string | undefined;
}

const FILTER: KnownOptions<InboxFilter> = { threadId: true, kind: true, tool: true, by: true };

/** `logged` has the damaged ones that the log has heard of. */
export async function readInbox(
  setup: Setup,
  tenant: string,
  filter: InboxFilter,
  logged: Set<string>,
): Promise<Inbox> {
  refuseUnknown("inbox()", filter, FILTER);
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
  const items = itemsOf(rows, filter, setup, await groupsOf(setup, rows, filter.by));
  const enumerable = damaged.length > 0;
  return Object.defineProperty(items, "damaged", { value: damaged, enumerable }) as Inbox;
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
    const { runId, interrupt } = JSON.parse(row.body) as { runId: string; interrupt: Interrupt };
    if (kind !== undefined && interrupt.kind !== kind) continue;
    if (tool !== undefined && interrupt.tool !== tool) continue;
    if (by !== undefined && !mayAnswer(interrupt, by, groups, known)) continue;
    if (!isExpired(interrupt, now))
      items.push({ threadId: row.threadId, runId, ...(interrupt as Omit<InboxItem, "threadId" | "runId">) });
  }
  return items;
}
