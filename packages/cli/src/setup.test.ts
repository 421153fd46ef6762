import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { noteThread, readNote } from "./data/thread-notes.ts";
import { openBelay } from "./setup.ts";

const made: string[] = [];
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "belay-setup-"));
  made.push(folder);
  return folder;
}
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("threads are kept in the data folder, which nobody else can read, and are there when it is opened again", async () => {
  const data = join(scratch(), "data");
  const folder = scratch();
  const first = await openBelay({ dataFolder: data, folder, model: "demo" });
  const session = await first.openThread();
  expect(await session.run("hello").result).toMatchObject({ status: "completed" });
  expect([modeOf(data), modeOf(join(data, "threads.db")), modeOf(join(data, "threads.db-wal"))]).toEqual([
    "700",
    "600",
    "600",
  ]);
  await first.close();

  const second = await openBelay({ dataFolder: data, folder, model: "demo" });
  expect(readNote(data, session.threadId)).toEqual({ folder: second.folder });
  expect((await second.openThread(session.threadId)).messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  await second.close();
});

test("a folder that is none is refused before anything is made", async () => {
  const data = join(scratch(), "data");
  const opened = openBelay({ dataFolder: data, folder: join(data, "nowhere"), model: "demo" });
  await expect(opened).rejects.toMatchObject({ code: "FOLDER_MISSING" });
  expect(statSync(data, { throwIfNoEntry: false })).toBeUndefined();
});

test("a data folder that cannot be used is named, and nothing half-written stays", async () => {
  const place = scratch();
  const file = join(place, "file");
  writeFileSync(file, "");
  const opened = openBelay({ dataFolder: file, folder: place, model: "demo" });
  await expect(opened).rejects.toMatchObject({ code: "DATA_FOLDER", details: { folder: file } });
  // A folder stands where the note would be: it is written, and cannot take its place.
  mkdirSync(join(place, "notes/thread.json/x"), { recursive: true });
  expect(() => noteThread(place, "thread", { folder: place })).toThrow(/^The data folder .* cannot be used: /);
  expect(readdirSync(join(place, "notes"))).toEqual(["thread.json"]);
});

test("rules that are there and cannot be read stop it: a link that leads nowhere, a folder that is none", async () => {
  const place = scratch();
  const open = (config: string) => openBelay({ dataFolder: join(place, "data"), config, folder: place, model: "demo" });
  symlinkSync(join(place, "nowhere"), join(place, "permissions.json"));
  await expect(open(place)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  writeFileSync(join(place, "file"), "");
  await expect(open(join(place, "file"))).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});
