import { eachStore, gate, listen, settle } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  createRunner,
  defineAgent,
  humanInput,
  type Json,
  memoryStore,
  respond,
  type Store,
} from "../index.ts";
import { rerun } from "../interrupt/rerun.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const open = (root: Agent<unknown, never>, store: Store = memoryStore()) =>
  createRunner({ agent: root as Agent<unknown, unknown>, store }).open("t");

/** A node that adds its name to its input. */
const tag = (key: string, done?: string[]) => (input: Json) => {
  done?.push(key);
  return `${key}(${typeof input === "string" ? input : JSON.stringify(input)})`;
};

describe.each(eachStore)("a graph on $name", ({ make }) => {
  test("state is changed with the output of a node, also by two at once, and read by branches and nodes", async () => {
    interface Count {
      n: number;
      log: string[];
    }
    const add = (key: string) => (input: Json, ctx: { setState(f: (s: Count) => Partial<Count>): void }) => {
      ctx.setState((state) => ({ n: state.n + 1, log: [...state.log, key] }));
      return input;
    };
    const g = graph<Count>("g")
      .node("a", add("a"))
      .node("b", add("b"))
      .node("join", (_input: Json, ctx) => ctx.state)
      .edge(START, "a")
      .edge(START, "b")
      .edge("a", "join")
      .edge("b", "join")
      .branch("join", (_output, state) => (state.n === 2 ? END : "join"), [END, "join"])
      .compile({ state: { n: 0, log: [] } });
    const session = await open(g, await make());
    const run = session.run("hi");
    const patches = (await listen(run).all).flatMap((event) =>
      event.type === "run-end" && event.patch !== undefined ? [event.patch] : [],
    );
    const result = await run.result;
    expect(result).toMatchObject({ status: "completed", output: { n: 2 } });
    expect(patches).toHaveLength(2);
    // The next run begins anew.
    expect(await session.run("hi").result).toMatchObject({ output: { n: 2 } });
  });

  test("G4: a change by resume({ state }) is seen by the node, and by those after it", async () => {
    const store = await make();
    const g = () =>
      graph<{ limit: number; by: string }>("g")
        .node("a", (input: string) => input)
        .node("b", (_input: string, ctx) => ctx.state.limit)
        .edge(START, "a")
        .edge("a", "b")
        .branch("b", (_output: number, state) => (state.limit > 5 ? END : "b"), ["b", END])
        .compile({ state: { limit: 1, by: "me" }, interruptBefore: ["b"] });
    const first = await open(g(), store);
    await first.run("hi").result;
    expect(() => first.resume({ state: 3 as never })).toThrow(/state/);
    await first.close();
    const session = await open(g(), store);
    expect(await session.resume({ state: { limit: 9 } }).result).toMatchObject({ status: "completed", output: 9 });
  });

  test("G2: a node that throws rerun(extra) is listed with it, and runs again with the same input", async () => {
    const store = await make();
    const done: string[] = [];
    let ready = false;
    const g = () =>
      graph<{ key?: string }>("g")
        .node("ask", async (input: string, ctx) => {
          await ctx.step("once", () => void done.push("step"));
          done.push(`ask ${input}`);
          if (!ready) throw rerun({ why: "no key" });
          return `${input} with ${ctx.state.key}`;
        })
        .node("side", tag("side", done))
        .edge(START, "ask")
        .edge(START, "side")
        .edge("ask", END)
        .edge("side", END)
        .compile();
    const first = await open(g(), store);
    expect(await first.run("hi").result).toMatchObject({ interruptType: "node_interrupt" });
    expect(first.interrupts).toMatchObject([
      { kind: "rerun", reason: "rerun", node: "ask", address: "g/ask#0", extra: { why: "no key" } },
    ]);
    expect(await first.resume().result).toMatchObject({ interruptType: "node_interrupt" });
    await first.close();
    ready = true;
    const session = await open(g(), store);
    const result = await session.resume({ state: { key: "k" } }).result;
    expect(result).toMatchObject({ output: { ask: "hi with k", side: "side(hi)" } });
    expect(done.filter((each) => each === "ask hi")).toHaveLength(3);
    expect(done.filter((each) => each === "side")).toHaveLength(1);
    expect(done.filter((each) => each === "step")).toHaveLength(1);
  });

  test("G5: an error in one branch keeps the work of the others; resume() repeats only the failed node", async () => {
    const done: string[] = [];
    let broken = true;
    const g = graph("g")
      .node("bad", (input: string) => {
        done.push("bad");
        if (broken) throw new Error("no network");
        return input;
      })
      .node("good", tag("good", done))
      .node("next", tag("next", done))
      .node("join", tag("join", done))
      .edge(START, "bad")
      .edge(START, "good")
      .edge("good", "next")
      .edge("bad", "join")
      .edge("next", "join")
      .edge("join", END)
      .compile();
    const session = await open(g, await make());
    const result = await session.run("hi").result;
    expect(result).toMatchObject({ status: "failed", error: { code: "AGENT_FAILED" } });
    expect(done).toEqual(["bad", "good", "next"]);
    broken = false;
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(done).toEqual(["bad", "good", "next", "bad", "join"]);
  });

  test("a stop meets a node in the middle of its work, and continue resumes there", async () => {
    const store = await make();
    const done: string[] = [];
    const begun = gate();
    let slow = true;
    const g = () =>
      graph("g")
        .node("a", tag("a", done))
        .node("b", async (input: string, ctx) => {
          await ctx.step("one", () => void done.push("one"));
          begun.open();
          if (slow)
            await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
          return `b(${input})`;
        })
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", END)
        .compile();
    const first = await open(g(), store);
    const run = first.run("hi");
    await begun.opened;
    await first.interrupt({ reason: "pause_to_think" });
    expect(await run.result).toMatchObject({ interruptType: "user_interrupt" });
    await first.close();
    slow = false;
    const session = await open(g(), store);
    expect(await session.resume().result).toMatchObject({ output: "b(a(hi))" });
    expect(done).toEqual(["a", "one"]);
  });

  test("a node asks a person; its change by the answer is on record, in another process, too", async () => {
    const store = await make();
    const g = () =>
      graph<{ who: string; n: number }>("g")
        .node("first", (input: string, ctx) => {
          ctx.setState(() => ({ n: 5 }));
          return input;
        })
        .node("ask", async (input: string, ctx) => {
          const who = await ctx.ask(humanInput("who?"), { key: "who" });
          ctx.setState((state) => ({ who: `${who}${state.n}` }));
          return input;
        })
        .node("tell", (_input: string, ctx) => ctx.state)
        .edge(START, "first")
        .edge("first", "ask")
        .edge("ask", "tell")
        .edge("tell", END)
        .compile({ state: { who: "", n: 0 } });
    const first = await open(g(), store);
    expect(await first.run("hi").result).toMatchObject({ interruptType: "tool_interrupt" });
    await first.close();
    const session = await open(g(), store);
    await session.answer(session.interrupts[0]!.id, respond("me"));
    await settle(20);
    expect(await session.resume().result).toMatchObject({ output: { who: "me5", n: 5 } });
  });
});

