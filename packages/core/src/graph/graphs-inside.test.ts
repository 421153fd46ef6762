import { eachStore } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Agent, agent, agentTool, createRunner, humanInput, parallel, respond } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

const inner = graph<{ floor: number }>("inner")
  .node("ask", async (_input: string, ctx) => {
    const floor = Number(await ctx.ask(humanInput("Which floor?")));
    ctx.setState(() => ({ floor }));
    return "asked";
  })
  .node("sum", (_input: string, ctx) => `floor ${ctx.state.floor}`)
  .edge(START, "ask")
  .edge("ask", "sum")
  .edge("sum", END)
  .compile({ state: { floor: 0 }, interruptBefore: ["sum"] });

const outer = graph("outer").node("deep", inner).edge(START, "deep").edge("deep", END).compile();

describe.each(eachStore)("a graph inside an agent's tool on $name", ({ make }) => {
  test("G3, G4: can be read and changed at its pause, by its path or by the address of its request", async () => {
    const model = scriptedModel([
      [{ call: "outer", args: { request: "go" } }],
      ({ messages }) => JSON.stringify(messages.at(-1)!.parts),
    ]);
    const boss = agent({ name: "boss", model, tools: [agentTool(outer)] });
    const session = await createRunner({ agent: boss, store: await make() }).open("t");
    expect(await session.checkpoint()).toBeUndefined();
    await session.run("hi").result;

    const [question] = session.interrupts;
    const path = "boss/t1/c0/outer/deep#0:inner";
    expect(await session.checkpoint()).toMatchObject({ state: { floor: 0 }, inputs: { ask: "go" } });
    expect(await session.checkpoint({ to: question!.address })).toEqual(await session.checkpoint({ to: path }));
    expect(await session.checkpoint({ to: "boss/t1/c0/outer" })).toMatchObject({
      subGraphs: { deep: { state: { floor: 0 } } },
    });

    await session.resume({ answers: { [question!.id]: respond("3") } }).result;
    const [stop] = session.interrupts;
    expect(stop).toMatchObject({ kind: "node", address: `${path}/sum#0` });
    expect(await session.checkpoint()).toMatchObject({ state: { floor: 3 }, beforeNodes: ["sum"] });
    expect(await session.resume({ state: { floor: 4 }, to: stop!.address }).result).toMatchObject({
      text: expect.stringContaining("floor 4"),
    });
  });

  test("G3: a place that the run is not in is refused, with the graphs that it is in", async () => {
    const session = await createRunner({ agent: outer, store: await make() }).open("t");
    await session.run("hi").result;
    const refusal = {
      code: "OPTION_INVALID",
      message:
        'Option to is "outer/nowhere"; it must be the path of a graph that this run is in (outer, outer/deep#0:inner), or the address of what waits in one.',
    };
    await expect(session.checkpoint({ to: "outer/nowhere" })).rejects.toMatchObject(refusal);
    expect(await session.resume({ state: {}, to: "outer/nowhere" }).result).toMatchObject({ error: refusal });
    expect(session.interrupts).toHaveLength(1);
  });

  test("G3: of several that wait, the first is looked at; `to` names the others", async () => {
    const twice = parallel({ name: "both", agents: [inner, inner] });
    const session = await createRunner({ agent: twice as Agent<unknown, unknown>, store: await make() }).open("t");
    await session.run("hi").result;
    const [first, second] = session.interrupts;
    await session.resume({ answers: { [first!.id]: respond("1") } }).result;
    const stopped = session.interrupts.find(({ kind }) => kind === "node")!;
    expect(await session.checkpoint({ to: stopped.address })).toMatchObject({ state: { floor: 1 } });
    expect(await session.checkpoint({ to: second!.address })).toMatchObject({ state: { floor: 0 } });
  });
});

test("OPTION_INVALID: a breakpoint stops or does not, and nothing in between", async () => {
  const session = await createRunner({ agent: outer }).open("t");
  await expect(session.setBreakpoint({ node: "sum", stop: "no" as never })).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: 'Option stop is "no"; it must be true or false.',
  });
});
