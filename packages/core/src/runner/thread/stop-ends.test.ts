import { gate, heldStore, history, listen, openKit, said, settle, type ToolOptions, unpaired } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, createRunner, jsonSchema, memoryStore, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;
const work = (execute: Options["execute"], more: Partial<Options> = {}) =>
  tool({ name: "work", description: "", input: anything, execute, ...more });
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const isText = (event: BelayEvent) => event.type === "text-delta";
const talking = [[{ text: "Talk" }, { stall: true }], "again"] as const;
const twoCalls = [
  [
    { call: "work", id: "1" },
    { call: "alone", id: "2" },
  ],
  "done",
] as const;
const alone = tool({ name: "alone", description: "", input: anything, serial: true, execute: () => "alone" });

describe("terminate(): now, and for good", () => {
  test("in mid-text: the text stays, the run ends terminated, and nothing more can be asked of the thread", async () => {
    const kit = await openKit(talking);
    const run = kit.session.run("hi");
    const heard = listen(run);
    await heard.until(isText);
    await kit.session.terminate();
    expect(await run.result).toMatchObject({ status: "terminated", runId: run.runId, segment: 1 });
    expect(said(await heard.all).slice(4)).toEqual([
      "turn-start 1",
      "text Talk",
      "message assistant~user: Talk",
      "turn-end 1",
      "run-end terminated",
      "state terminated",
    ]);
    expect(kit.session.state).toBe("terminated");
    expect(() => kit.session.run("more")).toThrow(expect.objectContaining({ code: "INVALID_STATE" }));
    expect(() => kit.session.resume()).toThrow(expect.objectContaining({ code: "INVALID_STATE" }));
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    await expect(kit.session.terminate()).rejects.toMatchObject({ code: "INVALID_STATE_TRANSITION" });
    expect(kit.session.state).toBe("terminated");
  });

  test("in mid-tools: it waits for the work to stop; every start has its end; no further call starts", async () => {
    const kit = await openKit(twoCalls, { tools: [work((_args, ctx) => untilAborted(ctx.signal)), alone] });
    const heard = listen(kit.session.run("hi"));
    await settle();
    await kit.session.terminate();
    const events = await heard.all;
    expect(said(events).slice(5)).toEqual([
      "message assistant: call 1 + call 2",
      "tool-start 1",
      "tool-end 1 interrupted",
      "turn-end 1",
      "run-end terminated",
      "state terminated",
    ]);
    expect(unpaired(events)).toEqual([]);
  });

  test("in each state at rest: created, paused, completed, error", async () => {
    const made = async (state: string) => {
      const kit = await openKit(
        state === "error" ? [[{ throw: new Error("no") }]] : state === "completed" ? ["end"] : talking,
      );
      if (state === "created") return kit;
      const run = kit.session.run("hi");
      if (state === "paused") await settle().then(() => kit.session.interrupt());
      await run.result;
      return kit;
    };
    for (const state of ["created", "paused", "completed", "error"]) {
      const kit = await made(state);
      expect(kit.session.state).toBe(state);
      await kit.session.terminate();
      expect(kit.session.state).toBe("terminated");
      expect([kit.session.pauseType, kit.session.interrupts]).toEqual([undefined, []]);
      const elsewhere = await createRunner({ agent: kit.session.agent, store: kit.store }).open("thread");
      expect(elsewhere.state).toBe("terminated");
    }
  });

  test("in the same tick as run(), and while the first append is in flight", async () => {
    for (const slow of [false, true]) {
      const hold = gate();
      const store = heldStore(memoryStore(), { before: (n) => (slow && n === 1 ? hold.opened : undefined) });
      const kit = await openKit(talking, { store });
      const run = kit.session.run("hi");
      if (slow) await settle();
      const ending = kit.session.terminate();
      hold.open();
      await ending;
      expect(await run.result).toMatchObject({ status: "terminated" });
      expect([kit.session.state, kit.requests.length]).toEqual(["terminated", 0]);
    }
  });

  test("D33, S7: an exception after it, and a stop that was waiting, end as it does", async () => {
    const hold = gate();
    const kit = await openKit([[{ call: "work", id: "1" }], "done"], {
      tools: [work(() => hold.opened, { onStop: "finish" })],
    });
    const run = kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt();
    const ending = kit.session.terminate();
    hold.fail(new Error("late trouble"));
    await ending;
    expect(await run.result).toMatchObject({ status: "terminated" });
    expect(await stopping).toMatchObject({ accepted: true, runId: run.runId });
    expect(kit.session.state).toBe("terminated");
  });

  test("a run that completes meanwhile is terminated all the same, once", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit(["all said"], { store });
    const run = kit.session.run("hi");
    await settle();
    const ending = [kit.session.terminate(), kit.session.terminate()];
    hold.open();
    await Promise.allSettled(ending);
    await ending[0];
    expect(kit.session.state).toBe("terminated");
    expect(["completed", "terminated"]).toContain((await run.result).status);
    expect(history(kit.session.messages)).toEqual(["user: hi", "assistant: all said"]);
  });
});