describe("definitions that would silently have no effect", () => {
  const changing = (change: (state: { n: number }) => unknown) =>
    graph<{ n: number }>("g")
      .node("a", (_input: Json, ctx) => ctx.setState(change as never))
      .edge(START, "a")
      .edge("a", END)
      .compile({ state: { n: 0 } });

  test.each<[(state: { n: number }) => unknown, string]>([
    [
      (state) => {
        state.n = 1;
      },
      "null",
    ],
    [() => 5, "5"],
    [() => [1], "[1]"],
    [() => "n", '"n"'],
  ])("setState() with a function that returns no values by key fails the node (%#)", async (change, value) => {
    const session = await open(changing(change) as Agent<unknown, never>);
    const needed = "the keys that it changes, with their values; it is not changed in place";
    expect(await session.run("go").result).toMatchObject({
      status: "failed",
      error: { message: `Option setState() is ${value}; it must be ${needed}.` },
    });
  });

  test("ctx.state cannot be written to", async () => {
    const g = graph<{ n: number }>("g")
      .node("a", (_input: Json, ctx) => {
        (ctx.state as { n: number }).n = 1;
      })
      .edge(START, "a")
      .edge("a", END)
      .compile({ state: { n: 0 } });
    const session = await open(g as Agent<unknown, never>);
    expect(await session.run("go").result).toMatchObject({ status: "failed", error: { code: "AGENT_FAILED" } });
  });

  test("G4: a state that is no object is refused when it is compiled", () => {
    for (const state of [5, [1], "n"]) {
      const g = graph("g").node("a", tag("a")).edge(START, "a").edge("a", END);
      expect(() => g.compile({ state: state as never })).toThrow("its state is not an object of values by key");
    }
  });

  test("G4: the error of a branch that returns a promise, or nothing, names it", async () => {
    for (const [chosen, problem] of [
      [Promise.resolve(END), "the branch after a gave a promise; it must choose at once, by what it is given"],
      [[], "the branch after a chose nothing; it must name a node, or END"],
      ["b", "the branch after a chose b, which is no node that it may lead to"],
    ] as const) {
      const g = graph("g")
        .node("a", tag("a"))
        .edge(START, "a")
        .branch("a", () => chosen as never, [END])
        .compile();
      const session = await open(g as Agent<unknown, never>);
      expect(await session.run("go").result).toMatchObject({
        status: "failed",
        error: { code: "GRAPH_INVALID", details: { problem } },
      });
    }
  });

  test("G1: a condition of a breakpoint that returns a promise is an error, and does not stop at every visit", async () => {
    const g = graph("g").node("a", tag("a")).edge(START, "a").edge("a", END);
    const made = g.compile({ interruptBefore: [{ node: "a", when: (async () => false) as never }] });
    const session = await open(made as Agent<unknown, never>);
    const problem = "the breakpoint at a gave a promise; it must say at once, by what it is given";
    expect(await session.run("go").result).toMatchObject({
      status: "failed",
      error: { code: "GRAPH_INVALID", details: { problem } },
    });
  });

  test("G4: resume({ state }) without a graph is refused, and changes nothing", async () => {
    const asking = defineAgent({ name: "asking", run: (ctx) => ctx.ask(humanInput("Well?")) });
    const session = await open(asking as Agent<unknown, never>);
    await session.run("go").result;
    const result = await session.resume({ state: { n: 1 } }).result;
    expect(result).toMatchObject({ status: "failed", error: { code: "OPTION_INVALID", details: { option: "state" } } });
    expect([session.state, session.interrupts.length]).toEqual(["paused", 1]);
  });

  test("a breakpoint that is none is refused", async () => {
    const session = await open(changing(() => ({ n: 1 })) as Agent<unknown, never>);
    await expect(session.setBreakpoint(null as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});
