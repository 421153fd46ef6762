import { gate, listen } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Agent, agent, createRunner, type Json, memoryStore, type Store, sequential } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const open = (root: Agent<unknown, never>, store: Store = memoryStore()) =>
  createRunner({ agent: root as Agent<unknown, unknown>, store }).open("t");

/** A node that adds its name to its input. */
const tag = (key: string, done?: string[]) => (input: Json) => {
  done?.push(key);
  return `${key}(${typeof input === "string" ? input : JSON.stringify(input)})`;
};

describe("the nodes that a graph runs", () => {
  test("one node after the other: the output of each is the input of the next", async () => {
    const g = graph("g")
      .node("a", tag("a"))
      .node("b", tag("b"))
      .edge(START, "a")
      .edge("a", "b")
      .edge("b", END)
      .compile();
    const session = await open(g);
    expect(await session.run("hi").result).toMatchObject({ status: "completed", output: "b(a(hi))" });
  });

  test("nodes that are ready run at once, and a join gets their outputs by name", async () => {
    const both = gate();
    let here = 0;
    const meet = (key: string) => async (input: Json) => {
      here += 1;
      if (here === 2) both.open();
      await both.opened;
      return `${key}(${input})`;
    };
    const g = graph("g")
      .node("a", meet("a"))
      .node("b", meet("b"))
      .node("join", (input: Json) => input)
      .edge(START, "a")
      .edge(START, "b")
      .edge("a", "join")
      .edge("b", "join")
      .edge("join", END)
      .compile();
    const session = await open(g);
    const result = await session.run("hi").result;
    expect(result).toMatchObject({ status: "completed", output: { a: "a(hi)", b: "b(hi)" } });
  });

  test("with trigger any each that arrives runs the node; with all it is given by name, also alone", async () => {
    const done: string[] = [];
    const make = (trigger: "any" | "all") =>
      graph("g")
        .node("a", tag("a"))
        .node("b", tag("b"))
        .node("c", tag("c", done))
        .edge(START, "a")
        .edge(START, "b")
        .branch("a", () => "c", ["c"])
        .branch("b", () => (trigger === "any" ? "c" : END), ["c", END])
        .edge("c", END)
        .compile({ trigger });
    const first = await open(make("any"));
    await first.run("hi").result;
    expect(done).toEqual(["c", "c"]);
    const second = await open(make("all"));
    const result = await second.run("hi").result;
    expect(result).toMatchObject({ output: { b: "b(hi)", c: 'c({"a":"a(hi)"})' } });
  });

  test("a branch chooses by the output, and a join does not wait for other targets", async () => {
    const done: string[] = [];
    const g = graph("g")
      .node("sort", (input: string) => ({ kind: input }))
      .node("refund", tag("refund", done))
      .node("faq", tag("faq", done))
      .node("reply", tag("reply", done))
      .edge(START, "sort")
      .branch("sort", (output: { kind: "refund" | "faq" }) => output.kind)
      .edge("refund", "reply")
      .edge("faq", "reply")
      .edge("reply", END)
      .compile();
    const session = await open(g);
    expect(await session.run("faq").result).toMatchObject({ output: 'reply(faq({"kind":"faq"}))' });
    expect(done).toEqual(["faq", "reply"]);
    done.length = 0;
    await session.run("refund").result;
    expect(done).toEqual(["refund", "reply"]);
  });

  test("an object that only looks like an agent is refused at compile()", () => {
    const looksLikeOne = { name: "a", run: () => {} } as never;
    const refused = (code: string) => expect.objectContaining({ code });
    expect(() => graph("g").node("a", looksLikeOne)).toThrow(refused("GRAPH_INVALID"));
    expect(() => sequential({ name: "s", agents: [looksLikeOne] })).toThrow(refused("AGENT_INVALID"));
    expect(() => createRunner({ agent: looksLikeOne })).toThrow(refused("AGENT_INVALID"));
  });

  test("a branch that chooses an unknown node fails by name; several may be chosen", async () => {
    const bad = graph("g")
      .node("a", tag("a"))
      .edge(START, "a")
      .branch("a", () => "nowhere" as "a");
    const result = await (await open(bad.compile())).run("hi").result;
    expect(result).toMatchObject({ status: "failed", error: { code: "GRAPH_INVALID" } });
    expect(result.status === "failed" && result.error.message).toContain("nowhere");
    const many = graph("g")
      .node("a", tag("a"))
      .node("b", tag("b"))
      .node("c", tag("c"))
      .edge(START, "a")
      .branch("a", () => ["b", "c"])
      .edge("b", END)
      .edge("c", END)
      .compile();
    expect(await (await open(many)).run("hi").result).toMatchObject({ output: { b: "b(a(hi))", c: "c(a(hi))" } });
  });

  test("a cycle runs until a branch leaves it, and no longer than maxSteps", async () => {
    const make = (maxSteps?: number) =>
      graph("g")
        .node("grow", (input: string) => `${input}!`)
        .node("look", (input: string) => input)
        .edge(START, "grow")
        .edge("grow", "look")
        .branch("look", (output: string) => (output.length < 6 ? "grow" : END), ["grow", END])
        .compile(maxSteps === undefined ? {} : { maxSteps });
    expect(await (await open(make())).run("hi").result).toMatchObject({ output: "hi!!!!" });
    const result = await (await open(make(3))).run("hi").result;
    expect(result).toMatchObject({ status: "failed", error: { code: "GRAPH_STEPS" } });
  });

  test("graphs in graphs, agents in graphs, graphs in workflows", async () => {
    const inner = graph("inner").node("x", tag("x")).edge(START, "x").edge("x", END).compile();
    const bot = agent({ name: "bot", model: scriptedModel([{ text: "bot speaks" }]) });
    const g = graph("g")
      .node("bot", bot)
      .node("sub", inner)
      .edge(START, "bot")
      .edge("bot", "sub")
      .edge("sub", END)
      .compile();
    const last = graph("last").node("y", tag("y")).edge(START, "y").edge("y", END).compile();
    const session = await open(sequential({ name: "seq", agents: [g, last] }));
    const run = session.run("hi");
    const paths = (await listen(run).all).flatMap((event) => (event.type === "run-start" ? [event.runPath] : []));
    expect(await run.result).toMatchObject({ output: "y(x(bot speaks))" });
    expect(paths).toEqual([
      "seq",
      "seq/0:g",
      "seq/0:g/bot#0:bot",
      "seq/0:g/sub#0:inner",
      "seq/0:g/sub#0:inner/x#0:x",
      "seq/1:last",
      "seq/1:last/y#0:y",
    ]);
  });

  test("`before` makes the input of a node, once", async () => {
    let made = 0;
    const g = graph<{ who: string }>("g")
      .node("a", tag("a"), {
        before: (input, state) => {
          made += 1;
          return `${input} ${state.who}`;
        },
      })
      .edge(START, "a")
      .edge("a", END)
      .compile({ state: { who: "you" } });
    expect(await (await open(g)).run("hi").result).toMatchObject({ output: "a(hi you)" });
    expect(made).toBe(1);
  });
});

