import { gate, heldStore, history, listen, openKit, said, settle, type ToolOptions, unpaired } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type BelayEvent, jsonSchema, memoryStore, tool } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;
const make = (name: string, execute: Options["execute"], more: Partial<Options> = {}) =>
  tool({ name, description: name, input: anything, execute, ...more });

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const ended = (callId: string) => (event: BelayEvent) => event.type === "tool-end" && event.callId === callId;
const isPrefixOf = (part: readonly string[], whole: readonly string[]) => part.every((item, i) => whole[i] === item);

/** Tools that note each start: quick ends at once, sleepy when it is stopped, alone is serial. */
function noting() {
  const ran: string[] = [];
  const note = (execute: Options["execute"]): Options["execute"] => {
    return (args, ctx) => {
      ran.push(ctx.callId);
      return execute(args, ctx);
    };
  };
  const tools = [
    make(
      "quick",
      note(() => "quick"),
    ),
    make(
      "sleepy",
      note((_args, ctx) => untilAborted(ctx.signal)),
    ),
    make(
      "alone",
      note(() => "alone"),
      { serial: true },
    ),
  ];
  return { ran, tools };
}

const batch = [
  [
    { call: "quick", id: "q" },
    { call: "sleepy", id: "s" },
    { call: "alone", id: "a" },
    { call: "quick", id: "z" },
  ],
  "done",
] as const;

