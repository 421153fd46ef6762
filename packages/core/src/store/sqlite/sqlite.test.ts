import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "@belay/testkit";
import { describe, test } from "vitest";
import { fakeClock, type StoreUnderTest, storeSuite } from "../../testing/index.ts";
import type { DatabaseSync } from "./database.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import { sqliteStore } from "./sqlite.ts";

const making = (prepare: (db: DatabaseSync) => void) => async () => {
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

const damageRequest = ({ db }: StoreUnderTest & { readonly db: DatabaseSync }, tenant: string, id: string) =>
  db.prepare("UPDATE request SET body = body || ' ' WHERE tenant = ? AND id = ?").run(tenant, id);

describe("the store in a SQLite file", () => {
  for (const { name, run, skip } of storeSuite(
    making(() => {}),
    { damageRequest },
  ))
    test.skipIf(skip)(name, run);
});

/** As a version to come may leave it, that adds what older ones need not know. */
function migrateFurther(db: DatabaseSync): void {
  sqliteStore(db);
  db.exec(`CREATE TABLE compatible (oldest INTEGER NOT NULL); INSERT INTO compatible VALUES (${SCHEMA_VERSION});
    ALTER TABLE thread ADD COLUMN later TEXT; ALTER TABLE request ADD COLUMN later INTEGER; CREATE TABLE more (x);
    CREATE INDEX thread_later ON thread (later) WHERE later IS NOT NULL; PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
}

describe("P17: the store in a SQLite file that the next version has migrated, and shares with this one", () => {
  for (const { name, run, skip } of storeSuite(making(migrateFurther), { damageRequest })) test.skipIf(skip)(name, run);
});
