// A process that serves wakes of an engine, says each, and can be killed. `{ settings, hang }`: with `hang` no move returns.
import { type EngineSettings, openDispatcher } from "./open-dispatcher.ts";

const [, , , given = "{}"] = process.argv;
const { settings, hang } = JSON.parse(given) as { settings: EngineSettings; hang?: boolean };
const dispatcher = await openDispatcher(settings);
const ending = new AbortController();
process.once("SIGTERM", () => ending.abort());
const serving = dispatcher.serve(
  async ({ tenant, threadId }) => {
    console.log(`move ${tenant} ${threadId} ${Date.now()}`);
    if (hang) await new Promise(() => {});
    return {};
  },
  { concurrency: 4, signal: ending.signal },
);
console.log("serves");
await serving;
await dispatcher.close();
console.log("ended");
