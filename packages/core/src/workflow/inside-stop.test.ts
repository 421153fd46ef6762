import { eachStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, createRunner, defineAgent, jsonSchema, type ToolContext, tool, UserInterrupt } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

const nothing = jsonSchema<object>({ type: "object" });

function toolOf(name: string, execute: (ctx: ToolContext) => unknown) {
  return tool({ name, description: name, input: nothing, execute: (_args, ctx) => execute(ctx) });
}

describe.each(eachStore)("a run that its own code stops, on $name", ({ make }) => {
  const ways: readonly (readonly [string, (ctx: ToolContext) => unknown])[] = [
    ["ctx.interrupt()", (ctx) => ctx.interrupt({ reason: "direction_change", message: "the price has changed" })],
    [
      "a thrown UserInterrupt",
      () => {
        throw new UserInterrupt(undefined, "direction_change");
      },
    ],
    [
      "a UserInterrupt thrown in a step",
      (ctx) => ctx.step("buy", () => Promise.reject(new UserInterrupt(1, "direction_change"))),
    ],
  ];

  test.each(ways)("O9: %s in a tool stops it as a person's stop does, by the tool", async (name, stop) => {
    const store = await make();
    let slowEnded = "";
    const buy = toolOf("buy", stop);
    const slow = toolOf("slow", (ctx) => {
      return new Promise((resolve) => {
        const end = () => {
          slowEnded = String((ctx.signal.reason as Error).name);
          resolve("cut");
        };
        if (ctx.signal.aborted) end();
        else ctx.signal.addEventListener("abort", end);
      });
    });
    const model = scriptedModel([
      [{ text: "Buying." }, { call: "slow", args: {}, id: "s" }, { call: "buy", args: {}, id: "b" }],
      "then not",
    ]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [buy, slow] }), store });
    const session = await runner.open("t");
    const result = await session.run("go").result;
    expect(result).toMatchObject({
      status: "interrupted",
      interruptType: "user_interrupt",
      interrupts: [{ kind: "user", by: "tool:buy", reason: "direction_change" }],
    });
    if (name === "ctx.interrupt()" && result.status === "interrupted") {
      expect(result.interrupts[0]).toMatchObject({ message: "the price has changed" });
    }
    expect(slowEnded).toBe("UserInterrupt");
    expect(session.messages.at(-1)?.parts).toMatchObject([
      { id: "s", outcome: "ok", output: "cut" },
      { id: "b", outcome: "interrupted" },
    ]);
    expect(await session.resume({ input: "stop buying" }).result).toMatchObject({ status: "completed" });
    expect(model.requests).toHaveLength(2);
    await runner.close();
  });

  test("O9: a custom agent that stops the run continues behind that place, also in another process", async () => {
    const store = await make();
    const did: string[] = [];
    const root = () =>
      defineAgent({
        name: "planner",
        run: async (ctx) => {
          await ctx.step("plan", () => void did.push("plan"));
          ctx.interrupt({ reason: "pause_to_think" });
          await ctx.step("act", () => void did.push("act"));
          return "done";
        },
      });
    const first = createRunner({ agent: root(), store });
    const result = await (await first.open("t")).run("go").result;
    expect(result).toMatchObject({
      interruptType: "user_interrupt",
      interrupts: [{ kind: "user", by: "agent:planner", reason: "pause_to_think" }],
    });
    expect(did).toEqual(["plan"]);
    await first.close();
    const second = createRunner({ agent: root(), store });
    const session = await second.open("t");
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "done" });
    expect(did).toEqual(["plan", "act"]);
    await second.close();
  });

  test("O9, O11: the code of other calls reads the stop's reason and the text that was shown", async () => {
    const store = await make();
    let met: unknown;
    const stops = toolOf("stops", (ctx) => ctx.interrupt());
    const checks = toolOf("checks", async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      try {
        ctx.checkInterrupt();
      } catch (error) {
        met = error;
        throw error;
      }
    });
    const model = scriptedModel([[{ text: "I begin." }, { call: "checks", args: {} }, { call: "stops", args: {} }]]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [stops, checks] }), store });
    const session = await runner.open("t");
    await session.run("go").result;
    expect(met).toMatchObject({ code: "USER_INTERRUPT", reason: "general", partialText: "I begin." });
    await runner.close();
  });
});

test("O9: a stop that a custom agent was refused leaves nothing on record, and the agent continues", async () => {
  const root = defineAgent({
    name: "loud",
    run: (ctx) => {
      try {
        ctx.interrupt({ message: "x".repeat(5000) });
      } catch (error) {
        return (error as { code: string }).code;
      }
      return "stopped";
    },
  });
  const runner = createRunner({ agent: root, maxBytes: 4096 });
  const session = await runner.open("t");
  expect(await session.run("go").result).toMatchObject({ status: "completed", output: "TOO_LARGE" });
  await runner.close();
});

test("O9: a thrown UserInterrupt with a reason that is too large stops the run with a part of it", async () => {
  const throws = toolOf("throws", () => Promise.reject(new UserInterrupt(1, "x".repeat(5000))));
  const model = scriptedModel([[{ call: "throws", args: {} }], "ok"]);
  const runner = createRunner({ agent: agent({ name: "a", model, tools: [throws] }), maxBytes: 4096 });
  const result = await (await runner.open("t")).run("go").result;
  expect(result).toMatchObject({ interrupts: [{ kind: "user", by: "tool:throws", reason: "x".repeat(500) }] });
  await runner.close();
});

test("O9: options that do not exist, are no text or too large are refused, and nothing is stopped", async () => {
  let met: unknown;
  const wrong = (options: object) =>
    toolOf("wrong", (ctx) => {
      try {
        ctx.interrupt(options);
      } catch (error) {
        met = error;
      }
      return "went on";
    });
  for (const [options, code] of [
    [{ why: "x" }, "OPTION_UNKNOWN"],
    [{ reason: 5 }, "OPTION_INVALID"],
    [{ message: "x".repeat(5000) }, "TOO_LARGE"],
  ] as const) {
    const model = scriptedModel([[{ call: "wrong", args: {} }], "ok"]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [wrong(options)] }), maxBytes: 4096 });
    expect(await (await runner.open("t")).run("go").result).toMatchObject({ status: "completed" });
    expect(met).toMatchObject({ code });
    await runner.close();
  }
});
