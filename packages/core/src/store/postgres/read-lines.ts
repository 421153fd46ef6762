// The lines of a thread, proven by the chain of their hashes, which ends in the thread's row. They come in pages of two
// texts, one of their places and one of their bodies: a row for each line costs several times as much to read. If the chain
// proves nothing, because of damage or of a body with the separator in it, they are read one by one, to find the first
// damaged line, or that there is none.

import type { BelayError } from "../../error.ts";
import type { Line } from "../../journal/codec.ts";
import type { ThreadKey } from "../store.ts";
import { fromText } from "../text.ts";
import type { Calls } from "./calls.ts";
import { lineHash, type Row } from "./rows.ts";
import { damaged } from "./store-error.ts";

const SEPARATOR = "\x1e";

/** The columns of the statements `load` and `page` for lines. */
export interface PageRow {
  readonly places: string | null;
  readonly bodies: string | null;
  /** The hash of the line before the page, if the same thread has it. */
  readonly before: string | null;
  readonly before_end: string | null;
}

interface LineRow {
  readonly seq: string;
  readonly count: number;
  readonly at: string;
  readonly body: string | null;
  readonly blob: string | null;
  readonly hash: string;
}

/** Lines of a thread that one thread has: those after `from`, up to `to`. `base` is the hash before the first of them. */
interface Part {
  readonly num: string;
  readonly from: number;
  readonly to: number;
  readonly base: string;
}

/** The position of the reader: the next seq, and the hash of the line before it. */
interface Mark {
  readonly next: number;
  readonly hash: string;
}

export interface Read {
  readonly lines: readonly Line[];
  readonly damage?: { readonly seq: number; readonly error: BelayError };
}

interface Reader {
  readonly calls: Calls;
  readonly key: ThreadKey;
  readonly row: Row;
}

/** Returns the lines that hold facts after `after`. `first` is the first page of the thread's own lines, if it was read already. */
export async function readLines(reader: Reader, after: number, first?: PageRow): Promise<Read> {
  if (after >= Number(reader.row.head)) return { lines: [] };
  const parts = await partsAfter(reader, after);
  return (await readPages(reader, parts, after, first)) ?? readEach(reader, parts, after);
}

/** Returns the lines that are proven without the thread's row: for a damaged row. */
export async function readRest(reader: Reader): Promise<Read> {
  const { calls, key, row } = reader;
  const part = { num: row.num, from: 0, to: Number.MAX_SAFE_INTEGER, base: row.name };
  const lines: Line[] = [];
  const { next } = await readPart(calls, part, { next: 1, hash: row.name }, lines);
  return { lines, damage: { seq: next, error: damaged(key, 0, "its row does not fit its checksum") } };
}

/** The threads that have the lines after `after`, the first first. */
async function partsAfter({ calls, row }: Reader, after: number): Promise<Part[]> {
  const from = row.parent === null ? 0 : Number(row.parent_seq);
  const own: Part = { num: row.num, from, to: Number(row.head), base: row.base };
  if (after >= from) return [own];
  const rows = await calls.call("parents", [row.num]);
  const parents = rows.map(({ num, to, base }, i): Part => {
    return { num, from: Number(rows[i + 1]?.to ?? 0), to: Number(to), base: base ?? row.root };
  });
  return [own, ...parents].filter((part) => part.to > after).reverse();
}

/** Returns undefined if the chain does not prove them. */
async function readPages(reader: Reader, parts: readonly Part[], after: number, first?: PageRow) {
  const { calls, row } = reader;
  const lines: Line[] = [];
  let mark: Mark | undefined;
  for (const part of parts) {
    let page = part.num === row.num ? first : undefined;
    while (mark === undefined || mark.next <= part.to) {
      page ??= await pageOf(calls, part, mark === undefined ? after : mark.next - 1);
      mark = await addPage(calls, page, mark ?? startOf(part, page, after), lines);
      if (mark === undefined) return undefined;
      page = undefined;
    }
  }
  return mark?.hash === row.hash ? { lines } : undefined;
}

async function pageOf(calls: Calls, part: Part, after: number): Promise<PageRow> {
  return (await calls.call("page", [part.num, after, part.to]))[0];
}

/** Before the first line of a page, which is to hold the seq after `after`. */
function startOf(part: Part, page: PageRow, after: number): Mark | undefined {
  const next = Number.parseInt(page.places ?? "", 10);
  if (!(next <= after + 1)) return undefined;
  if (next === part.from + 1) return { next, hash: part.base };
  return page.before !== null && Number(page.before_end) === next - 1 ? { next, hash: page.before } : undefined;
}

async function addPage(calls: Calls, page: PageRow, from: Mark | undefined, lines: Line[]): Promise<Mark | undefined> {
  const places = page.places?.split(" ") ?? [];
  const bodies = page.bodies?.split(SEPARATOR) ?? [];
  if (from === undefined || places.length === 0 || bodies.length !== places.length) return undefined;
  let { next, hash } = from;
  for (let i = 0; i < places.length; i++) {
    const [seq, count, at, blob] = places[i]!.split(",").map(Number) as [number, number, number, number?];
    const body = blob === undefined ? bodies[i] : await blobOf(calls, blob);
    if (seq !== next || !(count > 0) || body === undefined) return undefined;
    hash = lineHash(hash, seq, count, at, body);
    lines.push({ seq, count, at, body: fromText(body) });
    next += count;
  }
  return { next, hash };
}

/** Up to the first line that is missing or does not fit its hash. */
async function readEach(reader: Reader, parts: readonly Part[], after: number): Promise<Read> {
  const { calls, key, row } = reader;
  const lines: Line[] = [];
  const stop = (seq: number, problem: string): Read => ({ lines, damage: { seq, error: damaged(key, seq, problem) } });
  const start = startOf(parts[0]!, await pageOf(calls, parts[0]!, after), after);
  if (start === undefined) return stop(after + 1, "a line is missing");
  let mark = start;
  for (const part of parts) {
    mark = await readPart(calls, part, mark, lines);
    if (mark.next <= part.to) return stop(mark.next, "a line is missing, or does not fit its checksum");
  }
  if (mark.hash === row.hash) return { lines };
  return stop(mark.next, `the journal does not reach ${row.head} as it was written`);
}

/** The position of its end: past the end of the part, or at a damaged line. */
async function readPart(calls: Calls, part: Part, from: Mark, lines: Line[]): Promise<Mark> {
  let mark = from;
  while (mark.next <= part.to) {
    const rows: readonly LineRow[] = await calls.call("lines", [part.num, mark.next, part.to]);
    if (rows.length === 0) return mark;
    for (const { count, blob, ...row } of rows) {
      const [seq, at] = [Number(row.seq), Number(row.at)];
      const body = row.body ?? (blob === null ? undefined : await blobOf(calls, Number(blob)));
      if (seq !== mark.next || count <= 0 || body === undefined) return mark;
      const hash = lineHash(mark.hash, seq, count, at, body);
      if (hash !== row.hash) return mark;
      lines.push({ seq, count, at, body: fromText(body) });
      mark = { next: seq + count, hash };
    }
  }
  return mark;
}

async function blobOf(calls: Calls, num: number): Promise<string | undefined> {
  return (await calls.call("blob", [num]))[0]?.body;
}
