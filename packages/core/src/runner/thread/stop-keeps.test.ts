import {
  eachStore,
  factProblems,
  factsOf,
  gate,
  heldStore,
  history,
  listen,
  openKit,
  settle,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, approve, createRunner, humanInput, parallel, respond, type ToolContext } from "../../index.ts";
import { isRequest } from "../../interrupt/interrupt.ts";
import type { Append } from "../../store/store.ts";
import { scriptedModel } from "../../testing/index.ts";

const keep = { requests: "keep", by: "ann", reason: "bye", message: "till monday" } as const;
const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("Who?")));
const untilAborted = (ctx: ToolContext) =>
  new Promise<never>((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
const wait = toolOf("wait", untilAborted);

describe.each(eachStore)("a stop that keeps the open requests, on $name", ({ make }) => {
  test("S1, Q3: cuts the call beside it, and the question is answered as before", async () => {
    const store = await make();
    const calls = [
      { call: "ask", id: "a" },
      { call: "wait", id: "w" },
    ];
    const kit = await openKit([calls, "done"], { store, tools: [ask, wait] });
    const run = kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    expect(await kit.session.interrupt(keep)).toMatchObject({ accepted: true, stopped: ["w"] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    const { requests: _, ...words } = keep;
    expect(kit.session.interrupts).toMatchObject([{ kind: "manual", ...words }, { kind: "input" }]);
    const [request] = (await kit.runner.inbox()).items;
    expect(await kit.session.answer(request!.id, respond("ann"))).toEqual({ open: 0 });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect([kit.problems(), factProblems(await factsOf(store))]).toEqual([[], []]);
  });

  test("S3: text in mid-answer beside it is kept, and continued", async () => {
    const store = await make();
    const asking = agent({ name: "asking", model: scriptedModel([[{ call: "ask" }], "asked"]), tools: [ask] });
    const model = scriptedModel([[{ text: "half" }, { stall: true }], " and half"]);
    const talking = agent({ name: "talking", model });
    const both = parallel({ name: "both", agents: [asking, talking] });
    const runner = createRunner({ agent: both, store });
    const session = await runner.open("thread");
    const run = session.run("go");
    let said = false;
    void (async () => {
      for await (const event of run) if (event.type === "text-delta") said = true;
    })();
    await until(() => said && session.interrupts.length === 1);
    expect(await session.interrupt(keep)).toMatchObject({ accepted: true });
    expect(session.pauseType).toBe("tool_interrupt");
    const [request] = (await runner.inbox()).items;
    const answers = { [request!.id]: respond("ann") };
    expect(await session.resume({ answers }).result).toMatchObject({ output: ["asked", "half and half"] });
    expect(factProblems(await factsOf(store))).toEqual([]);
  });

  test("S2: does nothing where people are asked, and nothing runs", async () => {
    const kit = await openKit([[{ call: "ask" }], "done"], { store: await make(), tools: [ask] });
    await kit.session.run("go").result;
    expect(await kit.session.interrupt(keep)).toMatchObject({ accepted: false });
    expect([kit.session.pauseType, (await kit.runner.inbox()).items.length]).toEqual(["tool_interrupt", 1]);
  });

  test("Q3: ends an answered call that runs in the pause, and leaves that as it was", async () => {
    const began = gate();
    const pays = (ctx: ToolContext) => {
      began.open();
      return untilAborted(ctx);
    };
    const gated = [toolOf("pay", pays, { needsApproval: true }), toolOf("send", () => "sent", { needsApproval: true })];
    const turn = [
      { call: "pay", id: "p" },
      { call: "send", id: "s" },
    ];
    const kit = await openKit([turn, "done"], { store: await make(), tools: gated });
    await kit.session.run("go").result;
    const [pay, send] = kit.session.interrupts;
    await kit.session.answer(pay!.id, approve());
    await began.opened;
    expect(await kit.session.interrupt(keep)).toMatchObject({ accepted: true, stopped: ["p"] });
    expect([kit.session.state, kit.session.pauseType]).toEqual(["paused", "tool_interrupt"]);
    expect((await kit.runner.inbox()).items.map(({ id }) => id)).toEqual([send!.id]);
    await kit.session.answer(send!.id, approve());
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(history(kit.session.messages)).toContain("tool: p interrupted + s ok");
  });

  test("S2, S5: from another runner, its receipt names the cut calls, beside a question and in its pause, and again under its id", async () => {
    const store = await make();
    const began = gate();
    const pays = (ctx: ToolContext) => {
      began.open();
      return untilAborted(ctx);
    };
    const tools = [ask, wait, toolOf("pay", pays, { needsApproval: true })];
    const calls = ["ask", "wait", "pay"].map((call) => ({ call, id: call }));
    const owner = await openKit([calls, "done"], { store, tools });
    const { runner } = await openKit([], { store, threadId: "elsewhere" });
    const run = owner.session.run("go");
    await until(() => owner.session.interrupts.length === 2);
    const told = { accepted: true, runId: run.runId, segment: 1, stopped: ["wait"] };
    expect(await runner.interrupt("thread", { ...keep, id: "first" })).toMatchObject(told);
    const pay = (await runner.inbox()).items.find(({ tool }) => tool === "pay");
    await owner.session.answer(pay!.id, approve());
    await began.opened;
    const toldThen = { ...told, stopped: ["pay"] };
    expect(await runner.interrupt("thread", { ...keep, id: "second" })).toMatchObject(toldThen);
    for (const by of [runner.interrupt.bind(runner, "thread"), owner.session.interrupt.bind(owner.session)]) {
      expect(await by({ ...keep, id: "first" })).toMatchObject(told);
      expect(await by({ ...keep, id: "second" })).toMatchObject(toldThen);
    }
    expect((await store.load({ tenant: "default", threadId: "thread" }))?.commands).toEqual([]);
    const [request] = (await runner.inbox()).items;
    const answers = { [request!.id]: respond("ann") };
    expect(await owner.session.resume({ answers }).result).toMatchObject({ status: "completed", text: "done" });
    expect([owner.problems(), factProblems(await factsOf(store))]).toEqual([[], []]);
  });

  test.each([
    ["now", "now"],
    ["now", "after-tools"],
    ["after-tools", "after-model"],
    ["after-tools", "now"],
  ] as const)(
    "S6, S9: merged with one that does not, takes them back, whichever came first: %s, %s",
    async (first, then) => {
      for (const [one, two] of [
        [keep, {}],
        [{}, keep],
      ]) {
        const store = await make();
        const deaf = toolOf("deaf", () => new Promise(() => {}));
        const calls = [
          { call: "ask", id: "a" },
          { call: "deaf", id: "d" },
        ];
        const kit = await openKit([calls, "done"], { store, tools: [ask, deaf] });
        void kit.session.run("go");
        await until(() => kit.session.interrupts.length === 1);
        const stopped = kit.session.interrupt({ ...one, mode: first, timeoutMs: 200, graceMs: 400 });
        await settle();
        const receipt = await kit.session.interrupt({ ...two, mode: then });
        expect(await stopped).toEqual(receipt);
        expect(receipt).toMatchObject({ accepted: true, late: ["d"] });
        expect([kit.session.pauseType, (await kit.runner.inbox()).items]).toEqual(["user_interrupt", []]);
        expect(factProblems(await factsOf(store))).toEqual([]);
      }
    },
  );

  test("S9: one that does not, and comes while that is being written, takes them back from the pause", async () => {
    const store = await make();
    const [written, writes] = [gate(), gate()];
    const before = (_: number, { release }: Append) => {
      if (!release) return undefined;
      written.open();
      return writes.opened;
    };
    const deaf = toolOf("deaf", () => new Promise(() => {}), { graceMs: 0 });
    const calls = [
      { call: "ask", id: "a" },
      { call: "deaf", id: "d" },
    ];
    const kit = await openKit([calls, "done"], { store: heldStore(store, { before }), tools: [ask, deaf] });
    const run = kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    const kept = kit.session.interrupt(keep);
    await written.opened;
    const stopped = kit.session.interrupt();
    writes.open();
    expect(await kept).toMatchObject({ accepted: true, late: ["d"] });
    expect(await run.result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(await stopped).toMatchObject({ accepted: true, stopped: ["a"], late: ["d"] });
    expect([kit.session.pauseType, (await kit.runner.inbox()).items]).toEqual(["user_interrupt", []]);
    expect(factProblems(await factsOf(store))).toEqual([]);
  });

  test.each([undefined, keep])(
    "S1, S9: and stops the call that an answer lets run as soon as that is written: %j",
    async (first) => {
      const store = await make();
      const [written, writes, began] = [gate(), gate(), gate()];
      const before = (_: number, { release }: Append) => {
        if (!release) return undefined;
        written.open();
        return writes.opened;
      };
      const pays = (ctx: ToolContext) => {
        began.open();
        return untilAborted(ctx);
      };
      const deaf = toolOf("deaf", () => (first === undefined ? "heard" : new Promise(() => {})), { graceMs: 0 });
      const tools = [toolOf("pay", pays, { needsApproval: true }), deaf];
      const calls = [
        { call: "pay", id: "p" },
        { call: "deaf", id: "d" },
      ];
      const kit = await openKit([calls, "done"], { store: heldStore(store, { before }), tools });
      const run = kit.session.run("go");
      await until(() => kit.session.interrupts.length === 1);
      if (first !== undefined) void kit.session.interrupt(first);
      await written.opened;
      const answered = kit.session.answer(kit.session.interrupts.find(isRequest)!.id, approve());
      const stopped = kit.session.interrupt();
      writes.open();
      expect(await run.result).toMatchObject({ interruptType: "tool_interrupt" });
      expect(await stopped).toMatchObject({ accepted: true });
      await answered.catch(() => {});
      expect([kit.session.pauseType, (await kit.runner.inbox()).items]).toEqual(["user_interrupt", []]);
      expect(await kit.session.resume({ input: "and?" }).result).toMatchObject({ status: "completed" });
      expect([kit.problems(), factProblems(await factsOf(store))]).toEqual([[], []]);
    },
  );

  test("S4, Q3: leaves a call open that has one of its answers, and can continue, while it waits for another", async () => {
    const store = await make();
    const [written, writes] = [gate(), gate()];
    const both = (ctx: ToolContext) =>
      Promise.all(["a", "b"].map((key) => ctx.ask(humanInput(`${key}?`), { key }))).then((said) => said.join(" "));
    const tools = [toolOf("both", both), toolOf("pay", () => "paid", { needsApproval: true })];
    const calls = [
      { call: "both", id: "c" },
      { call: "pay", id: "p" },
    ];
    const first = await openKit([calls], { store, tools });
    await first.session.run("go").result;
    await first.runner.close();
    const before = (_: number, { body }: Append) => {
      if (!body.includes('"call":"p"')) return undefined;
      written.open();
      return writes.opened;
    };
    const kit = await openKit(["done"], { store: heldStore(store, { before }), tools });
    const asked = (name: string) => kit.session.interrupts.find(({ key, tool }) => (key ?? tool) === name)!.id;
    const b = asked("b");
    const run = kit.session.resume({ answers: { [asked("a")]: respond("one"), [asked("pay")]: approve() } });
    await written.opened;
    const stopped = kit.session.interrupt(keep);
    writes.open();
    expect(await stopped).toMatchObject({ accepted: true });
    expect(await run.result).toMatchObject({ interruptType: "tool_interrupt" });
    expect((await kit.runner.inbox()).items.map(({ id }) => id)).toEqual([b]);
    expect(factProblems(await factsOf(store))).toEqual([]);
    expect(await kit.session.resume({ answers: { [b]: respond("two") } }).result).toMatchObject({ text: "done" });
    expect(toolResult(await factsOf(store), "c")).toBe("one two");
    expect([kit.problems(), factProblems(await factsOf(store))]).toEqual([[], []]);
  });

  test("F1, S3: text that it rolls back beside a question is void for readers, too, when it is streamed again", async () => {
    const store = await make();
    const asking = agent({ name: "asking", model: scriptedModel([[{ call: "ask" }], "asked"]), tools: [ask] });
    const talking = agent({ name: "talking", model: scriptedModel([[{ text: "half" }, { stall: true }], "whole"]) });
    const runner = createRunner({ agent: parallel({ name: "both", agents: [asking, talking] }), store });
    const session = await runner.open("thread");
    const heard = listen(session.events());
    void session.run("go");
    await heard.until(({ type }) => type === "text-delta");
    await until(() => session.interrupts.length === 1);
    expect(await session.interrupt({ ...keep, rollbackPartial: true })).toMatchObject({ accepted: true });
    const answers = { [session.interrupts.find(isRequest)!.id]: respond("ann") };
    expect(await session.resume({ answers }).result).toMatchObject({ output: ["asked", "whole"] });
    const said = heard.events.flatMap((event) => {
      if (event.agentName !== "talking" || (event.type !== "text-delta" && event.type !== "superseded")) return [];
      return [event.type === "superseded" ? "superseded" : `${event.attempt} ${event.text}`];
    });
    expect(said).toEqual(["1 half", "superseded", "2 whole"]);
    await runner.close();
  });

  test("S3: is a stop like any other if no request is open", async () => {
    const kit = await openKit([[{ text: "half" }, { stall: true }]], { store: await make() });
    const run = kit.session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    expect(await kit.session.interrupt(keep)).toMatchObject({ accepted: true, partialText: "half" });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect(kit.session.interrupts).toMatchObject([{ kind: "user", by: "ann" }]);
  });
});
