// What waits for people, over all threads: the store's rows, read.

import { belayError } from "../error.ts";
import { isExpired, mayAnswer } from "../interrupt/decision.ts";
import type { Interrupt, RequestKind } from "../interrupt/interrupt.ts";
import type { RequestRow } from "../store/store.ts";
import type { DriveSetup } from "./drive.ts";

/** An open request. `id` is what runner.answer() takes. */
export interface InboxItem extends Omit<Interrupt, "kind" | "message" | "calls"> {
  readonly kind: RequestKind;
  readonly threadId: string;
  readonly runId: string;
}

export interface InboxFilter {
  readonly threadId?: string;
  readonly kind?: RequestKind;
  readonly tool?: string;
  /** Only what this person may answer. */
  readonly by?: string;
}

const fields: readonly string[] = ["threadId", "kind", "tool", "by"] satisfies (keyof InboxFilter)[];

export function inboxOf(
  rows: readonly RequestRow[],
  filter: InboxFilter,
  { clock, groups }: Pick<DriveSetup, "clock" | "groups">,
): InboxItem[] {
  if (typeof filter !== "object" || filter === null) {
    throw belayError("OPTION_INVALID", { option: "filter", value: String(filter), needed: fields.join(", ") });
  }
  for (const field of Object.keys(filter)) {
    if (!fields.includes(field)) {
      throw belayError("OPTION_INVALID", { option: `filter.${field}`, value: "given", needed: fields.join(", ") });
    }
  }
  const { threadId, kind, tool, by } = filter;
  const now = clock.now();
  const items: InboxItem[] = [];
  for (const row of rows) {
    if (threadId !== undefined && row.threadId !== threadId) continue;
    if (row.expiresAt !== undefined && row.expiresAt <= now) continue;
    const { runId, interrupt } = JSON.parse(row.body) as { runId: string; interrupt: Interrupt };
    if (kind !== undefined && interrupt.kind !== kind) continue;
    if (tool !== undefined && interrupt.tool !== tool) continue;
    if (by !== undefined && !mayAnswer(interrupt, by, groups)) continue;
    if (!isExpired(interrupt, now))
      items.push({ threadId: row.threadId, runId, ...(interrupt as Omit<InboxItem, "threadId" | "runId">) });
  }
  return items;
}
