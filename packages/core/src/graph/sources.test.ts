// The examples that the source designs give of themselves, run here.

import {
  asker,
  eachStore,
  echo,
  enter,
  factsOf,
  gated,
  hanging,
  history,
  listen,
  newLog,
  talker,
  toolOf,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  agent,
  approve,
  humanApproval,
  type InterruptView,
  loop,
  parallel,
  type RunResult,
  reject,
  sequential,
} from "../index.ts";
import { scriptedModel, speak } from "../testing/index.ts";
import { graph } from "./graph.ts";
import { END, START } from "./shape.ts";

function workflowOf(result: RunResult<unknown>) {
  const view: InterruptView | undefined = result.status === "interrupted" ? result.interrupt : undefined;
  if (view?.data.type !== "workflow") throw new Error(`no workflow is interrupted: ${JSON.stringify(result)}`);
  return view.data;
}

const done = (output: unknown) => ({ status: "completed", output });

describe.each(eachStore)("examples of the source designs, on $name", ({ make }) => {
  test("N16, W2: a sequence interrupted in its third agent is at index 2; in another process the first two do not run again", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      sequential({ name: "seq", agents: [echo(log, "a"), echo(log, "b"), worker(log, "c", gated(log, "pay"))] });
    const first = await enter(root(), store);
    const data = workflowOf(await first.run("hi").result);
    expect(data).toMatchObject({ origInput: "hi", sequentialIndex: 2, loopIterations: 0, parallel: {} });
    const [request] = first.interrupts;
    await first.close();
    const second = await enter(root(), store);
    expect(await second.resume({ answers: { [request!.id]: approve() } }).result).toMatchObject(done("c[ok pay done]"));
    expect(log.calls).toEqual(["a: hi", "b: a(hi)", "c: b(a(hi))", "c: ok pay done"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("N17, W2: a loop interrupted in its third round has finished two, and is at the second of its agents", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      loop({
        name: "loop",
        maxIterations: 4,
        agents: [
          echo(log, "a"),
          talker(
            log,
            "b",
            ({ messages }) => {
              const said = messages
                .find(({ role }) => role === "user")!
                .parts.map((p) => (p.type === "text" ? p.text : ""));
              const paid = messages.some(({ role }) => role === "tool");
              return said.join("").length < 10 || paid || said.join("").includes("paid")
                ? `${said}${paid ? "paid" : "."}`
                : [{ call: "pay" }];
            },
            [gated(log, "pay")],
          ),
        ],
      });
    const first = await enter(root(), store);
    const data = workflowOf(await first.run("i").result);
    expect(data).toMatchObject({ origInput: "i", sequentialIndex: 1, loopIterations: 2 });
    const [request] = first.interrupts;
    await first.close();
    const second = await enter(root(), store);
    const result = await second.resume({ answers: { [request!.id]: approve() } }).result;
    expect(result).toMatchObject(done("a(a(a(a(i).).)paid)."));
    expect(log.calls.filter((call) => call.startsWith("a:"))).toHaveLength(4);
    expect(log.did).toEqual(["pay"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("N18, W2: of three at once the first and the third are interrupted: the map has 0 and 2; each resumes apart", async () => {
    const store = await make();
    const log = newLog();
    const pay = (name: string) => worker(log, name, gated(log, name));
    const root = () => parallel({ name: "par", agents: [pay("x"), echo(log, "y"), pay("z")] });
    const first = await enter(root(), store);
    const data = workflowOf(await first.run("hi").result);
    expect(Object.keys(data.parallel)).toEqual(["0", "2"]);
    const [x, z] = [0, 2].map((i) => first.interrupts.find(({ address }) => address.startsWith(`par/${i}:`))!);
    expect(data.parallel[2]).toMatchObject({ id: z!.id, data: { type: "tools", interrupts: [{ ...z }] } });
    await first.close();
    const second = await enter(root(), store);
    const some = workflowOf(await second.resume({ answers: { [z!.id]: approve() } }).result);
    expect(Object.keys(some.parallel)).toEqual(["0"]);
    expect(log.did).toEqual(["z"]);
    const result = await second.resume({ answers: { [x!.id]: approve() } }).result;
    expect(result).toMatchObject(done(["x[ok x done]", "y(hi)", "z[ok z done]"]));
    expect(log.did).toEqual(["z", "x"]);
    expect(log.calls.filter((call) => call.startsWith("y:"))).toHaveLength(1);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("N15, G3: graphs three deep, each with a stop of its own: a tree in checkpoint(), and every level resumes", async () => {
    const store = await make();
    const leaf = () =>
      graph("leaf")
        .node("x", (input: string) => `${input}x`)
        .edge(START, "x")
        .edge("x", END)
        .compile({ interruptBefore: ["x"] });
    const middle = () =>
      graph("middle")
        .node("sub", leaf())
        .edge(START, "sub")
        .edge("sub", END)
        .compile({ interruptBefore: ["sub"] });
    const root = () =>
      graph("root")
        .node("sub", middle())
        .edge(START, "sub")
        .edge("sub", END)
        .compile({ interruptBefore: ["sub"] });
    let session = await enter(root() as never, store);
    let result = await session.run("hi").result;
    const seen: string[] = [];
    while (session.pauseType === "node_interrupt") {
      const checkpoint = await session.checkpoint();
      const { sub } = checkpoint!.subGraphs;
      const below =
        sub === undefined
          ? ""
          : ` > ${sub.beforeNodes}${sub.subGraphs.sub ? ` > ${sub.subGraphs.sub.beforeNodes}` : ""}`;
      seen.push(`${checkpoint!.beforeNodes}${below}`);
      await session.close();
      session = await enter(root() as never, store);
      result = await session.resume().result;
    }
    expect(seen).toEqual(["sub", " > sub", " >  > x"]);
    expect(result).toMatchObject(done("hix"));
  });

  test("N6, N7, G2: a node whose agent waits in one of its tools keeps the results of those that ran, and continues with its input", async () => {
    const store = await make();
    const log = newLog();
    const look = toolOf("look", () => `seen ${log.did.push("look")}`);
    const root = () => {
      const model = scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === "tool")
          ? history(messages.filter(({ role }) => role === "tool")).join(" ")
          : [
              { call: "look", id: "l" },
              { call: "pay", id: "p" },
              { call: "look", id: "m" },
            ],
      );
      return graph("g")
        .node("work", agent({ name: "work", model, tools: [look, gated(log, "pay")] }))
        .node("beside", () => log.did.push("beside"))
        .edge(START, "work")
        .edge(START, "beside")
        .edge("work", END)
        .edge("beside", END)
        .compile();
    };
    const first = await enter(root() as never, store);
    expect(await first.run("hi").result).toMatchObject({ interruptType: "tool_interrupt" });
    expect((await first.checkpoint())!.inputs).toEqual({ work: "hi" });
    const [request] = first.interrupts;
    await first.close();
    const second = await enter(root() as never, store);
    const result = await second.resume({ answers: { [request!.id]: approve() } }).result;
    expect(result).toMatchObject({ status: "completed", output: { work: "tool: l ok + p ok + m ok" } });
    expect(log.did.sort()).toEqual(["beside", "look", "look", "pay"]);
  });

  test.each([
    { decision: approve({ by: "ann", note: "fine" }), end: "published by ann: draft of news" },
    { decision: reject("too long", { by: "ben" }), end: "sent back" },
  ])("N13, N14, G4: the approval workflow, from input to decision to end: $end", async ({ decision, end }) => {
    const store = await make();
    const root = () =>
      graph<{ by: string }>("approval")
        .node("draft", (topic: string) => `draft of ${topic}`)
        .node("review", async (draft: string, ctx) => {
          const { approved, by = "nobody" } = await ctx.ask(
            humanApproval(`Publish "${draft}"?`, { context: { draft } }),
          );
          ctx.setState(() => ({ by }));
          return { approved, draft };
        })
        .node("publish", ({ draft }: { draft: string }, ctx) => `published by ${ctx.state.by}: ${draft}`)
        .node("return", () => "sent back")
        .edge(START, "draft")
        .edge("draft", "review")
        .branch("review", ({ approved }: { approved: boolean }) => (approved ? "publish" : "return"), [
          "publish",
          "return",
        ])
        .edge("publish", END)
        .edge("return", END)
        .compile({ state: { by: "" } });
    const first = await enter(root() as never, store);
    expect(await first.run("news").result).toMatchObject({ interruptType: "tool_interrupt" });
    const [request] = first.interrupts;
    expect(request).toMatchObject({
      kind: "approval",
      reason: 'Publish "draft of news"?',
      context: { draft: "draft of news" },
    });
    await first.close();
    const second = await enter(root() as never, store);
    expect(await second.resume({ answers: { [request!.id]: decision } }).result).toMatchObject(done(end));
    const decided = (await factsOf(store)).find((fact) => fact.type === "request-answered");
    expect(decided).toMatchObject({ id: request!.id, answer: { by: decision.by } });
    expect(decided!.at).toBeGreaterThan(1_600_000_000_000);
  });

  test("D22, D23, R1: ESC in mid-answer, then “focus on security”: the model reasons again, with its cut answer and the input", async () => {
    const model = scriptedModel((request) => {
      const told = request.messages.filter(({ role }) => role === "user").length;
      return told === 1
        ? [{ text: "The code is tidy, " }, { stall: true }]
        : speak("It builds SQL from input.")(request);
    });
    const session = await enter(agent({ name: "reviewer", model }) as never, await make());
    const run = session.run("Review this code.");
    await listen(run).until((event) => event.type === "text-delta");
    await session.interrupt({ reason: "direction_change" });
    expect(session.pauseType).toBe("user_interrupt");
    const result = await session.resumeWithInput("focus on security").result;
    expect(result).toMatchObject({ status: "completed", text: "It builds SQL from input." });
    expect(history(session.messages)).toEqual([
      "user: Review this code.",
      "assistant~user: The code is tidy, ",
      "user: focus on security",
      "assistant: It builds SQL from input.",
    ]);
    expect(history(model.requests[1]!.messages).slice(0, 3)).toMatchObject([
      "user: Review this code.",
      expect.stringContaining("The code is tidy, "),
      "user: focus on security",
    ]);
  });

  test("N5, G1: a breakpoint set once, live, survives five resumes in another process each, inside a nested loop", async () => {
    const store = await make();
    const did: string[] = [];
    const root = () => {
      const inner = graph("inner")
        .node("x", (input: string) => {
          did.push(input);
          return `${input}x`;
        })
        .edge(START, "x")
        .edge("x", END)
        .compile();
      const rounds = loop({ name: "rounds", agents: [inner], maxIterations: 5 });
      return loop({ name: "outer", agents: [sequential({ name: "seq", agents: [rounds] })], maxIterations: 1 });
    };
    let session = await enter(root(), store);
    await session.setBreakpoint({ graph: "inner", node: "x" });
    let result = await session.run("i").result;
    for (let round = 0; round < 5; round++) {
      expect(result).toMatchObject({ interruptType: "node_interrupt" });
      expect(session.interrupts.map(({ message }) => message)).toEqual(["interrupt happened, before nodes: [x]"]);
      expect(did).toHaveLength(round);
      await session.close();
      session = await enter(root(), store);
      result = await session.resume().result;
    }
    expect(result).toMatchObject(done("ixxxxx"));
    expect(did).toEqual(["i", "ix", "ixx", "ixxx", "ixxxx"]);
  });

  test("N30, W4: a tool in a graph in a tool of an agent in a graph: it surfaces at the root, and continues in place", async () => {
    const store = await make();
    const log = newLog();
    const root = () => {
      const inner = graph("inner")
        .node("w", worker(log, "w", gated(log, "pay")))
        .edge(START, "w")
        .edge("w", END)
        .compile();
      return graph("g")
        .node("o", asker(log, "o", inner as never))
        .edge(START, "o")
        .edge("o", END)
        .compile();
    };
    const first = await enter(root() as never, store);
    const result = await first.run("hi").result;
    const [request] = first.interrupts;
    expect(request!.address).toBe("g/o#0:o/t1/c0/inner/w#0:w/t1/c0/approval");
    expect(result.status === "interrupted" && result.interrupt?.data.type).toBe("graph");
    await first.close();
    const second = await enter(root() as never, store);
    expect(await second.resume({ answers: { [request!.id]: approve() } }).result).toMatchObject(
      done("o[ok w[ok pay done]]"),
    );
    expect(log.did).toEqual(["pay"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("N21, W3: once a node has ended the loop around the graph, those that have begun come to their end, also after a stop", async () => {
    const store = await make();
    const log = newLog();
    const leave = toolOf("leave", (ctx) => ctx.breakLoop("left"));
    const once = {};
    const root = () => {
      const g = graph("g")
        .node("leaver", worker(log, "leaver", leave))
        .node("slow", hanging(log, "slow", once))
        .node("next", echo(log, "next"))
        .edge(START, "leaver")
        .edge(START, "slow")
        .edge("slow", "next")
        .edge("leaver", END)
        .edge("next", END)
        .compile();
      return loop({ name: "loop", maxIterations: 3, agents: [g] });
    };
    const first = await enter(root(), store);
    const run = first.run("hi");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta" && event.agentName === "slow");
    await heard.until((event) => event.type === "run-end" && event.runPath.endsWith(":leaver"));
    await first.interrupt();
    await first.close();
    const second = await enter(root(), store);
    expect(await second.resume().result).toMatchObject(done("left"));
    expect(log.calls.filter((call) => call.startsWith("next:"))).toEqual([]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("N21, W3: the node that breaks a loop gives its output, live and read from the record", async () => {
    const leave = toolOf("leave", (ctx) => ctx.breakLoop("left"));
    for (const asks of [false, true]) {
      const store = await make();
      const log = newLog();
      const root = () => {
        const other = asks ? worker(log, "other", gated(log, "pay")) : echo(log, "other");
        const par = parallel({ name: "par", agents: [worker(log, "leaver", leave), other] });
        return loop({ name: "loop", maxIterations: 3, agents: [par] });
      };
      const first = await enter(root(), store);
      let result = await first.run("hi").result;
      const answers = Object.fromEntries(first.interrupts.map(({ id }) => [id, approve()]));
      await first.close();
      if (asks) result = await (await enter(root(), store)).resume({ answers }).result;
      expect(result).toMatchObject(done("left"));
      expect(await wrong(store, log)).toEqual([]);
    }
  });
});
