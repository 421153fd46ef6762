import { openDatabase } from "@belay/testkit";
import { expect, test } from "vitest";
import type { Store } from "../../index.ts";
import type { Append } from "../store.ts";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

const key = (threadId: string) => ({ tenant: "t", threadId });
const large = "x".repeat(70_000);
let ids = 0;

async function write(store: Store, threadId: string, expected: number, more: Partial<Append> = {}): Promise<void> {
  const blank = {
    count: 1,
    at: 1,
    body: `${threadId} ${expected + 1}`,
    release: true,
    agent: "a",
    state: "running",
  } as const;
  const writer = { take: "me", ttlMs: 1_000 };
  const appended = await store.append(key(threadId), {
    ...blank,
    appendId: `a${++ids}`,
    expect: expected,
    writer,
    ...more,
  });
  expect(appended).toMatchObject({ ok: true });
}

const fork = (store: Store, threadId: string, parent: string, seq: number, more: Partial<Append> = {}) =>
  write(store, threadId, seq, { parent: { threadId: parent, seq }, ...more });

function rows(db: DatabaseSync): Record<string, number> {
  const count = (table: string) => Number((db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get() as { n: number }).n);
  return { thread: count("thread"), kept: count("kept"), entry: count("entry"), blob: count("blob") };
}

async function opened(): Promise<{ db: DatabaseSync; store: Store }> {
  const db = await openDatabase(":memory:");
  return { db, store: sqliteStore(db) };
}

test("T2: nothing is copied: a fork adds its own lines and one row", async () => {
  const { db, store } = await opened();
  for (let i = 0; i < 50; i++) await write(store, "p", i, { body: large });
  const before = rows(db);
  for (let i = 0; i < 20; i++) await fork(store, `f${i}`, "p", 50);
  expect(rows(db)).toEqual({ ...before, thread: 21, entry: before.entry! + 20 });
});

test("T2: lines of a deleted parent that no fork needs go at once, and the rest with the last fork that needs them", async () => {
  const { db, store } = await opened();
  for (let i = 0; i < 10; i++) await write(store, "p", i, i === 2 || i === 9 ? { body: `${large}${i}` } : {});
  await fork(store, "early", "p", 3);
  await fork(store, "late", "p", 6);
  await fork(store, "later", "late", 7);
  await store.delete(key("p"));
  expect(rows(db)).toEqual({ thread: 3, kept: 1, entry: 6 + 3, blob: 1 });
  await store.delete(key("late"));
  expect(rows(db)).toEqual({ thread: 2, kept: 2, entry: 6 + 1 + 2, blob: 1 });
  await store.delete(key("later"));
  expect(rows(db)).toEqual({ thread: 1, kept: 1, entry: 3 + 1, blob: 1 });
  await store.delete(key("early"));
  expect(rows(db)).toEqual({ thread: 0, kept: 0, entry: 0, blob: 0 });
});

test("T2: after deletions in any order nothing is left at the end, and nothing is missing before", async () => {
  const { db, store } = await opened();
  for (let seed = 1; seed <= 15; seed++) {
    let state = seed;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const bodies = new Map<string, string[]>([["t0", []]]);
    await write(store, "t0", 0);
    bodies.get("t0")!.push("t0 1");
    for (let i = 1; i < 40; i++) {
      const names = [...bodies.keys()];
      const of = names[random(names.length)]!;
      const lines = bodies.get(of)!;
      const id = `t${i}`;
      const seq = random(lines.length + 1);
      await fork(store, id, of, seq);
      await write(store, id, seq + 1);
      bodies.set(id, [...lines.slice(0, seq), `${id} ${seq + 1}`, `${id} ${seq + 2}`]);
      if (random(2) === 0 && bodies.size > 1) {
        const gone = names[random(names.length)]!;
        await store.delete(key(gone));
        bodies.delete(gone);
      }
      for (const [name, expected] of bodies)
        expect((await store.load(key(name)))?.lines.map(({ body }) => body)).toEqual(expected);
    }
    for (const name of bodies.keys()) await store.delete(key(name));
    expect(rows(db)).toEqual({ thread: 0, kept: 0, entry: 0, blob: 0 });
  }
});

test("P7: a thread with a damaged row can be forked at its proven lines, and deleted without its forks losing anything", async () => {
  const { db, store } = await opened();
  for (let i = 0; i < 6; i++) await write(store, "p", i);
  await fork(store, "before", "p", 4);
  db.exec("UPDATE thread SET agent = 'other' WHERE id = 'p'");
  await expect(store.load(key("p"))).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  const past = await store.past(key("p"));
  expect([past?.agent, past?.lines.length, past?.damage?.seq]).toEqual([undefined, 6, 7]);
  expect((await store.past(key("p"), 3))?.damage).toBeUndefined();
  await fork(store, "after", "p", 6);
  expect(await store.delete(key("p"), 6)).toBe(false);
  expect(await store.delete(key("p"))).toBe(true);
  const told = async (id: string) => (await store.load(key(id)))?.lines.map(({ body }) => body);
  expect(await told("before")).toEqual(["p 1", "p 2", "p 3", "p 4", "before 5"]);
  expect(await told("after")).toEqual(["p 1", "p 2", "p 3", "p 4", "p 5", "p 6", "after 7"]);
});

test("P7: of a thread with a damaged line the lines before it can be read, and forked; none after", async () => {
  const { db, store } = await opened();
  for (let i = 0; i < 600; i++) await write(store, "p", i);
  db.exec("UPDATE entry SET body = 'other' WHERE id & 0xffffffff = 400");
  const past = await store.past(key("p"));
  expect([past?.agent, past?.lines.length, past?.damage?.seq]).toEqual(["a", 399, 400]);
  expect(past?.damage?.error.code).toBe("JOURNAL_CORRUPT");
  expect((await store.past(key("p"), 399))?.damage).toBeUndefined();
  await fork(store, "f", "p", 399);
  expect((await store.load(key("f")))?.lines.length).toBe(400);
  await fork(store, "bad", "p", 500);
  await expect(store.load(key("bad"))).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  expect((await store.past(key("bad")))?.lines.length).toBe(399);
});
