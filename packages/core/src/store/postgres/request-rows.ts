// Rows of requests as the database has them, open and decided.

import type { DecidedRow, RequestRow } from "../store.ts";
import { fromText, toText } from "../text.ts";
import { closedSum, decidedSum, type RequestTableRow, requestSum } from "./rows.ts";
import { misfit } from "./store-error.ts";

export function checkedRequest(row: RequestTableRow, tenant: string): RequestTableRow {
  if (!fitsRequest(row) || row.tenant !== toText(tenant)) throw misfit(`request ${row.id}`);
  return row;
}

export function shownOpen({ id, thread_id, expires_at, body }: RequestTableRow): RequestRow {
  const request = { id: fromText(id), threadId: fromText(thread_id!), body: fromText(body) };
  return expires_at === null ? request : { ...request, expiresAt: Number(expires_at) };
}

export function shownDecided({ id, thread_id, body, decided_at }: RequestTableRow): DecidedRow {
  return { id: fromText(id), threadId: fromText(thread_id!), body: fromText(body), decidedAt: Number(decided_at) };
}

export function fitsRequest({
  tenant,
  id,
  thread_id,
  expires_at,
  body,
  closed,
  decided_at,
  sum,
}: RequestTableRow): boolean {
  if (thread_id === null) return false;
  if (decided_at !== null) return sum === decidedSum(tenant, thread_id, id, Number(decided_at), body);
  const request = { id, body, ...(expires_at !== null && { expiresAt: Number(expires_at) }) };
  return sum === (closed === null ? requestSum(tenant, thread_id, request) : closedSum(tenant, thread_id, id));
}
