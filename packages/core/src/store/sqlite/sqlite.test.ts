import { describe, test } from "vitest";
import { damageRequest, sqliteFile } from "../../testing/sqlite-file.ts";
import { storeSuite } from "../../testing/store-suite.ts";

describe("the store in a SQLite file", () => {
  const make = sqliteFile(() => {});
  for (const { name, run, skip } of storeSuite(make, { damageRequest })) test.skipIf(skip)(name, run);
});
