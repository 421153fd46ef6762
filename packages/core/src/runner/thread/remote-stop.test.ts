import {
  eachStore,
  factsOf,
  faultyStore,
  gate,
  listen,
  openKit,
  toolOf,
  toolResult,
  until,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve, humanInput, type InterruptOptions, jsonSchema, type ToolContext, tool } from "../../index.ts";
import type { ScriptedTurn } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };
const noArgs = jsonSchema<object>({ type: "object" });

describe.each(eachStore)("a stop from another runner on $name", ({ make }) => {
  /** A thread that runs in one runner, and another runner that has only the store. */
  async function pair(...[turns, options]: Parameters<typeof openKit>) {
    const store = await make();
    const owner = await openKit(turns, { ...options, store });
    const other = await openKit([], { store, threadId: "elsewhere" });
    return { store, owner, stop: other.runner.interrupt.bind(other.runner, "thread"), other };
  }

  it("S3: in mid-text, the receipt has the kept text, as the owner's own does", async () => {
    const { owner, stop } = await pair([[{ text: "half" }, { stall: true }]]);
    const run = owner.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    const receipt = await stop({ by: "ops", reason: "add_info", message: "wait" });
    expect(receipt).toEqual({
      accepted: true,
      runId: run.runId,
      segment: 1,
      partialText: "half",
      stopped: [],
      finished: [],
      notStarted: [],
      late: [],
    });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect(owner.session.interrupts).toMatchObject([{ by: "ops", reason: "add_info", message: "wait" }]);
    expect((await owner.store.load(key))?.commands).toEqual([]);
  });

  it("S2: a stop under an id that a steer has, too, is a stop all the same", async () => {
    const { owner, stop } = await pair([[{ text: "half" }, { stall: true }]]);
    const run = owner.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    await owner.session.steer("and this", { id: "same" });
    expect(await stop({ id: "same" })).toMatchObject({ accepted: true, partialText: "half" });
    expect(await stop({ id: "same" })).toMatchObject({ accepted: true, partialText: "half" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
  });

  it("P6: it counts whatever options it has: Infinity, or those of another version", async () => {
    for (const options of [{ graceMs: Number.POSITIVE_INFINITY }, { timeoutMs: Number.POSITIVE_INFINITY }]) {
      const { owner, stop } = await pair([[{ text: "half" }, { stall: true }]]);
      const run = owner.session.run("go");
      await listen(run).until((event) => event.type === "text-delta");
      expect(await stop(options)).toMatchObject({ accepted: true, partialText: "half" });
    }
    const { owner, store } = await pair([[{ text: "half" }, { stall: true }]]);
    const run = owner.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    const mail = { runId: run.runId, segment: 1, options: { mode: "softly" } };
    await store.send(key, { key: "stop:theirs", kind: "stop", body: JSON.stringify(mail), at: 1 });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("S4: among calls, it names which were cut, ended, not started and left behind", async () => {
    const started = gate();
    const execute = () => {
      started.open();
      return new Promise(() => {});
    };
    const deaf = tool({ name: "deaf", description: "never ends", input: noArgs, execute });
    const quick = tool({ name: "quick", description: "ends", input: noArgs, execute: () => "ok" });
    const alone = tool({
      name: "alone",
      description: "waits its turn",
      input: noArgs,
      serial: true,
      execute: () => "ok",
    });
    const calls = [{ call: "quick" }, { call: "deaf" }, { call: "alone" }];
    const { owner, stop } = await pair([calls], { tools: [deaf, quick, alone], agent: { graceMs: 1 } });
    const run = owner.session.run("go");
    await listen(run).until((event) => event.type === "tool-end");
    await started.opened;
    expect(await stop()).toMatchObject({
      accepted: true,
      finished: ["call_1"],
      stopped: ["call_2"],
      notStarted: ["call_3"],
      late: ["call_2"],
    });
  });

  it("S6: a stop for later that meets the run's end is not accepted; a time-out makes it one for now", async () => {
    const held = gate();
    const { owner, stop } = await pair([() => held.opened.then(() => "whole"), [{ text: "x" }, { stall: true }]]);
    const run = owner.session.run("go");
    await until(() => owner.requests.length === 1);
    const stopping = stop({ mode: "after-model" });
    await until(async () => (await owner.store.load(key))?.commands.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    held.open();
    expect(await stopping).toMatchObject({ accepted: false, runId: run.runId });
    expect(await run.result).toMatchObject({ status: "completed" });
    const second = owner.session.run("more");
    await listen(second).until((event) => event.type === "text-delta");
    expect(await stop({ mode: "after-model", timeoutMs: 5 })).toMatchObject({ accepted: true, partialText: "x" });
  });

  it("S2: another run or segment is not hit, an idle thread has nothing to stop, an unknown one is an error", async () => {
    const { owner, stop, other } = await pair([[{ text: "x" }, { stall: true }]]);
    const run = owner.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    expect(await stop({ runId: "another" })).toMatchObject({ accepted: false, runId: run.runId });
    expect(await stop({ segment: 2 })).toMatchObject({ accepted: false });
    expect(owner.session.state).toBe("running");
    expect(await stop({ runId: run.runId, segment: 1 })).toMatchObject({ accepted: true });
    expect(await stop()).toMatchObject({ accepted: false });
    await expect(other.runner.interrupt("no such")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
  });

  it("two stops from afar and one at home are one interrupt", async () => {
    const { owner, stop } = await pair([[{ text: "x" }, { stall: true }]]);
    const run = owner.session.run("go");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta");
    const receipts = await Promise.all([stop(), stop(), owner.session.interrupt()]);
    for (const receipt of receipts) expect(receipt.accepted ? receipt : receipts[2]).toEqual(receipts[2]);
    expect(receipts[2]).toMatchObject({ accepted: true, partialText: "x" });
    await heard.all;
    expect(heard.events.filter((event) => event.type === "action")).toHaveLength(1);
  });

  it("when the owner dies meanwhile there is nothing left to stop, and the command hits no other run", async () => {
    const store = await make();
    const side = faultyStore(store);
    const dying = await openKit([[{ text: "x" }, { stall: true }]], { store: side, leaseTtlMs: 60 });
    const run = dying.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    side.kill();
    const other = await openKit([], { store, threadId: "elsewhere" });
    expect(await other.runner.interrupt("thread", { id: "x" })).toMatchObject({ accepted: false, segment: 1 });
    const held = gate();
    const next = await openKit([() => held.opened.then(() => "done")], { store });
    const resumed = next.session.resume();
    await until(() => next.requests.length === 1);
    expect(await other.runner.interrupt("thread", { id: "x" })).toMatchObject({ accepted: false });
    held.open();
    expect(await resumed.result).toMatchObject({ status: "completed", text: "done" });
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("when another process takes over while it waits, it does not wait for the end of that run", async () => {
    const store = await make();
    const side = faultyStore(store);
    const dying = await openKit([[{ text: "x" }, { stall: true }]], { store: side, leaseTtlMs: 60 });
    void dying.session.run("go");
    await until(() => dying.requests.length === 1);
    side.freeze();
    const other = await openKit([], { store, threadId: "elsewhere" });
    const stopping = other.runner.interrupt("thread");
    await until(async () => (await store.load(key))?.row.lease === undefined);
    const next = await openKit([[{ stall: true }]], { store });
    void next.session.resume();
    expect(await stopping).toMatchObject({ accepted: false, segment: 1 });
    expect(next.session.state).toBe("running");
    await next.runner.close();
  });
});

describe.each(eachStore)("a stop from another runner that the owner did not read in time, on $name", ({ make }) => {
  /** The other runner's stop is sent when the owner's run has come to rest by its tool. */
  async function late(act: (ctx: ToolContext) => unknown, options: InterruptOptions = {}) {
    const [begun, go, rests] = [gate(), gate(), gate()];
    const acting = toolOf("act", async (ctx) => {
      begun.open();
      await go.opened;
      return act(ctx);
    });
    const store = await make();
    const owner = await openKit([[{ call: "act" }], "an answer"], { tools: [acting], store });
    const slow = wrapStore(store, {
      async send(key, command) {
        go.open();
        await rests.opened;
        return store.send(key, command);
      },
    });
    const other = await openKit([], { store: slow, threadId: "elsewhere" });
    const run = owner.session.run("go");
    void run.result.then(() => rests.open());
    await begun.opened;
    return { run, store, receipt: await other.runner.interrupt("thread", options) };
  }

  it("S3: if a tool ended the run itself, nothing was stopped", async () => {
    const { run, receipt } = await late((ctx) => ctx.exit("left"));
    expect(receipt).toMatchObject({ accepted: false });
    expect(await run.result).toMatchObject({ status: "completed", output: "left" });
  });

  it("S9: where people are asked for something now, they need not answer any more", async () => {
    const { store, receipt } = await late((ctx) => ctx.ask(humanInput("Which?")));
    expect(receipt).toMatchObject({ accepted: true });
    expect(await store.requests("default")).toEqual([]);
  });

  it("S2, Q3: an answered call that runs in the pause by then is stopped, and the receipt names it", async () => {
    const store = await make();
    const pausing = gate();
    const paused = gate();
    const unhinted = wrapStore(store, {
      watch: () => () => {},
      async append(thread, append) {
        if (append.state === "paused" && append.release && !("take" in append.writer)) {
          pausing.open();
          await paused.opened;
        }
        return store.append(thread, append);
      },
    });
    const wait = (ctx: ToolContext) =>
      new Promise((_, refuse) => ctx.signal.addEventListener("abort", () => refuse(ctx.signal.reason)));
    const gated = toolOf("pay", wait, { needsApproval: true });
    const turn = [
      { call: "pay", id: "p" },
      { call: "pay", id: "q" },
    ];
    const owner = await openKit([turn], { tools: [gated], store: unhinted });
    const run = owner.session.run("go");
    await pausing.opened;
    const sent = gate();
    const looks = gate();
    let isSent = false;
    const slow = wrapStore(store, {
      async send(thread, command) {
        isSent = await store.send(thread, command);
        sent.open();
        return isSent;
      },
      async load(thread, after) {
        if (isSent) await looks.opened;
        return store.load(thread, after);
      },
    });
    const other = await openKit([], { store: slow, threadId: "elsewhere" });
    const stopped = other.runner.interrupt("thread");
    await sent.opened;
    paused.open();
    await run.result;
    await owner.session.answer(owner.session.interrupts[0]!.id, approve());
    looks.open();
    expect(await stopped).toMatchObject({ accepted: true, runId: run.runId, segment: 1 });
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
  });

  /**
   * Two calls wait for approval, and one that was approved runs in the owner; it has ended when a stop by another session is
   * sent.
   */
  async function answered(then: readonly ScriptedTurn[] = ["done"], moved = async () => {}) {
    const store = await make();
    const [begun, go] = [gate(), gate()];
    const pay = toolOf(
      "pay",
      async () => {
        begun.open();
        await go.opened;
        return "paid";
      },
      { needsApproval: true },
    );
    const turn = [
      { call: "pay", id: "p" },
      { call: "pay", id: "q" },
    ];
    const owner = await openKit([turn, ...then], { tools: [pay], store });
    await owner.session.run("go").result;
    let isSent = false;
    const slow = wrapStore(store, {
      async send(thread, command) {
        go.open();
        await until(async () => (await store.load(thread))?.row.lease === undefined);
        isSent = true;
        return store.send(thread, command);
      },
      async append(...given) {
        if (isSent) await moved();
        return store.append(...given);
      },
    });
    const other = await openKit([], { tools: [pay], store: slow });
    const [first, second] = owner.session.interrupts;
    await owner.session.answer(first!.id, approve());
    await begun.opened;
    return { store, owner, other, second: second! };
  }

  it("S2, S9: if an answered call has ended by then, the other requests are withdrawn, and the receipt says so", async () => {
    const { store, other } = await answered();
    expect(await other.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["q"] });
    expect(other.session.pauseType).toBe("user_interrupt");
    expect(await store.requests("default")).toEqual([]);
  });

  it("S2: a stop that was reported as nothing to stop hits no call that is answered later", async () => {
    const { store, owner, other, second } = await answered();
    expect(await other.runner.interrupt("thread", { requests: "keep" })).toMatchObject({ accepted: false });
    expect((await store.load(key))?.commands).toEqual([]);
    await owner.session.answer(second.id, approve());
    await until(async () => (await store.load(key))?.row.lease === undefined);
    expect(toolResult(await factsOf(store), "q")).toBe("paid");
    expect(await owner.session.resume().result).toMatchObject({ status: "completed", text: "done" });
  });

  it.each(["runner", "session"])(
    "S2: a stop that came too late for its segment withdraws no request of the next one, by a %s",
    async (by) => {
      let resumed: Promise<unknown> | undefined;
      const moved = async () => {
        resumed ??= owner.session.resume({ answers: { [second.id]: approve() } }).result;
        await resumed;
      };
      const { store, owner, other, second } = await answered([[{ call: "pay", id: "r" }], "done"], moved);
      const stopped = by === "runner" ? other.runner.interrupt("thread") : other.session.interrupt();
      expect(await stopped).toMatchObject({ accepted: false, segment: 1 });
      expect(await store.requests("default")).toHaveLength(1);
      expect(owner.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    },
  );

  it("S2: a stop that was not taken back hits no other run, and sent again it meets nothing", async () => {
    const store = await make();
    const owner = await openKit(["whole", [{ text: "half" }, { stall: true }]], { store });
    const first = owner.session.run("go");
    await first.result;
    const mail = { runId: first.runId, segment: 1, options: { id: "x" } };
    await store.send(key, { key: "stop:x", kind: "stop", body: JSON.stringify(mail), at: 1 });
    const second = owner.session.run("more");
    await listen(second).until((event) => event.type === "text-delta");
    const none = { partialText: "", stopped: [], finished: [], notStarted: [], late: [] };
    const nothing = { accepted: false, runId: second.runId, segment: 1, ...none };
    expect(await owner.session.interrupt({ id: "x" })).toEqual(nothing);
    expect(await owner.session.interrupt()).toMatchObject({ accepted: true, runId: second.runId });
    expect((await store.load(key))?.commands).toEqual([]);
    const other = await openKit([], { store, threadId: "elsewhere" });
    expect(await other.runner.interrupt("thread", { id: "x" })).toEqual(nothing);
    expect(await owner.session.interrupt({ id: "x" })).toEqual(nothing);
  });

  it("V1: a termination that was sent for an earlier segment ends the thread in the present one", async () => {
    const store = await make();
    const owner = await openKit(["whole", [{ text: "half" }, { stall: true }]], { store });
    const first = owner.session.run("go");
    await first.result;
    const second = owner.session.run("more");
    await listen(second).until((event) => event.type === "text-delta");
    const mail = { do: "terminate", runId: first.runId, segment: 1, options: { id: "x" } };
    await store.send(key, { key: "stop:x", kind: "stop", body: JSON.stringify(mail), at: 1 });
    expect(await second.result).toMatchObject({ status: "terminated" });
    expect(owner.session.state).toBe("terminated");
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("S3: it is taken back, costs the next run nothing, and hits it no more when it is sent again", async () => {
    const { store, run } = await late((ctx) => ctx.exit("left"), { id: "late" });
    await run.result;
    expect((await store.load(key))?.commands).toEqual([]);
    let loads = 0;
    const counted = wrapStore(store, {
      load(thread, after) {
        loads += 1;
        return store.load(thread, after);
      },
    });
    const held = gate();
    const next = await openKit([() => held.opened.then(() => "done")], { store: counted });
    loads = 0;
    const going = next.session.run("more");
    await until(() => next.requests.length === 1);
    expect(loads).toBeLessThanOrEqual(2);
    const other = await openKit([], { store, threadId: "elsewhere" });
    expect(await other.runner.interrupt("thread", { id: "late" })).toMatchObject({ accepted: false });
    expect(next.session.state).toBe("running");
    held.open();
    expect(await going.result).toMatchObject({ status: "completed", text: "done" });
    expect(loads).toBeLessThanOrEqual(2);
  });
});
