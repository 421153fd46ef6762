// The cursor of a list: a place in it, with a digest of the list that it is a place of. A cursor of another tenant or filter is
// refused: it would leave threads out without a word.

import { belayError } from "../../error.ts";
import { digestOf } from "../../interrupt/digest.ts";
import type { Json } from "../../json.ts";
import type { ListPlace } from "../../store/store.ts";

const DIGEST = 16;
const MOST_CHARACTERS = 4_000;

/** Returns the cursor of a place in the list that `of` describes. */
export function writeCursor(of: Json, { at, id }: ListPlace): string {
  return Buffer.from(JSON.stringify([digestFor(of), at, id])).toString("base64url");
}

/** Returns the place of a cursor of that list. Throws `CURSOR_INVALID`. */
export function readCursor(of: Json, cursor: unknown): ListPlace | undefined {
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
