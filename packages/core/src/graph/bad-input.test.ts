import { until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { createRunner } from "../index.ts";
import { graph } from "./graph.ts";
import type { NodeContext } from "./node.ts";
import { END, START } from "./shape.ts";

const problem = (text: string) =>
  expect.objectContaining({ code: "GRAPH_INVALID", message: expect.stringContaining(text) });

const line = () =>
  graph<{ n: number }>("g")
    .node("a", () => 1)
    .node("b", () => 2)
    .edge(START, "a")
    .edge("a", "b")
    .edge("b", END);

/** As a program without types writes it. */
const compile = (options: object) => line().compile(options as never);

describe("G4: an impossible graph is refused by its definition", () => {
  test.each([
    ["a breakpoint that is no list", { interruptBefore: "b" }, 'interruptBefore is "b", which is no list of nodes'],
    ["a condition that is none", { interruptAfter: [{ node: "b", when: 3 }] }, "breakpoint at b is 3, not a function"],
    ["a trigger that there is not", { trigger: "some" }, 'trigger is "some", not any or all'],
    ["text for a number", { maxSteps: "10" }, 'maxSteps is "10", not a whole number from 1 on'],
  ])("%s", (_name, options, text) => {
    expect(() => compile(options)).toThrow(problem(text));
  });

  test("a node's name, its options, and the targets of a branch", () => {
    const node = (key: unknown, options?: object) => () => graph("g").node(key as string, () => 1, options as never);
    for (const key of [START, END, "", "a/b", "5", 5, undefined]) {
      expect(node(key)).toThrow(
        problem(`no node can be called ${key === undefined ? "undefined" : JSON.stringify(key)}`),
      );
    }
    expect(node("a", { before: 3 })).toThrow(problem("before of node a is 3, not a function"));
    const branch = (to: unknown) => () =>
      graph("g")
        .node("a", () => 1)
        .branch("a", () => END, to as never);
    expect(branch({ done: END })).toThrow(problem('may lead to {"done":"__end__"}, which is no list of nodes'));
    expect(branch("b")).toThrow(problem('may lead to "b", which is no list of nodes'));
  });

  test("a picture of an unknown position", () => {
    expect(() =>
      line()
        .compile()
        .toMermaid({ at: "a" as never }),
    ).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

test("G1: of two breakpoints at one node, one that says so stops it, whichever is named last", async () => {
  const never = { node: "b", when: () => false } as const;
  const ones = { node: "b", when: (given: unknown) => given === 1 } as const;
  for (const interruptBefore of [["b", never] as const, [never, "b"] as const, [ones, never], [never, ones]]) {
    const session = await createRunner({ agent: line().compile({ interruptBefore }) }).open();
    expect(await session.run("x").result).toMatchObject({ interruptType: "node_interrupt" });
    await session.close();
  }
});

describe("changes of the state by a node", () => {
  type State = { list: string[] };
  const fail = async (code: (ctx: NodeContext<State>) => unknown) => {
    const g = graph<State>("g")
      .node("a", (_input: unknown, ctx) => code(ctx))
      .edge(START, "a")
      .edge("a", END)
      .compile({ state: { list: [] } });
    const result = await (await createRunner({ agent: g }).open()).run("x").result;
    return result.status === "failed" ? `${result.error.code}: ${result.error.message}` : result;
  };

  test("SPEC 10: ctx.state is read-only at every depth: a write into it throws, and is not lost silently", async () => {
    expect(await fail((ctx) => ctx.state.list.push("x"))).toMatch(/^AGENT_FAILED: .*not extensible/);
    expect(await fail((ctx) => ctx.setState(({ list }) => ({ list: [...list, "x"] })))).toMatchObject({
      status: "completed",
    });
  });

  test("setState() takes a function, and says so", async () => {
    expect(await fail((ctx) => ctx.setState({ list: [] } as never))).toBe(
      'OPTION_INVALID: Option setState() is {"list":[]}; it must be a function of the state, which gives what it changes.',
    );
  });
});

test("G4: the error of a branch that chooses no name has its choice", async () => {
  const g = graph("g")
    .node("a", () => 1)
    .edge(START, "a")
    .branch("a", () => 5 as never, [END])
    .compile();
  expect(await (await createRunner({ agent: g }).open()).run("x").result).toMatchObject({
    error: { code: "GRAPH_INVALID", details: { problem: "the branch after a chose 5; it must name a node, or END" } },
  });
});

test("G4: a branch or a breakpoint that throws is named, with its error", async () => {
  const fail = (): never => {
    throw new Error("oh");
  };
  const branching = graph("g")
    .node("a", () => 1)
    .edge(START, "a")
    .branch("a", fail, [END])
    .compile();
  const reasons = [];
  for (const agent of [branching, line().compile({ interruptBefore: [{ node: "b", when: fail }] })]) {
    const result = await (await createRunner({ agent }).open()).run("x").result;
    reasons.push(result.status === "failed" && result.error.message);
  }
  expect(reasons).toEqual([
    "Agent g failed: the branch after a threw: oh",
    "Agent g failed: the breakpoint at b threw: oh",
  ]);
});

test("S1: a stop does not wait for a `before` that never ends; a resume calls it again", async () => {
  let asked = 0;
  const never = new Promise<never>(() => {});
  const g = graph("g")
    .node("a", (input: unknown) => input, { before: () => (++asked === 1 ? never : "made") })
    .edge(START, "a")
    .edge("a", END)
    .compile();
  const session = await createRunner({ agent: g }).open();
  session.run("x");
  await until(() => asked === 1);
  expect(await session.interrupt()).toMatchObject({ accepted: true });
  expect(await session.resume().result).toMatchObject({ status: "completed", output: "made" });
});
