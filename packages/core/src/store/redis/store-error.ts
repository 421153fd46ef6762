// Redis' failures in our words, and which of them pass.

import { BelayError, belayError, errorText } from "../../error.ts";
import type { ThreadKey } from "../store.ts";

/** `key` is the affected thread, if there is one. */
export function asStoreError(key: ThreadKey | undefined, error: unknown): unknown {
  if (error instanceof BelayError) return error;
  const threadId = key?.threadId;
  const reason = errorText(error);
  return isReply(error, "OOM")
    ? belayError("STORE_FULL", { threadId, reason }, error)
    : belayError("STORE_FAILED", { threadId, reason }, error);
}

/** The server does not know the script: it was restarted, or is another one. */
export function isUnknownScript(error: unknown): boolean {
  return isReply(error, "NOSCRIPT");
}

/** Errors of a server that starts, does not accept writes yet, or cannot write to its disk for the moment. */
const PASSING = ["LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MISCONF", "NOREPLICAS", "BUSY"];

/** Whether to try again: a script that was run already does nothing the second time. */
export function isPassing(error: unknown): boolean {
  if (error instanceof BelayError) return false;
  // A refusal of the server itself is final; every other error is a broken connection.
  return !isReplyError(error) || PASSING.some((code) => isReply(error, code));
}

function isReply(error: unknown, code: string): boolean {
  const message = errorText(error);
  return message.startsWith(`${code} `) || message.includes(`-${code} `);
}

function isReplyError(error: unknown): boolean {
  return (error as { readonly name?: unknown } | null)?.name === "ReplyError";
}

export function damaged(key: ThreadKey, seq: number, problem: string): BelayError {
  return belayError("JOURNAL_CORRUPT", { threadId: key.threadId, seq, problem });
}
