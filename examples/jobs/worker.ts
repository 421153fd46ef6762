// The process that does the jobs. SIGTERM ends it.
import { createRunner } from "@belay/core";
import { clerk, open } from "./job.ts";

const runner = createRunner({ agent: clerk, store: open(process.argv[2]!) });
const ending = new AbortController();
process.once("SIGTERM", () => {
  ending.abort();
  void runner.drain({ timeoutMs: 10_000 });
});
await runner.work({ concurrency: 2, pollMs: 20, signal: ending.signal });
