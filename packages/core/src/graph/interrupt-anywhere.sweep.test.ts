import { lastWords, newLog, talker, toolOf, worker } from "@belay/testkit";
import { expect, inject, test } from "vitest";
import { approve, humanInput, type ModelRequest, respond } from "../index.ts";
import { allFaults, interruptAnywhere, type ScenarioKit } from "../testing/index.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const { strikes: mostPoints } = inject("effort");

interface Count {
  n: number;
}

/** A join of an approval, a question and a graph in a cycle, all of which count in one state; it stops before the join. */
function tree({ effect }: ScenarioKit) {
  const log = newLog();
  const pay = toolOf("pay", (ctx) => void effect(ctx.address), { needsApproval: true });
  // Cut after all it had to say, it has nothing to add.
  const says = (words: string) => (request: ModelRequest) => (lastWords(request).includes("cut off") ? "" : words);
  const inner = graph<Count>("inner")
    .node("grow", async (input: string, ctx) => {
      await ctx.step("s", () => effect(`${ctx.address}/s:s`));
      ctx.setState(({ n }) => ({ n: n + 1 }));
      return `${input}!`;
    })
    .edge(START, "grow")
    .branch("grow", (_output, { n }) => (n < 2 ? "grow" : END), ["grow", END])
    .compile({ state: { n: 0 }, interruptAfter: ["grow"] });
  return graph<Count>("g")
    .node("payer", worker(log, "payer", pay, "pay-call"))
    .node("who", async (_input: string, ctx) => {
      ctx.setState(({ n }) => ({ n: n + 1 }));
      return ctx.ask(humanInput("Who?"));
    })
    .node("sub", inner)
    .node("count", (input: string, ctx) => {
      ctx.setState(({ n }) => ({ n: n + 1 }));
      return input;
    })
    .node("join", (input: object, ctx) => `${Object.keys(input).sort().join(" ")} ${ctx.state.n}`)
    .node("last", talker(log, "last", says("the end")))
    .edge(START, "payer")
    .edge(START, "who")
    .edge(START, "sub")
    .edge(START, "count")
    .edge("payer", "join")
    .edge("who", "join")
    .edge("sub", "join")
    .edge("count", "join")
    .edge("join", "last")
    .edge("join", END)
    .edge("last", END)
    .compile({ state: { n: 0 }, interruptBefore: ["join"] });
}

test("G1, G5, S8, C2, F4: every fault at every point of a graph", async () => {
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
