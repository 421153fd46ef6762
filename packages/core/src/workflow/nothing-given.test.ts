import { expect, test } from "vitest";
import { type Agent, agent, createRunner, END, graph, type Json, START } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { defineAgent } from "./define-agent.ts";
import { sequential } from "./sequential.ts";

const open = (root: Agent<unknown, never>) => createRunner({ agent: root as Agent<unknown, unknown> }).open();

const nothing = defineAgent({ name: "nothing", run: () => undefined });
const told = defineAgent({ name: "told", run: (_ctx, input) => ({ given: input }) });

test("F5, W1: an agent without an output gives null, and the next one gets null", async () => {
  const inRow = await open(sequential({ name: "row", agents: [nothing, told] }));
  expect(await inRow.run("hi").result).toMatchObject({ output: { given: null } });
  const inCode = await open(defineAgent({ name: "code", agents: [told], run: (ctx) => ctx.run(told, null) }));
  expect(await inCode.run("hi").result).toMatchObject({ output: { given: null } });
});

test("G3: a node that was given null has null in the checkpoint, before it begins and after", async () => {
  const g = graph("g")
    .node("a", () => undefined)
    .node("b", (input: Json) => {
      throw new Error(JSON.stringify(input));
    })
    .edge(START, "a")
    .edge("a", "b")
    .edge("b", END)
    .compile({ interruptBefore: ["b"] });
  const session = await open(g);
  await session.run("hi").result;
  expect((await session.checkpoint())!.inputs).toEqual({ b: null });
  expect(await session.resume().result).toMatchObject({ error: { details: { reason: "null" } } });
  expect((await session.checkpoint())!.inputs).toEqual({ b: null });
});

test("H1: nothing is no words: neither people nor a model read the word null", async () => {
  const session = await open(nothing);
  expect(await session.run("hi").result).toMatchObject({ status: "completed", output: null, text: "" });
  expect(session.messages.map(({ role }) => role)).toEqual(["user"]);
  const model = scriptedModel("ok");
  const row = await open(sequential({ name: "row", agents: [nothing, agent({ name: "chat", model })] }));
  await row.run("hi").result;
  expect(model.requests[0]!.messages.map(({ parts }) => parts)).toEqual([[{ type: "text", text: "(nothing)" }]]);
});
