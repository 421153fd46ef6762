import {
  eachStore,
  factProblems,
  factsOf,
  faultyStore,
  gate,
  history,
  type KitOptions,
  listen,
  openKit,
  paying,
  requestOf,
  threadOf,
  until,
  waiting,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, it, onTestFinished } from "vitest";
import { pollingDispatcher } from "../../dispatch/polling-dispatcher.ts";
import { agent, approve, jsonSchema, type LogEntry, type Store, tool } from "../../index.ts";
import { fakeClock, scriptedModel } from "../../testing/index.ts";
import { createRunner, type Runner } from "./runner.ts";

const noArgs = jsonSchema<object>({ type: "object" });
const key = (threadId = "thread") => ({ tenant: "default", threadId });
const stateOf = async (store: Store, threadId?: string) => (await store.load(key(threadId)))?.row.state;

/** How often a worker with nothing to do looks in ten seconds, where each look takes that long. */
async function looksOf(tookMs: number): Promise<number> {
  const clock = fakeClock();
  let looks = 0;
  const due = () => {
    looks += 1;
    return new Promise<never[]>((resolve) => clock.setTimeout(() => resolve([]), tookMs));
  };
  const stop = new AbortController();
  const done = pollingDispatcher({ due }, { clock }).serve(async () => ({}), { concurrency: 4, signal: stop.signal });
  await clock.advance(10_000);
  stop.abort();
  await clock.advance(tookMs);
  await done;
  return looks;
}

/** A thread after the death of its process in mid-answer, or in a tool call. */
async function crashed(store: Store, turns: Parameters<typeof openKit>[0], options: KitOptions = {}) {
  const side = faultyStore(store);
  const kit = await openKit(turns, { leaseTtlMs: 30, ...options, store: side });
  const heard = listen(kit.session.run("go"));
  await heard.until((event) => event.type === "text-delta" || event.type === "tool-start");
  side.kill();
  await until(async () => (await store.load(key(options.threadId)))?.row.lease === undefined);
}

function working(runner: Runner, options: { concurrency?: number } = {}) {
  const stop = new AbortController();
  const done = runner.work({ pollMs: 5, signal: stop.signal, ...options });
  onTestFinished(() => stop.abort());
  return { stop: () => stop.abort(), done };
}

