import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf, gate, history, openDatabase, openKit } from "@belay/testkit";
import { bundlePrograms, startChild } from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../clock.ts";
import { type Clock, jsonSchema, tool } from "../../index.ts";
import type { DatabaseSync } from "./database.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import { sqliteStore } from "./sqlite.ts";

const key = { tenant: "default", threadId: "thread" };
let programs: string;
let folder: string;
let file: string;

beforeAll(async () => {
  programs = await bundlePrograms();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belay-failures-"));
  file = join(folder, "threads.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A clock that a test can move on without waiting, so that leases end. */
function movable(): { clock: Clock; skip: (ms: number) => void } {
  let skew = 0;
  return {
    clock: { ...systemClock, now: () => Date.now() + skew },
    skip: (ms) => {
      skew += ms;
    },
  };
}

function fillUp(db: DatabaseSync): void {
  const { page_count } = db.prepare("PRAGMA page_count").get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${page_count}`);
}

const makeRoom = (db: DatabaseSync) => db.exec("PRAGMA max_page_count = 1000000");

describe("a full disk", () => {
  const large = "y".repeat(200_000);

  test("P8, F6: the run fails with STORE_FULL, nothing more is written, it reads paused by a crash, and continues when there is room", async () => {
    const db = await openDatabase(file);
    const { clock, skip } = movable();
    const ran: string[] = [];
    const full = gate();
    const grow = tool({
      name: "grow",
      description: "",
      input: jsonSchema({ type: "object" }),
      readOnly: true,
      execute: async (_, ctx) => {
        ran.push(ctx.address);
        await full.opened;
        return large;
      },
    });
    const script = ({ messages }: { messages: readonly { role: string }[] }) =>
      messages.some(({ role }) => role === "tool") ? "done" : [{ call: "grow", id: "g" }];
    const store = sqliteStore(db, { clock });
    const kit = await openKit(script, { store, clock, tools: [grow] });
    await store.threads("default");
    const run = kit.session.run("go");
    const heard = kit.session.events()[Symbol.asyncIterator]();
    for (;;) if ((await heard.next()).value?.type === "message") break;
    fillUp(db);
    full.open();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "STORE_FULL" } });
    const written = await factsOf(store);
    expect(written.at(-1)?.type).toBe("tool-start");
    skip(60_000);
    expect(await factsOf(store)).toEqual(written);
    const again = await openKit(script, { store, clock, tools: [grow] });
    expect(again.session).toMatchObject({ state: "paused", pauseType: "crash" });
    expect(await again.session.resume().result).toMatchObject({ status: "failed", error: { code: "STORE_FULL" } });
    expect((await factsOf(store)).slice(0, written.length)).toEqual(written);
    makeRoom(db);
    skip(60_000);
    const last = await openKit(script, { store, clock, tools: [grow] });
    expect(await last.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(history(last.session.messages)).toEqual(["user: go", "assistant: call g", "tool: g ok", "assistant: done"]);
    expect(last.problems()).toEqual([]);
    db.close();
  });

  test("P8, C1: no tool starts without its recorded intent", async () => {
    const db = await openDatabase(file);
    let ran = 0;
    const pay = tool({
      name: "pay",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: () => {
        ran += 1;
      },
    });
    const kit = await openKit(
      () => {
        fillUp(db);
        return [{ text: large }, { call: "pay", id: "p" }];
      },
      { store: sqliteStore(db), tools: [pay] },
    );
    expect(await kit.session.run("go").result).toMatchObject({ status: "failed", error: { code: "STORE_FULL" } });
    expect(ran).toBe(0);
    db.close();
  });
});

describe("an invalid file", () => {
  test("C4: a newer schema is STORE_VERSION, and not a byte of it changes", async () => {
    const db = await openDatabase(file);
    sqliteStore(db);
    db.exec("CREATE TABLE later (x); PRAGMA user_version = 99");
    db.close();
    const bytes = readFileSync(file);
    const again = await openDatabase(file);
    expect(() => sqliteStore(again)).toThrow(expect.objectContaining({ code: "STORE_VERSION" }));
    again.close();
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test("P17: a newer schema that this version can share is left at its version, and one that it cannot is refused", async () => {
    const db = await openDatabase(file);
    sqliteStore(db);
    const set = (oldest: number) =>
      db.exec(`DROP TABLE IF EXISTS compatible; CREATE TABLE compatible (oldest); PRAGMA user_version = 99;
        INSERT INTO compatible VALUES (${oldest})`);
    set(SCHEMA_VERSION);
    const kit = await openKit(["well"], { store: sqliteStore(db) });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 99 });
    set(SCHEMA_VERSION + 1);
    expect(() => sqliteStore(db)).toThrow(expect.objectContaining({ code: "STORE_VERSION" }));
    db.exec("DELETE FROM compatible");
    expect(() => sqliteStore(db)).toThrow(expect.objectContaining({ code: "STORE_VERSION" }));
    db.close();
  });

  test("P17: one that waits for its turn to migrate does not take a version back that came meanwhile", async () => {
    const newer = await openDatabase(file);
    const db = await openDatabase(file);
    const late = {
      prepare: (sql: string) => db.prepare(sql),
      close: () => db.close(),
      exec(sql: string) {
        if (sql === "BEGIN IMMEDIATE") {
          sqliteStore(newer);
          newer.exec(
            `CREATE TABLE compatible (oldest); INSERT INTO compatible VALUES (${SCHEMA_VERSION}); PRAGMA user_version = 99`,
          );
        }
        db.exec(sql);
      },
    };
    sqliteStore(late);
    expect(newer.prepare("PRAGMA user_version").get()).toEqual({ user_version: 99 });
    newer.close();
    db.close();
  });

  test("a file that is no database is STORE_CORRUPT, and not a byte of it changes", async () => {
    writeFileSync(file, "not a database at all, but long enough to look like one ".repeat(40));
    const bytes = readFileSync(file);
    const db = await openDatabase(file);
    expect(() => sqliteStore(db)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
    db.close();
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test("opening a database in a missing folder is refused", async () => {
    await expect(openDatabase(join(folder, "nowhere", "threads.db"))).rejects.toThrow();
  });

  test("read-only, its threads can be read and listed; a run fails with STORE_FAILED", async () => {
    const db = await openDatabase(file);
    const kit = await openKit(["hello"], { store: sqliteStore(db) });
    await kit.session.run("hi").result;
    const readOnly = await openDatabase(file, { readOnly: true });
    const store = sqliteStore(readOnly);
    const other = await openKit(["never"], { store });
    expect(history(other.session.messages)).toEqual(["user: hi", "assistant: hello"]);
    expect(await store.threads("default")).toHaveLength(1);
    expect(await other.session.run("more").result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    expect(other.requests).toEqual([]);
    readOnly.close();
    db.close();
  });

  test("F6: closed in the middle of a run, the run fails with STORE_FAILED and the program continues", async () => {
    const db = await openDatabase(file);
    const store = sqliteStore(db);
    const kit = await openKit([[{ text: "some" }, { wait: 50 }, { text: " more" }]], { store });
    const run = kit.session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    db.close();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    await expect(store.load(key)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(store.threads("default")).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(() => store.linesSync!(key)).toThrow(expect.objectContaining({ code: "STORE_FAILED" }));
    store.watch(key, () => {})();
  });
});

describe("a file that another process has locked", () => {
  const append = (appendId: string) =>
    ({
      appendId,
      expect: 0,
      count: 1,
      at: 1,
      body: "{}",
      writer: { take: "me", ttlMs: 1_000 },
      release: true,
      agent: "a",
      state: "running",
    }) as const;

  /** How long the event loop stood still at most, in ms, until `work` was done. */
  async function longestStandstill(work: Promise<unknown>): Promise<number> {
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 1);
    await work.catch(() => {});
    clearInterval(timer);
    return longest;
  }

  test("is waited for without blocking the event loop, and for five seconds at most", async () => {
    const db = await openDatabase(file);
    const store = sqliteStore(db);
    const holder = startChild(programs, "holdLock", { file });
    await holder.said("locked");
    const waiting = store.append(key, append("first"));
    setTimeout(() => holder.tell("go"), 3_000);
    // A busy machine stands still now and then; to wait by blocking would be to stand still all the time.
    expect(await longestStandstill(waiting)).toBeLessThan(1_500);
    expect(await waiting).toMatchObject({ ok: true });
    await holder.exited;

    const stubborn = startChild(programs, "holdLock", { file });
    await stubborn.said("locked");
    // Reads continue in the meantime.
    expect((await store.load(key))?.lines).toHaveLength(1);
    const started = Date.now();
    const refused = store.append(key, append("second")).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(await refused).toMatchObject({ code: "STORE_FAILED" });
    expect(Date.now() - started).toBeGreaterThan(4_500);
    stubborn.tell("go");
    await stubborn.exited;
    db.close();
  });
});
