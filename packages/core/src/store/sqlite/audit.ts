// The sha256 chain of a thread's lines. A crc finds damage of a disk; a text is easily changed so that its crc stays, or all crcs
// are rewritten. A caller that reads a whole past, to fork it, show it or repair it, has the lines proven by their hashes, too.
// Opening and continuing a thread do not: the proof is most of the cost of a read.

import type { Line } from "../../journal/codec.ts";
import { toText } from "./database.ts";
import { lineHash, type Row } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Under which number lines stand, from which seq on. */
export interface Stand {
  readonly num: number;
  readonly from: { readonly next: number };
}

/**
 * Returns the number of a thread's lines, from the first on, that the chain proves; with `row`, it must lead to the row's last
 * hash.
 */
export function provenLines(
  sql: Statements,
  stands: readonly Stand[],
  lines: readonly Line[],
  row: Pick<Row, "head" | "hash"> | undefined,
): number {
  let hash: Uint8Array = new Uint8Array(0);
  let proven = 0;
  for (const [i, { num, from }] of stands.entries()) {
    const end = stands[i + 1]?.from.next ?? Number.POSITIVE_INFINITY;
    const last = lines.findLast(({ seq }) => seq < end);
    if (last === undefined || last.seq < from.next) continue;
    for (const written of sql.hashes.all(num, from.next, last.seq) as { hash: Uint8Array }[]) {
      const line = lines[proven]!;
      hash = lineHash(hash, toText(line.body));
      const isEnd = row !== undefined && line.seq + line.count - 1 === row.head;
      if (!isSame(hash, written.hash) || (isEnd && !isSame(hash, row.hash))) return proven;
      proven += 1;
    }
  }
  return proven;
}

function isSame(a: Uint8Array, b: unknown): boolean {
  return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
}
