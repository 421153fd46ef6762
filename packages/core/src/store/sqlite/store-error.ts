// SQLite's failures in our words.

import { BelayError, belayError, errorText } from "../../error.ts";
import type { ThreadKey } from "../store.ts";
import { CORRUPT, FULL, NOT_A_DATABASE, resultCode } from "./database.ts";

export function asStoreError(key: ThreadKey, error: unknown): unknown {
  if (error instanceof BelayError) return error;
  const { threadId } = key;
  const reason = errorText(error);
  switch (resultCode(error)) {
    case FULL:
      return belayError("STORE_FULL", { threadId, reason }, error);
    case CORRUPT:
    case NOT_A_DATABASE:
      return belayError("JOURNAL_CORRUPT", { threadId, seq: 0, problem: reason }, error);
    default:
      return belayError("STORE_FAILED", { threadId, reason }, error);
  }
}
