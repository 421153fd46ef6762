import { history, toolOf } from "@belay/testkit";
import { expect, test } from "vitest";
import { agent, END, graph, START } from "../../index.ts";
import { type ScriptedTurn, scriptedModel } from "../../testing/index.ts";
import { hub } from "./hub.ts";
import { createRunner } from "./runner.ts";

/** Two sessions in a room: returns what the second observed of the first, which gets an input for each of `turns`. */
async function heard(turns: readonly ScriptedTurn[], inputs: readonly string[]): Promise<readonly string[]> {
  const leave = toolOf("leave", (ctx) => ctx.exit("that was all"));
  const first = agent({ name: "first", model: scriptedModel(turns), tools: [leave] });
  const runner = createRunner({ agents: [first, agent({ name: "second", model: scriptedModel("hm") })] });
  const speaks = await runner.open("one", { agent: "first" });
  const hears = await runner.open("two", { agent: "second" });
  const room = hub([speaks, hears]);
  for (const input of inputs) await speaks.run(input).result;
  await room.settled();
  room.close();
  return history(hears.messages);
}

test("W5: a run that ends without a word has no reply: the one before it is not handed on again", async () => {
  expect(await heard(["hello", [], "bye"], ["a", "b", "c"])).toEqual(["user: first: hello", "user: first: bye"]);
});

test("W5, W3: the reply of one that left with an output is that output", async () => {
  const turns = ["hello", [{ text: "I go. " }, { call: "leave" }]];
  expect(await heard(turns, ["a", "b"])).toEqual(["user: first: hello", "user: first: that was all"]);
});

test("W5: a graph's reply is its output; without an output it has none", async () => {
  let gives: unknown = { n: 1 };
  const g = graph("g")
    .node("a", () => gives)
    .edge(START, "a")
    .edge("a", END)
    .compile();
  const runner = createRunner({ agents: [g, agent({ name: "second", model: scriptedModel("hm") })] });
  const speaks = await runner.open("one", { agent: "g" });
  const hears = await runner.open("two", { agent: "second" });
  const room = hub([speaks, hears]);
  for (const next of [{ n: 1 }, undefined, "text"]) {
    gives = next;
    await speaks.run("x").result;
  }
  await room.settled();
  expect(history(hears.messages)).toEqual(['user: g: {"n":1}', "user: g: text"]);
});

test("bad options: values that are no session, no function and no beginning are refused when they are given", async () => {
  const session = await createRunner({ agent: agent({ name: "a", model: scriptedModel("x") }) }).open();
  const refused = (option: string) =>
    expect.objectContaining({ code: "OPTION_INVALID", details: expect.objectContaining({ option }) });
  expect(() => hub(undefined as never)).toThrow(refused("sessions"));
  expect(() => hub([session, {} as never])).toThrow(refused("sessions"));
  expect(() => hub([session], { say: "x" as never })).toThrow(refused("say"));
  expect(() => hub([session], { from: "begin" as never })).toThrow(refused("from"));
});
