// When threads are due, in a table of its own: few of many threads can move, and most appends of one that runs do not touch it.
// A copy for finding them: each is read from its row, and shown only if it fits.

import type { DueThread, ThreadRow } from "../store.ts";
import { fromText } from "./database.ts";
import type { Row } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Rows that are read at once. Some of them may be held. */
const PAGE = 64;

/** From when on a thread can move, leases apart, as isMovable() has it. */
function movableFrom({ state, answers, rest_due, queued }: Row, now: number): number | null {
  if (state === "running") return now;
  if (state === "paused") return answers === null ? rest_due : now;
  return (state === "completed" || state === "initialized") && queued > 0 ? now : null;
}

/** Whether it was held, and an append leaves it to be due as it was. */
export function staysDue(before: Row | undefined, after: Row, now: number): boolean {
  return before !== undefined && before.owner !== null && movableFrom(before, now) === movableFrom(after, now);
}

/** Writes from when on it can move. `isMove` says that an append or a release set it anew; a command leaves an earlier time. */
export function writeDue(sql: Statements, row: Row, now: number, isMove: boolean): void {
  const from = movableFrom(row, now);
  if (from === null) sql.dropDue.run(row.num);
  else if (isMove) sql.setDue.run(row.num, from);
  else sql.addDue.run(row.num, from);
}

/** Reads threads that are due, the longest waiting first. `show` shows a row, or nothing if it is damaged. */
export function readDue(
  sql: Statements,
  { limit, before, tenant }: { readonly limit: number; readonly before: number; readonly tenant: string | undefined },
  show: (row: Row) => ThreadRow | undefined,
): readonly DueThread[] {
  const found: DueThread[] = [];
  for (let skipped = 0; ; skipped += PAGE) {
    const rows = sql.due.all(before, PAGE, skipped) as unknown as (Row & { readonly since: number })[];
    for (const row of rows) {
      if (tenant !== undefined && row.tenant !== tenant) continue;
      const shown = show(row);
      if (shown !== undefined && shown.lease !== undefined) continue;
      const { head, fence } = row;
      // An owner that died kept it until now, or until its lease was over: earlier is as good.
      found.push({
        tenant: fromText(String(row.tenant)),
        threadId: fromText(String(row.id)),
        head,
        fence,
        since: row.since,
      });
      if (found.length === limit) return found;
    }
    if (rows.length < PAGE) return found;
  }
}
