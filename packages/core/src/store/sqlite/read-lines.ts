// The lines of a thread, checked against their crcs and the thread's row. Most of the cost of opening a long thread is the
// transfer of its rows column by column: SQLite joins a page of lines into one text, the very text of the crc chain, so that one
// crc proves all of it. A page that this does not prove, because of damage, a text kept apart, or unusual characters, is
// read line by line, to find the damaged line, or that there is none.

import { crc32 } from "node:zlib";
import type { BelayError } from "../../error.ts";
import type { Line } from "../../journal/codec.ts";
import type { Past, ThreadKey } from "../store.ts";
import { provenLines } from "./audit.ts";
import { fromText, toText } from "./database.ts";
import { type EntryRow, lineCrc, linePlace, type PageRow, type Place, type Row } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { asStoreError, damaged } from "./store-error.ts";

/** How far a page goes. No line's text is longer than a blob may be, so that all of them fit into one. */
const PAGE_SEQS = 1_000;

/** No seq is higher. */
export const LAST = 0xffffffff;

/** The position of the reader: the seq of the next line, and the crc of all before it. */
interface Mark {
  readonly next: number;
  readonly crc: number;
}

/** Lines that stand under one number, with the crcs before the first and at the last of them. */
interface Stretch {
  readonly num: number;
  /** Their thread: their crcs include its name. */
  readonly key: ThreadKey;
  readonly from: Mark;
  /** The crc that they must lead to; undefined if no trusted row has it. */
  readonly end: Mark | undefined;
}

/** The lines that hold facts after `after`. Within a transaction of its caller's, which has read `row`. */
export function readLines(sql: Statements, key: ThreadKey, row: Row, after: number): readonly Line[] {
  if (after >= row.head) return [];
  const lines: Line[] = [];
  for (const stretch of stretches(sql, key, row, { next: row.head + 1, crc: row.crc }, after)) {
    const { num, from } = stretch;
    const mark = after < from.next ? from : markAt(sql, key, num, after + 1, from);
    readStretch(sql, key, stretch, mark, LAST, lines);
  }
  return lines;
}

/** Returns the readable lines that end at `to` or before, proven by their hashes, too. The row of `isSound` is trusted. */
export function readPast(
  sql: Statements,
  key: ThreadKey,
  row: Row,
  isSound: boolean,
  to: number,
): Pick<Past, "lines" | "damage"> {
  const lines: Line[] = [];
  const read: Stretch[] = [];
  const unread = damageIn(key, () => {
    const end = isSound ? { next: row.head + 1, crc: row.crc } : undefined;
    for (const stretch of stretches(sql, key, row, end, 0)) {
      read.push(stretch);
      if (stretch.from.next <= to) readStretch(sql, key, stretch, stretch.from, to, lines);
    }
    if (!isSound && endOf(lines) < to) throw damaged(key, endOf(lines) + 1, "its row does not fit its checksum");
  });
  const unproven = damageIn(key, () => {
    const proven = provenLines(sql, read, lines, isSound ? row : undefined);
    const [first] = lines.splice(proven);
    if (first !== undefined) throw damaged(key, first.seq, "a line does not fit its hash");
  });
  const error = unproven ?? unread;
  return { lines: upTo(lines, to), ...(error && { damage: { seq: endOf(lines) + 1, error } }) };
}

/** Returns the damage that `work` meets. */
function damageIn(key: ThreadKey, work: () => void): BelayError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    const failure = asStoreError(key, error) as BelayError;
    if (failure.code !== "JOURNAL_CORRUPT") throw error;
    return failure;
  }
}

/** Returns the line that ends at `seq`, and its thread number; undefined if there is none, or it cannot be proven. */
export function lineEndingAt(
  sql: Statements,
  key: ThreadKey,
  row: Row,
  isSound: boolean,
  seq: number,
): (Pick<Row, "crc" | "hash"> & { readonly seq: number; readonly num: number | null }) | undefined {
  if (seq === 0) return { seq, crc: 0, hash: new Uint8Array(0), num: null };
  if (!isSound && endOf(readPast(sql, key, row, false, seq).lines) !== seq) return undefined;
  let place: Place = row;
  while (place.base !== null && seq <= (place.base_seq ?? 0)) place = placeOf(sql, key, place.base);
  const found = sql.lineAt.get(place.num, seq) as Pick<Row, "crc" | "hash"> & { seq: number; count: number };
  if (found === undefined || found.seq + found.count - 1 !== seq) return undefined;
  return { seq, crc: found.crc, hash: found.hash, num: place.num };
}

/** Reads from the first line with facts after `after` to the thread's own; the first lines of a fork are other threads'. */
function stretches(sql: Statements, key: ThreadKey, row: Row, end: Mark | undefined, after: number): Stretch[] {
  const found: Stretch[] = [];
  let place: Place = row;
  for (let until = end; ; ) {
    const { num, id, base, base_seq, base_crc } = place;
    const from = { next: (base_seq ?? 0) + 1, crc: base_crc ?? 0 };
    found.unshift({ num, key: num === row.num ? key : { ...key, threadId: fromText(id) }, from, end: until });
    if (base === null || after >= from.next - 1) return found;
    until = from;
    place = placeOf(sql, key, base);
  }
}

