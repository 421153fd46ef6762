import { damageRequest, sqliteFile } from "@belay/testkit";
import { describe, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";

describe("the store in a SQLite file", () => {
  const make = sqliteFile(() => {});
  for (const { name, run, skip } of storeSuite(make, { damageRequest })) test.skipIf(skip)(name, run);
});