describe.each(eachStore)("runner.work on $name", ({ make }) => {
  it("C5: after a crash a thread continues in a worker of another runner", async () => {
    const store = await make();
    await crashed(store, [[{ text: "ha" }, { stall: true }]]);
    const worker = await openKit(["whole"], { store, threadId: "its own" });
    const work = working(worker.runner);
    await until(async () => (await stateOf(store)) === "completed");
    work.stop();
    await work.done;
    const reader = await openKit([], { store });
    expect(history(reader.session.messages)).toEqual(["user: go", "assistant: whole"]);
    expect(worker.problems()).toEqual([]);
  });

  it("C5: inputs that wait on an idle thread are run one after the other", async () => {
    const store = await make();
    const sender = await openKit(["first"], { store });
    await sender.session.run("go").result;
    await sender.runner.close();
    for (const id of ["a", "b"]) {
      const mail = { messages: [{ parts: [{ type: "text", text: id }] }] };
      await store.send(key(), { key: id, kind: "input", body: JSON.stringify(mail), at: 1 });
    }
    const worker = await openKit(["for a", "for b"], { store, threadId: "its own" });
    working(worker.runner);
    await until(async () => (await store.load(key()))?.commands.length === 0 && (await stateOf(store)) === "completed");
    const reader = await openKit([], { store });
    expect(history(reader.session.messages).slice(2)).toEqual([
      "user: a",
      "assistant: for a",
      "user: b",
      "assistant: for b",
    ]);
  });

  it("an input that a hook refuses is tried again now and then, and keeps no other thread from its turn", async () => {
    const store = await make();
    for (const threadId of ["refused", "welcome"]) {
      const sender = await openKit(["first"], { store, threadId });
      await sender.session.run("go").result;
      await sender.runner.close();
      const mail = { messages: [{ parts: [{ type: "text", text: threadId }] }] };
      await store.send(key(threadId), { key: "a", kind: "input", body: JSON.stringify(mail), at: 1 });
    }
    const asked: string[] = [];
    const hooks = {
      beforeReply: ({ threadId }: { readonly threadId: string }) => {
        asked.push(threadId);
        if (threadId === "refused") throw new Error("not this one");
      },
    };
    const worker = await openKit(["well"], { store, threadId: "its own", runner: { hooks, log: () => {} } });
    const began = performance.now();
    const work = working(worker.runner, { concurrency: 1 });
    await until(async () => (await store.load(key("welcome")))?.row.queued === false);
    await new Promise((resolve) => setTimeout(resolve, 100));
    work.stop();
    await work.done;
    const tries = asked.filter((threadId) => threadId === "refused").length;
    expect(tries).toBeGreaterThan(0);
    // Ten rounds of 5 ms lie between two of them; some of its looks are early by a part of one.
    expect(tries).toBeLessThan(2 + (performance.now() - began) / 35);
    expect((await store.load(key("refused")))?.commands).toHaveLength(1);
  });

  it("threads that a person stopped, and failed ones, are left alone", async () => {
    const store = await make();
    const paused = await openKit([[{ text: "x" }, { stall: true }]], { store });
    const run = paused.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    await paused.session.enqueue("later");
    await paused.session.interrupt();
    await paused.runner.close();
    const failed = await openKit([[{ throw: new Error("no") }]], { store, threadId: "failed" });
    await failed.session.run("go").result;
    await failed.runner.close();
    const worker = await openKit([], { store, threadId: "its own" });
    const work = working(worker.runner);
    await new Promise((resolve) => setTimeout(resolve, 40));
    work.stop();
    await work.done;
    expect(worker.requests).toHaveLength(0);
    expect([await stateOf(store), await stateOf(store, "failed")]).toEqual(["paused", "error"]);
  });

  it("P13: looks less often if a look takes long, and not much less after one that waited for the store", async () => {
    expect([await looksOf(0), await looksOf(100), await looksOf(8_000)]).toEqual([41, 11, 2]);
  });

  it("two workers on one store move each thread once, and no more at a time than `concurrency`", async () => {
    const store = await make();
    const threads = ["t1", "t2", "t3", "t4", "t5"];
    for (const threadId of threads) await crashed(store, [[{ text: "x" }, { stall: true }]], { threadId });
    let running = 0;
    let most = 0;
    const turn = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running -= 1;
      return "whole";
    };
    const workers = await Promise.all([
      openKit(turn, { store, threadId: "w1" }),
      openKit(turn, { store, threadId: "w2" }),
    ]);
    for (const worker of workers) working(worker.runner, { concurrency: 1 });
    const done = async () =>
      (await Promise.all(threads.map((id) => stateOf(store, id)))).every((s) => s === "completed");
    await until(done);
    expect(most).toBeLessThanOrEqual(2);
    expect(workers[0]!.requests.length + workers[1]!.requests.length).toBe(threads.length);
  });
});

