// A SQLite file of its own for each case of the store suite.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "@belay/core/sqlite";
import { fakeClock, type StoreUnderTest } from "@belay/core/testing";
import { type Database, openDatabase } from "./open-database.ts";

/** Makes a store; `prepare` has the file first. */
export const sqliteFile = (prepare: (db: Database) => void) => async () => {
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

export const damageRequest = ({ db }: StoreUnderTest & { readonly db: Database }, tenant: string, id: string) =>
  db.prepare("UPDATE request SET body = body || ' ' WHERE tenant = ? AND id = ?").run(tenant, id);
