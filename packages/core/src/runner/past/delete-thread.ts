import type { BelayError } from "../../error.ts";
import type { Store, ThreadKey } from "../../store/store.ts";
import { loadThread } from "../read/read-facts.ts";
import { busy, storeError } from "../read/store-error.ts";

/** Removes a thread and its past, except for lines that forks share. Refused while a process has the thread. */
export async function deleteThread(store: Store, key: ThreadKey): Promise<void> {
  for (;;) {
    const loaded = await loadThread(store, key, Number.MAX_SAFE_INTEGER).catch(unlessDamaged);
    const { lease, head, queued, answered } = loaded?.row ?? {};
    if (lease !== undefined) throw busy(key.threadId, lease.owner, lease.until);
    // Its rows go with it. If a process begins to run the thread meanwhile, the thread stays.
    const isBare = loaded === undefined || queued || answered;
    const removed = await store.delete(key, isBare ? undefined : head).catch((error: unknown) => {
      throw storeError(key, error);
    });
    if (removed || isBare) return;
  }
}

function unlessDamaged(error: BelayError): undefined {
  if (!error.code.startsWith("JOURNAL_")) throw error;
}
