// PostgreSQL's failures in our words, and which of them pass by themselves.

import { BelayError, belayError, errorText } from "../../error.ts";
import type { ThreadKey } from "../store.ts";

/** The error of our functions for a row that does not fit its checksum. */
const DAMAGED = "BL001";
const DISK_FULL = "53100";
/**
 * Serialization, deadlock, no lock, too many connections, a server that ends or begins, or that only reads for now, and
 * the time limits of an administrator.
 */
const PASSING = new Set("40001 40P01 55P03 53300 57P01 57P02 57P03 57P05 25006 57014 25P03 25P04".split(" "));
/** A prepared statement that is unknown to the connection, or already prepared. */
const UNPREPARED = new Set(["26000", "42P05"]);
const NETWORK = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
]);
/** pg says these without a code. */
const LOST =
  /Connection terminated|connection error and is not queryable|Query read timeout|timeout exceeded when trying to connect|Connection ended unexpectedly|timeout expired|has not answered in time/;

function codeOf(error: unknown): string {
  const { code, errors } = (error ?? {}) as { readonly code?: unknown; readonly errors?: readonly unknown[] };
  // Node tries several addresses of a name at once, and throws all their errors.
  if (code === undefined && errors?.[0] !== undefined) return codeOf(errors[0]);
  return typeof code === "string" ? code : "";
}

/** It may work when it is tried again. Whether it was done meanwhile is unknown. */
export function passes(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== "") return PASSING.has(code) || NETWORK.has(code) || code.startsWith("08");
  return error instanceof Error && !(error instanceof BelayError) && LOST.test(error.message);
}

/** Nothing was done: the connection is not the one that we prepared the statement on. */
export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.has(codeOf(error));
}

/** `key` is the affected thread, if there is one. */
export function asStoreError(key: ThreadKey | undefined, error: unknown): unknown {
  if (error instanceof BelayError) return error;
  const threadId = key?.threadId;
  const reason = errorText(error);
  const code = codeOf(error);
  if (code === DISK_FULL) return belayError("STORE_FULL", { threadId, reason }, error);
  if (code === DAMAGED || code === "XX001" || code === "XX002") {
    if (threadId === undefined) return belayError("STORE_CORRUPT", { problem: reason }, error);
    return belayError("JOURNAL_CORRUPT", { threadId, seq: 0, problem: reason }, error);
  }
  return belayError("STORE_FAILED", { threadId, reason }, error);
}

export function damaged(key: ThreadKey, seq: number, problem: string): BelayError {
  return belayError("JOURNAL_CORRUPT", { threadId: key.threadId, seq, problem });
}

export function misfit(what: string): Error {
  return belayError("STORE_CORRUPT", { problem: `${what} does not fit its checksum` });
}
