import { eachStore, factsOf } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  agent,
  approve,
  createRunner,
  defineAgent,
  END,
  graph,
  jsonSchema,
  memoryStore,
  parallel,
  START,
  sequential,
  type ToolContext,
  tool,
} from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

const nothing = jsonSchema<object>({ type: "object" });

function toolOf(name: string, execute: (ctx: ToolContext) => unknown, needsApproval = false) {
  return tool({ name, description: name, input: nothing, needsApproval, execute: (_args, ctx) => execute(ctx) });
}

describe.each(eachStore)("values that the agents of a thread share, on $name", ({ make }) => {
  test("O7: output_key through a sequence: the next agents read it, also a node and a tool, and look() shows it", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const writer = agent({ name: "writer", model: scriptedModel(["a draft"]), outputKey: "draft" });
    const look = toolOf("look", (ctx) => {
      seen.push(ctx.values);
      ctx.setValue("marks", { count: 2 });
      return "looked";
    });
    const critic = agent({
      name: "critic",
      model: scriptedModel([[{ call: "look", args: {} }], "two marks"]),
      tools: [look],
      outputKey: "review",
    });
    const publish = graph("publish")
      .node("print", (_input, ctx) => {
        seen.push(ctx.values);
        ctx.setValue("printed", true);
        return `${String(ctx.values.draft)}, ${String(ctx.values.review)}`;
      })
      .edge(START, "print")
      .edge("print", END)
      .compile();
    const root = sequential({ name: "paper", agents: [writer, critic, publish] });
    const runner = createRunner({ agent: root as Agent<unknown, unknown>, store });
    const session = await runner.open("t");
    expect(await session.run("write").result).toMatchObject({ status: "completed", output: "a draft, two marks" });
    expect(seen).toEqual([{ draft: "a draft" }, { draft: "a draft", marks: { count: 2 }, review: "two marks" }]);
    const values = { draft: "a draft", marks: { count: 2 }, review: "two marks", printed: true };
    expect((await runner.look("t"))?.values).toEqual(values);
    // The text of the draft stands once in the journal: the value is the output of its agent.
    const facts = JSON.stringify((await factsOf(store, "t")).filter(({ runPath }) => runPath.includes("writer")));
    expect(facts.split("a draft")).toHaveLength(2);

    const other = createRunner({ agent: root as Agent<unknown, unknown>, store });
    expect((await other.look("t"))?.values).toEqual(values);
    await other.close();
    await runner.close();
  });

  test("O7: a fork shares them up to its point, and then has its own", async () => {
    const store = await make();
    const set = toolOf("set", (ctx) => {
      ctx.setValue("n", Number(ctx.values.n ?? 0) + 1);
      return "set";
    });
    const turns = () => scriptedModel(({ messages }) => (messages.at(-1)?.role === "tool" ? "ok" : [{ call: "set" }]));
    const runner = createRunner({ agent: agent({ name: "a", model: turns(), tools: [set] }), store });
    const session = await runner.open("t");
    await session.run("one").result;
    const at = (await factsOf(store, "t")).length;
    await session.run("two").result;
    expect((await runner.look("t"))?.values).toEqual({ n: 2 });
    const { session: fork } = await runner.fork("t", { at, as: "f" });
    expect((await runner.look("f"))?.values).toEqual({ n: 1 });
    await fork.run("three").result;
    await fork.run("four").result;
    expect((await runner.look("f"))?.values).toEqual({ n: 3 });
    expect((await runner.look("t"))?.values).toEqual({ n: 2 });
    await runner.close();
  });

  test("O7: a call that is approved in another process reads values that were set long before", async () => {
    const store = await make();
    const seen: unknown[] = [];
    const set = toolOf("set", (ctx) => ctx.setValue("key", "k1"));
    const use = toolOf("use", (ctx) => void seen.push(ctx.values), true);
    const script = () =>
      scriptedModel(({ messages }) => {
        const last = messages.findLast(({ role }) => role === "user")?.parts[0];
        const wants = last?.type === "text" ? last.text : "";
        return messages.at(-1)?.role === "tool" ? "ok" : [{ call: wants }];
      });
    const root = () => agent({ name: "a", model: script(), tools: [set, use] });
    const first = createRunner({ agent: root(), store });
    const session = await first.open("t");
    await session.run("set").result;
    await session.run("use").result;
    const [item] = (await first.inbox()).items;
    await first.close();
    const second = createRunner({ agent: root(), store });
    await second.answer(item!.id, approve());
    await expect.poll(() => seen).toEqual([{ key: "k1" }]);
    await second.close();
  });

  test("O7: a call that fails, or is cut, sets nothing; agents that run at once see each other's when they have ended", async () => {
    const store = await make();
    const bad = toolOf("bad", (ctx) => {
      ctx.setValue("bad", 1);
      throw new Error("no");
    });
    const chat = agent({ name: "chat", model: scriptedModel([[{ call: "bad", args: {} }], "ok"]), tools: [bad] });
    const one = defineAgent({ name: "one", run: (ctx) => ctx.setValue("one", 1) });
    const two = defineAgent({
      name: "two",
      run: async (ctx) => {
        ctx.setValue("two", 2);
        return ctx.values;
      },
    });
    const root = sequential({ name: "all", agents: [chat, parallel({ name: "both", agents: [one, two] })] });
    const runner = createRunner({ agent: root as Agent<unknown, unknown>, store });
    const session = await runner.open("t");
    await session.run("go").result;
    expect((await runner.look("t"))?.values).toEqual({ one: 1, two: 2 });
    await runner.close();
  });
});

describe("values given wrongly", () => {
  test.each([
    ["no JSON", (ctx: ToolContext) => ctx.setValue("at", new Date(0)), "NOT_SERIALIZABLE"],
    ["an empty key", (ctx: ToolContext) => ctx.setValue("", 1), "OPTION_INVALID"],
    ["__proto__", (ctx: ToolContext) => ctx.setValue("__proto__", 1), "NOT_SERIALIZABLE"],
    ["too large", (ctx: ToolContext) => ctx.setValue("big", "x".repeat(5000)), "TOO_LARGE"],
    [
      "too large together",
      (ctx: ToolContext) => {
        ctx.setValue("a", "x".repeat(3000));
        ctx.setValue("b", "x".repeat(3000));
      },
      "TOO_LARGE",
    ],
  ])("O7: %s is refused when it is given", async (_name, set, code) => {
    let met: unknown;
    const wrong = toolOf("wrong", (ctx) => {
      try {
        set(ctx);
      } catch (error) {
        met = error;
      }
      return "went on";
    });
    const model = scriptedModel([[{ call: "wrong", args: {} }], "ok"]);
    const runner = createRunner({ agent: agent({ name: "a", model, tools: [wrong] }), maxBytes: 4096 });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ status: "completed" });
    expect(met).toMatchObject({ code });
    await runner.close();
  });

  test("O7: values are read-only, and an outputKey that is no name is refused", async () => {
    expect(() => agent({ name: "a", model: scriptedModel(["x"]), outputKey: "" })).toThrow(/outputKey/);
    const root = defineAgent({
      name: "code",
      run: (ctx) => {
        ctx.setValue("list", [1]);
        (ctx.values.list as number[]).push(2);
      },
    });
    const runner = createRunner({ agent: root, store: memoryStore() });
    const session = await runner.open("t");
    expect(await session.run("go").result).toMatchObject({ status: "failed", error: { code: "AGENT_FAILED" } });
    await runner.close();
  });
});
