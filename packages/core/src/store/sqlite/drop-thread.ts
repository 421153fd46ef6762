// Removes a thread, but keeps the lines that its forks continue: they stay under its number, which is in `kept` from then on,
// until the last fork that needs them is removed. The caller is in a transaction.

import { dropListing } from "./listing.ts";
import type { Row } from "./rows.ts";
import type { Statements } from "./statements.ts";

type Dropped = Pick<Row, "num" | "tenant" | "base">;

export function dropThread(sql: Statements, row: Row): void {
  dropListing(sql, row.num);
  const { dropSnapshot, dropCommands, dropRequests, dropThread: dropRow } = sql;
  for (const statement of [dropSnapshot, dropCommands, dropRequests, dropRow]) statement.run(row.num);
  const needed = neededOf(sql, row.num);
  const { num, tenant, id, base, base_seq, base_crc } = row;
  if (needed !== null) sql.keep.run(num, tenant, id, base, base_seq, base_crc);
  dropLines(sql, row, needed ?? 0);
  if (needed === null) dropKept(sql, base);
}

/** Drops the lines that were kept for forks and that no fork needs any more, of this thread and of those before it. */
function dropKept(sql: Statements, first: number | null): void {
  for (let num = first; num !== null; ) {
    const kept = sql.kept.get(num) as Dropped | undefined;
    if (kept === undefined) return;
    const needed = neededOf(sql, num);
    if (needed === null) sql.unkeep.run(num);
    dropLines(sql, kept, needed ?? 0);
    if (needed !== null) return;
    num = kept.base;
  }
}

/** The seq of the last of its lines that a fork needs; null where none does. */
function neededOf(sql: Statements, num: number): number | null {
  return (sql.needed.get(num) as { seq: number | null }).seq;
}

function dropLines(sql: Statements, { num, tenant }: Dropped, after: number): void {
  const blobs = sql.blobsAfter.all(num, after) as { blob: string }[];
  sql.dropAfter.run(num, after);
  for (const { blob } of blobs) sql.dropBlob.run(tenant, blob, blob, tenant);
}
