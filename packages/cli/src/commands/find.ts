// Ids may be given by their beginning, as far as that is one of a kind.

import { problem } from "../problem.ts";
import type { IdOf } from "../texts/texts.ts";

export function findId(what: IdOf, ids: readonly string[], given: string): string {
  if (ids.includes(given)) return given;
  const found = given === "" ? [] : ids.filter((id) => id.startsWith(given));
  if (found.length === 1) return found[0]!;
  if (found.length > 1) throw problem("ID_AMBIGUOUS", { what, given, count: found.length });
  throw problem("ID_UNKNOWN", { what, given });
}
