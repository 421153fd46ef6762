import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf, history, line, openDatabase, openKit } from "@belay/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { approve, createRunner, END, graph, jsonSchema, START, tool } from "../../index.ts";
import type { ThreadQuery } from "../store.ts";
import type { DatabaseSync } from "./database.ts";
import { sqliteStore } from "./sqlite.ts";

// golden/v1.sql is a database as version 1 of the schema wrote it, as SQL, and so on for each version. They are never made
// anew: their contents must always stay readable. A new version gets a file of its own.

let folder: string;
let db: DatabaseSync;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "belay-golden-"));
  db = await openDatabase(join(folder, "threads.db"));
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

const any = jsonSchema({ type: "object" });
const tools = ["look", "big", "fails", "deaf"].map((name) =>
  tool({ name, description: "", input: any, readOnly: name === "look", onCrash: "fail", execute: () => "now" }),
);
const opened = (threadId: string, turns: string[] = []) => openKit(turns, { store: sqliteStore(db), tools, threadId });

const restore = (version: string) => db.exec(readFileSync(new URL(`golden/${version}.sql`, import.meta.url), "utf8"));

/** Tables and indexes, without the way they are written. */
function schemaOf(database: DatabaseSync): string[] {
  const rows = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all() as { sql: string }[];
  return rows.map(({ sql }) => sql.replace(/[\s()]+/g, " ").trim()).sort();
}

test.each(["v1", "v2", "v3", "v4", "v5", "v6"])(
  "C4, P17: a database of %s has, once opened, the tables of a new one",
  async (version) => {
    restore(version);
    sqliteStore(db);
    const fresh = await openDatabase(join(folder, "fresh.db"));
    sqliteStore(fresh);
    expect(schemaOf(db)).toEqual(schemaOf(fresh));
    fresh.close();
  },
);

test.each(["v1", "v2", "v3", "v4"])("L4, U1: a database of %s lists all of its threads", async (version) => {
  restore(version);
  const { n } = db.prepare("SELECT COUNT(*) AS n FROM thread WHERE tenant = 'default'").get() as { n: number };
  const store = sqliteStore(db);
  const listed = await store.page("default", { limit: 100 });
  expect(listed.length).toBe(n);
  expect(n).toBeGreaterThan(0);
  expect(listed.map(({ unlisted: _unlisted, open: _open, ...row }) => row)).toEqual(await store.threads("default"));
});

