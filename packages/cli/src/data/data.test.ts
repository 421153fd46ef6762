import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "@belay/core/sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configFolderOf, dataFolderOf, storeProblem } from "./folders.ts";
import { openDatabase } from "./open-database.ts";
import { folderOfThread, noteThread, readNote } from "./thread-notes.ts";

describe("where things are kept", () => {
  const env = { HOME: "/home/me" };

  test("the option, then the variable, then XDG, then the default of the system", () => {
    expect(dataFolderOf("/given", { ...env, BELAY_DATA: "/own" }, "linux")).toBe("/given");
    expect(dataFolderOf(undefined, { ...env, BELAY_DATA: "/own", XDG_DATA_HOME: "/xdg" }, "linux")).toBe("/own");
    expect(dataFolderOf(undefined, { ...env, XDG_DATA_HOME: "/xdg" }, "linux")).toBe("/xdg/belay");
    expect(dataFolderOf(undefined, { ...env, XDG_DATA_HOME: "" }, "linux")).toBe("/home/me/.local/share/belay");
    expect(dataFolderOf(undefined, env, "darwin")).toBe("/home/me/Library/Application Support/belay");
    expect(configFolderOf(undefined, env, "linux")).toBe("/home/me/.config/belay");
    expect(configFolderOf(undefined, { ...env, BELAY_CONFIG: "/own" }, "linux")).toBe("/own");
    expect(configFolderOf(undefined, { ...env, XDG_CONFIG_HOME: "/xdg" }, "linux")).toBe("/xdg/belay");
  });
});

describe("the errors of a store", () => {
  const said = (code: string, reason: string, cause?: object) =>
    Object.assign(new Error(reason, { cause }), { code, details: { threadId: "t", reason } });
  const told = (error: unknown) => storeProblem(error, () => "/data");

  test("names the data folder if the file or the disk refuses", () => {
    for (const error of [
      said("STORE_FULL", "database or disk is full"),
      // Of SQLite: it may only be read, it cannot be read, it cannot be opened; the last with more said of how.
      ...[8, 10, 14, 0x308].map((errcode) => said("STORE_FAILED", "no", { errcode })),
      said("STORE_FAILED", "EACCES: permission denied", { syscall: "open" }),
    ])
      expect(told(error)).toMatchObject({ code: "DATA_FOLDER", details: { folder: "/data" }, cause: error });
  });

  test("is known by the error of the database itself", async () => {
    const data = mkdtempSync(join(tmpdir(), "belay-store-"));
    const db = await openDatabase(data);
    const store = sqliteStore(db);
    const key = { tenant: "default", threadId: "t" };
    await store.threads("default");
    db.exec("PRAGMA query_only = 1");
    const refused = await store
      .send(key, { key: "k", kind: "steer", body: "{}", at: 0 })
      .catch((error: unknown) => error);
    db.close();
    const closed = await store.threads("default").catch((error: unknown) => error);
    rmSync(data, { recursive: true });
    expect([told(refused), told(closed)]).toMatchObject([{ code: "DATA_FOLDER" }, { code: "STORE_FAILED" }]);
  });

  test("is left as it is, with its thread, where neither room nor another folder would help", () => {
    for (const error of [
      said("STORE_FAILED", "its answer was lost, and others have written since"),
      said("STORE_FAILED", "database is locked", { errcode: 5 }),
      said("STORE_CONFLICT", "somebody else wrote"),
      new Error("anything"),
      undefined,
    ])
      expect(told(error)).toBe(error);
  });

  test("is reported also if its folder has no name", () => {
    const error = said("STORE_FULL", "database or disk is full");
    const gone = () => {
      throw new Error("gone");
    };
    expect(storeProblem(error, gone)).toBe(error);
  });
});

describe("the note of a thread", () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), "belay-notes-"));
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));

  test("its folder is found by its id, or by a unique beginning; with any id the file stays in its place", () => {
    noteThread(data, "abc1", { folder: "/one" });
    noteThread(data, "abd2", { folder: "/two" });
    noteThread(data, "../../etc/passwd", { folder: "/three" });
    expect(readNote(data, "abc1")).toEqual({ folder: "/one" });
    expect([folderOfThread(data, "abc"), folderOfThread(data, "ab"), folderOfThread(data, "x")]).toEqual([
      "/one",
      undefined,
      undefined,
    ]);
    expect(folderOfThread(data, "../../etc/passwd")).toBe("/three");
    expect(statSync(join(data, "notes/abc1.json")).mode & 0o777).toBe(0o600);
    expect(readNote(data, "no-such")).toBeUndefined();
  });
});