describe("refusals of compile() (G4)", () => {
  const refused = (make: () => unknown) => {
    try {
      make();
    } catch (error) {
      return (error as { code: string; message: string }).message;
    }
    return "nothing";
  };
  const a = () => graph("g").node("a", tag("a")).edge(START, "a").edge("a", END);

  test("G4: a node that is not there, one that nothing leads to, one that leads nowhere, by name", () => {
    expect(
      refused(() =>
        a()
          .edge("a", "ghost" as "a")
          .compile(),
      ),
    ).toContain("ghost");
    expect(refused(() => a().node("island", tag("x")).edge("island", END).compile())).toContain(
      "node island is unreachable",
    );
    expect(refused(() => a().node("trap", tag("x")).edge("a", "trap").compile())).toContain(
      "node trap has no path to END",
    );
    expect(refused(() => graph("g").node("a", tag("a")).edge(START, "a").compile())).toContain("has no path to END");
    expect(refused(() => graph("g").compile())).toContain("has no nodes");
    expect(refused(() => a().node("a", tag("a")))).toContain("two nodes a");
    expect(refused(() => a().compile({ interruptBefore: ["ghost" as "a"] }))).toContain("ghost");
    expect(refused(() => a().node(END, tag("x")))).toContain(END);
  });

  test("G4: keys are typed", () => {
    const g = a();
    // @ts-expect-error no such node
    g.edge("a", "ghost");
    // @ts-expect-error nothing leaves END
    g.edge(END, "a");
    // @ts-expect-error no such node
    g.branch("a", () => "ghost");
  });

  test("a thousand nodes", async () => {
    let g = graph("g").node("n0", (input: number) => input) as ReturnType<typeof build>;
    for (let i = 1; i < 1000; i++) g = g.node(`n${i}`, (input: string) => input).edge(`n${i - 1}`, `n${i}`);
    const session = await open(g.edge(START, "n0").edge("n999", END).compile());
    expect(await session.run("hi").result).toMatchObject({ status: "completed", output: "hi" });
  });

  test("G4: toMermaid() shows the edges, and the position of a run", () => {
    const g = a()
      .node("b", tag("b"))
      .branch("a", () => "b", ["b"])
      .edge("b", END)
      .compile();
    expect(g.toMermaid({ at: ["b"] })).toMatchInlineSnapshot(`
      "flowchart TD
        __start__([START])
        n_a["a"]
        n_b["b"]
        __end__([END])
        __start__ --> n_a
        n_a --> __end__
        n_b --> __end__
        n_a -.-> n_b
        classDef here fill:#ffd866,stroke-width:3px,color:#000
        class n_b here
      "
    `);
  });
});

function build() {
  return graph("g").node("" as string, tag(""));
}
