// SQLite's failures in our words.

import { BelayError, belayError, errorText } from "../../error.ts";
import type { ThreadKey } from "../store.ts";
import { CORRUPT, FULL, NOT_A_DATABASE, resultCode } from "./database.ts";

/** `key` is the affected thread, if there is one. */
export function asStoreError(key: ThreadKey | undefined, error: unknown): unknown {
  if (error instanceof BelayError) return error;
  const threadId = key?.threadId;
  const reason = errorText(error);
  switch (resultCode(error)) {
    case FULL:
      return belayError("STORE_FULL", { threadId, reason }, error);
    case CORRUPT:
    case NOT_A_DATABASE:
      if (threadId === undefined) return belayError("STORE_CORRUPT", { problem: reason }, error);
      return belayError("JOURNAL_CORRUPT", { threadId, seq: 0, problem: reason }, error);
    default:
      if (reason.startsWith("no such table")) return belayError("STORE_FOREIGN", { problem: reason }, error);
      return belayError("STORE_FAILED", { threadId, reason }, error);
  }
}

export function damaged(key: ThreadKey, seq: number, problem: string): Error {
  return belayError("JOURNAL_CORRUPT", { threadId: key.threadId, seq, problem });
}
