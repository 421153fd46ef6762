// An error, as a person reads it: what happened, then what to do.

import type { BelayError } from "@belay/core";
import { Problem } from "../problem.ts";

export function errorWords(error: BelayError | Problem): string {
  // Says both already.
  if (error instanceof Problem) return error.message;
  return [error.message, error.hint].filter(Boolean).join(" ");
}