/** Returns the place of a parent. Its own checksum is not checked: the fork has the crc that all its lines must lead to. */
function placeOf(sql: Statements, key: ThreadKey, num: number): Place {
  const place = sql.place.get(num) as Place | undefined;
  if (place === undefined) throw damaged(key, 0, "the thread that it was forked from is missing");
  return place;
}

/** Adds the lines from `mark` on that begin at `to` or before. */
function readStretch(sql: Statements, of: ThreadKey, stretch: Stretch, mark: Mark, to: number, lines: Line[]): void {
  const { num, key, end } = stretch;
  const isOwn = key === of;
  const last = Math.min(to, isOwn ? LAST : end!.next - 1);
  const reached = end === undefined ? undefined : Math.min(to, end.next - 1);
  let at = mark;
  while (reached === undefined || at.next <= reached) {
    const read =
      readPage(sql, key, num, at, last, lines) ?? readEach(sql, of, key, num, at, last, lines, end === undefined);
    if (read === undefined) return;
    at = read;
  }
  if (end === undefined || to < end.next - 1) return;
  const { next, crc } = at;
  if (next !== end.next || crc !== end.crc) throw damaged(of, next, `the journal does not reach ${end.next - 1}`);
}

/** Before the line that holds `seq`. */
function markAt(sql: Statements, key: ThreadKey, num: number, seq: number, from: Mark): Mark {
  const [found, before] = sql.marks.all(num, seq) as { seq: number; crc: number }[];
  if (found === undefined) throw damaged(key, seq, "a line is missing");
  if (before === undefined && found.seq !== from.next) throw damaged(key, found.seq, "the line before it is missing");
  return { next: found.seq, crc: before?.crc ?? from.crc };
}

function endOf(lines: readonly Line[]): number {
  const last = lines.at(-1);
  return last === undefined ? 0 : last.seq + last.count - 1;
}

/** Returns the lines without a last one that ends after `to`. */
function upTo(lines: readonly Line[], to: number): readonly Line[] {
  return endOf(lines) <= to ? lines : lines.slice(0, -1);
}

/** Adds a page to `lines`; returns undefined, and adds nothing, if its crc does not prove it. */
function readPage(
  sql: Statements,
  key: ThreadKey,
  num: number,
  from: Mark,
  to: number,
  lines: Line[],
): Mark | undefined {
  const place = linePlace(key);
  if (toText(place) !== place) return undefined;
  const page = sql.page.get(num, from.next, Math.min(to, from.next + PAGE_SEQS - 1), place) as PageRow;
  if (typeof page.text !== "string" || crc32(page.text, crc32(place, from.crc)) !== page.crc) return undefined;
  const { text } = page;
  const first = lines.length;
  let { next } = from;
  // Seq, count, time, the line's text, and the place before the next one: scanned, because splitting took most of the time. If one
  // of the texts has several lines itself, the scan fails.
  for (let at = 0; at !== -1; ) {
    const seqEnd = text.indexOf("\n", at);
    const countEnd = text.indexOf("\n", seqEnd + 1);
    const timeEnd = text.indexOf("\n", countEnd + 1);
    const end = text.indexOf("\n", timeEnd + 1);
    const bodyEnd = end === -1 ? text.length : end - key.tenant.length;
    const count = digits(text, seqEnd + 1, countEnd);
    if (digits(text, at, seqEnd) !== next || !(count > 0) || (end !== -1 && !text.startsWith(place, bodyEnd))) {
      lines.length = first;
      return undefined;
    }
    const body = fromText(text.slice(timeEnd + 1, bodyEnd));
    lines.push({ seq: next, count, at: digits(text, countEnd + 1, timeEnd), body });
    next += count;
    at = end === -1 ? -1 : bodyEnd + place.length;
  }
  if (lines.length - first !== page.count) {
    lines.length = first;
    return undefined;
  }
  return { next, crc: page.crc };
}

/** The number from `start` to `end`, most of which are of digits alone. */
function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return Number(text.slice(start, end));
    value = 10 * value + digit;
  }
  return value;
}

/** Returns undefined if there are none, and none are needed. */
function readEach(
  sql: Statements,
  of: ThreadKey,
  key: ThreadKey,
  num: number,
  from: Mark,
  to: number,
  lines: Line[],
  mayEnd: boolean,
): Mark | undefined {
  const found = sql.entries.all(num, from.next, to) as unknown as EntryRow[];
  if (found.length === 0 && mayEnd) return undefined;
  if (found[0]?.seq !== from.next) throw damaged(of, from.next, "a line is missing");
  let { next, crc } = from;
  for (const entry of found) {
    const { seq, count, at } = entry;
    const body = entry.body ?? blobOf(sql, of, entry);
    crc = lineCrc(crc, key, seq, count, at, body);
    if (seq !== next || crc !== entry.crc) throw damaged(of, seq, "a line does not fit its checksum");
    lines.push({ seq, count, at, body: fromText(body) });
    next = seq + count;
  }
  return { next, crc };
}

function blobOf(sql: Statements, key: ThreadKey, entry: EntryRow): string {
  const row = sql.blob.get(toText(key.tenant), entry.blob ?? "") as { body: string } | undefined;
  if (row === undefined) throw damaged(key, entry.seq, "its text is missing");
  return row.body;
}
