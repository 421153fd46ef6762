// An error, as a person reads it: what happened, then what to do.

import { peopleWords } from "../problem.ts";
import { sentences } from "../texts/sentences.ts";
import type { Texts } from "../texts/texts.ts";

/** `owner` is the runner of this program. */
export function errorWords(error: unknown, texts: Texts, owner?: string): string {
  return sentences(...peopleWords(error, texts, owner));
}