describe("a database of version 1", () => {
  beforeEach(() => restore("v1"));

  test("C4: lists its threads", async () => {
    const rows = await sqliteStore(db).threads("default");
    expect(rows.map(({ threadId, state, head, queued }) => [threadId, state, head, queued])).toEqual([
      ["crashed", "running", 9, true],
      ["failed", "error", 7, false],
      ["interrupted", "paused", 16, false],
      ["completed", "completed", 16, false],
    ]);
  });

  test("C4: its histories are read, with every byte of a large result", async () => {
    const { session } = await opened("completed");
    expect(history(session.messages)).toEqual([
      "user: first question",
      'user: and "a quoted one"',
      "assistant: reasoning + I look. + call l1 + call f1",
      "tool: l1 ok + f1 error",
      "assistant: call b1",
      "tool: b1 ok",
      "assistant: All done. \0 \ud800",
    ]);
    expect(session.messages[3]!.parts).toMatchObject([
      { output: { seen: [1, "zwei", null], kéy: true } },
      { output: "no such order" },
    ]);
    expect(session.messages[5]!.parts).toMatchObject([{ output: "x".repeat(66_000) }]);
    const facts = await factsOf(sqliteStore(db), "interrupted");
    expect(facts.map(line)).toEqual([
      "state initialized",
      "run-start",
      "state running",
      "message user: what is a belay?",
      "message assistant~ana: A belay has a rope",
      "interrupted by ana",
      "state paused user_interrupt",
      "state running rethink",
      "message user: shorter, please",
      "message assistant: new answer + call d1 + call l2",
      "tool-start d1",
      "tool-start l2",
      "tool-end l2 ok",
      "tool-end d1 interrupted",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
  });

  test("C4: its threads continue: after a stop, an error and a crash, with the commands that waited for them", async () => {
    const interrupted = await opened("interrupted", ["went on"]);
    expect(await interrupted.session.resume().result).toMatchObject({ status: "completed", text: "went on" });
    expect(history(interrupted.session.messages).slice(-3)).toEqual([
      "tool: d1 interrupted + l2 ok",
      "user: also this",
      "assistant: went on",
    ]);
    const failed = await opened("failed", [" and the rest"]);
    expect(failed.session.state).toBe("error");
    expect(await failed.session.resume().result).toMatchObject({ status: "completed" });
    const crashed = await opened("crashed", ["went on", "answered"]);
    expect(crashed.session).toMatchObject({ state: "paused", pauseType: "crash" });
    await crashed.session.resume().result;
    while (crashed.requests.length < 2 || crashed.session.state !== "completed")
      await new Promise((resolve) => setTimeout(resolve, 2));
    expect(history(crashed.session.messages)).toEqual([
      "user: go",
      "assistant: call d2 + call l3",
      "tool: d2 unknown + l3 ok",
      "assistant: went on",
      "user: queued question",
      "assistant: answered",
    ]);
    for (const kit of [interrupted, failed, crashed]) expect(kit.problems()).toEqual([]);
  });
});

describe("a database of version 2", () => {
  beforeEach(() => restore("v2"));

  test("C4: lists its threads, none of which rests or has an answer waiting, and no request or rule", async () => {
    const store = sqliteStore(db);
    const rows = await store.threads("default");
    expect(
      rows.map(({ threadId, state, head, queued, answered, rest, damaged }) => [
        ...[threadId, state, head, queued],
        ...[answered, rest, damaged],
      ]),
    ).toEqual([
      ["crashed", "running", 7, true, false, undefined, undefined],
      ["interrupted", "paused", 7, false, false, undefined, undefined],
      ["completed", "completed", 11, false, false, undefined, undefined],
      ["kept", "paused", 6, true, false, undefined, undefined],
    ]);
    expect([await store.requests("default"), await store.rules("default")]).toEqual([[], []]);
  });

  test("C4: all of a thread is read: lines, a large one, a snapshot, and which commands wait", async () => {
    const store = sqliteStore(db);
    const key = { tenant: "default", threadId: "kept" };
    const whole = await store.load(key);
    expect(whole?.lines).toEqual([
      { seq: 1, count: 2, at: 1_000, body: "x".repeat(66_000) },
      { seq: 3, count: 2, at: 1_002, body: '{"line":2}' },
      { seq: 5, count: 2, at: 1_004, body: '{"line":4}' },
    ]);
    expect(whole?.commands.map((command) => command.key)).toEqual(
      ["input", "steer", "stop", "late"].map((kind) => `${kind} waits`),
    );
    const short = await store.load(key, "snapshot");
    expect([short?.snapshot, short?.lines.map((each) => each.seq)]).toEqual([
      { seq: 2, body: "as it was at 2" },
      [3, 5],
    ]);
    for (const name of ["taken back", "stop consumed"])
      expect(await store.send(key, { key: name, kind: "stop", body: "", at: 1 })).toBe(false);
  });

  test("C4: its threads continue, and can ask, rest and be answered", async () => {
    const interrupted = await opened("interrupted", ["went on"]);
    expect(await interrupted.session.resume().result).toMatchObject({ status: "completed", text: "went on" });
    expect(history(interrupted.session.messages).slice(-2)).toEqual(["user: also this", "assistant: went on"]);
    const crashed = await opened("crashed", ["went on", "answered"]);
    expect(crashed.session).toMatchObject({ state: "paused", pauseType: "crash" });
    expect(await crashed.session.resume().result).toMatchObject({ status: "completed" });
    const store = sqliteStore(db);
    const key = { tenant: "default", threadId: "kept" };
    const common = { expect: 6, count: 1, at: 9, body: "{}", agent: "helper", state: "paused", release: true } as const;
    const asked = { rest: { from: 7, dueAt: 90 }, raise: [{ id: "r", body: "may I?" }] };
    const writer = { take: "me", ttlMs: 1_000 };
    const appended = await store.append(key, { ...common, ...asked, appendId: "asks", writer });
    expect(appended.ok).toBe(true);
    await store.send(key, { key: "a", kind: "answer", body: "yes", at: 10 });
    expect((await store.load(key))?.row).toMatchObject({ answered: true, rest: { from: 7, dueAt: 90 } });
    expect(await store.requests("default")).toEqual([{ id: "r", threadId: "kept", body: "may I?" }]);
  });
});

describe("a database of version 3", () => {
  beforeEach(() => restore("v3"));
  const key = { tenant: "default", threadId: "kept" };

  test("C4: lists its threads, none of which is a fork, with how they rest, their requests and rules", async () => {
    const store = sqliteStore(db);
    const rows = await store.threads("default");
    expect(rows.map(({ threadId, state, parent, damaged }) => [threadId, state, parent, damaged])).toEqual([
      ["asking", "paused", undefined, undefined],
      ["completed", "completed", undefined, undefined],
      ["kept", "paused", undefined, undefined],
    ]);
    expect(rows[2]).toMatchObject({ answered: true, rest: { from: 3, dueAt: 90 } });
    expect((await store.requests("default")).map(({ threadId, body }) => [threadId, body.slice(0, 6)])).toEqual([
      ["asking", '{"runI'],
      ["kept", "may I?"],
    ]);
    expect(await store.rules("default")).toEqual([{ id: "rule", at: 5, body: "always" }]);
    expect(await store.requestThread("default", "closed")).toBe("kept");
  });

  test("C4, T2: its threads can be forked, and deleted without the forks losing anything", async () => {
    const store = sqliteStore(db);
    const before = (await store.load(key))!.lines;
    const common = { appendId: "f", count: 1, at: 9, body: "forked", agent: "helper", state: "paused" } as const;
    const writer = { take: "me", ttlMs: 1_000 };
    const parent = { threadId: "kept", seq: 4 };
    const fork = { tenant: "default", threadId: "fork" };
    expect(await store.append(fork, { ...common, expect: 4, parent, writer, release: true })).toMatchObject({
      ok: true,
    });
    expect(await store.delete(key)).toBe(true);
    expect((await store.load(fork))?.lines).toEqual([
      ...before.slice(0, 2),
      { seq: 5, count: 1, at: 9, body: "forked" },
    ]);
  });

  test("C4: its open requests can be answered, and the run continues", async () => {
    const pays = tool({ name: "pay", description: "", input: any, needsApproval: true, execute: () => "paid" });
    const kit = await openKit(["went on"], { store: sqliteStore(db), tools: [...tools, pays], threadId: "asking" });
    const [request] = (await kit.runner.inbox()).items;
    await kit.runner.answer(request!.id, approve());
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "went on" });
    expect(history(kit.session.messages).slice(-2)).toEqual(["tool: p1 ok + l2 ok", "assistant: went on"]);
    expect(kit.problems()).toEqual([]);
  });
});

