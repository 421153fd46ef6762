import { BelayError, belayError, errorText } from "../../error.ts";
import type { ThreadKey } from "../../store/store.ts";

/** Returns the error of a store as a `BelayError`. */
export function storeError(key: ThreadKey, error: unknown): BelayError {
  if (error instanceof BelayError) return error;
  return belayError("STORE_FAILED", { threadId: key.threadId, reason: errorText(error) }, error);
}

/** Returns the error of a caller that cannot write because another process holds the lease. */
export function busy(threadId: string, owner: string, until: number): BelayError {
  return belayError("THREAD_BUSY", { threadId, owner, until: new Date(until).toISOString() });
}
