import { factsOf, gate, heldStore, history, listen, openKit, said, settle, type ToolOptions } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, type BelayEvent, createRunner, jsonSchema, memoryStore, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;
const deaf = (more: Partial<Options> = {}) => {
  const hold = gate<string>();
  const made = tool({ name: "deaf", description: "", input: anything, execute: () => hold.opened, ...more });
  return { hold, tools: [made] };
};
const oneCall = [[{ call: "deaf", id: "d" }], "done"] as const;
const talking = [[{ text: "Talk" }, { stall: true }], "again"] as const;
const isText = (event: BelayEvent) => event.type === "text-delta";
const nothing = { partialText: "", stopped: [], finished: [], notStarted: [], late: [] };

describe("guards of a stop, and its receipt", () => {
  test("S2, D5: ten ESCs are one interrupt: one event, one record, one receipt for all", async () => {
    const kit = await openKit(talking);
    const heard = listen(kit.session.run("hi"));
    await heard.until(isText);
    const receipts = await Promise.all(Array.from({ length: 10 }, () => kit.session.interrupt()));
    for (const receipt of receipts) expect(receipt).toBe(receipts[0]);
    expect(receipts[0]!.accepted).toBe(true);
    expect(said(await heard.all).filter((line) => line === "interrupted by user")).toEqual(["interrupted by user"]);
    const { lines } = (await kit.store.load({ tenant: "default", threadId: "thread" }))!;
    expect(lines.length, "two appends: the beginning, and the stop").toBe(2);
  });

  test("S2: one that comes while the stop is being written is the same stop", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { after: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit(talking, { store });
    await listen(kit.session.run("hi")).until(isText);
    const first = kit.session.interrupt({ reason: "first" });
    await settle();
    const second = kit.session.interrupt({ reason: "second" });
    hold.open();
    expect(await second).toBe(await first);
    expect(kit.session.interrupts).toMatchObject([{ reason: "first" }]);
  });

  test("S2, Q3: one that meets an answered call and a resume() that waits for it has a receipt with the call", async () => {
    const gated = (name: string) =>
      tool({
        name,
        description: "",
        input: anything,
        needsApproval: true,
        execute: (_, ctx) =>
          new Promise<never>((_resolve, refuse) => {
            ctx.signal.addEventListener("abort", () => refuse(ctx.signal.reason));
          }),
      });
    const turn = [
      { call: "one", id: "1" },
      { call: "two", id: "2" },
    ] as const;
    const kit = await openKit([turn, "done"], { tools: [gated("one"), gated("two")] });
    await kit.session.run("hi").result;
    const [first, second] = kit.session.interrupts;
    await kit.session.answer(first!.id, approve());
    await settle();
    const resumed = kit.session.resume({ answers: { [second!.id]: approve() } });
    // It withdraws the request that the resume() answers: the resume has no effect, and the stop has.
    const place = { runId: resumed.runId, segment: 1 };
    expect(await kit.session.interrupt()).toMatchObject({
      accepted: true,
      ...place,
      stopped: ["1"],
      notStarted: ["2"],
    });
    expect(await resumed.result).toMatchObject({ status: "failed", error: { code: "ANSWER_WITHDRAWN" } });
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
  });

  test("A1, Y2, Y11, S2: it is a no-op before the first run, after the end, and while paused", async () => {
    const kit = await openKit([...talking]);
    expect(await kit.session.interrupt()).toEqual({
      accepted: false,
      runId: undefined,
      segment: undefined,
      ...nothing,
    });
    const run = kit.session.run("hi");
    await settle();
    await kit.session.interrupt();
    const head = (await kit.runner.threads()).items[0]!.head;
    const place = { runId: run.runId, segment: 1 };
    expect(await kit.session.interrupt()).toEqual({ accepted: false, ...place, ...nothing });
    const again = kit.session.resume();
    await again.result;
    expect(await kit.session.interrupt()).toEqual({ accepted: false, ...place, segment: 2, ...nothing });
    expect(kit.session.state).toBe("completed");
    expect((await kit.runner.threads()).items[0]!.head).toBeGreaterThan(head);
    expect(await kit.runner.interrupt("thread")).toMatchObject({ accepted: false });
  });

  test("S2: with the run id or segment of an earlier segment, a late ESC hits nothing", async () => {
    const kit = await openKit([talking[0], talking[0], talking[0]]);
    const first = kit.session.run("hi");
    await settle();
    await kit.session.interrupt();
    const second = kit.session.resume();
    await settle();
    expect(await kit.session.interrupt({ segment: 1 })).toMatchObject({ accepted: false });
    expect(await kit.session.interrupt({ runId: "another" })).toMatchObject({ accepted: false });
    expect(await kit.session.interrupt({ runId: first.runId, segment: 1 })).toMatchObject({ accepted: false });
    expect(kit.session.state).toBe("running");
    expect(await kit.session.interrupt({ runId: first.runId, segment: 2 })).toMatchObject({
      accepted: true,
      segment: 2,
    });
    expect(await second.result).toMatchObject({ status: "interrupted", segment: 2 });
  });

  test("V2: one with an id that is for an earlier segment is on record: sent again, it hits no later one", async () => {
    const kit = await openKit([talking[0], talking[0]]);
    kit.session.run("hi");
    await settle();
    await kit.session.interrupt();
    kit.session.resume();
    await settle();
    expect(await kit.session.interrupt({ id: "late", segment: 1 })).toMatchObject({ accepted: false });
    expect(await kit.session.interrupt({ id: "late" })).toMatchObject({ accepted: false });
    expect(kit.session.state).toBe("running");
    await kit.session.interrupt();
    const facts = await factsOf(kit.store);
    expect(facts.filter(({ type }) => type === "command")).toMatchObject([
      { key: "stop:late", refused: { code: "STALE" } },
    ]);
  });

  test("S2: one that meets the run's last append is too late: completed, and not accepted", async () => {
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit(["all said"], { store });
    const run = kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt();
    hold.open();
    expect(await stopping).toMatchObject({ accepted: false, ...nothing });
    expect(await run.result).toMatchObject({ status: "completed", text: "all said" });
    expect(kit.session.state).toBe("completed");
  });

  test("S10, D46: reason, message and by are in the record, the event and the result, and the message not in history", async () => {
    const clock = fakeClock();
    const kit = await openKit(talking, { clock });
    const run = kit.session.run("hi");
    const heard = listen(run);
    await heard.until(isText);
    await kit.session.interrupt({ reason: "direction_change", message: "look elsewhere", by: "ada" });
    const interrupt = {
      id: expect.any(String),
      kind: "user",
      address: "helper/t1",
      raisedAt: clock.now(),
      by: "ada",
      reason: "direction_change",
      message: "look elsewhere",
    };
    const events = await heard.all;
    expect(events.find((event) => event.type === "action")).toMatchObject({ action: { interrupted: interrupt } });
    expect(await run.result).toMatchObject({
      status: "interrupted",
      interrupt,
      interrupts: [interrupt],
      partialText: "Talk",
    });
    expect(kit.session.interrupts).toEqual([interrupt]);
    expect(kit.session.messages[1]!.interrupted).toEqual({ by: "ada", at: clock.now(), reason: "direction_change" });
    const elsewhere = await createRunner({ agent: kit.session.agent, store: kit.store, clock }).open("thread");
    expect(elsewhere.interrupts).toEqual([interrupt]);
    await kit.session.resume({ input: "go on" }).result;
    expect(JSON.stringify(kit.requests)).not.toContain("look elsewhere");
    expect(JSON.stringify(kit.session.messages)).not.toContain("look elsewhere");
    expect(kit.problems()).toEqual([]);
  });

  test("D17, D18: the result of a stopped run has status, type, and a handle", async () => {
    const kit = await openKit(talking);
    const run = kit.session.run("hi");
    await settle();
    await kit.session.interrupt();
    expect(await run.result).toEqual({
      status: "interrupted",
      runId: run.runId,
      segment: 1,
      usage: { inputTokens: 0, outputTokens: 0 },
      interruptType: "user_interrupt",
      handle: {
        threadId: "thread",
        runId: run.runId,
        segment: 1,
        token: expect.stringMatching(/^[0-9a-f]{64}$/),
        interruptType: "user_interrupt",
        restartBlock: true,
      },
      interrupts: [expect.objectContaining({ kind: "user" })],
      interrupt: expect.objectContaining({ kind: "user" }),
      partialText: "Talk",
    });
  });

  test("D45, S3: rollbackPartial drops the cut answer; readers of the next one learn that it is void", async () => {
    for (const { input, anew } of [{}, { input: "shorter" }, { anew: true }] as { input?: string; anew?: true }[]) {
      const kit = await openKit(talking);
      const heard = listen(kit.session.run("hi"));
      await heard.until(isText);
      expect(await kit.session.interrupt({ rollbackPartial: true })).toMatchObject({ accepted: true, partialText: "" });
      expect(history(kit.session.messages)).toEqual(["user: hi"]);
      if (anew) await kit.session.handle();
      const again = listen(kit.session.resume(input === undefined ? {} : { input }));
      const events = await again.all;
      const asked = input === undefined ? [] : ["message user: shorter"];
      expect(said(events)).toEqual([
        `state running ${input === undefined ? "continue" : "rethink"}`,
        ...asked,
        "turn-start 1",
        "superseded, attempt 2",
        "text again",
        "message assistant: again",
        "turn-end 1",
        "run-end completed",
        "state completed",
      ]);
      expect(history(kit.requests[1]!.messages)).toEqual(["user: hi", ...(input ? ["user: shorter"] : [])]);
    }
  });
});

