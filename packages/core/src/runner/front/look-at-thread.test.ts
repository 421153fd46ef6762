import { eachStore, gate, listen, openKit, paying, pays, toolOf, waiting, wrapStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, createRunner, END, graph, humanApproval, START, type Store } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

/** Counts how often a store is read, and how. */
function counted(store: Store): { readonly store: Store; readonly loads: unknown[]; readonly writes: string[] } {
  const loads: unknown[] = [];
  const writes: string[] = [];
  const seen = wrapStore(store, {
    load: (key, after) => {
      loads.push(after);
      return store.load(key, after);
    },
    append: (key, append) => {
      writes.push("append");
      return store.append(key, append);
    },
    send: (key, command) => {
      writes.push("send");
      return store.send(key, command);
    },
  });
  return { store: seen, loads, writes };
}

describe.each(eachStore)("runner.look() ($name)", ({ make }) => {
  test("V6: undefined if there is no such thread, and nothing is made of it", async () => {
    const store = await make();
    const { runner } = await openKit([], { store });
    expect(await runner.look("nowhere")).toBe(undefined);
    expect(await store.threads("default")).toEqual([]);
    await expect(runner.look("")).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("V6: shows a thread that another process runs, in one read of the store and without a write", async () => {
    const store = await make();
    const { opened, open } = gate();
    const slow = toolOf("slow", () => opened);
    const owner = await openKit([[{ call: "slow", id: "s" }], "done"], { store, tools: [slow] });
    const run = owner.session.run("go");
    await listen(run).until(({ type }) => type === "tool-start");
    const { store: other, loads, writes } = counted(store);
    const reader = await openKit([], { store: other, tools: [slow], threadId: "elsewhere" });
    loads.length = 0;
    const look = await reader.runner.look("thread");
    expect([loads, writes]).toEqual([["snapshot"], []]);
    expect(look).toMatchObject({
      threadId: "thread",
      state: "running",
      runId: run.runId,
      segment: 1,
      agent: "helper",
      labels: {},
      interrupts: [],
      values: {},
      waiting: [],
      owner: { name: owner.runner.owner },
    });
    expect(look!.owner!.until).toBeGreaterThan(Date.now());
    expect(look).not.toHaveProperty("pauseType");
    await reader.runner.steer("thread", "hurry", { id: "s1", by: "ann" });
    expect((await reader.runner.look("thread"))!.waiting).toMatchObject([{ kind: "steer", id: "s1", by: "ann" }]);
    open();
    await run.result;
    const ended = (await reader.runner.look("thread"))!;
    expect(ended).toMatchObject({
      state: "completed",
      waiting: [],
      head: (await reader.runner.journal("thread")).head,
    });
    expect(ended).not.toHaveProperty("owner");
    expect(ended.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) });
    expect(JSON.parse(JSON.stringify(ended))).toEqual(ended);
  });

  test("V6: open requests carry the approvals given so far, with their time", async () => {
    const clock = fakeClock(Date.UTC(2026, 0, 1));
    const store = await make();
    const { tools } = paying({ needsApproval: () => humanApproval("Pay?", { quorum: 2 }) });
    const kit = await waiting(["a", "b"], { store, tools, clock });
    const [a] = kit.session.interrupts;
    await clock.advance(1000);
    expect(await kit.runner.answer(a!.id, approve({ by: "ann" }))).toEqual({ open: 2 });
    const { interrupts, state, pauseType } = (await (
      await openKit([], { store, tools, clock, threadId: "other" })
    ).runner.look("thread"))!;
    expect([state, pauseType]).toEqual(["paused", "tool_interrupt"]);
    expect(interrupts.map(({ callId, tool, args, approvals }) => ({ callId, tool, args, approvals }))).toEqual([
      {
        callId: "a",
        tool: "pay",
        args: { n: 1 },
        approvals: [{ by: "ann", at: Date.UTC(2026, 0, 1) + 1000, digest: a!.digest }],
      },
      { callId: "b", tool: "pay", args: { n: 2 }, approvals: [] },
    ]);
  });

  test("V6: an expired request is not shown as open", async () => {
    const clock = fakeClock(Date.UTC(2026, 0, 1));
    const expiresAt = clock.now() + 1000;
    const { tools } = paying({ needsApproval: () => humanApproval("Pay?", { expiresAt }) });
    const kit = await waiting(["a"], { store: await make(), tools, clock });
    expect((await kit.runner.look("thread"))!.interrupts).toHaveLength(1);
    await clock.advance(2000);
    expect((await kit.runner.look("thread"))!.interrupts).toEqual([]);
  });

  test("V6: sees the last append of another process, also if a session on the thread is open here and has not", async () => {
    const store = await make();
    const one = await openKit(["first"], { store });
    const two = await openKit(["second"], { store });
    await one.session.run("go").result;
    const stale = two.session.state;
    expect([stale, (await two.runner.look("thread"))!.state]).toEqual(["created", "completed"]);
  });

  test("V6: reads paused / crash once no process has the lease of a run", async () => {
    const clock = fakeClock(Date.UTC(2026, 0, 1));
    const store = await make();
    const stall = [{ text: "so far" }, { stall: true }] as const;
    const dead = await openKit([stall], { store, clock, leaseTtlMs: 1000 });
    const run = dead.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await dead.runner.close({ force: true });
    const look = (await (await openKit([], { store, clock, threadId: "other" })).runner.look("thread"))!;
    expect([look.state, look.pauseType]).toEqual(["paused", "crash"]);
  });

  test("V6: names the thread that a fork comes from", async () => {
    const kit = await openKit(["one"], { store: await make() });
    await kit.session.run("go").result;
    await kit.runner.fork("thread", { at: 4, as: "fork" });
    expect((await kit.runner.look("fork"))!.parent).toMatchObject({ threadId: "thread" });
  });
});

