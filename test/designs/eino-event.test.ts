// From an interrupt to an event in eino's ADK: the scenes of its document, and its tables of nested and parallel data.

import {
  type Agent,
  type Approval,
  agent,
  approve,
  ask,
  type BelayEvent,
  createRunner,
  defineAgent,
  humanApproval,
  humanInput,
  type InterruptView,
  loop,
  parallel,
  respond,
  say,
  sequential,
} from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { toolOf } from "./kit.ts";

type Root = Agent<unknown, unknown>;

const asking = (name: string, question: string) => defineAgent({ name, run: (ctx) => ctx.ask(humanInput(question)) });
const quick = (name: string) => defineAgent({ name, run: (_ctx, input) => `${name}(${String(input)})` });

async function paused(root: Agent<unknown, never>, input = "original input") {
  const runner = createRunner({ agent: root as Root });
  const session = await runner.open();
  const run = session.run(input);
  const events: BelayEvent[] = [];
  for await (const event of run) events.push(event);
  const result = await run.result;
  if (result.status !== "interrupted") throw new Error(result.status);
  return { runner, session, events, result };
}

/** The one event of the root that says why the run pauses. */
function wrapped(events: readonly BelayEvent[], root: string): InterruptView {
  const found = events.flatMap((event) =>
    event.type === "action" && event.runPath === root && event.action.interrupted !== undefined
      ? [event.action.interrupted]
      : [],
  );
  return found.at(-1) as InterruptView;
}

describe("eino, scene 1: a chat model agent is interrupted", () => {
  test("the tool call needs approval: the event carries type, reason, state key and context, and the agent continues after it", async () => {
    const sensitive = toolOf("sensitive_operation", () => "done", {
      needsApproval: () =>
        humanApproval("Sensitive operation requires approval", {
          stateKey: "approval_checkpoint_1",
          context: { operation: "delete_database", target: "production" },
        }),
    });
    const model = scriptedModel([[{ call: "sensitive_operation", args: {}, id: "s" }], "done"]);
    const { runner, session, events, result } = await paused(agent({ name: "chat", model, tools: [sensitive] }));
    expect(events.find(({ type }) => type === "action")).toMatchObject({
      agentName: "chat",
      runPath: "chat",
      action: {
        interrupted: {
          kind: "approval",
          reason: "Sensitive operation requires approval",
          stateKey: "approval_checkpoint_1",
          context: { operation: "delete_database", target: "production" },
        },
      },
    });
    expect(events.some((event) => event.type === "action" && event.action.exit !== undefined)).toBe(false);
    const answers = { [result.interrupts[0]!.id]: approve() };
    expect(await session.resume({ answers }).result).toMatchObject({ status: "completed" });
    await runner.close();
  });
});

describe("eino, scene 2: a sequential workflow is interrupted", () => {
  test("the third agent asks: the root's event has its index from 0, the original input and the original interrupt unchanged", async () => {
    const root = sequential({
      name: "workflow",
      agents: [quick("sub1"), quick("sub2"), asking("sub3", "Waiting for user input")],
    });
    const { runner, session, events, result } = await paused(root);
    const original = events.find((event) => event.type === "action" && event.runPath.endsWith("sub3"));
    expect(original).toMatchObject({
      agentName: "sub3",
      action: { interrupted: { reason: "Waiting for user input" } },
    });
    const root1 = wrapped(events, "workflow");
    expect(root1).toMatchObject({
      data: {
        type: "workflow",
        origInput: "original input",
        sequentialIndex: 2,
        loopIterations: 0,
        interrupt: { reason: "Waiting for user input", data: { type: "none" } },
      },
    });
    expect(result.interrupt).toEqual(root1);
    expect((await runner.look(session.threadId))?.interrupt).toEqual(root1);
    const { interrupted } = (original as Extract<BelayEvent, { type: "action" }>).action;
    const inner = root1.data.type === "workflow" ? root1.data.interrupt : undefined;
    expect(inner).toMatchObject(interrupted!);
    const answers = { [result.interrupts[0]!.id]: respond("here") };
    expect(await session.resume({ answers }).result).toMatchObject({ output: "here" });
    await runner.close();
  });
});