describe("grace", () => {
  test("S4: the stop's graceMs comes before the tool's, the tool's before the agent's, and 500 without any", async () => {
    const cases = [
      { expected: 500 },
      { agent: 70, expected: 70 },
      { agent: 70, tool: 40, expected: 40 },
      { agent: 70, tool: 40, stop: 900, expected: 900 },
      { agent: 70, tool: 40, stop: 0, expected: 0 },
    ];
    for (const { agent, tool: own, stop, expected } of cases) {
      const clock = fakeClock();
      const { tools } = deaf(own === undefined ? {} : { graceMs: own });
      const kit = await openKit(oneCall, { clock, tools, agent: agent === undefined ? {} : { graceMs: agent } });
      kit.session.run("hi");
      await settle();
      let told = false;
      const stopping = kit.session.interrupt(stop === undefined ? {} : { graceMs: stop }).then(() => (told = true));
      if (expected > 0) await clock.advance(expected - 1);
      expect(told).toBe(false);
      await clock.advance(1);
      expect(told).toBe(true);
      await stopping;
    }
  });

  test("S4: no limit is no limit: with graceMs Infinity a stop waits as long as the tool does", async () => {
    const { hold, tools } = deaf();
    const kit = await openKit(oneCall, { tools });
    kit.session.run("hi");
    await settle();
    let told = false;
    const stopping = kit.session.interrupt({ graceMs: Number.POSITIVE_INFINITY });
    void stopping.then(() => (told = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(told).toBe(false);
    hold.open("ended");
    expect(await stopping).toMatchObject({ finished: ["d"], late: [] });
  });

  test("S4: force ends all grace at once, also that of a tool that would be waited for", async () => {
    for (const onStop of ["abort", "finish"] as const) {
      const clock = fakeClock();
      const { tools } = deaf({ onStop });
      const kit = await openKit(oneCall, { clock, tools });
      const heard = listen(kit.session.run("hi"));
      await settle();
      expect(await kit.session.interrupt({ force: true })).toMatchObject({ stopped: ["d"], late: ["d"] });
      expect(said(await heard.all).at(-4)).toBe("tool-end d interrupted");
      expect(clock.pending).toBe(0);
    }
  });

  test("S4: a second, forced interrupt ends the grace of the first, and both get the same receipt", async () => {
    for (const onStop of ["abort", "finish"] as const) {
      const clock = fakeClock();
      const { tools } = deaf({ onStop });
      const kit = await openKit(oneCall, { clock, tools });
      const heard = listen(kit.session.run("hi"));
      await settle();
      const first = kit.session.interrupt({ reason: "please" });
      await clock.advance(10);
      expect(kit.session.state).toBe("running");
      const second = kit.session.interrupt({ force: true, reason: "now!" });
      expect(await second).toBe(await first);
      expect(await first).toMatchObject({ accepted: true, late: ["d"] });
      expect(said(await heard.all).filter((line) => line.startsWith("interrupted"))).toEqual(["interrupted by user"]);
      expect(kit.session.interrupts).toMatchObject([{ reason: "please" }]);
    }
  });

  test("options that make no sense are refused, and nothing is stopped", async () => {
    const kit = await openKit(talking);
    kit.session.run("hi");
    await settle();
    for (const options of [{ mode: "soon" }, { graceMs: -1 }, { timeoutMs: Number.NaN }]) {
      await expect(kit.session.interrupt(options as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
    expect(kit.session.state).toBe("running");
    await kit.session.interrupt();
  });
});
