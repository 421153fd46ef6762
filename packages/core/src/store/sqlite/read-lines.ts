// The lines of a thread, checked against their crcs and the thread's row. Most of what opening a long thread costs is
// handing over its rows one column at a time: SQLite puts a page of lines together into one text, the very text that
// their crcs were chained over, so that one crc proves all of it. A page that this does not prove, because of damage,
// a text kept apart, or unusual characters, is read line by line: that finds what is wrong, or that nothing is.

import { crc32 } from "node:zlib";
import type { Line } from "../../journal/codec.ts";
import type { ThreadKey } from "../store.ts";
import { fromText, toText } from "./database.ts";
import { type EntryRow, lineCrc, linePlace, type PageRow, type Row } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { damaged } from "./store-error.ts";

/** A line has as many in the text of a page. */
const PIECES = 5;

/** Where reading stands: the seq of the next line, and the crc of all before it. */
interface Mark {
  readonly next: number;
  readonly crc: number;
}

/** The lines that hold facts after `after`. Within a transaction of its caller's, which has read `row`. */
export function readLines(sql: Statements, key: ThreadKey, row: Row, after: number): readonly Line[] {
  if (after >= row.head) return [];
  const lines: Line[] = [];
  let mark = after <= 0 ? { next: 1, crc: 0 } : markAt(sql, key, row.num, after + 1);
  while (mark.next <= row.head)
    mark = readPage(sql, key, row.num, mark, lines) ?? readEach(sql, key, row.num, mark, lines);
  const { next, crc } = mark;
  if (next !== row.head + 1 || crc !== row.crc) throw damaged(key, next, `the journal does not reach ${row.head}`);
  return lines;
}

/** Before the line that holds `seq`. */
function markAt(sql: Statements, key: ThreadKey, num: number, seq: number): Mark {
  const [found, before] = sql.marks.all(num, seq) as { seq: number; crc: number }[];
  if (found === undefined) throw damaged(key, seq, "a line is missing");
  if (before === undefined && found.seq !== 1) throw damaged(key, found.seq, "the line before it is missing");
  return { next: found.seq, crc: before?.crc ?? 0 };
}

/** Adds a page to `lines`; undefined, and nothing added, where its crc does not prove it. */
function readPage(sql: Statements, key: ThreadKey, num: number, from: Mark, lines: Line[]): Mark | undefined {
  const place = linePlace(key);
  if (toText(place) !== place) return undefined;
  const page = sql.page.get(num, from.next, place) as PageRow;
  if (typeof page.text !== "string" || crc32(page.text, crc32(place, from.crc)) !== page.crc) return undefined;
  // Seq, count, time, and the text with the next line's tenant; that line's thread. More of them where one of the texts,
  // or the place, is of several lines itself.
  const pieces = page.text.split("\n");
  if (pieces.length !== PIECES * page.count - 1) return undefined;
  const first = lines.length;
  let { next } = from;
  for (let i = 0; i < pieces.length; i += PIECES) {
    const seq = Number(pieces[i]);
    const count = Number(pieces[i + 1]);
    if (seq !== next || !(count > 0)) {
      lines.length = first;
      return undefined;
    }
    const text = pieces[i + 3]!;
    const body = i + PIECES < pieces.length ? text.slice(0, text.length - key.tenant.length) : text;
    lines.push({ seq, count, at: Number(pieces[i + 2]), body: fromText(body) });
    next += count;
  }
  return { next, crc: page.crc };
}

function readEach(sql: Statements, key: ThreadKey, num: number, from: Mark, lines: Line[]): Mark {
  const found = sql.entries.all(num, from.next) as unknown as EntryRow[];
  if (found[0]?.seq !== from.next) throw damaged(key, from.next, "a line is missing");
  let { next, crc } = from;
  for (const entry of found) {
    const { seq, count, at } = entry;
    const body = entry.body ?? blobOf(sql, key, entry);
    crc = lineCrc(crc, key, seq, count, at, body);
    if (seq !== next || crc !== entry.crc) throw damaged(key, seq, "a line does not fit its checksum");
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
