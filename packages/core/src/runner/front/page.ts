// Pages of lists, and their cursors. A cursor is a place in a list, with a digest of the list that it is a place of. A cursor of
// another tenant or filter is refused: it would leave items out without a word.

import { belayError } from "../../error.ts";
import { digestOf } from "../../interrupt/digest.ts";
import type { Json } from "../../json.ts";
import type { ListPlace } from "../../store/store.ts";
import { anything, type Checks, optional } from "../given/check.ts";

export interface PageOptions {
  /** How many items at most; 100 by default, and never more than 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before, with the same filter. */
  readonly cursor?: string | undefined;
}

export const PAGE: Checks<PageOptions> = {
  limit: optional(
    "a whole number from 1 to 1000",
    (limit) => Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= 1_000,
  ),
  cursor: anything,
};

const LIMIT = 100;

/** Rows that are read at once if some of them may not be meant. */
const MANY = 500;

/** An item of a list, and its place there. */
export interface Placed<Item> {
  readonly item: Item;
  readonly place: ListPlace;
}

/** A list of the store. */
export interface Source<Row, Item> {
  rows(after: ListPlace | undefined, limit: number): Promise<readonly Row[]>;
  placeOf(row: Row): ListPlace;
  /** Returns the item of a row; undefined if the row is not meant. */
  itemOf(row: Row): Item | undefined | Promise<Item | undefined>;
  /** Whether few of the rows may be meant. */
  readonly isFiltered?: boolean;
}

/** Returns the first items of a list after a place, at most `most`. */
export async function take<Row, Item>(
  { rows, placeOf, itemOf, isFiltered = false }: Source<Row, Item>,
  after: ListPlace | undefined,
  most: number,
): Promise<readonly Placed<Item>[]> {
  const limit = isFiltered ? Math.max(most, MANY) : most;
  const found: Placed<Item>[] = [];
  for (;;) {
    const read = await rows(after, limit);
    for (const row of read) {
      const item = await itemOf(row);
      if (item !== undefined) found.push({ item, place: placeOf(row) });
      if (found.length === most) return found;
    }
    if (read.length < limit) return found;
    after = placeOf(read.at(-1)!);
  }
}

/** Returns a page of the list that `of` describes. `read` returns its first items after a place. */
export async function readPage<Item>(
  of: Json,
  { limit = LIMIT, cursor }: PageOptions,
  read: (after: ListPlace | undefined, most: number) => Promise<readonly Placed<Item>[]>,
): Promise<{ readonly items: readonly Item[]; readonly next?: string }> {
  const found = await read(readCursor(of, cursor), limit + 1);
  const items = found.slice(0, limit).map(({ item }) => item);
  return found.length <= limit ? { items } : { items, next: writeCursor(of, found[limit - 1]!.place) };
}

const DIGEST = 16;
const MOST_CHARACTERS = 4_000;

/** Returns the cursor of a place in the list that `of` describes. */
function writeCursor(of: Json, { at, id }: ListPlace): string {
  return Buffer.from(JSON.stringify([digestFor(of), at, id])).toString("base64url");
}

/** Returns the place of a cursor of that list. Throws `CURSOR_INVALID`. */
function readCursor(of: Json, cursor: unknown): ListPlace | undefined {
  if (cursor === undefined) return undefined;
  if (typeof cursor !== "string") throw belayError("CURSOR_INVALID", { problem: "it is not text" });
  if (cursor.length > MOST_CHARACTERS) throw belayError("CURSOR_INVALID", { problem: "it is too long" });
  const [digest, at, id] = partsOf(cursor);
  if (typeof digest !== "string" || !Number.isSafeInteger(at) || typeof id !== "string")
    throw belayError("CURSOR_INVALID", { problem: "it is damaged" });
  if (digest !== digestFor(of)) throw belayError("CURSOR_INVALID", { problem: "it is of another tenant or filter" });
  return { at: at as number, id };
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function digestFor(of: Json): string {
  return digestOf(of).slice(0, DIGEST);
}
