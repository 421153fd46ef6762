import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { history, openDatabase, openKit, toolOf } from "@belay/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sqliteStore } from "../../store/sqlite/sqlite.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belay-repair-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const work = toolOf("work", () => "worked well");

/** A file with a thread of three runs in it. */
async function file(): Promise<string> {
  const path = join(folder, "threads.db");
  const db = await openDatabase(path);
  const kit = await openKit(
    ["the first answer", [{ call: "work", id: "w" }], "the second answer", "the third answer"],
    {
      store: sqliteStore(db),
      tools: [work],
    },
  );
  for (const question of ["first", "second", "third"]) await kit.session.run(question).result;
  await kit.runner.close();
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return path;
}

/** Returns the file with one bit flipped in the first occurrence of `text`. */
function flip(path: string, text: string): Buffer {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(text);
  expect(at).toBeGreaterThan(0);
  bytes[at]! ^= 2;
  writeFileSync(path, bytes);
  return bytes;
}

async function opened(path: string) {
  const db = await openDatabase(path);
  return { db, kit: await openKit(["and on"], { store: sqliteStore(db), tools: [work], threadId: "none" }) };
}

describe("a damaged thread", () => {
  test("C4: its readable part lives in a fork that can be resumed; it stays unchanged, and the report names the loss", async () => {
    const path = await file();
    flip(path, "the second answer");
    const { db, kit } = await opened(path);
    const damagedKey = { tenant: "default", threadId: "thread" };
    await expect(kit.store.load(damagedKey)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    await expect(kit.runner.fork("thread", { at: 4 })).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    const { session, lost } = await kit.runner.repair("thread", { as: "repaired" });
    expect(history(session.messages)).toEqual([
      "user: first",
      "assistant: the first answer",
      "user: second",
      "assistant: call w",
      "tool: w ok",
    ]);
    const damaged = (await kit.runner.threads()).items.find(({ threadId }) => threadId === "thread")!;
    expect(lost).toMatchObject({ from: 15, facts: damaged.head - 14, error: { code: "JOURNAL_CORRUPT" } });
    expect(session).toMatchObject({ state: "paused", pauseType: "manual" });
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "and on" });
    await expect(kit.store.load(damagedKey)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    expect((await kit.runner.history("thread")).map(({ kind }) => kind)).toEqual([
      "input",
      "answer",
      "end",
      "input",
      "answer",
      "result",
    ]);
    await kit.runner.delete("thread");
    expect(history(session.messages).length).toBe(6);
    db.close();
  });

  test("C4: one with an unreadable row has all of its lines; the number of lost ones is unknown", async () => {
    const path = await file();
    const damage = await openDatabase(path);
    damage.exec("UPDATE thread SET updated_at = updated_at + 1");
    damage.close();
    const { db, kit } = await opened(path);
    expect((await kit.runner.threads()).items).toMatchObject([{ threadId: "thread", damaged: true }]);
    const { session, lost } = await kit.runner.repair("thread");
    expect(history(session.messages).length).toBe(8);
    expect(lost.facts).toBeUndefined();
    expect(await session.run("fourth").result).toMatchObject({ text: "and on" });
    db.close();
  });

  test("C4: a line that the store proves, and that no release can read, ends the readable part", async () => {
    const kit = await openKit(["one"]);
    await kit.session.run("go").result;
    const key = { tenant: "default", threadId: "thread" };
    const { head } = (await kit.store.load(key))!.row;
    await kit.store.append(key, {
      appendId: "x",
      expect: head,
      count: 1,
      at: 1,
      body: '{"v":99,"r":"x","n":"helper","e":["running"]}',
      writer: { take: "me", ttlMs: 1_000 },
      release: true,
      agent: "helper",
      state: "completed",
    });
    await kit.session.close();
    const { session, lost } = await kit.runner.repair("thread");
    expect(lost).toMatchObject({ from: head + 1, facts: 1, error: { code: "JOURNAL_VERSION" } });
    expect(history(session.messages)).toEqual(["user: go", "assistant: one"]);
  });

  test("C4: whichever byte of its text is damaged, the fork has a prefix of its past, and continues", async () => {
    const path = await file();
    const bytes = readFileSync(path);
    const whole = ["user: first", "assistant: the first answer", "user: second", "assistant: call w", "tool: w ok"];
    const all = [...whole, "assistant: the second answer", "user: third", "assistant: the third answer"];
    for (const [i, text] of ["first", "the first answer", "second", "worked well", "the third answer"].entries()) {
      const copy = join(folder, `${i}.db`);
      writeFileSync(copy, bytes);
      flip(copy, text);
      const { db, kit } = await opened(copy);
      const { session } = await kit.runner.repair("thread");
      const past = history(session.messages);
      expect(past).toEqual(all.slice(0, past.length));
      const result = session.state === "paused" ? session.resume().result : session.run("more").result;
      expect(await result).toMatchObject(past.at(-1)?.startsWith("assistant: call") ? {} : { status: "completed" });
      expect(kit.problems()).toEqual([]);
      db.close();
    }
  });

  test("a thread that is sound, or not there, is not repaired", async () => {
    const kit = await openKit(["one"]);
    await kit.session.run("go").result;
    await expect(kit.runner.repair("thread")).rejects.toMatchObject({ code: "THREAD_SOUND" });
    await expect(kit.runner.repair("nobody")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
    expect((await kit.runner.threads()).items.length).toBe(1);
  });
});
