// When threads are due. A running thread is by its state, which the lists have an index of; another one has the time in its row, and
// few do. So a run writes nothing here.
// A copy for finding them: each is read from its row, and shown only if it fits.

import type { DueThread, ThreadRow } from "../store.ts";
import { fromText } from "./database.ts";
import type { Row } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Rows that are read at once. Some of them may be held. */
const PAGE = 64;

/** From when on a thread that does not run can move, leases apart, as isMovable() has it. */
function movableFrom({ state, answers, rest_due, queued }: Row, now: number): number | null {
  if (state === "paused") return answers === null ? rest_due : now;
  return (state === "completed" || state === "initialized") && queued > 0 ? now : null;
}

/**
 * Writes from when on it can move, if that has changed. `isMove` says that an append or a release set it anew; a command that
 * waits leaves an earlier time.
 */
export function writeDue(sql: Statements, before: Row | undefined, after: Row, now: number, isMove: boolean): void {
  const from = movableFrom(after, now);
  const was = before === undefined ? null : movableFrom(before, now);
  const isHeld = before?.owner != null && after.owner !== null;
  // Nothing that counts from now: a time of its own, or none.
  const isFixed = from === null || (after.state === "paused" && after.answers === null);
  if (from === was && (isFixed || (isMove && isHeld))) return;
  if (isMove || isFixed) sql.setDue.run(from, after.num);
  else sql.addDue.run(from, after.num);
}

/** A row, and since when it can move. */
type Found = Row & { readonly since: number };

/** Reads threads that are due, the longest waiting first. `show` shows a row, or nothing if it is damaged. */
export function readDue(
  sql: Statements,
  query: {
    readonly limit: number;
    readonly now: number;
    readonly before: number;
    readonly tenant: string | undefined;
  },
  show: (row: Row) => ThreadRow | undefined,
): readonly DueThread[] {
  const { limit, now, before, tenant } = query;
  const isFree = (row: Found) => (tenant === undefined || row.tenant === tenant) && show(row)?.lease === undefined;
  const left = (sql.running.all(now) as unknown as Found[]).filter((row) => row.since <= before && isFree(row));
  const resting: Found[] = [];
  for (let skipped = 0; resting.length < limit; skipped += PAGE) {
    const rows = sql.due.all(before, PAGE, skipped) as unknown as Found[];
    resting.push(...rows.filter(isFree));
    if (rows.length < PAGE) break;
  }
  const found = left.length === 0 ? resting : [...left, ...resting].sort((a, b) => a.since - b.since);
  return found.slice(0, limit).map(({ tenant, id, head, fence, since }) => ({
    tenant: fromText(String(tenant)),
    threadId: fromText(String(id)),
    head,
    fence,
    since,
  }));
}
