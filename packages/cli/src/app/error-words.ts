// An error, as a person reads it: what happened, then what to do.

import type { BelayError } from "@belay/core";
import { forPeople, type Problem, problemWords } from "../problem.ts";
import { sentences } from "../texts/sentences.ts";
import type { Texts } from "../texts/texts.ts";

export function errorWords(error: BelayError | Problem, texts: Texts): string {
  const known = forPeople(error);
  if (known !== undefined) return problemWords(known, texts);
  const { message, hint } = error as BelayError;
  return sentences(message, hint);
}
