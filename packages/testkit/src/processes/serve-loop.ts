// A process that serves by the loop without an engine, as the suite of dispatchers plans it.

import { pollingDispatcher } from "@belay/core/dispatch";
import { type ServePlan, serveAsPlanned, storeRecord } from "@belay/core/testing";
import { openStore } from "./open-store.ts";

export interface ServeLoop {
  readonly where: string;
  readonly plan: ServePlan;
}

export async function serveLoop({ where, plan }: ServeLoop): Promise<void> {
  const { store, close } = await openStore(where);
  await serveAsPlanned(pollingDispatcher(store, { pollMs: 20 }), plan, storeRecord(store));
  await close();
}
