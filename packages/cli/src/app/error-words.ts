// An error, as a person reads it: what happened, then what to do.

import type { BelayError } from "@belay/core";

export function errorWords(error: BelayError): string {
  return [error.message, error.hint].filter(Boolean).join(" ");
}
