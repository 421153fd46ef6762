import { describe, expect, test } from "vitest";
import type { Agent } from "../agent.ts";
import { agent } from "../chat/agent.ts";
import { approve } from "../index.ts";
import type { Json } from "../json.ts";
import { createRunner } from "../runner/runner.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { eachStore } from "../testing/each-store.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { listen } from "../testing/session-kit.ts";
import { tool } from "../tool/tool.ts";
import { agentTool } from "../workflow/agent-tool.ts";
import { loop } from "../workflow/loop.ts";
import { type Graph, graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const open = (root: Agent<unknown, never>, store: Store = memoryStore()) =>
  createRunner({ agent: root as Agent<unknown, unknown>, store }).open("t");

/** A node that says who it is of what it was given. */
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

  test("G1: before the first and after the last node; what was given is kept", async () => {
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

  test("G1: siblings go on to their own end, and a tool that asks comes before a node that waits", async () => {
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
    const session = await open(g, await make());
    expect(await session.run("hi").result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(done).toEqual(["free", "more"]);
    expect(session.interrupts.map(({ kind }) => kind).sort()).toEqual(["approval", "node"]);
    const request = session.interrupts.find(({ kind }) => kind === "approval")!;
    expect(request.address).toBe("g/payer#0:payer/t1/c0/approval");
    const result = await session.resume({ answers: { [request.id]: approve() } }).result;
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

  test("G1: a graph as a tool stops in the call, and the call goes on from there", async () => {
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
});
