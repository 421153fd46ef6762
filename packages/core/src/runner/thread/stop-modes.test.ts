import { gate, history, listen, openKit, said, settle, type ToolOptions, unpaired } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, jsonSchema, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;
const isText = (event: BelayEvent) => event.type === "text-delta";
const paused = ["interrupted by user", "state paused user_interrupt"];

/** A model and a tool that continue when the test says so, and a serial tool; each start is noted. */
function scene() {
  const speak = gate();
  const act = gate<string>();
  const ran: string[] = [];
  const make = (name: string, execute: Options["execute"], more: Partial<Options> = {}) =>
    tool({
      name,
      description: name,
      input: anything,
      execute(args, ctx) {
        ran.push(ctx.callId);
        return execute(args, ctx);
      },
      ...more,
    });
  const aborts: string[] = [];
  const tools = [
    make("act", (_args, ctx) => {
      ctx.signal.addEventListener("abort", () => aborts.push(ctx.callId));
      return act.opened;
    }),
    make("alone", () => "alone", { serial: true }),
  ];
  const script = [
    async () => {
      await speak.opened;
      return [{ text: "Plan." }, { call: "act", id: "1" }, { call: "alone", id: "2" }];
    },
    "done",
  ];
  return { speak, act, ran, aborts, tools, script };
}

describe("a stop for later", () => {
  test('S6: "after-model" lets the model end and holds the calls of its turn', async () => {
    const { speak, act, ran, tools, script } = scene();
    const kit = await openKit(script, { tools });
    const heard = listen(kit.session.run("hi"));
    await settle();
    const stopping = kit.session.interrupt({ mode: "after-model", reason: "look first" });
    await settle();
    expect(kit.session.state).toBe("running");
    speak.open();
    expect(await stopping).toMatchObject({ accepted: true, partialText: "", notStarted: ["1", "2"], stopped: [] });
    expect(said(await heard.all).slice(4)).toEqual([
      "turn-start 1",
      "text Plan.",
      "message assistant: Plan. + call 1 + call 2",
      "turn-end 1",
      ...paused,
    ]);
    expect(kit.session.messages[1]!.interrupted, "nothing was cut").toBeUndefined();
    expect(kit.session.interrupts).toMatchObject([{ reason: "look first" }]);
    act.open("acted");
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["1", "2"]);
    expect(kit.problems()).toEqual([]);
  });

  test('S6: "after-tools" lets all calls of the turn end, serial ones too, and stops before the next request', async () => {
    for (const when of ["in the model", "in the tools"]) {
      const { speak, act, ran, aborts, tools, script } = scene();
      const kit = await openKit(script, { tools });
      const heard = listen(kit.session.run("hi"));
      if (when === "in the tools") speak.open();
      await settle();
      const stopping = kit.session.interrupt({ mode: "after-tools" });
      speak.open();
      await settle();
      expect(kit.session.state).toBe("running");
      act.open("acted");
      expect(await stopping).toMatchObject({ accepted: true, finished: ["1", "2"], stopped: [], notStarted: [] });
      expect(said(await heard.all).slice(-4)).toEqual(["tool-end 2 ok", "turn-end 1", ...paused]);
      expect([ran, aborts, kit.requests.length]).toEqual([["1", "2"], [], 1]);
      expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "done" });
      expect(ran).toEqual(["1", "2"]);
    }
  });

  test("S6: one that meets the run's end first is not accepted; the run is completed", async () => {
    for (const mode of ["after-model", "after-tools"] as const) {
      const hold = gate();
      const kit = await openKit([
        async () => {
          await hold.opened;
          return "the end";
        },
      ]);
      const run = kit.session.run("hi");
      await settle();
      const stopping = kit.session.interrupt({ mode });
      hold.open();
      expect(await stopping).toMatchObject({ accepted: false, stopped: [], finished: [], notStarted: [] });
      expect(await run.result).toMatchObject({ status: "completed", text: "the end" });
      expect(kit.session.state).toBe("completed");
    }
  });

  test("S6: with timeoutMs it becomes a stop now, in the model and in a tool", async () => {
    for (const where of ["model", "tool"]) {
      const clock = fakeClock();
      const { speak, aborts, tools, script } = scene();
      if (where === "tool") speak.open();
      const kit = await openKit(script, { tools, clock });
      kit.session.run("hi");
      await settle();
      const stopping = kit.session.interrupt({ mode: "after-tools", timeoutMs: 100, graceMs: 0 });
      await clock.advance(99);
      expect([kit.session.state, aborts]).toEqual(["running", []]);
      await clock.advance(1);
      expect(await stopping).toMatchObject({ accepted: true, stopped: where === "tool" ? ["1"] : [] });
      expect(aborts).toEqual(where === "tool" ? ["1"] : []);
      expect(clock.pending).toBe(0);
    }
  });

  test("S6: a deadline that was not needed is taken back", async () => {
    const clock = fakeClock();
    const { speak, tools, script } = scene();
    const kit = await openKit(script, { tools, clock });
    kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt({ mode: "after-model", timeoutMs: 100 });
    speak.open();
    expect(await stopping).toMatchObject({ accepted: true });
    expect(clock.pending).toBe(0);
  });

  test("S6: the earliest deadline wins, whichever call set it", async () => {
    for (const deadlines of [
      [300, 100],
      [100, 300],
    ]) {
      const clock = fakeClock();
      const kit = await openKit(scene().script, { clock });
      kit.session.run("hi");
      await settle();
      const receipts = deadlines.map((timeoutMs) => kit.session.interrupt({ mode: "after-model", timeoutMs }));
      await clock.advance(99);
      expect(kit.session.state).toBe("running");
      await clock.advance(1);
      expect(kit.session.state).toBe("paused");
      expect(await receipts[1]).toBe(await receipts[0]);
      expect(clock.pending).toBe(0);
    }
  });

  test("S6: now dominates a stop for later, with its own words; a later stop for later takes nothing back", async () => {
    const kit = await openKit([[{ text: "Talk" }, { stall: true }]]);
    const heard = listen(kit.session.run("hi"));
    await heard.until(isText);
    const first = kit.session.interrupt({ mode: "after-tools", reason: "soon", by: "ada" });
    const second = kit.session.interrupt({ reason: "at once", by: "bob", rollbackPartial: true });
    const third = kit.session.interrupt({ mode: "after-model", reason: "never mind" });
    expect(await second).toBe(await first);
    expect(await third).toBe(await first);
    expect(await first).toMatchObject({ accepted: true, partialText: "" });
    expect(kit.session.interrupts).toMatchObject([{ by: "bob", reason: "at once" }]);
    expect(history(kit.session.messages)).toEqual(["user: hi"]);
    expect(said(await heard.all).filter((line) => line.startsWith("interrupted"))).toEqual(["interrupted by bob"]);
  });

  test("S6: options that the stop for now leaves open are taken from the one before it", async () => {
    const kit = await openKit([[{ text: "Talk" }, { stall: true }]]);
    await listen(kit.session.run("hi")).until(isText);
    void kit.session.interrupt({ mode: "after-tools", reason: "soon", message: "because", by: "ada" });
    await kit.session.interrupt();
    expect(kit.session.interrupts).toMatchObject([{ by: "ada", reason: "soon", message: "because" }]);
  });

  test("S6: force needs no mode: it is now", async () => {
    const clock = fakeClock();
    const { speak, tools, script } = scene();
    speak.open();
    const kit = await openKit(script, { tools, clock });
    kit.session.run("hi");
    await settle();
    expect(await kit.session.interrupt({ mode: "after-tools", force: true })).toMatchObject({
      late: ["1"],
      notStarted: ["2"],
    });
  });
});

