// The requests of a database: each is written in the transaction of the append that raises or closes it. Callers are in one
// already.
//
// A row that does not fit its checksum is not returned, and none is left out silently: a request is found in two ways, and a
// second index must have the same open ones, because an index can be damaged without the rows. If both lead to a row that does
// not fit, the row is damaged, and the others are returned; if they differ, the missing request is unknown.

import { belayError } from "../../error.ts";
import { damagedRequest } from "../damaged-request.ts";
import type { Append, DecidedRow, RequestQuery, RequestRange, RequestRow } from "../store.ts";
import { fromText, toText } from "./database.ts";
import { nameCrc, type RequestTableRow, type Row, requestCrc } from "./rows.ts";
import type { Statements } from "./statements.ts";

export function raiseRequests(sql: Statements, by: Row, raise: NonNullable<Append["raise"]>): void {
  for (const { id: given, expiresAt, body: text } of raise) {
    const { num } = sql.nextRequest.get() as { num: number };
    const { tenant, num: thread } = by;
    const [id, body, expires_at] = [toText(given), toText(text), expiresAt ?? null];
    const open = { closed: null, decided_at: null };
    const crc = requestCrc({ num, tenant, id, thread, thread_id: by.id, expires_at, body, ...open });
    sql.addRequest.run(num, tenant, id, nameCrc(tenant, id), thread, expires_at, body, crc);
  }
}

/** Closes the named open requests of the thread; ignores other names. */
export function closeRequests(sql: Statements, by: Row, { close = [], decided = [], at }: Append): void {
  const bodies = new Map(decided.map(({ id, body }) => [id, body]));
  for (const id of close) {
    const row = findOpen(sql, by, id);
    if (row === undefined) continue;
    const closed = by.head;
    const body = toText(bodies.get(id) ?? "");
    const decided_at = bodies.has(id) ? at : null;
    const crc = requestCrc({ ...row, body, closed, decided_at });
    sql.closeRequest.run(closed, body, decided_at, crc, row.num);
  }
}

/** Gives open requests of the thread another body. */
export function amendRequests(sql: Statements, by: Row, amend: NonNullable<Append["amend"]>): void {
  for (const { id, body: given } of amend) {
    const row = findOpen(sql, by, id);
    const body = toText(given);
    if (row !== undefined) sql.amendRequest.run(body, requestCrc({ ...row, body }), row.num);
  }
}

function findOpen(sql: Statements, by: Row, id: string): RequestTableRow | undefined {
  const row = findRequest(sql, by.tenant, toText(id));
  return row === undefined || row.thread !== by.num || row.closed !== null ? undefined : row;
}

/** Returns a request, open or decided. */
export function readRequest(sql: Statements, tenant: string, id: string): RequestRow | DecidedRow | undefined {
  const row = findRequest(sql, toText(tenant), toText(id));
  if (row === undefined || (row.closed !== null && row.decided_at === null)) return undefined;
  return row.closed === null ? shownOpen(row) : shownDecided(row);
}

export function decidedRequests(sql: Statements, tenant: string, query: RequestQuery): readonly DecidedRow[] {
  const { threadId, limit, after = { at: Number.MAX_SAFE_INTEGER, id: "" } } = query;
  const values = [toText(tenant), after.at, toText(after.id), limit];
  const rows = (threadId === undefined
    ? sql.decided.all(...values)
    : sql.decidedOf.all(...values, toText(threadId))) as unknown as RequestTableRow[];
  return rows.map((row) => {
    if (fits(row)) return shownDecided(row);
    return { ...damagedRequest(row.id, row.thread_id), decidedAt: Number(row.decided_at) };
  });
}

function shownOpen({ id, thread_id, body, expires_at }: RequestTableRow): RequestRow {
  const request = { id: fromText(id), threadId: fromText(thread_id), body: fromText(body) };
  return expires_at === null ? request : { ...request, expiresAt: expires_at };
}

function shownDecided({ id, thread_id, body, decided_at }: RequestTableRow): DecidedRow {
  return { id: fromText(id), threadId: fromText(thread_id), body: fromText(body), decidedAt: decided_at! };
}

/** Returns the open requests of a tenant; without a range, all of them. */
export function openRequests(sql: Statements, tenant: string, range?: RequestRange): readonly RequestRow[] {
  const { after = 0, limit = -1 } = range ?? {};
  const rows = sql.openRequests.all(toText(tenant), after, limit) as unknown as RequestTableRow[];
  // After a page that is not full there is nothing more, by either index.
  const to = rows.length === limit ? rows.at(-1)!.num : Number.MAX_SAFE_INTEGER;
  const other = sql.sumRequests.get(toText(tenant), after + 1, to) as { n: number; nums: number };
  let [last, nums] = [after, 0];
  for (const { num } of rows) {
    if (num <= last) throw indexesDiffer();
    last = num;
    nums += num;
  }
  if (other.n !== rows.length || other.nums !== nums) throw indexesDiffer();
  return rows.map((row) => {
    const { id, thread_id } = row;
    const place = range && { place: row.num };
    if (!fits(row)) return { ...damagedRequest(id, thread_id), ...place };
    // As it was written: an index says that it is open and this tenant's, and is wrong.
    if (row.closed !== null || row.tenant !== toText(tenant)) throw misfit(row);
    return { ...shownOpen(row), ...place };
  });
}

export function requestThread(sql: Statements, tenant: string, id: string): string | undefined {
  const row = findRequest(sql, toText(tenant), toText(id));
  return row && fromText(row.thread_id);
}

function findRequest(sql: Statements, tenant: string, id: string): RequestTableRow | undefined {
  const row = sql.request.get(tenant, id) as RequestTableRow | undefined;
  if (row !== undefined && (row.tenant !== tenant || row.id !== id)) throw misfit(row);
  if (row !== undefined) return checked(row);
  if (sql.namedRequest.get(nameCrc(tenant, id), tenant, id) === undefined) return undefined;
  throw indexesDiffer();
}

function checked(row: RequestTableRow): RequestTableRow {
  if (!fits(row)) throw misfit(row);
  return row;
}

function fits(row: RequestTableRow): boolean {
  return row.crc === requestCrc(row) && row.name === nameCrc(row.tenant, row.id);
}

function misfit(row: RequestTableRow): Error {
  return belayError("STORE_CORRUPT", { problem: `request ${row.id} does not fit its checksum` });
}

function indexesDiffer(): Error {
  return belayError("STORE_CORRUPT", { problem: "two indexes know different requests" });
}