describe("a database of version 4", () => {
  beforeEach(() => restore("v4"));

  test("C4, T2: lists its threads, a fork among them, and the past that it shares", async () => {
    const store = sqliteStore(db);
    const rows = await store.threads("default");
    expect(rows.map(({ threadId, state, parent, damaged }) => [threadId, state, parent, damaged])).toEqual([
      ["graph", "paused", undefined, undefined],
      ["asking", "paused", undefined, undefined],
      ["fork", "completed", { threadId: "first", seq: 7 }, undefined],
      ["first", "completed", undefined, undefined],
    ]);
    expect(await store.delete({ tenant: "default", threadId: "first" })).toBe(true);
    const { session } = await opened("fork", ["and a third"]);
    expect(await session.run("question three").result).toMatchObject({ status: "completed" });
    expect(history(session.messages)).toEqual([
      "user: question one",
      "assistant: one",
      "user: question two, otherwise",
      "assistant: other two",
      "user: question three",
      "assistant: and a third",
    ]);
  });

  test("C4: its open requests can be answered, and a recorded step is not computed again", async () => {
    const pays = tool({ name: "pay", description: "", input: any, needsApproval: true, execute: () => "paid" });
    const kit = await openKit(["went on"], { store: sqliteStore(db), tools: [...tools, pays], threadId: "asking" });
    const [request] = (await kit.runner.inbox()).items;
    await kit.runner.answer(request!.id, approve());
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "went on" });
    expect(history(kit.session.messages).slice(-2)).toEqual(["tool: p1 ok + l2 ok", "assistant: went on"]);
  });

  test("C4, G1: a graph continues past the node that it stopped before, without drift", async () => {
    const steps = graph("steps")
      .node("a", async (given: string) => `${given}again`)
      .node("b", async (given: string) => `${given}b`)
      .edge(START, "a")
      .edge("a", "b")
      .edge("b", END)
      .compile({ interruptBefore: ["b"] });
    const session = await createRunner({ agent: steps, store: sqliteStore(db) }).open("graph");
    expect(session).toMatchObject({ state: "paused", pauseType: "node_interrupt" });
    expect(await session.resume({ drift: "refuse" }).result).toMatchObject({ status: "completed", output: "xab" });
  });
});

