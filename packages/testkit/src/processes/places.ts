// The places of the stores that processes share in tests: a promise that holds in one place must hold in the others.

import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Store } from "@belay/core";
import { dropSchema, freshSchema, openPool } from "../stores/open-pool.ts";
import { openRedis } from "../stores/open-redis.ts";
import { service } from "../stores/services.ts";
import { openStore } from "./open-store.ts";

export interface Place {
  readonly name: string;
  /** Of a process that died: undefined if it is gone at once, because all processes are on one machine. */
  readonly leaseTtlMs: number | undefined;
  /** A copy of the folder is a store of its own, with everything that was in this one. */
  readonly isInFolder?: true;
  /** A store that no other test uses; its files, if it has any, are in the folder. */
  at(folder: string): Promise<string>;
  /** Lets `read` see the present contents, without a change. */
  reading<T>(where: string, read: (store: Store) => Promise<T>): Promise<T>;
  /** Removes everything that is not in the folder. */
  remove(where: string): Promise<void>;
}

export const sqliteFiles: Place = {
  name: "a SQLite file",
  leaseTtlMs: undefined,
  isInFolder: true,
  at: async (folder) => join(folder, "threads.db"),
  async reading(where, read) {
    // From a copy: SQLite would put the log of a dead process in order.
    const copy = mkdtempSync(join(dirname(where), "copy-"));
    for (const end of ["", "-wal", "-shm"])
      if (existsSync(`${where}${end}`)) cpSync(`${where}${end}`, join(copy, `${basename(where)}${end}`));
    try {
      return await opened(join(copy, basename(where)), read);
    } finally {
      rmSync(copy, { recursive: true });
    }
  },
  remove: async () => {},
};

export const postgresServer: Place = {
  name: "PostgreSQL",
  leaseTtlMs: 300,
  at: async () => `${await service("postgres")}#${freshSchema()}`,
  reading: opened,
  async remove(where) {
    const url = new URL(where);
    const schema = url.hash.slice(1);
    url.hash = "";
    const pool = await openPool({ url: url.href, max: 1 });
    await dropSchema(pool, schema);
    await pool.end();
  },
};

export const redisServer: Place = {
  name: "Redis",
  leaseTtlMs: 300,
  at: async () => `${await service("redis")}?prefix=belay-test-${randomUUID()}`,
  reading: opened,
  async remove(where) {
    const url = new URL(where);
    const match = `${url.searchParams.get("prefix")}:*`;
    url.search = "";
    const client = await openRedis(url.href);
    let cursor = "0";
    do {
      const [next, keys] = await client.scan(cursor, "MATCH", match, "COUNT", 1_000);
      if (keys.length > 0) await client.unlink(...keys);
      cursor = next;
    } while (cursor !== "0");
    await client.quit();
  },
};

export const places: readonly Place[] = [sqliteFiles, postgresServer, redisServer];

async function opened<T>(where: string, read: (store: Store) => Promise<T>): Promise<T> {
  const { store, close } = await openStore(where);
  try {
    return await read(store);
  } finally {
    await close();
  }
}