describe("a stop among the calls of a turn", () => {
  test("S4, A6, Y14: one finished, one running, two waiting: kept, stopped, held; the held ones run once on continue", async () => {
    const { ran, tools } = noting();
    const kit = await openKit(batch, { tools });
    const heard = listen(kit.session.run("hi"));
    await heard.until(ended("q"));
    const receipt = await kit.session.interrupt();
    expect(receipt).toMatchObject({ stopped: ["s"], finished: ["q"], notStarted: ["a", "z"], late: [] });
    const events = await heard.all;
    expect(said(events).slice(4)).toEqual([
      "turn-start 1",
      "message assistant: call q + call s + call a + call z",
      "tool-start q",
      "tool-start s",
      "tool-end q ok",
      "tool-end s interrupted",
      "turn-end 1",
      "interrupted by user",
      "state paused user_interrupt",
    ]);
    expect(unpaired(events)).toEqual([]);
    expect(history(kit.session.messages).at(-1)).toBe("tool: q ok + s interrupted");
    const again = listen(kit.session.resume());
    expect(said(await again.all)).toEqual([
      "state running continue",
      "turn-start 1",
      "tool-start a",
      "tool-end a ok",
      "tool-start z",
      "tool-end z ok",
      "turn-end 1",
      "turn-start 2",
      "text done",
      "message assistant: done",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(ran).toEqual(["q", "s", "a", "z"]);
    expect(history(kit.requests[1]!.messages).at(-1)).toBe("tool: q ok + s interrupted + a ok + z ok");
    expect(kit.problems()).toEqual([]);
  });

  test("D21, A4: after new input the held calls read not executed, the others keep their outcomes; none runs", async () => {
    const { ran, tools } = noting();
    const kit = await openKit(batch, { tools });
    await listen(kit.session.run("hi")).until(ended("q"));
    await kit.session.interrupt();
    await kit.session.resume({ input: "leave it" }).result;
    expect(ran).toEqual(["q", "s"]);
    expect(history(kit.requests[1]!.messages)).toEqual([
      "user: hi",
      "assistant: call q + call s + call a + call z",
      "tool: q ok + s interrupted + a not-executed + z not-executed",
      "user: leave it",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  test("S4: a stop in the append that records the starts holds every call; each runs exactly once on continue", async () => {
    for (const side of ["before", "after"] as const) {
      const { ran, tools } = noting();
      const hold = gate();
      const reached = gate();
      const atStarts = (n: number) => {
        if (n !== 2) return undefined;
        reached.open();
        return hold.opened;
      };
      const store = heldStore(memoryStore(), { [side]: atStarts });
      const script = [
        [
          { call: "quick", id: "1" },
          { call: "quick", id: "2" },
          { call: "alone", id: "3" },
        ],
        "done",
      ] as const;
      const kit = await openKit(script, { tools, store });
      const heard = listen(kit.session.run("hi"));
      await reached.opened;
      const stopping = kit.session.interrupt();
      await settle();
      hold.open();
      expect(await stopping).toMatchObject({ stopped: [], finished: [], notStarted: ["1", "2", "3"], late: [] });
      expect(ran).toEqual([]);
      const events = await heard.all;
      expect(said(events).slice(6)).toEqual([
        "tool-start 1",
        "tool-start 2",
        "tool-end 1 held",
        "tool-end 2 held",
        "turn-end 1",
        "interrupted by user",
        "state paused user_interrupt",
      ]);
      expect(unpaired(events)).toEqual([]);
      expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
      expect(ran).toEqual(["1", "2", "3"]);
      expect(history(kit.requests[1]!.messages).at(-1)).toBe("tool: 1 ok + 2 ok + 3 ok");
      expect(kit.problems()).toEqual([]);
    }
  });

  test("S4: held calls with a recorded start read not executed after new input, and never run", async () => {
    const { ran, tools } = noting();
    const hold = gate();
    const store = heldStore(memoryStore(), { after: (n) => (n === 2 ? hold.opened : undefined) });
    const kit = await openKit([[{ call: "quick", id: "1" }], "done"], { tools, store });
    kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt();
    hold.open();
    await stopping;
    await kit.session.resume({ input: "no" }).result;
    expect(ran).toEqual([]);
    expect(history(kit.requests[1]!.messages)).toContain("tool: 1 not-executed");
    expect(kit.problems()).toEqual([]);
  });

  test("K5: a result with its append in flight when the stop comes is kept, and the next serial call is held", async () => {
    const { ran, tools } = noting();
    const hold = gate();
    const store = heldStore(memoryStore(), { before: (n) => (n === 3 ? hold.opened : undefined) });
    const kit = await openKit(
      [
        [
          { call: "quick", id: "1" },
          { call: "alone", id: "2" },
        ],
        "done",
      ],
      { tools, store },
    );
    const heard = listen(kit.session.run("hi"));
    await settle();
    expect(store.appends.length, "the result, and the start of the next, are being written").toBe(3);
    const stopping = kit.session.interrupt();
    hold.open();
    expect(await stopping).toMatchObject({ finished: ["1"], notStarted: ["2"] });
    expect(said(await heard.all).slice(6, 10)).toEqual([
      "tool-start 1",
      "tool-end 1 ok",
      "tool-start 2",
      "tool-end 2 held",
    ]);
    expect(ran).toEqual(["1"]);
    await kit.session.resume().result;
    expect(ran).toEqual(["1", "2"]);
  });

  test("S4: a stop between two turns makes no further request and keeps the results", async () => {
    const { tools } = noting();
    const hold = gate();
    const store = heldStore(memoryStore(), { after: (n) => (n === 3 ? hold.opened : undefined) });
    const kit = await openKit([[{ call: "quick", id: "1" }], "done"], { tools, store });
    const heard = listen(kit.session.run("hi"));
    await settle();
    const stopping = kit.session.interrupt();
    hold.open();
    expect(await stopping).toMatchObject({ accepted: true, finished: ["1"], notStarted: [] });
    expect(kit.requests.length).toBe(1);
    expect(unpaired(await heard.all)).toEqual([]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(history(kit.requests[1]!.messages)).toEqual(["user: hi", "assistant: call 1", "tool: 1 ok"]);
  });

  test("X3, KERNEL: a stop waits for every member: a quick end beside a deaf call does not acknowledge it", async () => {
    const clock = fakeClock();
    const hold = gate<string>();
    const tools = [make("deaf", () => hold.opened), make("sleepy", (_args, ctx) => untilAborted(ctx.signal))];
    const kit = await openKit(
      [
        [
          { call: "deaf", id: "d" },
          { call: "sleepy", id: "s" },
        ],
        "done",
      ],
      { tools, clock },
    );
    const heard = listen(kit.session.run("hi"));
    await settle();
    let told = false;
    const stopping = kit.session.interrupt();
    void stopping.then(() => (told = true));
    await clock.advance(100);
    expect(said(heard.events).at(-1)).toBe("tool-end s interrupted");
    expect(told).toBe(false);
    hold.open("just in time");
    expect(await stopping).toMatchObject({ stopped: ["s"], finished: ["d"], late: [] });
  });

  test("X2: calls with invalid arguments, or of unknown tools, get a result without running; a stop holds the rest", async () => {
    const { ran, tools } = noting();
    const typed = make("typed", () => "never", {
      input: jsonSchema<Record<string, unknown>>({
        type: "object",
        required: ["n"],
        properties: { n: { type: "number" } },
      }),
    });
    const script = [
      [
        { call: "nobody", id: "1" },
        { call: "typed", id: "2" },
        { call: "sleepy", id: "3" },
        { call: "alone", id: "4" },
      ],
      "done",
    ] as const;
    const kit = await openKit(script, { tools: [...tools, typed] });
    kit.session.run("hi");
    await settle();
    expect(await kit.session.interrupt()).toMatchObject({ finished: ["1", "2"], stopped: ["3"], notStarted: ["4"] });
    await kit.session.resume().result;
    expect(ran).toEqual(["3", "4"]);
    expect(history(kit.requests[1]!.messages).at(-1)).toBe("tool: 1 error + 2 error + 3 interrupted + 4 ok");
    expect(kit.problems()).toEqual([]);
  });

  test("S1: a stop while arguments are still being checked does not wait for the check; the call is held", async () => {
    const { ran, tools } = noting();
    const hold = gate();
    const slowSchema = {
      ...anything,
      "~standard": {
        ...anything["~standard"],
        validate: async (value: unknown) => {
          await hold.opened;
          return { value: value as Record<string, unknown> };
        },
      },
    };
    const checked = make("checked", (_args, ctx) => void ran.push(ctx.callId), { input: slowSchema });
    const kit = await openKit(
      [
        [
          { call: "checked", id: "c" },
          { call: "quick", id: "q" },
        ],
        "done",
      ],
      {
        tools: [...tools, checked],
      },
    );
    kit.session.run("hi");
    await settle();
    const stopping = kit.session.interrupt();
    const first = await Promise.race([stopping, settle(20).then(() => "hangs")]);
    expect(first).toMatchObject({ accepted: true, notStarted: ["c", "q"] });
    hold.open();
    await kit.session.resume().result;
    expect(ran).toEqual(["c", "q"]);
  });

  test("S8, D6: stopping one of two sessions leaves the other alone", async () => {
    const hold = gate<string>();
    let aborted = 0;
    const patient = make("patient", (_args, ctx) => {
      ctx.signal.addEventListener("abort", () => (aborted += 1));
      return hold.opened;
    });
    const kit = await openKit((request) => (request.messages.length === 1 ? [{ call: "patient" }] : "done"), {
      tools: [patient],
      agent: { graceMs: 0 },
    });
    const other = await kit.runner.open("other");
    const run = other.run("hi");
    const heard = listen(run);
    kit.session.run("hi");
    await settle();
    await kit.session.interrupt();
    expect([aborted, kit.session.state, other.state]).toEqual([1, "paused", "running"]);
    hold.open("good");
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(isPrefixOf(["state initialized", "run-start", "state running"], said(await heard.all))).toBe(true);
    expect(aborted).toBe(1);
  });
});
