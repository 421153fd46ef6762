// The rows of the tables, and the checksums that hold them together: a bit that flips anywhere in them is noticed.

import { hash as sha } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Command, ThreadKey } from "../store.ts";

export interface Row {
  readonly num: number;
  readonly tenant: string;
  readonly id: string;
  readonly name: number;
  readonly agent: string;
  readonly state: string;
  readonly head: number;
  readonly fence: number;
  readonly owner: string | null;
  readonly until: number;
  readonly append_id: string;
  readonly crc: number;
  readonly hash: Uint8Array;
  /** How many commands wait, and how many of them are inputs. */
  readonly open: number;
  readonly queued: number;
  /** How many of them are answers; NULL is none. */
  readonly answers: number | null;
  readonly rest_from: number | null;
  readonly rest_due: number | null;
  /** On a fork: the id of its parent, the seq after which it continues, and the crc of all lines before. */
  readonly parent: string | null;
  readonly base_seq: number | null;
  readonly base_crc: number | null;
  /** The thread, present or kept, that has the line that ends at `base_seq`; NULL if no line is shared. */
  readonly base: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly row_crc: number;
  /** Its row in the lists, if this store has read or written that with it. A change of that one changes this one, too. */
  listing?: ListingRow | undefined;
}

/** The lines of a thread that exists or is kept for its forks. */
export type Place = Pick<Row, "num" | "id" | "base" | "base_seq" | "base_crc">;

export interface CommandRow {
  readonly key: string;
  readonly kind: Command["kind"];
  readonly body: string;
  readonly at: number;
  readonly crc: number;
}

export interface RequestTableRow {
  readonly num: number;
  readonly tenant: string;
  readonly id: string;
  readonly name: number;
  readonly thread: number;
  /** The thread's own id, of its row. */
  readonly thread_id: string;
  readonly expires_at: number | null;
  readonly body: string;
  readonly crc: number;
  /** The head by which it was closed; NULL while it is open. */
  readonly closed: number | null;
  /** When it was decided; NULL while it is open, and if a release without lists closed it. */
  readonly decided_at: number | null;
}

/** The fields and the order of a thread in lists. A row that was made for a thread of an earlier release has no crc. */
export interface ListingRow {
  readonly thread: number;
  readonly tenant: string;
  readonly id: string;
  readonly at: number;
  readonly state: string;
  readonly agent: string;
  readonly pause: string | null;
  readonly run: string | null;
  readonly title: string | null;
  /** As JSON; NULL while no append has set them. */
  readonly labels: string | null;
  readonly crc: number | null;
}

export interface RuleTableRow {
  readonly num: number;
  readonly tenant: string;
  readonly id: string;
  readonly at: number;
  readonly body: string;
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

/** Lines that follow one another, as one text: what their crcs were chained over, without the first place. */
export interface PageRow {
  readonly count: number;
  readonly text: string | null;
  /** Of its last line. */
  readonly crc: number;
}

type Summed = Omit<Row, "row_crc" | "name" | "listing">;

/** Everything in a thread's row; NULL in a column added later adds nothing. */
export function rowCrc(row: Summed): number {
  const { num, tenant, id, agent, state, head, fence, owner, until, append_id, crc, hash } = row;
  const { open, queued, created_at, updated_at, answers, rest_from, rest_due, parent } = row;
  const lease = owner === null ? "-" : `+${owner}`;
  const added =
    answers === null && rest_from === null && rest_due === null ? "" : `\n${answers}\n${rest_from}\n${rest_due}`;
  const forked = parent === null ? "" : `\n+${parent}\n${row.base}\n${row.base_seq}\n${row.base_crc}`;
  // No list that is joined: this is a part of every append.
  const name = `${num}\n${tenant}\n${id}\n${agent}\n${state}\n${head}\n${fence}\n${lease}\n${until}\n${append_id}`;
  return crc32(hash, crc32(`${name}\n${crc}\n${open}\n${queued}\n${created_at}\n${updated_at}${added}${forked}`));
}

/** The second way to find a thread. */
export function nameCrc(tenant: string, id: string): number {
  return crc32(`${tenant}\n${id}`);
}

export function commandCrc(thread: number, { key, kind, body, at }: Omit<CommandRow, "crc">): number {
  return crc32([thread, key, kind, body, at].join("\n"));
}

/** The thread's id is summed, too: a request that points to another row is noticed. */
export function requestCrc(row: Omit<RequestTableRow, "crc" | "name">): number {
  const { num, tenant, id, thread, thread_id, expires_at, body, closed, decided_at } = row;
  const added = decided_at === null ? [] : [decided_at];
  return crc32([num, tenant, id, thread, thread_id, String(expires_at), String(closed), ...added, body].join("\n"));
}

export function listingCrc(row: Omit<ListingRow, "crc">): number {
  const { thread, tenant, id, at, state, agent, pause, run, title, labels } = row;
  const place = `${thread}\n${tenant}\n${id}\n${at}\n${state}\n${agent}`;
  return crc32(`${place}\n${mark(pause)}\n${mark(run)}\n${mark(title)}\n${mark(labels)}`);
}

function mark(text: string | null): string {
  return text === null ? "-" : `+${text}`;
}

export function ruleCrc({ num, tenant, id, at, body }: Omit<RuleTableRow, "crc">): number {
  return crc32([num, tenant, id, at, body].join("\n"));
}

export function fencesCrc(last: number): number {
  return crc32(`fences\n${last}`);
}

/** The beginning of the text of a line's crc. */
export function linePlace(key: ThreadKey): string {
  return `${key.tenant}\n${key.threadId}\n`;
}

/** The page in statements.ts makes the same text. */
export function lineCrc(before: number, key: ThreadKey, seq: number, count: number, at: number, body: string): number {
  return crc32(`${linePlace(key)}${seq}\n${count}\n${at}\n${body}`, before);
}

export function lineHash(before: Uint8Array, body: string): Uint8Array {
  const bytes = Buffer.isBuffer(before) ? before : Buffer.from(before);
  const head = bytes.toString("base64");
  return (sha("sha256", `${head}\n${body}`, "buffer") as Buffer).subarray(0, 16);
}
