// The sha256 chain of a thread's lines. A crc finds what a disk does; it takes little to change a text so that its crc
// stays, or to write new crcs all along. Who reads a whole past, to fork it, show it or save what can be read of it, has the
// lines proven by their hashes, too. Opening and going on do not: that is most of what reading would cost.

import type { Line } from "../../journal/codec.ts";
import { toText } from "./database.ts";
import { lineHash, type Row } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Under which number lines stand, from which seq on. */
export interface Stand {
  readonly num: number;
  readonly from: { readonly next: number };
}

/** How many of a thread's lines, all from the first on, the chain proves; with `row`, whose last hash it must lead to. */
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
