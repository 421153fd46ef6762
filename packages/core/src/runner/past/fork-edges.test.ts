import { factProblems, factsOf, faultyStore, openKit, toolOf } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, approve, createRunner, humanApproval, memoryStore, parallel } from "../../index.ts";
import { isRequest } from "../../interrupt/interrupt.ts";
import { fakeClock, scriptedModel } from "../../testing/index.ts";

const key = (threadId: string) => ({ tenant: "default", threadId });

describe("a fork", () => {
  test("T2: at a point that is not there, of a thread that is not, or in the place of one that is, is refused and makes nothing", async () => {
    const it = await openKit(["one"]);
    await it.session.run("go").result;
    const { head } = (await it.store.load(key("thread")))!.row;
    const points = [{ at: -1 }, { at: head + 1 }, { at: 1.5 }, { at: "nobody" }, { before: "nobody" }, {}, undefined];
    for (const point of [...points, { at: 1, before: "x" }, { at: null }])
      await expect(it.runner.fork("thread", point as never)).rejects.toMatchObject({ code: "FORK_POINT" });
    await expect(it.runner.fork("nobody", { at: 0 })).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
    await expect(it.runner.fork("thread", { at: 1, as: "thread" })).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    await expect(it.runner.fork("thread", { at: 1, as: "" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    expect((await it.runner.threads()).items.length).toBe(1);
  });

  test("T2: of another agent's thread is refused before it is made", async () => {
    const it = await openKit(["one"]);
    await it.session.run("go").result;
    const other = await openKit([], { store: it.store, threadId: "mine", agent: { name: "stranger" } });
    await expect(other.runner.fork("thread", { at: 1 })).rejects.toMatchObject({ code: "AGENT_MISMATCH" });
    expect((await it.runner.threads()).items.length).toBe(1);
  });

  test("T2: an answer of the store that is lost on the way makes it once; a store that fails makes nothing", async () => {
    const store = faultyStore(memoryStore());
    const it = await openKit(["one"], { store });
    await it.session.run("go").result;
    store.plan("append", { fail: "after" });
    const { session } = await it.runner.fork("thread", { at: 4, as: "once" });
    expect(session.threadId).toBe("once");
    store.plan("append", { fail: "before" }, { fail: "before" }, { fail: "before" });
    await expect(it.runner.fork("thread", { at: 4, as: "never" })).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect((await it.runner.threads()).items.map(({ threadId }) => threadId).sort()).toEqual(["once", "thread"]);
  });

  test("Q7: a request raised anew lasts as long as the other did", async () => {
    const clock = fakeClock();
    const pay = toolOf("pay", () => "paid", {
      needsApproval: () => humanApproval("Really?", { expiresAt: clock.now() + 1_000 }),
    });
    const it = await openKit([[{ call: "pay", id: "p" }], "done"], { tools: [pay], clock });
    await it.session.run("go").result;
    const { head } = (await it.store.load(key("thread")))!.row;
    await clock.advance(5_000);
    const { session } = await it.runner.fork("thread", { at: head });
    expect(session.interrupts).toMatchObject([{ expiresAt: clock.now() + 1_000 }]);
    await session.answer(session.interrupts[0]!.id, approve());
    expect(await session.resume().result).toMatchObject({ status: "completed" });
  });

  test("T2: a terminated thread lives on in it", async () => {
    const it = await openKit(["one", "two"]);
    await it.session.run("go").result;
    await it.session.terminate();
    const { head } = (await it.store.load(key("thread")))!.row;
    const { session } = await it.runner.fork("thread", { at: head });
    expect(await session.run("more").result).toMatchObject({ status: "completed", text: "two" });
  });

  test("T2, Q3: cut among the ends of its agents, they continue in it, and their requests are answered", async () => {
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const payer = (name: string) =>
      agent({
        name,
        model: scriptedModel(({ messages }) => (messages.length > 1 ? "done" : [{ call: "pay" }])),
        tools: [pay],
      });
    const store = memoryStore();
    const all = parallel({ name: "all", agents: [payer("a"), payer("b")] });
    const runner = createRunner<unknown, unknown>({ agent: all, store });
    const session = await runner.open("thread");
    await session.run("go").result;
    const { length: resting } = await factsOf(store, "thread");
    await session.terminate();
    const { length } = await factsOf(store, "thread");
    for (let at = 0; at <= length; at++) {
      const { session: fork } = await runner.fork("thread", { at, as: `at ${at}` });
      if (fork.state === "paused") {
        const answers = Object.fromEntries(fork.interrupts.filter(isRequest).map(({ id }) => [id, approve()]));
        const { status } = await fork.resume({ answers }).result;
        if (at >= resting) expect([at, status]).toEqual([at, "completed"]);
      }
      expect(factProblems(await factsOf(store, fork.threadId)), `${at} of ${length}`).toEqual([]);
    }
  });

  test("T2, Q3: cut among the ends of agents that fail, the requests of others are answered in it, and the answer arrives when they are tried again", async () => {
    const now = { well: false };
    const bad = agent({
      name: "bad",
      model: scriptedModel(() =>
        now.well ? "well" : [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }],
      ),
    });
    const pay = toolOf("pay", () => "paid", { needsApproval: true });
    const payer = agent({
      name: "payer",
      model: scriptedModel(({ messages }) => (messages.length > 1 ? "done" : [{ call: "pay" }])),
      tools: [pay],
    });
    const inner = parallel({ name: "inner", agents: [bad, payer] });
    const store = memoryStore();
    const runner = createRunner<unknown, unknown>({ agent: parallel({ name: "all", agents: [inner] }), store });
    const session = await runner.open("thread");
    expect((await session.run("go").result).status).toBe("failed");
    now.well = true;
    const facts = await factsOf(store, "thread");
    const raised = facts.find((fact) => fact.type === "action")!.seq;
    expect(facts.slice(raised).flatMap(({ type, runPath }) => (type === "run-end" ? runPath : []))).toEqual([
      "all/0:inner/0:bad",
      "all/0:inner",
      "all",
    ]);
    for (let at = raised; at <= facts.length; at++) {
      const { session: fork } = await runner.fork("thread", { at, as: `at ${at}` });
      const answers = Object.fromEntries(fork.interrupts.filter(isRequest).map(({ id }) => [id, approve()]));
      let { status } = await fork.resume({ answers }).result;
      // The recorded failure comes first.
      if (status === "failed") ({ status } = await fork.resume().result);
      expect([at, status]).toEqual([at, "completed"]);
      expect(factProblems(await factsOf(store, fork.threadId)), `${at} of ${facts.length}`).toEqual([]);
    }
  });

  test("T2: between the end of a run that failed and the beginning of the next, it continues with the one that failed", async () => {
    const broken = { throw: Object.assign(new Error("no"), { isRetryable: false }) };
    const it = await openKit([[broken], [broken], "two", "one"]);
    const failed = await it.session.run("go").result;
    await it.session.resume().result;
    await it.session.run("another").result;
    const facts = await factsOf(it.store, "thread");
    const next = facts.findIndex(({ runId }) => runId !== failed.runId);
    expect(facts[next]).toMatchObject({ type: "state", state: "initialized" });
    const { session } = await it.runner.fork("thread", { at: facts[next]!.seq });
    expect(await session.resume().result).toMatchObject({ status: "completed", runId: failed.runId, segment: 3 });
  });

  test("its record names its parent, and its history leads there", async () => {
    const it = await openKit(["one", "two"]);
    await it.session.run("go").result;
    const { session } = await it.runner.fork("thread", { at: 5 });
    await session.resume().result;
    const points = await it.runner.history(session.threadId);
    expect(points.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      "input: go",
      "answer: one",
      "fork: of thread at 5",
      "end: completed",
    ]);
    expect(points.map(({ id }) => id)).toEqual([...session.messages.map(({ id }) => id), undefined, undefined]);
  });
});
