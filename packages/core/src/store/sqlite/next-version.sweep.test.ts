import { damageRequest, longCases, sqliteFile } from "@belay/testkit";
import { describe, inject, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";
import type { DatabaseSync } from "./database.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import { sqliteStore } from "./sqlite.ts";

/** Changes the file as a later version may: with additions that older versions need not know. */
function migrateFurther(db: DatabaseSync): void {
  sqliteStore(db);
  db.exec(`CREATE TABLE compatible (oldest INTEGER NOT NULL); INSERT INTO compatible VALUES (${SCHEMA_VERSION});
    ALTER TABLE thread ADD COLUMN later TEXT; ALTER TABLE request ADD COLUMN later INTEGER; CREATE TABLE more (x);
    CREATE INDEX thread_later ON thread (later) WHERE later IS NOT NULL; PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
}

describe("P17: the store in a SQLite file that the next version has migrated, and shares with this one", () => {
  const { everyVariant } = inject("effort");
  for (const { name, run, skip } of storeSuite(sqliteFile(migrateFurther), { damageRequest }))
    if (everyVariant || !longCases.includes(name)) test.skipIf(skip)(name, run);
});
