// The rows of the tables, and the sums that hold them together: a byte that changes anywhere in them is noticed. Numbers
// come as text: they may be larger than the driver dares to read as numbers. functions.ts makes the same sums.

import { hash as sha } from "node:crypto";
import type { Command, RaisedRequest, RuleRow, ThreadKey } from "../store.ts";
import { toText } from "../text.ts";

/** A thread's row; bytes in hex. */
export interface Row {
  readonly num: string;
  readonly name: string;
  readonly tenant_name: string;
  readonly tenant: string;
  readonly id: string;
  readonly agent: string;
  readonly state: string;
  readonly head: string;
  readonly fence: string;
  readonly owner: string | null;
  readonly until: string;
  readonly append_id: string;
  readonly hash: string;
  readonly base: string;
  readonly root: string;
  /** How many commands wait, and how many of them are inputs and answers. */
  readonly open: number;
  readonly queued: number;
  readonly answers: number;
  readonly rest_from: string | null;
  readonly rest_due: string | null;
  /** The number of the thread that has the line before its first. */
  readonly parent: string | null;
  readonly parent_id: string | null;
  readonly parent_seq: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly sum: string;
  /** Its lease has not ended. */
  readonly held: boolean;
}

export interface RequestTableRow {
  readonly num: string;
  readonly tenant: string;
  readonly id: string;
  /** The thread's own id, of its row. */
  readonly thread_id: string | null;
  readonly expires_at: string | null;
  readonly body: string;
  readonly closed: string | null;
  readonly decided_at: string | null;
  readonly sum: string;
}

/** How lists show a thread. A row that was made for a thread of an earlier release has no sum. */
export interface ListingRow {
  readonly thread: string | null;
  readonly at: string;
  readonly listed_id: string;
  readonly listed_state: string;
  readonly pause: string | null;
  readonly run: string | null;
  readonly title: string | null;
  /** As JSON; NULL while no append has set them. */
  readonly labels: string | null;
  readonly listing_sum: string | null;
}

const BYTES = { name: 16, hash: 16, sum: 8 };

function digest(text: string, bytes: number): string {
  return (sha("sha256", text, "hex") as string).slice(0, 2 * bytes);
}

/** The hash of a whole body: a part of its line's hash, and the name of a body that is kept apart. */
export function bodyDigest(body: string): string {
  return sha("sha256", body, "hex") as string;
}

/** The hash that finds a thread, a request or a rule. Both names as in the database. */
export function nameOf(tenant: string, id: string): string {
  return digest(`${tenant}\0${id}`, BYTES.name);
}

export function threadName({ tenant, threadId }: ThreadKey): string {
  return nameOf(toText(tenant), toText(threadId));
}

export function tenantName(tenant: string): string {
  return nameOf(toText(tenant), "");
}

export function lineHash(before: string, seq: number, count: number, at: number, body: string): string {
  return digest(`${before},${seq},${count},${at},${bodyDigest(body)}`, BYTES.hash);
}

export function rowSum(row: Row): string {
  const { num, name, tenant_name, tenant, id, agent, state, head, fence, owner, until, append_id, hash, base, root } =
    row;
  const { open, queued, answers, rest_from, rest_due, parent, parent_id, parent_seq, created_at, updated_at } = row;
  const of = `${num}\n${name}\n${tenant_name}\n${tenant}\n${id}\n${agent}\n${state}\n${head}\n${fence}`;
  const lease = `${owner === null ? "-" : `+${owner}`}\n${until}\n${append_id}\n${hash}\n${base}\n${root}`;
  const counts = `${open}\n${queued}\n${answers}\n${rest_from ?? "-"}\n${rest_due ?? "-"}`;
  const fork = `${parent ?? "-"}\n${parent_id === null ? "-" : `+${parent_id}`}\n${parent_seq ?? "-"}`;
  return digest(`${of}\n${lease}\n${counts}\n${fork}\n${created_at}\n${updated_at}`, BYTES.sum);
}

export function fits(row: Row, tenant: string): boolean {
  return row.sum === rowSum(row) && row.tenant === toText(tenant) && row.name === nameOf(row.tenant, row.id);
}

/** All texts as they are in the database. */
export function commandSum(thread: string, { key, kind, body, at }: Command): string {
  return digest(`${thread}\n${key}\n${kind}\n${at}\n${body}`, BYTES.sum);
}

export function requestSum(tenant: string, threadId: string, request: RaisedRequest): string {
  const { id, expiresAt, body } = request;
  return digest(`${tenant}\n${id}\n${threadId}\n${expiresAt ?? "-"}\n${body}`, BYTES.sum);
}

export function closedSum(tenant: string, threadId: string, id: string): string {
  return digest(`closed\n${tenant}\n${id}\n${threadId}`, BYTES.sum);
}

export function decidedSum(tenant: string, threadId: string, id: string, at: number, body: string): string {
  return digest(`decided\n${tenant}\n${id}\n${threadId}\n${at}\n${body}`, BYTES.sum);
}

/** As list_sum_1 makes it. */
export function listingSum(row: ListingRow): string {
  const texts = [row.pause, row.run, row.title, row.labels].map((text) => (text === null ? "-" : `+${text}`));
  return digest([row.thread, row.at, row.listed_state, ...texts].join("\n"), BYTES.sum);
}

export function ruleSum(tenant: string, { id, at, body }: RuleRow): string {
  return digest(`${tenant}\n${id}\n${at}\n${body}`, BYTES.sum);
}

export function snapshotSum(thread: string, seq: number, body: string): string {
  return digest(`${thread}\n${seq}\n${body}`, BYTES.sum);
}

export const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
