// A worker: moves the threads of all tenants. Start as many as you like, on as many machines.
import { createRunner } from "@belay/core";
import { createWorker } from "@belay/core/dispatch";
import { postgresStore } from "@belay/core/postgres";
import pg from "pg";
import { clerk } from "./clerk.ts";
import { openDispatcher, settings } from "./dispatch.ts";

const { DATABASE_URL, KILLED = "/nowhere" } = process.env;

// region worker
const pool = new pg.Pool({ connectionString: DATABASE_URL });
const store = postgresStore(pool);
const dispatcher = await openDispatcher(settings, store);

const worker = createWorker({
  store,
  // A tenant's runner brings its agents, its deps and its permissions.
  runner: (tenant) => createRunner({ agent: clerk(KILLED), store, tenant, dispatcher, leaseTtlMs: 2_000 }),
  dispatcher,
  concurrency: 16,
  sweepMs: 1_000,
});

// Releases all threads at their next boundary; other workers continue them at once.
process.once("SIGTERM", () => void worker.drain({ timeoutMs: 10_000 }));
process.send?.("works");
await worker.work();
// endregion
await dispatcher.close();
await pool.end();
process.disconnect?.();
