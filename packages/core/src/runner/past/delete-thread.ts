import type { BelayError } from "../../error.ts";
import type { Store, ThreadKey } from "../../store/store.ts";
import { loadThread } from "../read/read-facts.ts";
import { busy, storeError } from "../read/store-error.ts";

/** Removes a thread and all of its past, but for what forks share. Refused while somebody has it. */
export async function deleteThread(store: Store, key: ThreadKey): Promise<void> {
  for (;;) {
    const loaded = await loadThread(store, key, Number.MAX_SAFE_INTEGER).catch(unlessDamaged);
    const { lease, head, queued, answered } = loaded?.row ?? {};
    if (lease !== undefined) throw busy(key.threadId, lease.owner, lease.until);
    // What waits for it goes with it; whoever begins to run it meanwhile keeps it.
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
