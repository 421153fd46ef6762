import { eachStore, gate, until } from "@belay/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  agent,
  approve,
  createRunner,
  jsonSchema,
  type LogEntry,
  memoryStore,
  type Runner,
  type Store,
  tool,
} from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { createWorker, type WorkerOptions } from "./create-worker.ts";
import type { Dispatcher, ThreadRef } from "./dispatcher.ts";
import { pollingDispatcher } from "./polling-dispatcher.ts";
import { wakingStore } from "./waking-store.ts";

const helper = (text = "done") => agent({ name: "helper", model: scriptedModel(() => text) });

const stateOf = async (store: Store, tenant: string, threadId = "thread") =>
  (await store.load({ tenant, threadId }))?.row;

/** A thread of a tenant that has an input waiting. */
async function waiting(store: Store, tenant: string, threadId = "thread"): Promise<void> {
  const runner = createRunner({ agent: helper(), store, tenant });
  await (await runner.start(threadId, "hello")).result;
  await runner.close();
  await createRunner({ store, tenant }).enqueue(threadId, "next");
}

function working(options: Omit<WorkerOptions, "log"> & { readonly log?: WorkerOptions["log"] }) {
  const stop = new AbortController();
  const worker = createWorker({ log: () => {}, ...options });
  const done = worker.work({ signal: stop.signal });
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return worker;
}

/** Keeps every wake, and delivers none. */
function deaf(): Dispatcher & { readonly wakes: { thread: ThreadRef; at?: number; id?: string }[] } {
  const wakes: { thread: ThreadRef; at?: number; id?: string }[] = [];
  return {
    wakes,
    wake: async (thread, options) => void wakes.push({ thread, ...options }),
    serve: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    close: async () => {},
  };
}

describe.each(eachStore)("createWorker on $name", ({ make }) => {
  test("moves the threads of every tenant, each by the runner of its tenant", async () => {
    const store = await make();
    const tenants = ["a", "b", "c"];
    for (const tenant of tenants) await waiting(store, tenant);
    const runner = (tenant: string) => createRunner({ agent: helper(`by ${tenant}`), store, tenant });
    working({ store, runner, dispatcher: pollingDispatcher(store, { pollMs: 5 }) });
    for (const tenant of tenants) {
      await until(async () => (await stateOf(store, tenant))?.queued === false);
      await until(async () => (await stateOf(store, tenant))?.state === "completed");
      const { messages } = await createRunner({ agent: helper(), store, tenant }).open("thread");
      expect(JSON.stringify(messages.at(-1))).toContain(`by ${tenant}`);
    }
  });

  test("a tenant without a runner is logged once, and keeps no other from its turn", async () => {
    const store = await make();
    for (let i = 0; i < 30; i++) await waiting(store, "stranger", `thread-${i}`);
    await waiting(store, "known");
    const logged: string[] = [];
    const log = ({ error }: LogEntry) => logged.push(error.message);
    const runner = (tenant: string) =>
      tenant === "known" ? createRunner({ agent: helper(), store, tenant }) : undefined;
    working({ store, runner, dispatcher: pollingDispatcher(store, { pollMs: 5 }), concurrency: 1, log });
    await until(async () => (await stateOf(store, "known"))?.queued === false);
    expect(logged).toEqual(["This worker has no runner for tenant stranger; its threads wait."]);
    expect((await stateOf(store, "stranger", "thread-0"))?.queued).toBe(true);
  });

  test("one runner moves the threads of its tenant, and leaves others alone", async () => {
    const store = await make();
    for (const tenant of ["mine", "other"]) await waiting(store, tenant);
    working({ store, runner: createRunner({ agent: helper(), store, tenant: "mine" }) });
    await until(async () => (await stateOf(store, "mine"))?.queued === false);
    expect((await stateOf(store, "other"))?.queued).toBe(true);
  });

  test("the sweep repeats wakes that an engine has lost, under one name for each head", async () => {
    const store = await make();
    await waiting(store, "a");
    const engine = deaf();
    working({ store, runner: () => undefined, dispatcher: engine, sweepMs: 20 });
    await until(() => engine.wakes.length >= 2);
    expect(engine.wakes[0]!.thread).toEqual({ tenant: "a", threadId: "thread" });
    expect(engine.wakes[1]!.id).toBe(engine.wakes[0]!.id);
  });

  test("P16: a drained worker lets go of a thread at its next boundary, and another continues it within a second", async () => {
    const store = await make();
    const [begun, end] = [gate(), gate()];
    const execute = async () => {
      begun.open();
      await end.opened;
      return "kept";
    };
    const slow = tool({ name: "slow", description: "", input: jsonSchema<object>({ type: "object" }), execute });
    const turns = [[{ call: "slow" }]] as const;
    const first = agent({ name: "helper", model: scriptedModel([...turns, "never"]), tools: [slow] });
    const second = agent({ name: "helper", model: scriptedModel(["continued"]), tools: [slow] });
    const runner = createRunner({ agent: first, store });
    await (await runner.open("thread")).run("hello", {}).started;
    await begun.opened;
    const draining = runner.drain({ timeoutMs: 5_000 });
    working({
      store,
      runner: createRunner({ agent: second, store }),
      dispatcher: pollingDispatcher(store, { pollMs: 20 }),
    });
    end.open();
    await draining;
    const began = Date.now();
    await until(async () => (await stateOf(store, "default"))?.state === "completed");
    expect(Date.now() - began).toBeLessThan(1_000);
  });
});

