// The error of a step, as it is recorded and as it is thrown again.

import { BelayError, type ErrorRecord, errorFromRecord, errorRecord, errorText, recordedWords } from "../error.ts";

export function recordOf(error: unknown): ErrorRecord {
  if (error instanceof BelayError) return errorRecord(error);
  const message = recordedWords(errorText(error));
  if (!(error instanceof Error)) return { code: "Error", message };
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? { code, message, name: error.name } : { code: error.name, message };
}

/** Returns the recorded error; `cause` is the thrown value, if it was thrown just now. */
export function thrownAgain(record: ErrorRecord, cause?: unknown): Error {
  if (record.hint !== undefined) {
    return cause instanceof BelayError && cause.message === record.message ? cause : errorFromRecord(record);
  }
  const error = cause === undefined ? new Error(record.message) : new Error(record.message, { cause });
  error.name = record.name ?? record.code;
  return record.name === undefined ? error : Object.assign(error, { code: record.code });
}
