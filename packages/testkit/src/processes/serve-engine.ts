// A process that serves wakes of an engine, as the suite of dispatchers plans it.

import { type ServePlan, serveAsPlanned } from "@belay/core/testing";
import { type EngineSettings, openDispatcher } from "./open-dispatcher.ts";

export interface ServeEngine {
  readonly settings: EngineSettings;
  readonly plan: ServePlan;
}

export async function serveEngine({ settings, plan }: ServeEngine): Promise<void> {
  await serveAsPlanned(await openDispatcher(settings), plan);
}