describe("runner.move", () => {
  test("returns when to look again: at the end of a lease, at a due time, or never", async () => {
    const store = memoryStore();
    const runner = createRunner({ agent: helper(), store });
    expect(await runner.move("none")).toEqual({});
    await waiting(store, "default");
    expect(await runner.move("thread")).toEqual({});
    expect((await stateOf(store, "default"))?.queued).toBe(false);
    const stuck = agent({ name: "helper", model: scriptedModel([[{ text: "x" }, { stall: true }]]) });
    const owner: Runner = createRunner({ agent: stuck, store, leaseTtlMs: 60_000 });
    const run = await owner.start("held", "go");
    const lease = (await stateOf(store, "default", "held"))!.lease!;
    const held = await runner.move("held");
    expect(held).toEqual({ again: lease.until, id: expect.stringMatching(`^lease-${lease.fence}-`) });
    await owner.close();
    await run.result;
  });

  test("an input that a hook refuses is asked for again later, under one name", async () => {
    const store = memoryStore();
    await waiting(store, "default");
    const hooks = {
      beforeReply() {
        throw new Error("not now");
      },
    };
    const runner = createRunner({ agent: helper(), store, hooks, log: () => {} });
    const [first, second] = [await runner.move("thread"), await runner.move("thread")];
    expect(first.again).toBeGreaterThan(Date.now());
    expect(second.id).toBe(first.id);
  });
});

describe("a store that wakes", () => {
  test("wakes for an input, for an answer and for a thread that is released with work left, each named by its cause", async () => {
    const store = memoryStore();
    const engine = deaf();
    const pay = tool({
      name: "pay",
      description: "",
      input: jsonSchema<object>({ type: "object" }),
      needsApproval: true,
      execute: () => "paid",
    });
    const asking = agent({ name: "helper", model: scriptedModel([[{ call: "pay" }]]), tools: [pay] });
    const front = createRunner({ agent: asking, store, dispatcher: engine, start: "worker" });
    await front.enqueue("thread", "go", { id: "first" });
    const worker = createRunner({ agent: asking, store, dispatcher: engine });
    await worker.move("thread");
    const { items } = await front.inbox();
    await front.answer(items[0]!.id, approve());
    const names = engine.wakes.map(({ id = "" }) => id.replace(/^((append|due|command)-).*/, "$1"));
    expect(names).toEqual(["command-", "command-"]);
    expect(engine.wakes.every(({ thread }) => thread.threadId === "thread" && thread.tenant === "default")).toBe(true);
    expect((await stateOf(store, "default"))?.answered).toBe(true);
  });

  test("an engine that is away fails no append and no send; the log has it once", async () => {
    const logged: string[] = [];
    const away = { wake: () => Promise.reject(new Error("away")) };
    const log = ({ error }: LogEntry) => logged.push(error.code);
    const runner = createRunner({ agent: helper(), store: memoryStore(), dispatcher: away, log });
    await (await runner.start("thread", "hello")).result;
    await runner.enqueue("thread", "one");
    await runner.enqueue("thread", "two");
    expect(logged).toEqual(["STORE_FAILED"]);
  });

  test("a release with a due time wakes at that time", async () => {
    const engine = deaf();
    const store = wakingStore(memoryStore(), engine);
    const none = { count: 1, at: 1, body: "{}", agent: "a", state: "paused", release: true } as const;
    const writer = { take: "me", ttlMs: 1_000 };
    const key = { tenant: "a", threadId: "t" };
    await store.append(key, { ...none, appendId: "x", expect: 0, writer, rest: { from: 1, dueAt: 7 } });
    expect(engine.wakes).toEqual([{ thread: key, id: "due-x", at: 7 }]);
  });
});
