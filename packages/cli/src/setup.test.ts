import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approve, type Session } from "@belay/core";
import { afterEach, expect, test } from "vitest";
import { allThreads } from "./all-threads.ts";
import { noteThread, readNote } from "./data/thread-notes.ts";
import { type BelaySetup, openBelay } from "./setup.ts";

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

test("threads are kept in the data folder, which only its owner can read, and exist when it is opened again", async () => {
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
  // A folder has the name of the note: the note is written, and cannot be moved to its name.
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

test("Q5: at whichever step a fork for another folder is cut off, its permissions count in no further folder", async () => {
  const data = scratch();
  const [home, away] = [scratch(), scratch()];
  const open = (folder: string) => openBelay({ dataFolder: data, folder, model: "demo", mcp: false });
  const first = await open(home);
  const { threadId } = await allowed(first);
  await first.close();
  for (const last of ["fork", "rules", "removeRule"] as const) {
    const cut = await open(away);
    const { runner } = cut;
    const step = runner[last].bind(runner) as (...args: unknown[]) => Promise<unknown>;
    const dies = async (...args: unknown[]) => {
      if (last === "fork") await step(...args);
      throw new Error("died");
    };
    Object.assign(runner, { [last]: dies });
    await expect(cut.forkThread(threadId), last).rejects.toThrow("died");
    await cut.close();

    const [there, here] = [await open(away), await open(home)];
    const fork = (await allThreads(there.runner)).find((row) => row.threadId !== threadId)!.threadId;
    await expect(there.openThread(fork), last).rejects.toMatchObject({ code: "FOLDER_OTHER" });
    expect((await here.openThread(fork)).rules, last).toHaveLength(1);
    await here.runner.delete(fork);
    await Promise.all([there.close(), here.close()]);
  }
  const whole = await open(away);
  const { session } = await whole.forkThread(threadId);
  expect([session.rules, readNote(data, session.threadId)]).toEqual([[], { folder: whole.folder }]);
  await whole.close();
});

/** A thread in which a command was approved, and will be from now on. */
async function allowed({ openThread }: BelaySetup): Promise<Session> {
  const session = await openThread();
  await session.run("run touch made").result;
  await session.answer(session.interrupts[0]!.id, approve({ remember: "thread" }));
  expect(await session.resume().result).toMatchObject({ status: "completed" });
  return session;
}

test("plan mode also holds for calls that were allowed in the thread", async () => {
  const setup = await openBelay({ dataFolder: join(scratch(), "data"), folder: scratch(), model: "demo" });
  const session = await setup.openThread();
  await session.run("run echo hi").result;
  await session.answer(session.interrupts[0]!.id, approve({ remember: "thread" }));
  await session.resume().result;
  expect(await session.run("run echo hi").result).toMatchObject({
    status: "completed",
    text: expect.stringMatching(/\bhi\b/),
  });
  setup.setMode("plan");
  const planned = await session.run("run echo hi").result;
  expect(planned).toMatchObject({ status: "completed", text: expect.stringContaining("plan mode") });
  await setup.close();
});
