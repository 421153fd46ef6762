// A SQLite file of its own for each case of the store suite.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "../store/sqlite/database.ts";
import { sqliteStore } from "../store/sqlite/sqlite.ts";
import { fakeClock } from "./fake-clock.ts";
import { openDatabase } from "./open-database.ts";
import type { StoreUnderTest } from "./store-cases/bench.ts";

/** Makes a store; `prepare` has the file first. */
export const sqliteFile = (prepare: (db: DatabaseSync) => void) => async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-"));
  const db = await openDatabase(join(folder, "threads.db"));
  prepare(db);
  const clock = fakeClock();
  return {
    db,
    store: sqliteStore(db, { clock, pollMs: 5 }),
    advance: (ms: number) => clock.advance(ms),
    close: async () => {
      db.close();
      rmSync(folder, { recursive: true });
    },
  };
};

export const damageRequest = ({ db }: StoreUnderTest & { readonly db: DatabaseSync }, tenant: string, id: string) =>
  db.prepare("UPDATE request SET body = body || ' ' WHERE tenant = ? AND id = ?").run(tenant, id);
