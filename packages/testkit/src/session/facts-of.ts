import type { Fact, Store } from "@belay/core";
import { readFacts } from "@belay/core/inside";

/** Returns the facts of a thread, by default of the one that `openKit` opens. */
export function factsOf(store: Store, threadId = "thread", tenant = "default"): Promise<readonly Fact[]> {
  return readFacts(store, { tenant, threadId }, 0);
}
