// One store, whichever it is: a SQLite file for processes of one machine, a server for those of several.
import { isBuiltin } from "node:module";
import type { Store } from "@belay/core";
import { postgresStore } from "@belay/core/postgres";
import { redisStore } from "@belay/core/redis";
import { sqliteStore } from "@belay/core/sqlite";
import { Redis } from "ioredis";
import pg from "pg";

interface Opened {
  readonly store: Store;
  /** After the runners are closed. */
  close(): unknown;
}

export async function openStore(file: string): Promise<Opened> {
  const { DATABASE_URL, REDIS_URL } = process.env;
  if (DATABASE_URL) return postgres(DATABASE_URL);
  if (REDIS_URL) return redis(REDIS_URL);
  return sqlite(file);
}

async function sqlite(file: string): Promise<Opened> {
  // region sqlite
  // Node has it built in from 22.13 on; for those before it there is the same in a package.
  const { DatabaseSync } = await import(isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite");
  const db = new DatabaseSync(file);
  const store = sqliteStore(db);
  // endregion
  return { store, close: () => db.close() };
}

function postgres(url: string): Opened {
  // region postgres
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 5_000 });
  const store = postgresStore(pool);
  // endregion
  return { store, close: () => pool.end() };
}

function redis(url: string): Opened {
  // region redis
  // redis-server --appendonly yes --appendfsync always --maxmemory-policy noeviction
  const client = new Redis(url, { socketTimeout: 5_000 });
  const store = redisStore(client);
  // endregion
  return { store, close: () => client.quit() };
}