describe("a database of version 5", () => {
  beforeEach(() => restore("v5"));

  test("U1: its due threads are found when it is first opened", async () => {
    const store = sqliteStore(db);
    expect((await store.due(10)).map(({ threadId }) => threadId).sort()).toEqual(["crashed", "queued"]);
    const { runner } = await openKit(() => "again", { store, threadId: "unused" });
    expect(await runner.move("queued")).toEqual({});
    expect((await store.due(10)).map(({ threadId }) => threadId)).toEqual(["crashed"]);
  });
});

describe("a database of version 6", () => {
  beforeEach(() => restore("v6"));
  const key = (threadId: string) => ({ tenant: "default", threadId });
  const writer = { take: "me", ttlMs: 60_000 };

  test("U1: its due threads stay due, in the order in which they began to wait", async () => {
    const store = sqliteStore(db);
    const due = async () => (await store.due(10)).map(({ threadId }) => threadId);
    expect(await due()).toEqual(["sleeping", "queued", "crashed", "left", "answered"]);
    expect(await store.withdraw(key("queued"), "q")).toBe(true);
    expect(await store.delete(key("left"))).toBe(true);
    const common = { expect: 1, count: 1, at: 9, body: "{}", agent: "other" } as const;
    await store.append(key("sleeping"), { ...common, appendId: "s", state: "running", writer, release: false });
    await store.append(key("crashed"), { ...common, appendId: "c", state: "completed", writer, release: true });
    expect(await due()).toEqual(["answered"]);
  });

  test("U1, L4: each filter lists its threads as before, and as they change", async () => {
    const store = sqliteStore(db);
    const list = async (query: Omit<ThreadQuery, "limit">) =>
      (await store.page("default", { ...query, limit: 20 })).map(({ threadId }) => threadId);
    const old = ["failed", "answered", "later", "sleeping", "left", "crashed"];
    expect(await list({})).toEqual(["interrupted", "asking", "queued", "completed", ...old]);
    expect(await list({ state: "running" })).toEqual(["left", "crashed"]);
    expect(await list({ pauseType: "manual" })).toEqual(["later", "sleeping"]);
    expect(await list({ agent: "other" })).toEqual(old);
    expect(await list({ label: { env: "prod" } })).toEqual(["completed", "failed", "crashed"]);
    expect(await list({ words: ["deploy"] })).toEqual(["queued", "completed", "failed", "crashed"]);
    const at = Date.now();
    const common = { expect: 1, count: 1, body: "{}", agent: "other", writer } as const;
    const run = { appendId: "s", at, state: "running", release: false, listed: { runId: "r" } } as const;
    const taken = await store.append(key("sleeping"), { ...common, ...run });
    await store.append(key("crashed"), { ...common, appendId: "c", at: at + 1, state: "completed", release: true });
    expect((await list({ agent: "other" })).slice(0, 2)).toEqual(["crashed", "sleeping"]);
    expect(await list({ state: "running" })).toEqual(["sleeping", "left"]);
    expect(await list({ pauseType: "manual" })).toEqual(["later"]);
    expect(await list({ label: { env: "test" } })).toEqual(["sleeping"]);
    expect(await list({ words: ["sleep"] })).toEqual(["sleeping"]);
    const end = { ...common, ...run, expect: 2, appendId: "e", at: at + 2, release: true } as const;
    const { fence } = taken as { fence: number };
    await store.append(key("sleeping"), { ...end, state: "error", writer: { fence, ttlMs: 1 } });
    for (const query of [{}, { agent: "other" }, { state: "error" }, { label: { env: "test" } }] as const)
      expect((await list(query))[0]).toBe("sleeping");
  });

  test("C4: its threads continue: the queued input, the question and the stopped run", async () => {
    const { runner } = await openKit(() => "again", { store: sqliteStore(db), threadId: "unused" });
    expect(await runner.move("queued")).toEqual({});
    expect((await runner.look("queued"))?.state).toBe("completed");
    const interrupted = await opened("interrupted", ["went on"]);
    expect(await interrupted.session.resume().result).toMatchObject({ status: "completed", text: "somewent on" });
    const pays = tool({ name: "pay", description: "", input: any, needsApproval: true, execute: () => "paid" });
    const kit = await openKit(["done"], { store: sqliteStore(db), tools: [pays], threadId: "asking" });
    const [request] = (await kit.runner.inbox()).items;
    await kit.runner.answer(request!.id, approve());
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "done" });
  });
});
