import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openDatabase, until } from "@belay/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sqliteStore } from "./sqlite.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const key = { tenant: "default", threadId: "thread" };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belay-relay-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => openDatabase(join(folder, "threads.db"));
const files = () => readdirSync(folder).filter((name) => name.includes("-live-"));

test.each(["reader", "owner"] as const)("the line of a %s that never leaves ends with its database", async (side) => {
  const db = await open();
  const store = sqliteStore(db);
  const start = () => {
    const heard = () => {};
    store.relay!(key, side, heard);
    return new WeakRef(heard);
  };
  const heard = start();
  db.close();
  await until(() => {
    collect();
    return heard.deref() === undefined;
  });
});

test("L1: a reader that never leaves takes its file along when its database is closed, and makes no other", async () => {
  const db = await open();
  const line = sqliteStore(db).relay!(key, "reader", () => {})!;
  expect(files()).toHaveLength(1);
  db.close();
  await until(() => files().length === 0);
  line.say("text so far?");
  expect(files()).toEqual([]);
});
