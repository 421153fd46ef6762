import { eachStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Agent, createRunner, type Json } from "../index.ts";
import { rerun } from "../interrupt/rerun.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

describe.each(eachStore)("a checkpoint on $name", ({ make }) => {
  test("G3: state, inputs, values that wait at joins, reruns and graphs below, read from the record and copied", async () => {
    const inner = graph<{ deep: number }>("inner")
      .node("x", (input: Json) => input)
      .edge(START, "x")
      .edge("x", END)
      .compile({ state: { deep: 1 }, interruptBefore: ["x"] });
    const g = graph<{ n: number }>("g")
      .node("a", (input: string, ctx) => {
        ctx.setState(({ n }) => ({ n: n + 1 }));
        return `a(${input})`;
      })
      .node("b", () => {
        throw rerun({ why: "later" });
      })
      .node("join", (input: Json) => input)
      .node("sub", inner)
      .edge(START, "a")
      .edge(START, "b")
      .edge(START, "sub")
      .edge("a", "join")
      .edge("b", "join")
      .edge("join", END)
      .edge("sub", END)
      .compile({ state: { n: 0 } });
    const store = await make();
    const first = await createRunner({ agent: g, store }).open("t");
    expect(await first.checkpoint()).toBeUndefined();
    expect(await first.run("hi").result).toMatchObject({ interruptType: "node_interrupt" });
    await first.close();
    const session = await createRunner({ agent: g, store }).open("t");
    const checkpoint = await session.checkpoint();
    expect(checkpoint).toEqual({
      state: { n: 1 },
      inputs: { b: "hi", sub: "hi" },
      channels: { join: { a: "a(hi)" } },
      beforeNodes: [],
      afterNodes: [],
      rerunNodes: [{ node: "b", input: "hi", extra: { why: "later" } }],
      skipPreHandler: ["b", "sub"],
      subGraphs: {
        sub: {
          state: { deep: 1 },
          inputs: { x: "hi" },
          channels: {},
          beforeNodes: ["x"],
          afterNodes: [],
          rerunNodes: [],
          skipPreHandler: [],
          subGraphs: {},
        },
      },
    });
    expect(g.toMermaid({ at: checkpoint! })).toContain("class n_b,n_sub here");
    (checkpoint!.state as { n: number }).n = 100;
    expect((await session.checkpoint())!.state).toEqual({ n: 1 });
  });

  test("G3: a node stopped after it ran is named; other agents have no checkpoint", async () => {
    const g = graph("g")
      .node("a", (input: Json) => input)
      .edge(START, "a")
      .edge("a", END)
      .compile({ interruptAfter: ["a"] });
    const session = await createRunner({ agent: g as Agent<unknown, unknown>, store: await make() }).open("t");
    await session.run("hi").result;
    const checkpoint = (await session.checkpoint())!;
    expect(checkpoint).toMatchObject({ inputs: {}, afterNodes: ["a"] });
    expect(g.toMermaid({ at: checkpoint })).toContain("class n_a here");
  });
});