describe("pause()", () => {
  test("in mid-model it aborts nothing, and parks with the calls held; resume continues as if nothing had happened", async () => {
    const { speak, act, ran, tools, script } = scene();
    const kit = await openKit(script, { tools });
    const run = kit.session.run("hi");
    const heard = listen(run);
    await settle();
    const parking = kit.session.pause();
    speak.open();
    expect(await parking).toMatchObject({ accepted: true, notStarted: ["1", "2"] });
    expect([kit.session.state, kit.session.pauseType]).toEqual(["paused", "manual"]);
    expect(await run.result).toMatchObject({
      status: "interrupted",
      interruptType: "manual",
      handle: { restartBlock: false },
    });
    expect(said(await heard.all).slice(-2)).toEqual(["interrupted by user", "state paused manual"]);
    expect(kit.session.interrupts).toMatchObject([{ kind: "manual" }]);
    act.open("acted");
    await kit.session.resume().result;
    expect(ran).toEqual(["1", "2"]);
    expect(history(kit.requests[1]!.messages)).toEqual([
      "user: hi",
      "assistant: Plan. + call 1 + call 2",
      "tool: 1 ok + 2 ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  test("in mid-tools it waits for the running call, and the serial ones behind it wait for resume", async () => {
    const { speak, act, ran, aborts, tools, script } = scene();
    speak.open();
    const kit = await openKit(script, { tools });
    const heard = listen(kit.session.run("hi"));
    await settle();
    const parking = kit.session.pause();
    await settle();
    expect([kit.session.state, aborts]).toEqual(["running", []]);
    act.open("acted");
    expect(await parking).toMatchObject({ accepted: true, finished: ["1"], notStarted: ["2"] });
    expect(ran).toEqual(["1"]);
    expect(unpaired(await heard.all)).toEqual([]);
    await kit.session.resume().result;
    expect(ran).toEqual(["1", "2"]);
  });

  test("a person's stop during it is a person's stop", async () => {
    const { speak, tools, script } = scene();
    speak.open();
    const kit = await openKit(script, { tools, agent: { graceMs: 0 } });
    kit.session.run("hi");
    await settle();
    const parking = kit.session.pause();
    const receipt = await kit.session.interrupt({ reason: "no, now" });
    expect(await parking).toBe(receipt);
    expect(receipt).toMatchObject({ stopped: ["1"], notStarted: ["2"] });
    expect(kit.session.pauseType).toBe("user_interrupt");
  });

  test("with nothing running, and at the run's end, it is a no-op", async () => {
    const hold = gate();
    const kit = await openKit([() => hold.opened.then(() => "end")]);
    expect(await kit.session.pause()).toMatchObject({ accepted: false });
    const run = kit.session.run("hi");
    await settle();
    const parking = kit.session.pause();
    hold.open();
    expect(await parking).toMatchObject({ accepted: false });
    expect(await run.result).toMatchObject({ status: "completed" });
  });
});
