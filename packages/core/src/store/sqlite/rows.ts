// The rows of the tables, and the checksums that hold them together: a bit that flips anywhere in them is noticed.

import { hash as sha } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Command, ThreadKey } from "../store.ts";

export interface Row {
  readonly num: number;
  readonly id: string;
  readonly agent: string;
  readonly state: string;
  readonly head: number;
  readonly fence: number;
  readonly owner: string | null;
  readonly until: number;
  readonly append_id: string;
  readonly crc: number;
  readonly hash: Uint8Array;
  readonly created_at: number;
  readonly updated_at: number;
  readonly row_crc: number;
  readonly queued: number;
}

export interface CommandRow {
  readonly key: string;
  readonly kind: Command["kind"];
  readonly body: string;
  readonly at: number;
  readonly crc: number;
}

export interface EntryRow {
  readonly seq: number;
  readonly count: number;
  readonly at: number;
  readonly body: string | null;
  readonly blob: string | null;
  readonly crc: number;
}

/** Everything in a thread's row but its lease. */
export function rowCrc(
  tenant: string,
  row: Omit<Row, "num" | "queued" | "owner" | "until" | "hash" | "row_crc">,
): number {
  const { id, agent, state, head, fence, append_id, crc, created_at, updated_at } = row;
  return crc32([tenant, id, agent, state, head, fence, append_id, crc, created_at, updated_at].join("\n"));
}

export function lineCrc(before: number, key: ThreadKey, seq: number, count: number, at: number, body: string): number {
  return crc32(body, crc32(`${key.tenant}\n${key.threadId}\n${seq}\n${count}\n${at}\n`, before));
}

export function lineHash(before: Uint8Array, body: string): Uint8Array {
  const head = Buffer.from(before).toString("base64");
  return (sha("sha256", `${head}\n${body}`, "buffer") as Buffer).subarray(0, 16);
}
