// The lines of a thread, each proven by its crc, which is chained to the one before it, through the journals that they
// lie in: a fork's past lies in those of other threads.

import type { BelayError } from "../../error.ts";
import type { Line } from "../../journal/codec.ts";
import type { ThreadKey } from "../store.ts";
import { fromText } from "./keys.ts";
import { LINE_VALUES, lineCrc, lineHash, lineOf, type Row } from "./rows.ts";
import { damaged } from "./store-error.ts";

/** A journal's id, and lines of it as they are kept: one text, for no line has an end of a line in it. */
export type Segment = readonly [journal: string, lines: string];

export interface Read {
  readonly lines: readonly Line[];
  /** The mismatch of the lines after these. */
  readonly damage?: { readonly seq: number; readonly error: BelayError };
}

/**
 * Returns the lines after `after`; `before` is the stored end of the line before them; they must reach `to`. An `audit` of all
 * lines, from the first, proves them by the sha256 chain, too: another text may have the same crc.
 */
export function readLines(
  key: ThreadKey,
  segments: readonly Segment[],
  after: number,
  before: string,
  to: number,
  last?: Pick<Row, "crc" | "hash">,
  audits = false,
): Read {
  const lines: Line[] = [];
  const mark = before === "" ? { seq: 1, count: 0, crc: 0 } : lineOf(before.split("\n"), 0);
  const stop = (seq: number, problem: string): Read => ({ lines, damage: { seq, error: damaged(key, seq, problem) } });
  let { crc } = mark;
  let hash = "";
  let next = mark.seq + mark.count;
  if (!(next <= after + 1)) return stop(after, "a line is missing");
  // An invalid crc cannot be continued.
  if (crc !== crc >>> 0) return stop(after, "a line does not fit its checksum");
  for (const [journal, packed] of segments) {
    const values = packed === "" ? [] : packed.split("\n");
    for (let i = 0; i < values.length; i += LINE_VALUES) {
      const line = lineOf(values, i);
      if (line.seq !== next) return stop(next, "a line is missing");
      crc = lineCrc(key.tenant, { journal, crc }, line);
      if (crc !== line.crc) return stop(next, "a line does not fit its checksum");
      const { seq, count, at, text } = line;
      if (audits) hash = lineHash(hash, text);
      if (audits && hash !== line.hash) return stop(next, "a line does not fit its hash");
      lines.push({ seq, count, at, body: fromText(text) });
      next += count;
    }
  }
  if (after < to && next !== to + 1) return stop(next, `the journal does not reach ${to}`);
  if (last !== undefined && after < to && (crc !== last.crc || (audits && hash !== last.hash)))
    return stop(to, "the last line is not the one that was written last");
  return { lines };
}
