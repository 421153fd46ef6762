import { asker, lastWords, newLog, talker, toolOf, worker } from "@belay/testkit";
import { expect, inject, test } from "vitest";
import { agent, approve, humanInput, type ModelRequest, respond } from "../index.ts";
import { allFaults, interruptAnywhere, type ScenarioKit, scriptedModel } from "../testing/index.ts";
import { defineAgent } from "./define-agent.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const { strikes: mostPoints } = inject("effort");

/** Four levels: a sequence of a parallel of an agent-tool with an approval and of code in a loop, and a last word. */
function tree({ effect }: ScenarioKit) {
  const log = newLog();
  const pay = toolOf("pay", (ctx) => void effect(ctx.address), { needsApproval: true });
  // Cut after all it had to say, it has nothing to add.
  const says = (words: string) => (request: ModelRequest) => (lastWords(request).includes("cut off") ? "" : words);
  const steady = talker(log, "steady", says("word"));
  const code = defineAgent({
    name: "code",
    agents: [steady],
    run: async (ctx) => {
      await ctx.step("s", () => effect(`${ctx.address}/s:s`));
      const word = await ctx.run(steady, "go");
      return `${word} ${await ctx.ask(humanInput("Who?"))}`;
    },
  });
  return sequential({
    name: "seq",
    agents: [
      parallel({
        name: "par",
        agents: [
          asker(log, "outer", worker(log, "inner", pay, "pay-call")),
          loop({ name: "loop", maxIterations: 1, agents: [code] }),
        ],
      }),
      talker(log, "last", says("the end")),
    ],
  });
}

test("W1, W4, S8, C2, F4: every fault at every point of a tree of agents four deep", async () => {
  const report = await interruptAnywhere({
    mostPoints,
    agent: tree,
    input: "hi",
    // A queued run would ask people again, and no person answers in this test.
    faults: allFaults.filter((fault) => fault !== "enqueue"),
    repeatable: (effect) => effect.endsWith("/s:s"),
    answer: ({ kind }) => (kind === "approval" ? approve() : respond("ann")),
  });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
  expect(report.points).toBeGreaterThan(80);
});

test("C2, F4: a queued run follows it, after any fault, in a run without requests", async () => {
  const report = await interruptAnywhere({
    mostPoints,
    agent: () => {
      const log = newLog();
      const says = (words: string) => (request: ModelRequest) => (lastWords(request).includes("cut off") ? "" : words);
      const inner = sequential({ name: "in", agents: [talker(log, "a", says("one")), talker(log, "b", says("two"))] });
      return parallel({ name: "par", agents: [inner, asker(log, "outer", talker(log, "c", says("three")))] });
    },
    input: "hi",
    faults: ["enqueue", "stop", "crash"],
  });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
});

test("W1, C2, F4: faults at every point of a conversation that is handed over and back", async () => {
  const hand = (to: string, id: string) => [{ call: "transfer_to_agent", id, args: { agent_name: to } }];
  const calls = ({ messages }: ModelRequest) => messages.flatMap(({ parts }) => parts.filter((p) => p.type === "call"));
  const report = await interruptAnywhere({
    mostPoints,
    agent: ({ effect }) => {
      const pay = toolOf("pay", (ctx) => void effect(ctx.address), { needsApproval: true });
      const sub = agent({
        name: "sub",
        tools: [pay],
        model: scriptedModel((request) =>
          calls(request).length === 1 ? [{ call: "pay", id: "p" }] : hand("root", "back"),
        ),
      });
      const model = scriptedModel((request) => {
        if (lastWords(request).includes("cut off")) return "";
        return calls(request).length === 0 ? hand("sub", "over") : "the end";
      });
      return sequential({ name: "seq", agents: [agent({ name: "root", model, subAgents: [sub] })] });
    },
    input: "hi",
    faults: ["stop", "stop-after-tools", "close", "crash", "freeze", "stop-waiting", "new-input", "answer-crash"],
  });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
});
