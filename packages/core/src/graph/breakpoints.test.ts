import { eachStore, gate, listen, moveOn, settle, threadOf, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  agent,
  agentTool,
  approve,
  createRunner,
  type Json,
  jsonSchema,
  loop,
  memoryStore,
  type Store,
  tool,
} from "../index.ts";
import { fakeClock, scriptedModel } from "../testing/index.ts";
import { type Graph, graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const open = (root: Agent<unknown, never>, store: Store = memoryStore()) =>
  createRunner({ agent: root as Agent<unknown, unknown>, store }).open("t");

/** A node that adds its name to its input. */
const tag = (key: string, done?: string[]) => (input: Json) => {
  done?.push(key);
  return `${key}(${typeof input === "string" ? input : JSON.stringify(input)})`;
};

function build() {
  return graph("g").node("" as string, tag(""));
}

const steps = (done: string[], options: Parameters<ReturnType<typeof build>["compile"]>[0]) =>
  graph("flow")
    .node("step_a", tag("a", done))
    .node("step_b", tag("b", done))
    .node("step_c", tag("c", done))
    .edge(START, "step_a")
    .edge("step_a", "step_b")
    .edge("step_b", "step_c")
    .edge("step_c", END)
    .compile(options as never) as Graph;

describe.each(eachStore)("a graph on $name", ({ make }) => {
  test("G1: it stops before a node, which runs once after resume, in another process, too", async () => {
    const done: string[] = [];
    const store = await make();
    const first = await open(steps(done, { interruptBefore: ["step_c"] }), store);
    const run = first.run("hi");
    const events = await listen(run).all;
    const result = await run.result;
    expect(result).toMatchObject({ status: "interrupted", interruptType: "node_interrupt" });
    expect(first.pauseType).toBe("node_interrupt");
    expect(first.interrupts).toMatchObject([
      {
        kind: "node",
        address: "flow/step_c#0",
        reason: "before",
        by: "flow",
        message: "interrupt happened, before nodes: [step_c]",
      },
    ]);
    expect(result.status === "interrupted" && result.interrupts).toEqual(first.interrupts);
    expect(events.filter((e) => e.type === "action" && e.action.interrupted !== undefined)).toHaveLength(1);
    expect(done).toEqual(["a", "b"]);
    expect(() => first.run("x")).toThrow(/resume/);
    await first.close();
    const other = await open(steps(done, { interruptBefore: ["step_c"] }), store);
    expect(other.pauseType).toBe("node_interrupt");
    expect(other.interrupts).toHaveLength(1);
    expect(await other.resume().result).toMatchObject({ status: "completed", output: "c(b(a(hi)))" });
    expect(done).toEqual(["a", "b", "c"]);
  });

  test("G1: before the first and after the last node; outputs are kept", async () => {
    const done: string[] = [];
    const session = await open(steps(done, { interruptBefore: ["step_a"], interruptAfter: ["step_c"] }), await make());
    expect(await session.run("hi").result).toMatchObject({ interruptType: "node_interrupt" });
    expect(done).toEqual([]);
    expect(await session.resume().result).toMatchObject({ interruptType: "node_interrupt" });
    expect(session.interrupts).toMatchObject([{ message: "interrupt happened, after nodes: [step_c]" }]);
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "c(b(a(hi)))" });
    expect(done).toEqual(["a", "b", "c"]);
  });

  test("G1: a later visit stops again, and only when its condition holds", async () => {
    const store = await make();
    const g = (when?: (value: Json) => boolean) =>
      graph("g")
        .node("grow", (input: string) => `${input}!`)
        .edge(START, "grow")
        .branch("grow", (output: string) => (output.length < 5 ? "grow" : END), ["grow", END])
        .compile({ interruptBefore: [when === undefined ? "grow" : { node: "grow", when }] });
    const session = await open(g(), store);
    await session.run("hi").result;
    const addresses: string[] = [];
    while (session.state === "paused") {
      addresses.push(session.interrupts[0]!.address);
      await session.resume().result;
    }
    expect(addresses).toEqual(["g/grow#0", "g/grow#1", "g/grow#2"]);
    const other = await createRunner({ agent: g((value) => value === "hi!"), store }).open("u");
    await other.run("hi").result;
    expect(other.interrupts).toMatchObject([{ address: "g/grow#1" }]);
    expect(await other.resume().result).toMatchObject({ output: "hi!!!" });
  });

  test("G1: siblings run to their own end, and a tool that asks comes before a node that waits", async () => {
    let paid = 0;
    const pay = tool({
      name: "pay",
      description: "",
      input: jsonSchema({ type: "object" }),
      needsApproval: true,
      execute: () => `paid ${++paid}`,
    });
    const payer = agent({
      name: "payer",
      tools: [pay],
      model: scriptedModel(({ messages }) => (messages.length > 1 ? [{ text: "paid" }] : [{ call: "pay", id: "p" }])),
    });
    const done: string[] = [];
    const g = graph("g")
      .node("payer", payer)
      .node("held", tag("held", done))
      .node("free", tag("free", done))
      .node("more", tag("more", done))
      .edge(START, "payer")
      .edge(START, "held")
      .edge(START, "free")
      .edge("free", "more")
      .edge("payer", END)
      .edge("held", END)
      .edge("more", END)
      .compile({ interruptBefore: ["held"] });
    const store = await make();
    const first = await open(g, store);
    expect(await first.run("hi").result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(done).toEqual(["free", "more"]);
    expect(first.interrupts.map(({ kind }) => kind).sort()).toEqual(["approval", "node"]);
    const request = first.interrupts.find(({ kind }) => kind === "approval")!;
    expect(request.address).toBe("g/payer#0:payer/t1/c0/approval");
    await first.close();
    const session = await open(g, store);
    expect(session.pauseType).toBe("tool_interrupt");
    expect(session.interrupts.map(({ kind }) => kind).sort()).toEqual(["approval", "node"]);
    // A worker runs the answered call, and leaves the node to a person.
    await session.answer(request.id, approve());
    await until(() => paid === 1);
    await moveOn(threadOf(session), 3, new Set());
    expect(session.pauseType).toBe("node_interrupt");
    expect(done).toEqual(["free", "more"]);
    const result = await session.resume().result;
    expect(result).toMatchObject({ output: { payer: "paid", held: "held(hi)", more: "more(free(hi))" } });
    expect(paid).toBe(1);
  });

  test("G1: a breakpoint survives every resume, in a graph in a loop in a graph", async () => {
    const store = await make();
    const done: string[] = [];
    const make_ = () => {
      const inner = graph("inner")
        .node("x", (input: string) => {
          done.push(input);
          return `${input}x`;
        })
        .edge(START, "x")
        .edge("x", END)
        .compile({ interruptBefore: ["x"] });
      return graph("outer")
        .node("again", loop({ name: "again", agents: [inner], maxIterations: 5 }))
        .edge(START, "again")
        .edge("again", END)
        .compile();
    };
    let session = await open(make_(), store);
    let result = await session.run("i").result;
    for (let i = 0; i < 5; i++) {
      expect(session.interrupts.map(({ address }) => address)).toEqual([`outer/again#0:again/${i}.0:inner/x#0`]);
      await session.close();
      session = await open(make_(), store);
      result = await session.resume().result;
    }
    expect(result).toMatchObject({ status: "completed", output: "ixxxxx" });
    expect(done).toEqual(["i", "ix", "ixx", "ixxx", "ixxxx"]);
  });

  test("G1, W2: before a graph, then inside it", async () => {
    const inner = graph("inner")
      .node("x", tag("x"))
      .edge(START, "x")
      .edge("x", END)
      .compile({ interruptBefore: ["x"] });
    const g = graph("g")
      .node("sub", inner)
      .edge(START, "sub")
      .edge("sub", END)
      .compile({ interruptBefore: ["sub"] });
    const session = await open(g, await make());
    await session.run("hi").result;
    expect(session.interrupts.map(({ address }) => address)).toEqual(["g/sub#0"]);
    const inside = await session.resume().result;
    expect(session.interrupts.map(({ address }) => address)).toEqual(["g/sub#0:inner/x#0"]);
    const [leaf] = session.interrupts;
    const view = inside.status === "interrupted" ? inside.interrupt : undefined;
    expect(view?.data).toMatchObject({
      type: "graph",
      interrupts: [{ data: { type: "graph", interrupts: [{ ...leaf, data: { type: "none" } }] } }],
    });
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "x(hi)" });
  });

  test("G1: a graph as a tool stops in the call, and the call continues from there", async () => {
    const inner = graph("inner")
      .node("x", tag("x"))
      .edge(START, "x")
      .edge("x", END)
      .compile({ interruptBefore: ["x"] });
    const boss = agent({
      name: "boss",
      tools: [agentTool(inner)],
      model: scriptedModel(({ messages }) =>
        messages.length > 1 ? [{ text: "done" }] : [{ call: "inner", id: "i", args: { request: "go" } }],
      ),
    });
    const session = await open(boss, await make());
    expect(await session.run("hi").result).toMatchObject({ interruptType: "node_interrupt" });
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "done" });
  });

  test("G1: breakpoints are set, made conditional and taken away live; they live with the thread", async () => {
    const done: string[] = [];
    const store = await make();
    const first = await open(steps(done, { interruptBefore: ["step_c"] }), store);
    await first.setBreakpoint({ node: "step_b" });
    await first.setBreakpoint({ node: "step_c", stop: false });
    await first.run("hi").result;
    expect(first.interrupts).toMatchObject([{ address: "flow/step_b#0", reason: "before" }]);
    await first.setBreakpoint({ node: "step_b", at: "after", graph: "flow" });
    expect(first.pauseType).toBe("node_interrupt");
    await first.close();
    const second = await open(steps(done, { interruptBefore: ["step_c"] }), store);
    expect(second.pauseType).toBe("node_interrupt");
    await second.resume().result;
    expect(second.interrupts).toMatchObject([{ address: "flow/step_b#0", reason: "after" }]);
    // A node that had its output before is not stopped after.
    await second.setBreakpoint({ node: "step_a", at: "after" });
    expect(await second.resume().result).toMatchObject({ status: "completed", output: "c(b(a(hi)))" });
    await second.setBreakpoint({ node: "step_b", stop: false });
    await second.setBreakpoint({ node: "step_b", at: "after", when: "b(a(go))" });
    await second.setBreakpoint({ node: "step_a", at: "after", stop: false });
    expect(await second.run("hi").result).toMatchObject({ status: "completed" });
    expect(await second.run("go").result).toMatchObject({ interruptType: "node_interrupt" });
    await expect(second.setBreakpoint({ node: "", at: "before" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    for (const [wrong, named] of [
      [{ node: "step_x" }, 'node is "step_x"'],
      [{ node: "step_a", graph: "flaw" }, 'graph is "flaw"'],
    ] as const) {
      const refused = second.setBreakpoint(wrong);
      await expect(refused).rejects.toMatchObject({ code: "OPTION_INVALID", message: expect.stringContaining(named) });
      await expect(refused).rejects.toThrow("flow: step_a, step_b, step_c");
    }
  });

  test("G1: a breakpoint that is set while it runs stops visits that have not begun", async () => {
    const reached = gate();
    const go = gate();
    const g = graph("g")
      .node("a", async (input: string) => {
        reached.open();
        await go.opened;
        return input;
      })
      .node("b", tag("b"))
      .edge(START, "a")
      .edge("a", "b")
      .edge("b", END)
      .compile();
    const session = await open(g, await make());
    const run = session.run("hi");
    await reached.opened;
    await session.setBreakpoint({ node: "b" });
    go.open();
    expect(await run.result).toMatchObject({ interruptType: "node_interrupt" });
    expect(await session.resume().result).toMatchObject({ output: "b(hi)" });
  });

  test("G1: a stop while it waits at a node is the person's; the node still waits after it", async () => {
    const done: string[] = [];
    const slow = gate();
    const g = graph("g")
      .node("slow", async (input: string, ctx) => {
        slow.open();
        if (done.length === 0) await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        return input;
      })
      .node("held", tag("held", done))
      .edge(START, "slow")
      .edge(START, "held")
      .edge("slow", END)
      .edge("held", END)
      .compile({ interruptBefore: ["held"] });
    const session = await open(g, await make());
    const run = session.run("hi");
    await slow.opened;
    await session.interrupt();
    expect(await run.result).toMatchObject({ interruptType: "user_interrupt" });
    const again = session.resume();
    await settle();
    await session.interrupt();
    await again.result;
    expect(done).toEqual([]);
  });

  test("G1: a crash while others run does not take a node past its breakpoint", async () => {
    const store = await make();
    const done: string[] = [];
    const begun = gate();
    let hang = true;
    const g = () =>
      graph("g")
        .node("long", async (input: string) => {
          begun.open();
          if (hang) await new Promise(() => {});
          return input;
        })
        .node("held", tag("held", done))
        .edge(START, "long")
        .edge(START, "held")
        .edge("long", END)
        .edge("held", END)
        .compile({ interruptBefore: ["held"] });
    const clock = fakeClock();
    const dying = createRunner({ agent: g(), store, clock, leaseTtlMs: 50 });
    void (await dying.open("t")).run("hi");
    await begun.opened;
    await settle();
    hang = false;
    await new Promise((resolve) => setTimeout(resolve, 80));
    const session = await open(g(), store);
    expect(session.pauseType).toBe("crash");
    expect(await session.resume().result).toMatchObject({ interruptType: "node_interrupt" });
    expect(done).toEqual([]);
    expect(await session.resume().result).toMatchObject({ output: { long: "hi", held: "held(hi)" } });
  });
});
