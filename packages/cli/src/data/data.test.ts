import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configFolderOf, dataFolderOf } from "./folders.ts";
import { folderOfThread, noteThread, readNote } from "./thread-notes.ts";

describe("where things are kept", () => {
  const env = { HOME: "/home/me" };

  test("what was given, then the variable, then XDG, then where the system keeps such things", () => {
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

describe("what is noted of a thread", () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), "belay-notes-"));
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));

  test("its folder is found by its id, or by a beginning that only it has; whatever the id, the file stays in its place", () => {
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