describe.each(eachStore)("the journal of a thread ($name)", ({ make }) => {
  test("L6: pages give all facts in order, each once, with the head and the next cursor", async () => {
    const { tools } = paying({ needsApproval: false });
    const kit = await openKit([pays("a", "b"), "done", "again"], { store: await make(), tools });
    await kit.session.run("go").result;
    await kit.session.run("more").result;
    const whole = await kit.runner.journal("thread");
    expect(whole.items.map(({ seq }) => seq)).toEqual(whole.items.map((_, i) => i + 1));
    expect(whole).toMatchObject({ head: whole.items.length });
    expect(whole).not.toHaveProperty("next");
    expect(JSON.parse(JSON.stringify(whole))).toEqual(whole);
    for (const limit of [1, 2, 3, whole.items.length - 1]) {
      const read: unknown[] = [];
      for (let after: number | undefined = 0; after !== undefined; ) {
        const page = await kit.runner.journal("thread", { after, limit });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        expect(page.head).toBe(whole.head);
        read.push(...page.items);
        after = page.next;
      }
      expect(read, `by ${limit}`).toEqual(whole.items);
    }
    expect(await kit.runner.journal("thread", { after: whole.head })).toEqual({ items: [], head: whole.head });
  });

  test("L6: the cost of a page does not depend on later facts: no line after it is read", async () => {
    const { tools } = paying({ needsApproval: false });
    const store = await make();
    const kit = await openKit([pays("a", "b"), "done"], { store, tools });
    await kit.session.run("go").result;
    const whole = await kit.runner.journal("thread");
    const damaged = wrapStore(store, {
      load: async (key, after) => {
        const loaded = await store.load(key, after);
        return loaded && { ...loaded, lines: loaded.lines.map((line, i) => (i < 3 ? line : { ...line, body: "{" })) };
      },
    });
    const reader = createRunner({ store: damaged });
    expect(await reader.journal("thread", { limit: 2 })).toEqual({
      items: whole.items.slice(0, 2),
      head: whole.head,
      next: 2,
    });
    await expect(reader.journal("thread")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  });

  test("L6: refuses a thread that is not there, and options that make no sense", async () => {
    const { runner } = await openKit([], { store: await make() });
    await expect(runner.journal("nowhere")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
    for (const options of [{ limit: 0 }, { limit: 1.5 }, { limit: "9" }, { after: -1 }]) {
      await expect(runner.journal("nowhere", options as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
  });

  test("L6: effects after a seq are those that a fork there lists", async () => {
    const { tools } = paying({ needsApproval: false });
    const kit = await openKit([pays("a"), pays("b"), "done"], { store: await make(), tools });
    await kit.session.run("go").result;
    const { head } = await kit.runner.journal("thread");
    for (const at of [0, 5, 8, head]) {
      const { effects } = await kit.runner.fork("thread", { at });
      expect(await kit.runner.effects("thread", { after: at })).toEqual(effects);
    }
    await expect(kit.runner.effects("thread", {} as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(kit.runner.effects("nowhere", { after: 0 })).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
  });
});

describe.each(eachStore)("verbs by thread id ($name)", ({ make }) => {
  const steps = () =>
    graph("steps")
      .node("a", () => "a")
      .node("b", () => "b")
      .edge(START, "a")
      .edge("a", "b")
      .edge("b", END)
      .compile();

  test("V1: setBreakpoint() and checkpoint() by thread id are those of the session", async () => {
    const store = await make();
    const runner = createRunner({ agents: [steps()], store });
    await runner.setBreakpoint("t", { node: "b", by: "ann", id: "b1" });
    await runner.setBreakpoint("t", { node: "b", by: "ann", id: "b1" });
    await expect(runner.setBreakpoint("t", { node: "c" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ interruptType: "node_interrupt" });
    const { items } = await runner.journal("t");
    expect(items.filter(({ type }) => type === "breakpoint")).toHaveLength(1);
    const reader = createRunner({ agents: [steps()], store });
    expect(await reader.checkpoint("t")).toEqual(await session.checkpoint());
    expect(await reader.checkpoint("t")).toMatchObject({ beforeNodes: ["b"] });
    await expect(reader.checkpoint("nowhere")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
  });

  test("V1: permission() by thread id uses the rules of the thread's own agent, also while another process runs it", async () => {
    const store = await make();
    const { opened, open } = gate();
    const tools = [toolOf("slow", () => opened), ...paying().tools];
    const owner = await openKit([[{ call: "slow", id: "s" }], "done"], { store, tools });
    const run = owner.session.run("go");
    await listen(run).until(({ type }) => type === "tool-start");
    const reader = await openKit([], { store, tools, threadId: "elsewhere" });
    expect(await reader.runner.permission("thread", "pay", { n: 1 })).toMatchObject({ effect: "ask" });
    expect(await reader.runner.permission("thread", "look", { n: 1 })).toMatchObject({ effect: "allow" });
    open();
    await run.result;
  });

  test("V1: handle() by thread id issues a handle that resumes, and voids the one before", async () => {
    const { tools, ran } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    const first = await kit.runner.handle("thread");
    const second = await kit.runner.handle("thread");
    await expect(kit.runner.resume(first)).rejects.toMatchObject({ code: "TOKEN_UNKNOWN" });
    const answers = { [kit.session.interrupts[0]!.id]: approve() };
    expect(await (await kit.runner.resume(second, { answers })).result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1"]);
    await expect(kit.runner.handle("thread")).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  test("V2: removeRule() by thread id with the same id is done once, and is recorded with its name", async () => {
    const { tools } = paying();
    const kit = await waiting(["a"], { store: await make(), tools });
    await kit.session.resume({ answers: { [kit.session.interrupts[0]!.id]: approve({ remember: "thread" }) } }).result;
    const [rule] = kit.session.rules;
    const options = { threadId: "thread", by: "ann", id: "r1" };
    expect(await kit.runner.removeRule(rule!.id!, options)).toBe(true);
    expect(await kit.runner.removeRule("other", { threadId: "thread" })).toBe(false);
    const removed = (await kit.runner.journal("thread")).items.filter(({ type }) => type === "rule-removed");
    expect(removed).toMatchObject([{ by: "ann" }]);
  });

  test("runner.agents() has the names, the default one first", async () => {
    const runner = createRunner({ agents: [steps()], store: await make() });
    expect(runner.agents()).toEqual(["steps"]);
  });
});