describe("close(): releases the thread, and keeps the work in it", () => {
  test("in mid-text: the shown text is recorded, the lease is free, and another runner continues at the cut", async () => {
    const kit = await openKit(talking);
    const run = kit.session.run("hi");
    const heard = listen(run);
    await heard.until(isText);
    await kit.session.close();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "SESSION_CLOSED" } });
    const events = await heard.all;
    expect(unpaired(events)).toEqual([]);
    expect(said(events).slice(4).sort()).toEqual(
      ["turn-start 1", "text Talk", "message assistant~runtime: Talk", "turn-end 1"].sort(),
    );
    const other = await openKit([" and more"], { store: kit.store });
    expect([other.session.state, other.session.pauseType]).toEqual(["paused", "crash"]);
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "Talk and more" });
    expect(history(other.session.messages)).toEqual(["user: hi", "assistant: Talk and more"]);
    expect(other.problems()).toEqual([]);
  });

  test("before the first word: nothing is recorded but the lease given back, and the turn still ends for its readers", async () => {
    const kit = await openKit([[{ stall: true }]]);
    const heard = listen(kit.session.run("hi"));
    await heard.until((event) => event.type === "turn-start");
    await kit.session.close();
    expect(said(await heard.all).slice(4)).toEqual(["turn-start 1", "turn-end 1"]);
    const other = await openKit(["again"], { store: kit.store });
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "again" });
  });

  test("in mid-tools: the running call is stopped, the waiting one is held and runs elsewhere, once", async () => {
    const ran: string[] = [];
    const tools = [
      work((_args, ctx) => {
        ran.push(ctx.callId);
        return untilAborted(ctx.signal);
      }),
      tool({
        name: "alone",
        description: "",
        serial: true,
        input: anything,
        execute: (_args, ctx) => void ran.push(ctx.callId),
      }),
    ];
    const kit = await openKit(twoCalls, { tools });
    const heard = listen(kit.session.run("hi"));
    await settle();
    await kit.session.close();
    expect(unpaired(await heard.all)).toEqual([]);
    const other = await openKit(["done"], { store: kit.store, tools });
    await other.session.resume().result;
    expect(ran).toEqual(["1", "2"]);
    expect(history(other.requests[0]!.messages).at(-1)).toBe("tool: 1 interrupted + 2 ok");
    expect(other.problems()).toEqual([]);
  });

  test("a run that ends at that moment is completed, its events in order", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit(["all said"], { store });
    const run = kit.session.run("hi");
    const heard = listen(run);
    await settle();
    const closing = kit.session.close();
    hold.open();
    await closing;
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(said(await heard.all).slice(-3)).toEqual(["turn-end 1", "run-end completed", "state completed"]);
  });

  test("a call that finishes while it closes ends its run in order, too", async () => {
    const clock = fakeClock();
    const hold = gate<string>();
    const kit = await openKit([[{ call: "work", id: "1" }], "done"], {
      clock,
      tools: [work(() => hold.opened, { onStop: "finish" })],
    });
    const heard = listen(kit.session.run("hi"));
    await settle();
    const closing = kit.session.close();
    hold.open("done");
    await closing;
    expect(said(await heard.all).slice(-2)).toEqual(["tool-end 1 ok", "turn-end 1"]);
    expect(clock.pending).toBe(0);
  });

  test("closed, it takes nothing more; closing twice, and stopping it, are no-ops", async () => {
    const kit = await openKit(talking);
    kit.session.run("hi");
    await settle();
    const [stopped] = await Promise.all([kit.session.interrupt(), kit.session.close(), kit.session.close()]);
    expect(stopped.accepted).toBe(true);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.pause()).toMatchObject({ accepted: false });
    expect(() => kit.session.run("x")).toThrow(expect.objectContaining({ code: "SESSION_CLOSED" }));
    await expect(kit.session.terminate()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });

  test("S2, C2: a stop that was asked for before the close is on record: the thread reads paused by the user", async () => {
    const kit = await openKit(talking);
    const run = kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt({ reason: "mine" });
    await kit.session.close();
    expect(await stopping).toMatchObject({ accepted: true, partialText: "Talk" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    const elsewhere = await createRunner({ agent: kit.session.agent, store: kit.store }).open("thread");
    expect([elsewhere.state, elsewhere.pauseType]).toEqual(["paused", "user_interrupt"]);
    expect(elsewhere.interrupts).toMatchObject([{ reason: "mine" }]);
  });

  test("a pause that was asked for before the close is on record, too", async () => {
    const hold = gate<string>();
    const kit = await openKit(twoCalls, { tools: [work(() => hold.opened, { onStop: "finish" }), alone] });
    const run = kit.session.run("hi");
    await settle();
    const parking = kit.session.pause();
    const closing = kit.session.close();
    hold.open("done");
    await closing;
    expect(await parking).toMatchObject({ accepted: true, finished: ["1"], notStarted: ["2"] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "manual" });
    const elsewhere = await createRunner({ agent: kit.session.agent, store: kit.store }).open("thread");
    expect([elsewhere.state, elsewhere.pauseType]).toEqual(["paused", "manual"]);
  });
});
