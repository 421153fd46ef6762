import { gate, history, listen, openKit, settle, unpaired } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { content, jsonSchema, type LogEntry } from "../index.ts";
import { fakeClock } from "../testing/index.ts";
import { type Tool, type ToolOptions, tool } from "./tool.ts";

const anything = jsonSchema({ type: "object" });
const make = (name: string, execute: ToolOptions<never, unknown>["execute"], more = {}): Tool<unknown> =>
  tool({ name, description: "", input: anything, execute: execute as never, ...more });

/** Returns the results of calls that the model reads. */
function results(messages: readonly { parts: readonly { type: string }[] }[]) {
  return messages.flatMap((message) => message.parts.filter((part) => part.type === "result"));
}

describe("calls that cannot run", () => {
  it("an unknown tool, arguments that do not fit, garbage, a doubled key: the model reads each in words it can use", async () => {
    let runs = 0;
    const add = tool({
      name: "add",
      description: "",
      input: z.object({ a: z.number() }),
      execute: () => ++runs,
    });
    const kit = await openKit(
      [
        [
          { call: "nope", id: "c1" },
          { call: "add", id: "c2", args: { a: "one" } },
          { call: "add", id: "c3", args: '{"a":1' },
          { call: "add", id: "c4", args: '{"a":1,"a":2}' },
          { call: "add", id: "c5", args: "[1]" },
          { call: "add", id: "c6", args: null },
          { call: "add", id: "c7", args: { a: 1 } },
        ],
        "ok",
      ],
      { tools: [add] },
    );
    const heard = listen(kit.session.run("go"));
    const events = await heard.all;
    expect(unpaired(events)).toEqual([]);
    expect(runs).toBe(1);
    const told = results(kit.requests[1]!.messages) as unknown as { id: string; outcome: string; output: string }[];
    expect(told.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      ...["c1", "c2", "c3", "c4", "c5", "c6"].map((id) => `${id} error`),
      "c7 ok",
    ]);
    expect(told[0]!.output).toBe('There is no tool "nope". The tools are: add.');
    expect(told[1]!.output).toContain("a: ");
    expect(told[2]!.output).toContain("not valid JSON");
    expect(told[3]!.output).toMatch(/"?a"? .*twice|twice|doubled|duplicate/i);
    expect(told[4]!.output).toContain("JSON object");
    expect(kit.problems()).toEqual([]);
  });

  it("an answer with refused calls only leads to the next turn", async () => {
    const kit = await openKit([[{ call: "nope", id: "c1" }], "ok"]);
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed", text: "ok" });
    expect(history(kit.session.messages)[2]).toBe("tool: c1 error");
  });
});

