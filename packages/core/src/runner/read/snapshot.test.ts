import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { history, openDatabase, openKit, threadOf, wrapStore } from "@belay/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { jsonSchema, type ModelRequest, memoryStore, type Store, tool } from "../../index.ts";
import { sqliteStore } from "../../store/sqlite/sqlite.ts";
import { scriptedModel } from "../../testing/index.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const note = tool({
  name: "note",
  description: "notes something",
  input: jsonSchema<object>({ type: "object" }),
  execute: () => "noted ".repeat(100),
});
const context = { maxTokens: 1_500, keepTokens: 500 };

/** Answers every question with a call and some words; summaries are short. */
const talkative = () =>
  scriptedModel((request: ModelRequest) => {
    if (request.messages[0]?.id === "summarise") return "They talked.";
    const last = request.messages.at(-1);
    return last?.role === "tool" ? "so be it ".repeat(40) : [{ call: "note" }];
  });

/** Counts the lines that are read. */
function counting(store: Store) {
  const read = { lines: 0 };
  const load: Store["load"] = async (key, after) => {
    const loaded = await store.load(key, after);
    read.lines += loaded?.lines.length ?? 0;
    return loaded;
  };
  return { read, store: wrapStore(store, { load }) };
}

const stores: Record<string, () => Promise<Store>> = {
  "in memory": async () => memoryStore(),
  "in SQLite": async () => sqliteStore(await openDatabase(join(folder, "threads.db"))),
};

describe.each(Object.entries(stores))("a long thread %s", (_, make) => {
  it("T3: continues from its snapshot in a new runner: few lines are read, the same prompt is sent, everything is seen", async () => {
    const store = await make();
    const first = await openKit(talkative(), { store, tools: [note], agent: { context }, threadId: "long" });
    for (let i = 0; i < 60; i++) await first.session.run(`question ${i} ${"and so on ".repeat(30)}`).result;
    const seen = history(first.session.messages);
    const { read, store: counted } = counting(store);
    const fresh = await openKit(talkative(), { store: counted, tools: [note], agent: { context }, threadId: "long" });
    const sent = (requests: readonly ModelRequest[]) =>
      requests[0]?.messages.map(({ role, parts }) => ({ role, parts }));
    await fresh.session.run("and now?").result;
    expect(read.lines).toBeLessThan(120);
    expect(history(fresh.session.messages).slice(0, seen.length)).toEqual(seen);
    expect(fresh.session.messages).toHaveLength(seen.length + 4);
    expect(fresh.problems()).toEqual([]);
    // The first runner folded every line: its next prompt must equal the prompt of the other, with the answer.
    await threadOf(first.session).refresh();
    await first.session.run("and then?").result;
    const before = sent(fresh.requests)!;
    expect(sent(first.requests.slice(-2))?.slice(0, before.length)).toEqual(before);
    expect(first.problems()).toEqual([]);
  });
});

describe.each(Object.entries(stores))("a fork of a long thread %s", (_, make) => {
  it("T2, T3: continues from a snapshot of the lines that it shares: few lines are read, everything is seen, also once the other is deleted", async () => {
    const store = await make();
    const first = await openKit(talkative(), { store, tools: [note], agent: { context }, threadId: "forked" });
    for (let i = 0; i < 60; i++) await first.session.run(`question ${i} ${"and so on ".repeat(30)}`).result;
    const seen = history(first.session.messages);
    const { head } = (await first.runner.threads()).items.find(({ threadId }) => threadId === "forked")!;
    await first.runner.fork("forked", { at: head, as: "fork" });
    await first.runner.delete("forked");
    const { read, store: counted } = counting(store);
    const fresh = await openKit(talkative(), { store: counted, tools: [note], agent: { context }, threadId: "fork" });
    expect(await fresh.session.run("and now?").result).toMatchObject({ status: "completed" });
    expect(read.lines).toBeLessThan(60);
    expect(history(fresh.session.messages).slice(0, seen.length)).toEqual(seen);
    expect(fresh.problems()).toEqual([]);
  });
});

describe("a snapshot", () => {
  it("is a cache: one that cannot be read is passed over, and the thread is folded from its lines", async () => {
    const store = memoryStore();
    const first = await openKit(talkative(), { store, tools: [note], agent: { context } });
    for (let i = 0; i < 60; i++) await first.session.run(`question ${i} ${"and so on ".repeat(30)}`).result;
    const broken = wrapStore(store, {
      load: async (key, after) => {
        const loaded = await store.load(key, after);
        return loaded?.snapshot ? { ...loaded, snapshot: { ...loaded.snapshot, body: "{nonsense" } } : loaded;
      },
    });
    const fresh = await openKit(talkative(), { store: broken, tools: [note], agent: { context } });
    expect(await fresh.session.run("and now?").result).toMatchObject({ status: "completed" });
    expect(fresh.problems()).toEqual([]);
  });
});
