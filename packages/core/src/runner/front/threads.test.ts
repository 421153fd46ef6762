import { eachStore, gate, listen, openKit, paying, said, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import type { Store } from "../../index.ts";
import { jsonSchema, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

/** A runner with threads that have ended, one a second, and their requests. */
async function ended(store: Store, inputs: Readonly<Record<string, string>>, more: object = {}) {
  const clock = fakeClock();
  const kit = await openKit(() => "ok", { store, clock, threadId: "unused", ...more });
  for (const [threadId, input] of Object.entries(inputs)) {
    await (await kit.runner.open(threadId)).run(input).result;
    await clock.advance(1_000);
  }
  const ids = async (filter: object = {}) => (await kit.runner.threads(filter)).items.map(({ threadId }) => threadId);
  return { ...kit, clock, ids };
}

describe.each(eachStore)("lists of threads ($name)", ({ make }) => {
  test("L4: pages have the last changed first, and `next` leads on to the last", async () => {
    const { runner, ids, clock } = await ended(await make(), { a: "1", b: "2", c: "3", d: "4", e: "5" });
    expect(await ids()).toEqual(["e", "d", "c", "b", "a"]);
    const first = await runner.threads({ limit: 2 });
    expect(first.items.map(({ threadId }) => threadId)).toEqual(["e", "d"]);
    const second = await runner.threads({ limit: 2, cursor: first.next });
    expect(second.items.map(({ threadId }) => threadId)).toEqual(["c", "b"]);
    const last = await runner.threads({ limit: 2, cursor: second.next });
    expect(last).toEqual({ items: [expect.objectContaining({ threadId: "a" })] });
    // A thread that changes meanwhile moves to the front.
    await clock.advance(1);
    await (await runner.open("a")).run("again").result;
    expect(await ids({ limit: 2, cursor: second.next })).toEqual([]);
    expect(await ids({ limit: 2 })).toEqual(["a", "e"]);
  });

  test("L4: rows carry title, labels, pause, run, open requests, times and parent", async () => {
    const store = await make();
    const { tools } = paying();
    const kit = await waiting(["a", "b"], { store, tools, threadId: "asks" });
    await kit.runner.label("asks", { labels: { env: "prod" } });
    const { session } = await kit.runner.fork("asks", { at: 0, as: "fork" });
    const { items } = await kit.runner.threads();
    expect(items.find(({ threadId }) => threadId === "asks")).toEqual({
      threadId: "asks",
      agent: "helper",
      state: "paused",
      pauseType: "tool_interrupt",
      runId: kit.session.runId,
      open: 2,
      head: expect.any(Number),
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      queued: false,
      answered: false,
      rest: expect.anything(),
      title: "go",
      labels: { env: "prod" },
    });
    expect(items.find(({ threadId }) => threadId === "fork")).toMatchObject({
      parent: { threadId: "asks", seq: 0 },
      labels: {},
      state: session.state,
    });
  });

  test("L4: a fork has the title and labels that its parent had at that point", async () => {
    const { runner, session } = await openKit(() => "ok", { store: await make() });
    await session.run("First words").result;
    await session.label({ labels: { env: "prod" } });
    const { head } = (await runner.threads()).items[0]!;
    await session.label({ title: "Later", labels: { env: null } });
    await runner.fork("thread", { at: head, as: "fork" });
    const { items } = await runner.threads({ label: { env: "prod" } });
    expect(items).toMatchObject([{ threadId: "fork", title: "First words", labels: { env: "prod" } }]);
  });

  test("L4: the title is the first 80 characters of the first input, and stays so", async () => {
    const long = `${"😀".repeat(70)}${"x".repeat(40)}`;
    const { runner } = await ended(await make(), { long });
    await (await runner.open("long")).run("another").result;
    expect((await runner.threads()).items[0]!.title).toBe(`${"😀".repeat(70)}${"x".repeat(10)}`);
  });

  test("L4: with `titles: false` an input makes no title; a person may give one", async () => {
    const { runner, ids } = await ended(await make(), { a: "Secret words" }, { runner: { titles: false } });
    expect((await runner.threads()).items[0]).not.toHaveProperty("title");
    expect(await ids({ search: "secret" })).toEqual([]);
    await runner.label("a", { title: "Shown" });
    expect((await runner.threads()).items[0]!.title).toBe("Shown");
  });

  test("L4: a thread without a title in the store gets one with its next append", async () => {
    const store = await make();
    const before = await ended(store, { a: "Deploy it" }, { runner: { titles: false } });
    await before.runner.close();
    const { runner } = await openKit(() => "ok", { store, clock: before.clock, threadId: "a" });
    expect((await runner.threads()).items[0]).not.toHaveProperty("title");
    await (await runner.open("a")).run("and again").result;
    expect((await runner.threads({ search: "depl" })).items).toMatchObject([{ threadId: "a", title: "Deploy it" }]);
  });

  test("L4: `search` finds the beginnings of words in titles and label values, in whichever case", async () => {
    const { runner, ids } = await ended(await make(), { a: "Deploy the API", b: "Undo the deploy", c: "Other" });
    await runner.label("c", { labels: { note: "DEPLOYMENT of b" } });
    expect(await ids({ search: "DEPL" })).toEqual(["c", "b", "a"]);
    expect(await ids({ search: "depl api" })).toEqual(["a"]);
    expect(await ids({ search: "ploy" })).toEqual([]);
    expect(await ids({ search: "note" })).toEqual([]);
    expect(await ids({ search: "" })).toEqual(["c", "b", "a"]);
    expect(await ids({ search: '"api"\u0000\u001b[2J; DROP' })).toEqual([]);
    expect(await ids({ search: '"api"\u0000\u001b' })).toEqual(["a"]);
  });

  test("L4, V6: threads are listed by state, pause, agent and label", async () => {
    const store = await make();
    const { runner, ids } = await ended(store, { done: "1", named: "2" });
    await runner.label("named", { labels: { env: "prod", team: "x" } });
    const held = gate();
    const wait = tool({
      name: "wait",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: () => held.opened,
    });
    const busy = await openKit([[{ call: "wait", id: "w" }], "done"], {
      store,
      tools: [wait],
      threadId: "busy",
      agent: { name: "other" },
    });
    const run = busy.session.run("go");
    await listen(run).until(({ type }) => type === "tool-start");
    expect(await ids({ state: "running" })).toEqual(["busy"]);
    expect(await ids({ state: "paused" })).toEqual([]);
    expect(await ids({ state: "completed" })).toEqual(["named", "done"]);
    expect(await ids({ agent: "other" })).toEqual(["busy"]);
    expect(await ids({ agent: "other", state: "completed" })).toEqual([]);
    expect(await ids({ label: { env: "prod" } })).toEqual(["named"]);
    expect(await ids({ label: { env: "prod", team: "y" } })).toEqual([]);
    await busy.session.interrupt({ force: true });
    expect(await ids({ pauseType: "user_interrupt" })).toEqual(["busy"]);
    expect(await ids({ state: "paused", pauseType: "user_interrupt" })).toEqual(["busy"]);
    expect(await ids({ state: "completed", pauseType: "user_interrupt" })).toEqual([]);
    expect(await ids({ pauseType: "manual" })).toEqual([]);
    held.open();
  });

  test("V6: after a crash a thread reads paused / crash in lists", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "I think" }, { stall: true }]], { store });
    const heard = listen(kit.session.run("go"));
    await heard.until(({ type }) => type === "text-delta");
    await kit.runner.close();
    const reader = await openKit(() => "ok", { store, threadId: "unused" });
    const crashed = [expect.objectContaining({ threadId: "thread", state: "paused", pauseType: "crash" })];
    for (const filter of [{}, { state: "paused" }, { pauseType: "crash" }] as const)
      expect((await reader.runner.threads(filter)).items).toEqual(crashed);
    expect((await reader.runner.threads({ state: "running" })).items).toEqual([]);
  });

  test("L4: a cursor is valid for its tenant and filter only, and a damaged one is refused", async () => {
    const store = await make();
    const { runner, ids } = await ended(store, { a: "1", b: "2", c: "3" });
    const { next } = await runner.threads({ limit: 1, state: "completed" });
    expect(await ids({ limit: 1, state: "completed", cursor: next })).toEqual(["b"]);
    const invalid = { code: "CURSOR_INVALID" };
    await expect(runner.threads({ limit: 1, cursor: next })).rejects.toMatchObject(invalid);
    await expect(runner.threads({ state: "error", cursor: next })).rejects.toMatchObject(invalid);
    await expect(runner.threads({ state: "completed", search: "x", cursor: next })).rejects.toMatchObject(invalid);
    const other = await openKit(() => "ok", { store, runner: { tenant: "other" } });
    await expect(other.runner.threads({ state: "completed", cursor: next })).rejects.toMatchObject(invalid);
    for (const cursor of ["", "x", "e30", `${next}x`.slice(3), "A".repeat(5_000), 7, null] as never[])
      await expect(runner.threads({ state: "completed", cursor })).rejects.toMatchObject(invalid);
  });

  test("L4: a filter that means nothing is refused by name", async () => {
    const { runner } = await ended(await make(), { a: "1" });
    const bad: object[] = [
      { state: "idle" },
      { pauseType: "timer2" },
      { limit: 0 },
      { limit: 1_001 },
      { limit: 1.5 },
      { agent: "" },
      { label: "env=prod" },
      { label: { env: 7 } },
      { label: ["a"] },
      { search: 7 },
      { search: "x".repeat(257) },
    ];
    for (const filter of bad) await expect(runner.threads(filter)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(runner.threads({ status: "paused" } as never)).rejects.toMatchObject({ code: "OPTION_UNKNOWN" });
    await expect(runner.threads("all" as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    expect((await runner.threads({ state: undefined, limit: undefined })).items).toHaveLength(1);
  });
});

describe.each(eachStore)("labels ($name)", ({ make }) => {
  test("L4, V2: label() merges, null removes, and the fact names the person", async () => {
    const { runner, session } = await openKit(() => "ok", { store: await make() });
    await session.run("go").result;
    const named = async () => {
      const { title, labels } = (await runner.threads()).items[0]!;
      return { title, labels };
    };
    await session.label({ labels: { env: "prod", team: "x" } }, { by: "ana" });
    await runner.label("thread", { title: "Mine", labels: { team: null, n: "1" } });
    expect(await named()).toEqual({ title: "Mine", labels: { env: "prod", n: "1" } });
    await runner.label("thread", { title: null });
    expect(await named()).toEqual({ title: undefined, labels: { env: "prod", n: "1" } });
    // A title that a person removed does not come back with the next input.
    await session.run("again").result;
    expect(await named()).toEqual({ title: undefined, labels: { env: "prod", n: "1" } });
    const facts = said((await listen(session.events({ signal: AbortSignal.timeout(50) })).all) as never);
    expect(facts.filter((fact) => fact.startsWith("label"))).toEqual([
      'label {"env":"prod","team":"x"} by ana',
      'label {"title":"Mine","team":null,"n":"1"} by user',
      'label {"title":null} by user',
    ]);
  });

  test("L4: a thread keeps its labels over a stop, a restart and its next run", async () => {
    const store = await make();
    const { tools } = paying();
    const first = await waiting(["a"], { store, tools, threadId: "thread" });
    await first.session.label({ labels: { env: "prod" } });
    await first.runner.close();
    const second = await openKit(["done"], { store, tools, threadId: "thread" });
    await second.session.label({ labels: { team: "x" } });
    await second.session.resume({ input: "leave it" }).result;
    expect((await second.runner.threads({ label: { env: "prod", team: "x" } })).items).toMatchObject([
      { threadId: "thread", title: "go", state: "completed" },
    ]);
  });

  test("V2: the same label under one id is one", async () => {
    const { runner, session } = await openKit(() => "ok", { store: await make() });
    await session.run("go").result;
    await runner.label("thread", { title: "One" }, { id: "l1" });
    const { head } = (await runner.threads()).items[0]!;
    await runner.label("thread", { title: "Two" }, { id: "l1" });
    expect((await runner.threads()).items[0]).toMatchObject({ head, title: "One" });
  });

  test("L4: labels and titles that are too long, too many or no text are refused, and nothing is changed", async () => {
    const { runner, session } = await openKit(() => "ok", { store: await make() });
    await session.run("go").result;
    const labels = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, "v"]));
    await session.label({ title: "T".repeat(256), labels: { ...labels(15), ["k".repeat(64)]: "v".repeat(256) } });
    const before = (await runner.threads()).items;
    const bad: object[] = [
      {},
      { title: "" },
      { title: "x".repeat(257) },
      { title: 7 },
      { labels: [] },
      { labels: "env" },
      { labels: { env: 1 } },
      { labels: { env: "" } },
      { labels: { "": "x" } },
      { labels: { ["k".repeat(65)]: "x" } },
      { labels: { env: "v".repeat(257) } },
      { labels: { one: "more" } },
      { labels: labels(10_000) },
    ];
    for (const change of bad)
      await expect(runner.label("thread", change)).rejects.toMatchObject({ code: "LABELS_INVALID" });
    await expect(session.label(null as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    expect((await runner.threads()).items).toEqual(before);
    await session.label({ labels: { one: "more", k0: null } });
    expect(Object.keys((await runner.threads()).items[0]!.labels)).toHaveLength(16);
  });

  test("L4: a label for a thread that is not there is refused, and makes none", async () => {
    const { runner } = await openKit(() => "ok", { store: await make() });
    await expect(runner.label("none", { title: "T" })).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
    expect((await runner.threads()).items).toEqual([]);
  });

  test("L4: a terminated thread takes no label", async () => {
    const { runner, session } = await openKit(() => "ok", { store: await make() });
    await session.run("go").result;
    await session.terminate();
    await expect(runner.label("thread", { title: "T" })).rejects.toMatchObject({ code: "INVALID_STATE" });
    expect((await runner.threads({ state: "terminated" })).items).toMatchObject([{ title: "go" }]);
  });

  test("L4: a running thread is labelled between two of its appends", async () => {
    const held = gate();
    const wait = tool({
      name: "wait",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: () => held.opened,
    });
    const { runner, session } = await openKit([[{ call: "wait", id: "w" }], "done"], {
      store: await make(),
      tools: [wait],
    });
    const run = session.run("go");
    await listen(run).until(({ type }) => type === "tool-start");
    await runner.label("thread", { labels: { env: "prod" } });
    expect((await runner.threads({ label: { env: "prod" } })).items).toMatchObject([{ state: "running", title: "go" }]);
    held.open();
    expect((await run.result).status).toBe("completed");
    expect((await runner.threads({ label: { env: "prod" } })).items).toMatchObject([{ state: "completed" }]);
  });
});
