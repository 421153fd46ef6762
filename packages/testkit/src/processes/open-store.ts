// The store that a process under test shares with others: a SQLite file, or the server of a URL. Each has points at which a process
// may be killed: around its writes, and while an answer is on the way.

import type { Store } from "@belay/core";
import { type PostgresPool, postgresStore } from "@belay/core/postgres";
import { type RedisClient, redisStore } from "@belay/core/redis";
import { sqliteStore } from "@belay/core/sqlite";
import { type Database, openDatabase } from "../stores/open-database.ts";
import { openPool } from "../stores/open-pool.ts";
import { openRedis } from "../stores/open-redis.ts";

export interface OpenStore {
  readonly store: Store;
  close(): Promise<void>;
}

type Passed = (name: string) => void;

export async function openStore(where: string, passed: Passed = () => {}): Promise<OpenStore> {
  if (where.startsWith("redis:")) return openRedisStore(new URL(where), passed);
  if (where.startsWith("postgres")) return openPostgres(new URL(where), passed);
  const db = await openDatabase(where);
  return { store: sqliteStore(observedDatabase(db, passed)), close: async () => db.close() };
}

/** `#…` is the schema. */
async function openPostgres(url: URL, passed: Passed): Promise<OpenStore> {
  const schema = url.hash.slice(1) || "belay";
  url.hash = "";
  const pool = await openPool({ url: url.href, max: 4 });
  return { store: postgresStore(observedPool(pool, passed), { schema }), close: () => pool.end() };
}

/** PostgreSQL, with a point before a call is sent, while it is on its way, and when its answer has arrived. */
function observedPool(pool: PostgresPool, passed: Passed): PostgresPool {
  return {
    ...(pool.options && { options: pool.options }),
    get ending() {
      return pool.ending ?? false;
    },
    connect: () => pool.connect(),
    on: (event, listener) => pool.on(event, listener),
    async query(query) {
      const client = await pool.connect();
      let failed = true;
      try {
        passed("call:before");
        const answer = client.query(query);
        // It is written to the socket by now: nothing more is needed from us for it to happen.
        await new Promise<void>((resolve) => setImmediate(resolve));
        passed("call:sent");
        const result = await answer;
        passed("call:after");
        failed = false;
        return result;
      } finally {
        client.release(failed);
      }
    },
  };
}

/** `?prefix=…` is the beginning of its keys. */
async function openRedisStore(url: URL, passed: Passed): Promise<OpenStore> {
  const prefix = url.searchParams.get("prefix") ?? "belay";
  url.search = "";
  const client = await openRedis(url.href);
  const close = async () => void (await client.quit());
  return { store: redisStore(observedClient(client, passed), { prefix }), close };
}

/** Redis, with a point before a script is sent, while it is on its way, and when its answer has arrived. */
function observedClient(client: RedisClient, passed: Passed): RedisClient {
  return {
    get status() {
      return client.status;
    },
    evalsha(sha, keys, ...args) {
      passed("call:before");
      const answer = client.evalsha(sha, keys, ...args);
      // Nothing more is needed from us for it to happen.
      passed("call:sent");
      return answer.then((reply) => {
        passed("call:after");
        return reply;
      });
    },
    eval: (script, keys, ...args) => client.eval(script, keys, ...args),
    publish: (channel, message) => client.publish(channel, message),
    duplicate: () => client.duplicate(),
    once: (event, listener) => client.once(event, listener),
    off: (event, listener) => client.off(event, listener),
  };
}

/** SQLite, with a point at each border of a transaction: also between a commit and its answer. */
function observedDatabase(db: Database, passed: Passed): Database {
  const around = <T>(sql: string, work: () => T): T => {
    if (sql === "COMMIT") passed("commit:before");
    const result = work();
    if (sql === "COMMIT") passed("commit:after");
    if (sql === "BEGIN IMMEDIATE") passed("begin:after");
    return result;
  };
  return {
    exec: (sql) => around(sql, () => db.exec(sql)),
    close: () => db.close(),
    prepare(sql) {
      const statement = db.prepare(sql);
      if (sql !== "COMMIT" && sql !== "BEGIN IMMEDIATE") return statement;
      const { get, all } = statement;
      return {
        get: get.bind(statement),
        all: all.bind(statement),
        run: (...values) => around(sql, () => statement.run(...values)),
      };
    },
  };
}
