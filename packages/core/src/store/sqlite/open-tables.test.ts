import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "@belay/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DatabaseSync } from "./database.ts";
import { openTables } from "./open-tables.ts";
import { sqliteStore } from "./sqlite.ts";

let folder: string;
let file: string;
let db: DatabaseSync;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-open-"));
  file = join(folder, "threads.db");
  db = await openDatabase(file);
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

const settings = (of: DatabaseSync) =>
  ["synchronous", "journal_mode"].map((name) => Object.values(of.prepare(`PRAGMA ${name}`).get() as object)[0]);

describe("acknowledged writes are on the disk", () => {
  const FULL = 2;

  test.each([
    "synchronous = OFF",
    "synchronous = NORMAL",
    "synchronous = EXTRA",
    "journal_mode = DELETE",
    "journal_mode = TRUNCATE; PRAGMA synchronous = OFF",
    "journal_mode = MEMORY; PRAGMA synchronous = OFF",
    "journal_mode = WAL; PRAGMA synchronous = NORMAL",
  ])("the handle is at WAL and synchronous=FULL, also one that came with %s", async (before) => {
    db.exec(`PRAGMA ${before}`);
    sqliteStore(db);
    expect(settings(db)).toEqual([FULL, "wal"]);
  });

  test("so is one on a file that has its tables already, and was left in another mode", async () => {
    sqliteStore(db);
    db.exec("PRAGMA journal_mode = DELETE");
    db.close();
    db = await openDatabase(file);
    db.exec("PRAGMA synchronous = OFF");
    sqliteStore(db);
    expect(settings(db)).toEqual([FULL, "wal"]);
  });

  test("appends leave it so, also those of one that writes much", async () => {
    const store = sqliteStore(db);
    const common = { count: 1, at: 1, body: "{}", agent: "a", state: "running", release: true } as const;
    for (let i = 0; i < 1_010; i++)
      await store.append(
        { tenant: "default", threadId: "t" },
        { ...common, expect: i, appendId: `${i}`, writer: { take: "o", ttlMs: 1 } },
      );
    expect(settings(db)).toEqual([FULL, "wal"]);
  });
});

describe("a file on a network file system", () => {
  const on = (type: number) => () => ({ type });

  test.each([
    ["NFS", 0x6969],
    ["SMB", 0x517b],
    ["CIFS", 0xff534d42],
    ["CIFS", 0xff534d42 | 0],
    ["SMB2", 0xfe534d42],
    ["AFS", 0x5346414f],
    ["AFS", 0x6b414653],
    ["Ceph", 0x00c36400],
    ["Lustre", 0x0bd00bd0],
    ["Coda", 0x73757245],
  ])("is refused with its name: %s, %d", (kind, type) => {
    let thrown: unknown;
    try {
      openTables(db, on(type));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "STORE_UNSUITABLE", details: { file, kind } });
  });

  test("is left as it was", () => {
    db.exec("CREATE TABLE theirs (a)");
    const before = readFileSync(file);
    expect(() => openTables(db, on(0x6969))).toThrow("locks do not hold");
    expect(settings(db)[1]).toBe("delete");
    expect(readFileSync(file)).toEqual(before);
  });

  test("is looked for in the folder that the file is in", () => {
    const asked: string[] = [];
    openTables(db, (path) => {
      asked.push(path);
      return { type: 0xef53 };
    });
    expect(asked).toEqual([folder]);
  });

  test("is not assumed if the system does not report it, and not checked in memory", async () => {
    openTables(db, () => {
      throw new Error("ENOSYS");
    });
    const memory = await openDatabase(":memory:");
    openTables(memory, on(0x6969));
    memory.close();
  });
});

test("sqliteStore() refuses a value that is not a database, such as the name of a file", () => {
  const needed = { code: "OPTION_INVALID", message: expect.stringContaining("as new DatabaseSync(file) gives") };
  for (const db of ["threads.db", undefined, {}]) {
    expect(() => sqliteStore(db as never)).toThrow(expect.objectContaining(needed));
  }
});

describe("a database of another program", () => {
  const key = { tenant: "default", threadId: "t" };

  test.each([
    ["CREATE TABLE thread (subject TEXT)", "it has a table thread already"],
    ["CREATE VIEW blob AS SELECT 1", "it has a table blob already"],
    ["CREATE TABLE note (text TEXT); PRAGMA user_version = 1", "its user_version is 1"],
    ["CREATE TABLE note (text TEXT); PRAGMA user_version = 77", "its user_version is 77"],
  ])("is refused, and left as it is: %s", (made, problem) => {
    db.exec(made);
    const bytes = readFileSync(file);
    const refused = { code: "STORE_FOREIGN", message: `The database is not one of Belay: ${problem}.` };
    expect(() => sqliteStore(db)).toThrow(expect.objectContaining(refused));
    expect(readFileSync(file)).toEqual(bytes);
  });

  test("that has counted to our version is refused by the first read", async () => {
    sqliteStore(db);
    const { user_version: ours } = db.prepare("PRAGMA user_version").get() as { user_version: number };
    const other = await openDatabase(join(folder, "other.db"));
    other.exec(`CREATE TABLE note (text TEXT); PRAGMA user_version = ${ours}`);
    await expect(sqliteStore(other).load(key)).rejects.toMatchObject({ code: "STORE_FOREIGN" });
    other.close();
  });

  test("with other table names is shared with it", async () => {
    db.exec("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('mine')");
    expect(await sqliteStore(db).load(key)).toBeUndefined();
    expect(db.prepare("SELECT text FROM note").get()).toEqual({ text: "mine" });
  });
});
