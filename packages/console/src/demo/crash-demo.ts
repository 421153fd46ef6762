// The import that crashes: it runs in a process of its own, which kills itself in the middle.

import { createRunner } from "@belay/core";
import { demoAgents } from "./agents.ts";
import { openStore } from "./open-store.ts";

/** Imports into the store of `folder` until the process is killed. Throws if the import ends. */
export async function crashDemo(folder: string): Promise<never> {
  const { store } = await openStore(folder);
  const runner = createRunner({ agents: demoAgents({ delayMs: 0, crashes: true }), store } as never) as unknown as {
    start(threadId: string, input: string, options: object): Promise<{ readonly result: Promise<unknown> }>;
  };
  const run = await runner.start("import", "Import customers.csv.", { agent: "etl", by: "ben" });
  await run.result;
  throw new Error("The import ended.");
}
