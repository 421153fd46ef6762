// Rows of threads as the database has them.

import type { SessionState } from "../../lifecycle.ts";
import type { ThreadRow } from "../store.ts";
import { fromText } from "../text.ts";
import type { Row } from "./rows.ts";

export function shown(row: Row): ThreadRow {
  const { owner, fence, until, rest_from, rest_due, parent_id, parent_seq } = row;
  return {
    threadId: fromText(row.id),
    agent: fromText(row.agent),
    state: row.state as SessionState,
    head: Number(row.head),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    queued: row.queued > 0,
    answered: row.answers > 0,
    ...(rest_from !== null && {
      rest: { from: Number(rest_from), ...(rest_due !== null && { dueAt: Number(rest_due) }) },
    }),
    ...(parent_id !== null && { parent: { threadId: fromText(parent_id), seq: Number(parent_seq) } }),
    ...(row.held &&
      owner !== null && {
        lease: { owner: fromText(owner), fence: Number(fence), until: Number(until) },
      }),
  };
}

/** Returns only the name of a row that does not fit its sum. */
export function shownDamaged(row: Row): ThreadRow {
  const none = { agent: "", state: "error", head: 0, createdAt: 0, updatedAt: 0 } as const;
  return { threadId: fromText(row.id), ...none, queued: false, answered: false, damaged: true };
}
