// An error, as a person reads it: what happened, then what to do.

import type { BelayError } from "@belay/core";
import { Problem, problemWords } from "../problem.ts";
import type { Texts } from "../texts/texts.ts";

export function errorWords(error: BelayError | Problem, texts: Texts): string {
  if (error instanceof Problem) return problemWords(error, texts);
  return [error.message, error.hint].filter(Boolean).join(" ");
}
