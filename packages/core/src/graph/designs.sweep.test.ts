import { toolOf } from "@belay/testkit";
import { expect, inject, test } from "vitest";
import { agent, approve, humanApproval, type ModelRequest, rerun, say } from "../index.ts";
import { allFaults, interruptAnywhere, type ScenarioKit, scriptedModel } from "../testing/index.ts";
import { defineAgent } from "../workflow/define-agent.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const { strikes: mostPoints } = inject("effort");

/** An agent that calls each of its tools once, one after the other, and then says its words. */
function caller(name: string, words: string, tools: ReturnType<typeof toolOf>[]) {
  const speak = ({ messages }: ModelRequest) => {
    const called = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "call")).length;
    const next = tools[called];
    if (next !== undefined) return [{ call: next.name, args: {}, id: `${name}-${called}` }];
    // Cut after all it had to say, it has nothing to add.
    return messages.at(-1)?.id.endsWith("continue") ? "" : words;
  };
  return agent({ name, model: scriptedModel(speak), tools, outputKey: name });
}

/** A shop: it speaks, asks to be run again, stops itself, waits for an approval, and shares values on the way. */
function shop({ effect }: ScenarioKit) {
  const search = toolOf(
    "search",
    (ctx) => {
      if (ctx.segment === 1) throw rerun({ missing: "key" });
      ctx.setValue("found", 3);
      effect(ctx.address);
      return "found";
    },
    { onCrash: "retry", repeatable: true },
  );
  const halt = toolOf("halt", (ctx) => ctx.interrupt({ reason: "pause_to_think" }), {
    onCrash: "retry",
    repeatable: true,
  });
  const guide = defineAgent({
    name: "guide",
    async *run(ctx) {
      yield say("Welcome.");
      await ctx.step("s", () => effect(`${ctx.address}/s:s`));
      ctx.interrupt({ reason: "pause_to_think" });
      ctx.setValue("guide", "here");
      yield say("Go on.");
      return "guided";
    },
  });
  return graph("shop")
    .node("guide", guide)
    .node("buyer", caller("buyer", "bought", [search, halt]))
    .node("pay", async (_input: object, ctx) => {
      await ctx.step("pay", () => effect(`${ctx.address}/s:pay`));
      const { found, guide: at, buyer } = ctx.values;
      return `${String(found)} ${String(at)} ${String(buyer)} ${ctx.approval?.approved}`;
    })
    .edge(START, "guide")
    .edge(START, "buyer")
    .edge("guide", "pay")
    .edge("buyer", "pay")
    .edge("pay", END)
    .compile({ approveBefore: [{ node: "pay", request: humanApproval("Pay?") }] });
}

const scenario = {
  mostPoints,
  agent: shop,
  input: "hi",
  repeatable: (name: string) => name.includes("/s:") || name.includes("/c0"),
  answer: () => approve(),
};

test("O1, O3, O7, O8, O9, C2, F4: every fault at every point of code that speaks, asks again, stops itself and waits for a yes", async () => {
  // A run that is queued would ask people anew.
  const faults = allFaults.filter((fault) => fault !== "enqueue" && fault !== "stop-twice");
  const report = await interruptAnywhere({ ...scenario, faults });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
  expect(report.points).toBeGreaterThan(40);
});

// A second stop ends all grace: a call that is about to ask again is cut, and its result says so. The end may differ.
test("O1, S4, H1: a second stop at every point leaves a valid history, and each effect once", async () => {
  const report = await interruptAnywhere({ ...scenario, faults: ["stop-twice"], anyEnd: true });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
});
