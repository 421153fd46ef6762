import { eachStore, history, type Kit, openDatabase, openKit, settle, toolOf, wrapStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agentTool, END, graph, type LogEntry, memoryStore, START } from "../../index.ts";
import { sqliteStore } from "../../store/sqlite/sqlite.ts";
import { fakeClock } from "../../testing/index.ts";

const flow = graph("flow")
  .node("x", () => null)
  .edge(START, "x")
  .edge("x", END)
  .compile();

const DAY = 24 * 60 * 60_000;

/** Threads in every state, all left alone since. */
async function left(clock = fakeClock(), store = memoryStore({ clock })): Promise<Kit & { clock: typeof clock }> {
  const pay = toolOf("pay", () => "paid", { needsApproval: true });
  const stall = [{ text: "one" }, { stall: true }] as const;
  const turns = ["done", "done", [{ throw: new Error("no") }], stall, [{ call: "pay", id: "p" }], stall] as const;
  const kit = await openKit(turns, {
    clock,
    store,
    tools: [pay, agentTool(flow)],
    threadId: "new",
  });
  const { runner } = kit;
  const open = (id: string) => runner.open(id);
  await (await open("completed")).run("go").result;
  const terminated = await open("terminated");
  await terminated.run("go").result;
  await terminated.terminate();
  await (await open("error")).run("go").result;
  const stopped = await open("stopped");
  const run = stopped.run("go");
  await settle();
  await stopped.interrupt();
  await run.result;
  await (await open("asking")).run("go").result;
  const crashed = await open("crashed");
  void crashed.run("go");
  await settle();
  await crashed.close();
  await (await open("initialized")).setBreakpoint({ node: "x", at: "before" });
  return { ...kit, clock };
}

const ids = async ({ runner }: Pick<Kit, "runner">) =>
  (await runner.threads()).items.map(({ threadId }) => threadId).sort();

/** A thread that has ended at a time; the store does not look into its line. */
const ended = (appendId: string, at: number) =>
  ({
    ...{ appendId, at, expect: 0, count: 1, body: "[]", agent: "helper", state: "completed" as const, release: true },
    writer: { take: "test", ttlMs: 1 },
  }) as const;

describe.each(eachStore)("prune on $name", ({ make }) => {
  test("T3: reads the threads that are old enough, page by page, and no others", async () => {
    const store = await make();
    const tenant = "default";
    for (let i = 0; i < 620; i++) await store.append({ tenant, threadId: `t${i}` }, ended(`a${i}`, 1_000 + i));
    const read: number[] = [];
    const observed = wrapStore(store, {
      threads: () => Promise.reject(new Error("all threads were read")),
      async page(of, query) {
        const rows = await store.page(of, query);
        read.push(...rows.map(({ updatedAt }) => updatedAt));
        return rows;
      },
    });
    const { runner } = await openKit([], { clock: fakeClock(11_601), store: observed, threadId: "none" });
    const removed = await runner.prune({ idleMs: 10_000 });
    expect([removed.length, Math.max(...read)]).toEqual([602, 1_601]);
    expect((await store.page(tenant, { limit: 100 })).map(({ threadId }) => threadId).toSorted()).toEqual(
      Array.from({ length: 18 }, (_, i) => `t${602 + i}`),
    );
  });
});

