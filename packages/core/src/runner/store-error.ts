import { BelayError, belayError, errorText } from "../error.ts";
import type { ThreadKey } from "../store/store.ts";

/** What a store has thrown, as an error of ours. */
export function storeError(key: ThreadKey, error: unknown): BelayError {
  if (error instanceof BelayError) return error;
  return belayError("STORE_FAILED", { threadId: key.threadId, reason: errorText(error) }, error);
}