describe("eino, the table of nested and parallel data", () => {
  test("a plain interrupt has none, a parallel one a map by index of all and only those that are interrupted", async () => {
    const root = parallel({
      name: "all",
      agents: [asking("a0", "zero?"), quick("a1"), asking("a2", "two?"), quick("a3")],
    });
    const { runner, session, events, result } = await paused(root);
    const { data } = wrapped(events, "all");
    if (data.type !== "workflow") throw new Error(data.type);
    expect(data).not.toHaveProperty("sequentialIndex");
    expect(Object.keys(data.parallel)).toEqual(["0", "2"]);
    expect(data.parallel[0]).toMatchObject({ reason: "zero?", data: { type: "none" } });
    expect(data.parallel[2]).toMatchObject({ reason: "two?" });
    const ids = [data.parallel[0]!.id, data.parallel[2]!.id];
    const addresses = [data.parallel[0]!.address, data.parallel[2]!.address];
    expect(new Set(ids).size).toBe(2);
    expect(new Set(addresses).size).toBe(2);
    const answers = Object.fromEntries(result.interrupts.map(({ id, reason }) => [id, respond(`yes ${reason}`)]));
    expect(await session.resume({ answers }).result).toMatchObject({
      output: ["yes zero?", "a1(original input)", "yes two?", "a3(original input)"],
    });
    await runner.close();
  });

  test("a person's stop of parallel agents: each has its own id and address, too", async () => {
    const stalls = (name: string) => agent({ name, model: scriptedModel([[{ text: "x" }, { stall: true }], "y"]) });
    const root = parallel({ name: "all", agents: [stalls("a0"), stalls("a1")] });
    const runner = createRunner({ agent: root as Root });
    const session = await runner.open();
    const run = session.run("go");
    let texts = 0;
    for await (const event of run) if (event.type === "text-delta" && ++texts === 2) break;
    await session.interrupt();
    const result = await run.result;
    if (result.status !== "interrupted" || result.interrupt.data.type !== "workflow") throw new Error(result.status);
    const { parallel: both } = result.interrupt.data;
    expect(Object.keys(both)).toEqual(["0", "1"]);
    expect(both[0]!.id).not.toBe(both[1]!.id);
    expect(both[0]!.address).not.toBe(both[1]!.address);
    await runner.close();
  });

  test("a loop has its finished rounds; an agent inside a tool nests to the leaf", async () => {
    let rounds = 0;
    const often = defineAgent({
      name: "often",
      run: async (ctx, input) => {
        const round = await ctx.step("count", () => ++rounds);
        return round === 2 ? ctx.ask(humanInput("again?")) : input;
      },
    });
    const { runner, events } = await paused(loop({ name: "rounds", agents: [often], maxIterations: 3 }));
    expect(wrapped(events, "rounds").data).toMatchObject({ type: "workflow", loopIterations: 1, sequentialIndex: 0 });
    await runner.close();
  });
});

describe("eino, the end-to-end example", () => {
  test("a custom ApprovalAgent speaks, asks for approval and continues with the decision, the approver and the time", async () => {
    const root = defineAgent({
      name: "ApprovalAgent",
      async *run(_ctx, input) {
        yield say("Processing request...");
        if (!/delete|production/.test(String(input))) return "no approval needed";
        const decision: Approval = yield ask(
          humanApproval("Sensitive operation requires manager approval", {
            stateKey: "approval_state_001",
            context: { operation: "delete_production_data", affected_records: 10000, requestor: "user_123" },
          }),
        );
        return decision;
      },
    });
    const { runner, session, events, result } = await paused(
      root,
      "Please delete all production data from the database",
    );
    expect(events.find(({ type }) => type === "text-delta")).toMatchObject({ text: "Processing request..." });
    expect(result.interrupts).toMatchObject([
      {
        kind: "approval",
        reason: "Sensitive operation requires manager approval",
        stateKey: "approval_state_001",
        context: { operation: "delete_production_data", affected_records: 10000, requestor: "user_123" },
      },
    ]);
    const answers = { [result.interrupts[0]!.id]: approve({ by: "manager_456" }) };
    expect(await session.resume({ answers }).result).toMatchObject({
      output: { approved: true, by: "manager_456", at: expect.any(Number) },
    });
    await runner.close();
  });
});
