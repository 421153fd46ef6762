// An error, as a person reads it: the problem, then the next action.

import { peopleWords } from "../problem.ts";
import { sentences } from "../texts/sentences.ts";
import type { Texts } from "../texts/texts.ts";

/** `owner` is the runner of this program. */
export function errorWords(error: unknown, texts: Texts, owner?: string): string {
  return sentences(...peopleWords(error, texts, owner));
}