describe("runner.work", () => {
  it("an input that waits costs four reads of its thread, in a store that cannot be read without waiting", async () => {
    const { linesSync, ...store } = wrapStore(await eachStore[0]!.make(), {});
    const sender = await openKit(["first"], { store });
    await sender.session.run("go").result;
    await sender.runner.close();
    await createRunner({ store, start: "worker" }).enqueue("thread", "next");
    let loads = 0;
    const counted = wrapStore(store, {
      load: (of, after) => {
        loads += 1;
        return store.load(of, after);
      },
    });
    const runner = createRunner({ agent: agent({ name: "helper", model: scriptedModel(["second"]) }), store: counted });
    await runner.move("thread");
    expect(await stateOf(store)).toBe("completed");
    expect(loads).toBe(4);
  });

  it("a thread that cannot be moved does not keep others from their turn", async () => {
    const store = await eachStore[0]!.make();
    await crashed(store, [[{ text: "x" }, { stall: true }]], { threadId: "good" });
    for (const threadId of ["bad 1", "bad 2"]) {
      const strange = agent({ name: "stranger", model: scriptedModel([[{ text: "x" }, { stall: true }]]) });
      const side = faultyStore(store);
      const runner = createRunner({ agent: strange, store: side, leaseTtlMs: 20 });
      const run = (await runner.open(threadId)).run("go");
      await listen(run).until((event) => event.type === "text-delta");
      side.kill();
      await until(async () => (await store.load(key(threadId)))?.row.lease === undefined);
    }
    const worker = await openKit(["whole"], { store, threadId: "its own", runner: { log: () => {} } });
    working(worker.runner, { concurrency: 1 });
    await until(async () => (await stateOf(store, "good")) === "completed");
  });

  it("C5: a trouble of a worker is logged once while it lasts, and anew when it comes back", async () => {
    const store = await eachStore[0]!.make();
    const side = faultyStore(store);
    const logged: string[] = [];
    const log = ({ error, threadId }: LogEntry) => logged.push(`${threadId}: ${error.message}`);
    const worker = await openKit(["whole"], { store: side, threadId: "its own", runner: { log } });
    const fail = { fail: "before" } as const;
    side.plan("due", fail, fail, fail, {}, {}, fail, fail);
    const work = working(worker.runner);
    const away = ": The store failed: due failed before the commit";
    await until(() => logged.length === 2);
    expect(logged).toEqual([away, away]);
    // It can read and not write; the thread is unchanged, and continues when writes work.
    side.plan("append", fail, fail, fail);
    await crashed(store, [[{ text: "ha" }, { stall: true }]]);
    await until(async () => (await stateOf(store)) === "completed");
    expect(logged.slice(2)).toEqual(["thread: The store failed for thread thread: append failed before the commit"]);
    work.stop();
    await work.done;
  });

  it("C5: a worker of a runner that lacks a thread's agent reports that once, for any number of its threads", async () => {
    const store = await eachStore[0]!.make();
    for (const threadId of ["a", "b", "c"]) await crashed(store, [[{ text: "ha" }, { stall: true }]], { threadId });
    const logged: string[] = [];
    const log = ({ error }: LogEntry) => logged.push(error.code);
    const other = createRunner({ agent: agent({ name: "another", model: scriptedModel("no") }), store, log });
    const work = working(other);
    await until(() => logged.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(logged).toEqual(["AGENT_MISMATCH"]);
    work.stop();
    await work.done;
  });

  it("work() refuses a concurrency or a pollMs that means nothing", async () => {
    const { runner } = await openKit([]);
    for (const options of [{ concurrency: 0 }, { concurrency: Number.NaN }, { pollMs: -1 }, { pollMs: "5" as never }]) {
      await expect(runner.work(options)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
  });

  it("C5: a thread that kills its worker three times at one place is set aside, and a person can resume it", async () => {
    const store = await eachStore[0]!.make();
    const deadly = (execute: () => unknown) =>
      tool({ name: "deadly", description: "", input: noArgs, repeatable: true, execute });
    const stuck = deadly(() => new Promise(() => {}));
    await crashed(store, [[{ call: "deadly" }]], { tools: [stuck] });
    for (let deaths = 0; deaths < 3; deaths++) {
      const side = faultyStore(store);
      const begun = gate();
      const kills = deadly(() => {
        begun.open();
        return new Promise(() => {});
      });
      const worker = await openKit([], { store: side, threadId: `w${deaths}`, tools: [kills], leaseTtlMs: 30 });
      const work = working(worker.runner);
      await begun.opened;
      side.kill();
      work.stop();
      await until(async () => (await store.load(key()))?.row.lease === undefined);
    }
    const logged: unknown[] = [];
    const log = ({ error, threadId }: LogEntry) => logged.push(`${threadId}: ${error.code}`);
    const last = await openKit(["well"], { store, threadId: "w4", tools: [deadly(() => "done")], runner: { log } });
    working(last.runner);
    await until(async () => (await stateOf(store)) === "error");
    const facts = await factsOf(store);
    expect(facts.findLast((fact) => fact.type === "run-end")).toMatchObject({ error: { code: "THREAD_SET_ASIDE" } });
    expect(factProblems(facts)).toEqual([]);
    expect(logged).toEqual(["thread: THREAD_SET_ASIDE"]);
    const session = await last.runner.open("thread");
    await threadOf(session).refresh();
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "well" });
    expect(history(session.messages)).toContain("tool: call_1 ok");
  });

  it("C5: a thread that was only there when another one killed the worker is not set aside with it", async () => {
    const store = await eachStore[0]!.make();
    const named = (name: string, execute: () => unknown) =>
      tool({ name, description: "", input: noArgs, repeatable: true, execute });
    const never = () => new Promise(() => {});
    await crashed(store, [[{ call: "deadly" }]], { threadId: "guilty", tools: [named("deadly", never)] });
    await crashed(store, [[{ call: "slow" }]], { threadId: "bystander", tools: [named("slow", never)] });
    const ended = async (threadId: string) => (await stateOf(store, threadId)) !== "running";
    for (let life = 1; life <= 5 && !((await ended("guilty")) && (await ended("bystander"))); life++) {
      const side = faultyStore(store);
      const [deadlyBegan, slowBegan] = [gate(), gate()];
      const deadly = named("deadly", () => {
        deadlyBegan.open();
        return never();
      });
      const slow = named("slow", () => {
        slowBegan.open();
        return life < 3 ? never() : new Promise((resolve) => setTimeout(resolve, 50));
      });
      const turns = ["well"];
      const options = {
        store: side,
        threadId: `w${life}`,
        tools: [deadly, slow],
        leaseTtlMs: 30,
        runner: { log() {} },
      };
      const work = working((await openKit(turns, options)).runner);
      if (life < 3) await Promise.all([deadlyBegan.opened, slowBegan.opened]);
      else await Promise.race([deadlyBegan.opened, until(async () => (await ended("guilty")) && ended("bystander"))]);
      side.kill();
      work.stop();
      const leased = async (id: string) => (await store.load(key(id)))?.row.lease !== undefined;
      await until(async () => !((await leased("guilty")) || (await leased("bystander"))));
    }
    expect([await stateOf(store, "guilty"), await stateOf(store, "bystander")]).toEqual(["error", "completed"]);
  });
});

describe.each(eachStore)("runner.drain on $name", ({ make }) => {
  it("P16: lets go at the next boundary, gives the lease back, and the thread continues elsewhere", async () => {
    const store = await make();
    const end = gate<string>();
    const begun = gate();
    const execute = () => {
      begun.open();
      return end.opened;
    };
    const slow = tool({ name: "slow", description: "", input: noArgs, execute });
    const kit = await openKit([[{ call: "slow" }]], { store, tools: [slow] });
    const run = kit.session.run("go");
    await begun.opened;
    await kit.session.enqueue("next");
    const drained = kit.runner.drain();
    expect(() => kit.session.run("more")).toThrow(expect.objectContaining({ code: "RUNNER_CLOSED" }));
    await expect(kit.runner.open("another")).rejects.toMatchObject({ code: "RUNNER_CLOSED" });
    end.open("kept");
    await drained;
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
    expect((await store.load(key()))?.row.lease).toBeUndefined();
    const other = await openKit(["on it", "and next"], { store });
    expect([other.session.state, other.session.pauseType]).toEqual(["paused", "crash"]);
    await other.session.resume().result;
    await until(() => other.session.state === "completed" && other.session.messages.length === 6);
    expect(history(other.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "assistant: on it",
      "user: next",
      "assistant: and next",
    ]);
  });

  it("Q3: a call that was approved a moment before runs to its end, and the thread stays paused", async () => {
    const store = await make();
    const { tools, ran } = paying();
    const asking = await waiting(["a"], { store, tools });
    const { id } = requestOf(asking, "a");
    await asking.runner.close();
    const other = createRunner({ agent: agent({ name: "helper", model: scriptedModel([]), tools }), store });
    await other.answer(id, approve());
    await other.drain();
    expect(ran).toEqual(["pay 1"]);
    const kit = await openKit(["paid"], { store, tools });
    expect([kit.session.state, kit.session.pauseType]).toEqual(["paused", "tool_interrupt"]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay 1"]);
  });

  it("P16: waits for a store that does not answer as long again, and no longer; the thread continues elsewhere", async () => {
    const store = await make();
    let isAway = false;
    const append: Store["append"] = (of, what) => (isAway ? new Promise(() => {}) : store.append(of, what));
    const away = wrapStore(store, { append });
    const clock = fakeClock();
    const kit = await openKit([[{ text: "ha" }, { stall: true }]], { store: away, clock, leaseTtlMs: 30 });
    const heard = listen(kit.session.run("go"));
    await heard.until((event) => event.type === "text-delta");
    isAway = true;
    let drained = false;
    const drain = kit.runner.drain({ timeoutMs: 5_000 }).then(() => (drained = true));
    await clock.advance(9_999);
    expect(drained).toBe(false);
    await clock.advance(1);
    await drain;
    await until(async () => (await store.load(key()))?.row.lease === undefined);
    const other = await openKit(["whole"], { store });
    expect(other.session.pauseType).toBe("crash");
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "whole" });
  });

  it("a run that takes longer than the time is aborted, and can be resumed", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "ha" }, { stall: true }]], { store });
    const run = kit.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    await kit.runner.drain({ timeoutMs: 10 });
    expect(await run.result).toMatchObject({ status: "failed" });
    const other = await openKit(["lf"], { store });
    expect(other.session.pauseType).toBe("crash");
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "half" });
    expect(other.problems()).toEqual([]);
  });
});
