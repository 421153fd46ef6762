// A front over HTTP, with the console: people and programs send, follow, stop and answer here. It has no agents and runs
// nothing. Start as many as you like.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createRunner } from "@belay/core";
import { postgresStore } from "@belay/core/postgres";
import { belayServer } from "@belay/server";
import { serve } from "@hono/node-server";
import pg from "pg";
import { openDispatcher, settings } from "./dispatch.ts";

const { DATABASE_URL, TOKEN, HOST = "127.0.0.1", PORT = "0" } = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const store = postgresStore(pool);
const dispatcher = await openDispatcher(settings, store);

// region http
const runner = createRunner({ store, dispatcher, start: "worker" });
const belay = belayServer({ runner, work: false, token: TOKEN });
const http = serve({ fetch: belay.fetch, hostname: HOST, port: Number(PORT) });
// endregion
await once(http, "listening");
const { port } = http.address() as AddressInfo;
const url = `http://127.0.0.1:${port}`;
console.log(`${url}/#t=${belay.token}`);
process.send?.({ url, token: belay.token });

await once(process, "SIGTERM");
await belay.close({ timeoutMs: 2_000 });
http.close();
await dispatcher.close();
await pool.end();
process.disconnect?.();