describe("prune", () => {
  test("T3: removes threads that have ended and were left alone for the time, and no others", async () => {
    const kit = await left();
    expect(await kit.runner.prune({ idleMs: DAY })).toEqual([]);
    await kit.clock.advance(DAY);
    expect((await kit.runner.prune({ idleMs: DAY, dryRun: true })).toSorted()).toEqual([
      "completed",
      "error",
      "terminated",
    ]);
    expect((await ids(kit)).length).toBe(7);
    expect((await kit.runner.prune({ idleMs: DAY })).toSorted()).toEqual(["completed", "error", "terminated"]);
    expect(await ids(kit)).toEqual(["asking", "crashed", "initialized", "stopped"]);
    expect((await kit.runner.inbox()).items.length).toBe(1);
  });

  test("T3: removes paused ones, with any cause, only with `paused: true`", async () => {
    const kit = await left();
    await kit.clock.advance(DAY);
    expect((await kit.runner.prune({ idleMs: DAY, paused: true })).length).toBe(7);
    expect([await ids(kit), (await kit.runner.inbox()).items]).toEqual([[], []]);
  });

  test("T3: leaves alone threads that were written to meanwhile, and threads with an input waiting", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    let meanwhile: () => Promise<unknown> = async () => {};
    const slow = wrapStore(store, {
      async delete(key, head) {
        await meanwhile();
        return store.delete(key, head);
      },
    });
    const kit = await openKit(["one", "two"], { clock, store });
    await kit.session.run("go").result;
    await clock.advance(DAY);
    const pruner = await openKit([], { clock, store: slow, threadId: "none" });
    meanwhile = () => kit.session.run("once more").result;
    expect(await pruner.runner.prune({ idleMs: DAY })).toEqual([]);
    expect(history(kit.session.messages).length).toBe(4);
    await clock.advance(DAY);
    meanwhile = () =>
      store.send({ tenant: "default", threadId: "thread" }, { key: "k", kind: "input", body: "{}", at: 1 });
    expect(await pruner.runner.prune({ idleMs: DAY })).toEqual([]);
    expect(await ids(kit)).toEqual(["thread"]);
  });

  test("T2, T3: forks keep the lines that they share with a removed thread", async () => {
    const clock = fakeClock();
    const kit = await openKit(["one", "two"], { clock, store: sqliteStore(await openDatabase(":memory:"), { clock }) });
    await kit.session.run("go").result;
    await clock.advance(DAY);
    const { head } = (await kit.runner.threads()).items[0]!;
    const { session } = await kit.runner.fork("thread", { at: head, as: "fork" });
    expect(await kit.runner.prune({ idleMs: DAY })).toEqual(["thread"]);
    await session.run("more").result;
    expect(history(session.messages)).toEqual(["user: go", "assistant: one", "user: more", "assistant: two"]);
  });

  test("T3: a session on a removed thread is closed; the thread begins anew under its name", async () => {
    const clock = fakeClock();
    const kit = await openKit(["one", "two"], { clock });
    await kit.session.run("go").result;
    await clock.advance(1);
    expect(await kit.runner.prune({ idleMs: 0 })).toEqual(["thread"]);
    expect(() => kit.session.run("more")).toThrow(expect.objectContaining({ code: "SESSION_CLOSED" }));
    const again = await kit.runner.open("thread");
    await again.run("again").result;
    expect(history(again.messages)).toEqual(["user: again", "assistant: two"]);
  });

  test("T3: a session in another process finds it gone, and says so", async () => {
    const clock = fakeClock();
    const kit = await openKit(["one", "two"], { clock });
    await kit.session.run("go").result;
    await clock.advance(1);
    const other = await openKit([], { clock, store: kit.store, threadId: "none" });
    expect(await other.runner.prune({ idleMs: 0 })).toEqual(["thread"]);
    const result = await kit.session.run("more").result;
    expect(result).toMatchObject({ status: "failed", error: { code: "THREAD_UNKNOWN" } });
    expect((await kit.runner.threads()).items).toEqual([]);
  });

  test("T3: a worker removes threads that have ended for longer than the runner's ttlMs", async () => {
    const kit = await left();
    await kit.clock.advance(DAY);
    const runner = (await openKit([], { clock: kit.clock, store: kit.store, runner: { ttlMs: DAY }, threadId: "none" }))
      .runner;
    const ending = new AbortController();
    const working = runner.work({ signal: ending.signal, pollMs: 1 });
    await settle(20);
    ending.abort();
    await working;
    expect(await ids(kit)).not.toContain("completed");
    expect(await ids(kit)).toEqual(expect.arrayContaining(["asking", "stopped"]));
  });

  test("T3: a worker that cannot remove an old thread logs that once, and continues", async () => {
    const kit = await left();
    await kit.clock.advance(DAY);
    const store = wrapStore(kit.store, { delete: async () => Promise.reject(new Error("no room")) });
    const logged: string[] = [];
    const log = ({ error }: LogEntry) => logged.push(error.message);
    const { runner } = await openKit([], { clock: kit.clock, store, runner: { ttlMs: 40, log }, threadId: "none" });
    const ending = new AbortController();
    const working = runner.work({ signal: ending.signal, pollMs: 1 });
    for (let i = 0; i < 5; i++) await kit.clock.advance(20);
    ending.abort();
    await working;
    expect(logged).toEqual(["The store failed: no room"]);
  });

  test("a time that is none is refused", async () => {
    const { runner } = await openKit([]);
    for (const options of [{}, { idleMs: -1 }, { idleMs: "1" }, undefined])
      await expect(runner.prune(options as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(openKit([], { runner: { ttlMs: Number.NaN } })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

describe("delete", () => {
  test("C3: a thread that runs here, or in another process, stays", async () => {
    const kit = await openKit([[{ text: "one" }, { stall: true }]]);
    const run = kit.session.run("go");
    await settle();
    await expect(kit.runner.delete("thread")).rejects.toMatchObject({ code: "ALREADY_RUNNING" });
    const other = await openKit([], { store: kit.store, threadId: "none" });
    await expect(other.runner.delete("thread")).rejects.toMatchObject({ code: "THREAD_BUSY" });
    await kit.session.interrupt();
    await run.result;
    await other.runner.delete("thread");
    expect((await kit.runner.threads()).items).toEqual([]);
  });

  test("removes its requests and commands, too, and needs neither its agent nor an existing thread", async () => {
    const kit = await openKit([[{ text: "one" }, { stall: true }]]);
    const run = kit.session.run("go");
    await settle();
    await kit.session.interrupt();
    await run.result;
    await kit.session.enqueue("later");
    const other = await openKit([], { store: kit.store, threadId: "none", agent: { name: "stranger" } });
    await other.runner.delete("thread");
    await other.runner.delete("thread");
    expect((await kit.runner.threads()).items).toEqual([]);
  });
});