describe("invalid results", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  let deep: unknown = 1;
  for (let i = 0; i < 5000; i++) deep = [deep];
  for (const [what, value, words] of [
    ["a Map", new Map(), "Ran, result not storable at (the value itself): a Map."],
    ["a BigInt", [1n], "Ran, result not storable at [0]: a bigint."],
    ["NaN", { a: { b: [Number.NaN] } }, "Ran, result not storable at a.b[0]: NaN."],
    ["a cycle", cycle, "Ran, result not storable at self: a cycle."],
    ["something too deep", deep, expect.stringMatching(/^Ran, result not storable at .*more than 500 levels\.$/)],
    ["a function", { f: () => 1 }, "Ran, result not storable at f: a function."],
  ] as const) {
    it(`F5: ${what}: it ran, the model reads that, it does not run again`, async () => {
      let runs = 0;
      const odd = make("odd", () => {
        runs += 1;
        return value;
      });
      const logged: LogEntry[] = [];
      const runner = { log: (entry: LogEntry) => void logged.push(entry) };
      const kit = await openKit([[{ call: "odd", id: "o" }], "ok"], { tools: [odd], runner });
      await kit.session.run("go").result;
      expect(runs).toBe(1);
      expect(results(kit.session.messages)).toEqual([
        { type: "result", id: "o", tool: "odd", outcome: "ok", output: words },
      ]);
      // I3: the loss is in the log.
      expect(logged).toMatchObject([{ level: "warn", error: { code: "NOT_SERIALIZABLE" }, threadId: "thread" }]);
    });
  }

  it("I3: a result goes through toJSON; yielded values do too", async () => {
    const day = new Date(0);
    const iso = "1970-01-01T00:00:00.000Z";
    const amount = { cents: 5n, toJSON: () => ({ cents: "5", on: day }) };
    const dated = make("dated", async function* () {
      yield { at: day };
      return { at: day, list: [day], amount, page: new URL("https://a.test/") };
    } as never);
    const kit = await openKit([[{ call: "dated", id: "d" }], "ok"], { tools: [dated] });
    const events = await listen(kit.session.run("go")).all;
    expect(events.flatMap((event) => (event.type === "tool-progress" ? [event.data] : []))).toEqual([{ at: iso }]);
    expect(results(kit.session.messages)).toMatchObject([
      { output: { at: iso, list: [iso], amount: { cents: "5", on: iso }, page: "https://a.test/" } },
    ]);
  });

  it("I3: content() is recorded as it is, and refuses parts that no model could read", async () => {
    const made = content(["see", { type: "file", mediaType: "image/png", data: { base64: "AAAA" } }]);
    const draw = make("draw", () => made);
    const kit = await openKit([[{ call: "draw" }], "ok"], { tools: [draw] });
    await kit.session.run("go").result;
    expect(results(kit.session.messages)).toMatchObject([{ outcome: "ok", output: made }]);
    for (const parts of ["see", [5], [{ type: "file", mediaType: "image/png", data: { blob: "b" } }]]) {
      expect(() => content(parts as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    }
  });

  it("I3: ctx.step returns the stored form the first time, in a run and when a tool is called alone", async () => {
    const seen: unknown[] = [];
    const steps = make("steps", async (_args, ctx) => {
      seen.push(await ctx.step("now", () => ({ at: new Date(0), none: undefined })));
    });
    const kit = await openKit([[{ call: "steps" }], "ok"], { tools: [steps] });
    await kit.session.run("go").result;
    await steps.execute({} as never);
    const stored = { at: "1970-01-01T00:00:00.000Z" };
    expect(seen).toEqual([stored, stored]);
  });

  it("F5: undefined is null, undefined properties are dropped, and later changes by the tool do not reach the record", async () => {
    const kept = { a: 1, b: undefined, list: [1, undefined] };
    const kit = await openKit(
      [
        [
          { call: "none", id: "n" },
          { call: "obj", id: "o" },
        ],
        "ok",
      ],
      {
        tools: [make("none", () => undefined), make("obj", () => kept)],
      },
    );
    await kit.session.run("go").result;
    kept.list.push(7);
    expect(results(kit.session.messages)).toMatchObject([{ output: null }, { output: { a: 1, list: [1, null] } }]);
  });

  const bare = Object.create(null);
  for (const [what, thrown] of [
    ["an Error", new Error("boom")],
    ["text", "boom"],
    ["undefined", undefined],
    ["null", null],
    ["an object without a prototype", bare],
    ["an Error whose message is no text", Object.assign(new Error("x"), { message: { a: 1n } })],
    ["an Error without words", new Error("")],
    [
      "an object that cannot be said",
      {
        toString: () => {
          throw new Error("no");
        },
      },
    ],
  ] as const) {
    it(`a tool that throws ${what}, now or later, is an error that the model reads`, async () => {
      const kit = await openKit(
        [
          [
            { call: "now", id: "a" },
            { call: "later", id: "b" },
          ],
          "ok",
        ],
        {
          tools: [
            make("now", () => {
              throw thrown;
            }),
            make("later", () => Promise.reject(thrown)),
          ],
        },
      );
      expect((await kit.session.run("go").result).status).toBe("completed");
      for (const result of results(kit.session.messages)) {
        expect(result).toMatchObject({ outcome: "error", output: expect.stringMatching(/./) });
      }
      expect(kit.problems()).toEqual([]);
    });
  }

  it("a result with a `then` that throws is an error, not a run that hangs", async () => {
    const trap = new Proxy(
      {},
      {
        get() {
          throw new Error("trapped");
        },
      },
    );
    const kit = await openKit([[{ call: "trap", id: "t" }], "ok"], { tools: [make("trap", () => trap)] });
    expect((await kit.session.run("go").result).status).toBe("completed");
    expect(results(kit.session.messages)).toMatchObject([{ outcome: "error", output: "trapped" }]);
  });
});

describe("tools in time", () => {
  it("timeoutMs: the signal of a tool that takes longer fires, and the model gets an error", async () => {
    const clock = fakeClock();
    let reason: unknown;
    const slow = make(
      "slow",
      (_args, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener("abort", () => {
            reason = ctx.signal.reason;
            reject(reason);
          });
        }),
      { timeoutMs: 1000 },
    );
    const kit = await openKit([[{ call: "slow", id: "s" }], "ok"], { tools: [slow], clock });
    const { result } = kit.session.run("go");
    await clock.advance(999);
    expect(reason).toBeUndefined();
    await clock.advance(1);
    expect(reason).toMatchObject({ code: "TOOL_TIMEOUT" });
    expect((await result).status).toBe("completed");
    expect(results(kit.session.messages)).toMatchObject([
      { outcome: "error", output: expect.stringContaining("1000 ms") },
    ]);
  });

  it("timeoutMs: a deaf tool is left behind after its grace", async () => {
    const clock = fakeClock();
    const deaf = make("deaf", () => new Promise(() => {}), { timeoutMs: 1000, graceMs: 100 });
    const kit = await openKit([[{ call: "deaf", id: "d" }], "ok"], { tools: [deaf], clock });
    const { result } = kit.session.run("go");
    await clock.advance(1100);
    expect(await result).toMatchObject({ status: "completed", text: "ok" });
  });

  it("Q3: calls of a turn run at the same time; a serial one runs alone, in its place; results are in the order of the calls", async () => {
    const log: string[] = [];
    const gates = new Map([
      ["a", gate()],
      ["b", gate()],
      ["c", gate()],
      ["d", gate()],
    ]);
    const work = (_args: unknown, ctx: { callId: string }) => {
      log.push(`${ctx.callId} starts`);
      return gates.get(ctx.callId)!.opened.then(() => log.push(`${ctx.callId} ends`));
    };
    const tools = [make("par", work as never), make("ser", work as never, { serial: true })];
    const turn = [
      { call: "par", id: "a" },
      { call: "par", id: "b" },
      { call: "ser", id: "c" },
      { call: "par", id: "d" },
    ];
    const kit = await openKit([turn, "ok"], { tools });
    const { result } = kit.session.run("go");
    for (const id of ["b", "a", "c", "d"]) {
      await settle();
      gates.get(id)!.open();
    }
    await result;
    expect(log).toEqual(["a starts", "b starts", "b ends", "a ends", "c starts", "c ends", "d starts", "d ends"]);
    expect(history(kit.session.messages)[2]).toBe("tool: a ok + b ok + c ok + d ok");
  });
});
