import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { fakeClock } from "../../testing/fake-clock.ts";
import { openDatabase } from "../../testing/open-database.ts";
import { storeSuite } from "../../testing/store-suite.ts";
import { sqliteStore } from "./sqlite.ts";

describe("the store in a SQLite file", () => {
  const make = async () => {
    const folder = mkdtempSync(join(tmpdir(), "belay-"));
    const db = await openDatabase(join(folder, "threads.db"));
    const clock = fakeClock();
    return {
      store: sqliteStore(db, { clock, pollMs: 5 }),
      advance: (ms: number) => clock.advance(ms),
      close: async () => {
        db.close();
        rmSync(folder, { recursive: true });
      },
    };
  };
  for (const { name, run, skip } of storeSuite(make)) test.skipIf(skip)(name, run);
});
