// The cost of a durable step in PostgreSQL. A server of its own, as it is configured by default, on this machine's
// disk and its loopback: a network adds its own time. Server and programs share the machine's cores.

import { postgresStore } from "@belay/core/postgres";
import pg from "pg";
import { ownPostgres } from "../scripts/services/postgres.mjs";
import { askServer } from "./on-server.mjs";

function connect(url, { connections = 10, synced = true } = {}) {
  const connectionString = synced ? url : `${url}?options=-c%20synchronous_commit%3Doff`;
  const pool = new pg.Pool({ connectionString, max: connections });
  return {
    store: (name) => postgresStore(pool, { schema: name }),
    async plainWrite(name) {
      await pool.query(`CREATE TABLE ${name} (id bigserial PRIMARY KEY, body text)`);
      const insert = { name: "insert", text: `INSERT INTO ${name} (body) VALUES ($1)` };
      return (body) => pool.query({ ...insert, values: [body] });
    },
    filled: () => pool.query("ANALYZE"),
    end: () => pool.end(),
  };
}

await askServer(import.meta.url, { start: ownPostgres, connect, plainWrites: "inserts" });
