import { describe, expect, test } from "vitest";
import type { Agent } from "../agent.ts";
import { agent } from "../chat/agent.ts";
import { approve, humanInput, respond } from "../index.ts";
import { createRunner } from "../runner/runner.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { listen, said } from "../testing/session-kit.ts";
import { tool } from "../tool/tool.ts";
import { agentTool } from "./agent-tool.ts";
import { defineAgent } from "./define-agent.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const noArgs = jsonSchema({ type: "object" });
const speaks = (name: string, ...turns: Parameters<typeof scriptedModel>[0][]) =>
  agent({ name, model: scriptedModel(turns.length === 1 ? (turns[0] as never) : (turns as never)) });
const echo = (name: string) =>
  agent({
    name,
    model: scriptedModel(({ messages }) => [
      {
        text: `${name}(${messages
          .at(-1)!
          .parts.map((p) => (p.type === "text" ? p.text : ""))
          .join("")})`,
      },
    ]),
  });
const start = async (root: Agent<unknown, never>, store = memoryStore()) =>
  createRunner({ agent: root as Agent<unknown, unknown>, store }).open("t");

describe("workflows", () => {
  test("W1: sequential", async () => {
    const session = await start(sequential({ name: "seq", agents: [echo("a"), echo("b")] }));
    const run = session.run("hi");
    expect(said(await listen(run).all)).toMatchInlineSnapshot(`
      [
        "state initialized",
        "run-start",
        "state running",
        "message user: hi",
        "run-start",
        "message user: hi",
        "turn-start 1",
        "text a(hi)",
        "message assistant: a(hi)",
        "run-end completed",
        "turn-end 1",
        "run-start",
        "message user: a(hi)",
        "turn-start 1",
        "text b(a(hi))",
        "message assistant: b(a(hi))",
        "run-end completed",
        "turn-end 1",
        "message assistant: b(a(hi))",
        "turn-end 1",
        "run-end completed",
        "state completed",
      ]
    `);
    expect((await run.result) as unknown).toMatchObject({ status: "completed", output: "b(a(hi))" });
    expect(session.messages.map((m) => m.role)).toEqual(["user", "assistant"]);
  });

  test("W1: parallel and loop", async () => {
    const session = await start(
      parallel({ name: "par", agents: [echo("a"), loop({ name: "l", agents: [echo("b")], maxIterations: 2 })] }),
    );
    expect((await session.run("hi").result) as unknown).toMatchObject({
      status: "completed",
      output: ["a(hi)", "b(b(hi))"],
    });
  });

  test("W4: an approval in an agent-tool in a sequential resumes in place", async () => {
    let paid = 0;
    const pay = tool({
      name: "pay",
      description: "",
      input: noArgs,
      needsApproval: true,
      execute: () => `paid ${++paid}`,
    });
    const make = () => {
      const inner = agent({
        name: "inner",
        tools: [pay],
        model: scriptedModel(({ messages }) =>
          messages.length > 1 ? [{ text: "inner done" }] : [{ call: "pay", id: "p" }],
        ),
      });
      const outer = agent({
        name: "outer",
        tools: [agentTool(inner)],
        model: scriptedModel(({ messages }) =>
          messages.length > 1 ? [{ text: "outer done" }] : [{ call: "inner", id: "i", args: { request: "go" } }],
        ),
      });
      return sequential({ name: "seq", agents: [outer, echo("last")] });
    };
    const store = memoryStore();
    const session = await start(make(), store);
    const first = await session.run("hi").result;
    expect(first.status).toBe("interrupted");
    expect(session.interrupts.map((i) => i.address)).toEqual(["seq/0:outer/t1/c0/inner/t1/c0/approval"]);
    await session.close();
    const other = await start(make(), store);
    const [request] = other.interrupts;
    await other.answer(request!.id, approve());
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(paid).toBe(1);
    expect(other.state).toBe("paused");
    const run = other.resume();
    expect(said(await listen(run).all)).toMatchInlineSnapshot(`
      [
        "state running continue",
        "turn-start 1",
        "turn-start 2",
        "text inner done",
        "message assistant: inner done",
        "run-end completed",
        "turn-end 2",
        "tool-end i ok",
        "turn-end 1",
        "turn-start 2",
        "text outer done",
        "message assistant: outer done",
        "run-end completed",
        "turn-end 2",
        "run-start",
        "message user: outer done",
        "turn-start 1",
        "text last(outer done)",
        "message assistant: last(outer done)",
        "run-end completed",
        "turn-end 1",
        "message assistant: last(outer done)",
        "turn-end 1",
        "run-end completed",
        "state completed",
      ]
    `);
    expect((await run.result) as unknown).toMatchObject({ status: "completed", output: "last(outer done)" });
    expect(paid).toBe(1);
  });

  test("custom agents", async () => {
    const did: string[] = [];
    const make = () =>
      defineAgent({
        name: "custom",
        async run(ctx, input) {
          const a = await ctx.step("a", () => did.push("a"));
          const name = await ctx.ask(humanInput("who?"));
          const b = await ctx.run(echo("b"), `${String(input)} ${name} ${a}`);
          return { b };
        },
      });
    const store = memoryStore();
    const session = await start(make() as never, store);
    expect((await session.run("hi").result).status).toBe("interrupted");
    const hot = session.resume({ answers: { [session.interrupts[0]!.id]: respond("ann") } });
    expect((await hot.result) as unknown).toMatchObject({ status: "completed", output: { b: "b(hi ann 1)" } });
    expect((await session.run("again").result).status).toBe("interrupted");
    await session.close();
    const other = await start(make() as never, store);
    const run = other.resume({ answers: { [other.interrupts[0]!.id]: respond("bob") } });
    expect((await run.result) as unknown).toMatchObject({ status: "completed", output: { b: "b(again bob 2)" } });
    expect(did).toEqual(["a", "a"]);
  });

  test("transfer, exit", async () => {
    const stop = tool({ name: "stop", description: "", input: noArgs, execute: (_a, ctx) => ctx.exit("the end") });
    const sub = agent({ name: "sub", tools: [stop], model: scriptedModel([[{ text: "I am sub" }, { call: "stop" }]]) });
    const root = agent({
      name: "root",
      subAgents: [sub],
      model: scriptedModel([[{ call: "transfer_to_agent", args: { agent_name: "sub" } }]]),
    });
    const session = await start(sequential({ name: "seq", agents: [root, echo("never")] }));
    const run = session.run("hi");
    expect(said(await listen(run).all)).toMatchInlineSnapshot(`
      [
        "state initialized",
        "run-start",
        "state running",
        "message user: hi",
        "run-start",
        "message user: hi",
        "turn-start 1",
        "message assistant: call call_1",
        "tool-start call_1",
        "tool-end call_1 ok",
        "action {"transferToAgent":{"name":"sub"}}",
        "turn-end 1",
        "turn-start 2",
        "text I am sub",
        "message assistant: I am sub + call call_mwios4zt4v80mdxaey",
        "tool-start call_mwios4zt4v80mdxaey",
        "tool-end call_mwios4zt4v80mdxaey ok",
        "action {"exit":{"output":"the end"}}",
        "turn-end 2",
        "run-end completed",
        "message assistant: the end",
        "turn-end 1",
        "run-end completed",
        "state completed",
      ]
    `);
    expect((await run.result) as unknown).toMatchObject({ status: "completed", output: "the end" });
  });
});
void speaks;
