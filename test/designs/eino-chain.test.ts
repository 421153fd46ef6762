// The interrupt chain of eino's ADK: its three examples, and its nested graphs.

import {
  agent,
  approve,
  createRunner,
  END,
  graph,
  humanApproval,
  type Json,
  memoryStore,
  messageText,
  rerun,
  START,
} from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { toolOf, until } from "./kit.ts";

describe("eino, example 1: an approval workflow", () => {
  const approval = () =>
    agent({
      name: "ApprovalAgent",
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? "Operation approved. Proceeding with database deletion..."
          : [{ call: "delete_table", args: { table: "users" }, id: "d" }],
      ),
      tools: [
        toolOf("delete_table", (_args, ctx) => `deleted by ${ctx.approval?.by}`, {
          needsApproval: () =>
            humanApproval("Waiting for human approval on sensitive operation", { stateKey: "approval_checkpoint_1" }),
        }),
      ],
      outputKey: "approval_decision",
    });

  test("the consumer finds event.action.interrupted with type, reason and state key; the checkpoint is saved by then", async () => {
    const store = memoryStore();
    const runner = createRunner({ agent: approval(), store });
    const session = await runner.open("approval_workflow_001");
    const run = session.run("Delete the table users of the production database?");
    for await (const event of run) {
      if (event.type !== "action" || event.action.interrupted === undefined) continue;
      const { kind, reason, stateKey } = event.action.interrupted;
      expect({ kind, reason, stateKey }).toEqual({
        kind: "approval",
        reason: "Waiting for human approval on sensitive operation",
        stateKey: "approval_checkpoint_1",
      });
      expect(event).toMatchObject({ agentName: "ApprovalAgent", runPath: "ApprovalAgent" });
      expect((await runner.journal("approval_workflow_001")).head).toBeGreaterThanOrEqual(event.seq);
      break;
    }
    await run.result;
    await runner.close();

    // Another process loads it, with the decision of the person.
    const second = createRunner({ agent: approval(), store });
    const [item] = (await second.inbox()).items;
    const again = await second.open("approval_workflow_001");
    const answers = { [item!.id]: approve({ by: "manager_456" }) };
    expect(await again.resume({ answers }).result).toMatchObject({
      status: "completed",
      text: "Operation approved. Proceeding with database deletion...",
    });
    // output_key
    expect((await second.look("approval_workflow_001"))?.values).toEqual({
      approval_decision: "Operation approved. Proceeding with database deletion...",
    });
    await second.close();
  });
});

describe("eino, example 2: a graph that stops before a node", () => {
  const steps = (done: string[], more: object) => {
    const step = (key: string, gives: string) => () => {
      done.push(key);
      return gives;
    };
    return graph("steps")
      .node("step_a", step("step_a", "data_from_A"))
      .node("step_b", step("step_b", "processed_data"))
      .node("step_c", step("step_c", "critical_result"))
      .edge(START, "step_a")
      .edge("step_a", "step_b")
      .edge("step_b", "step_c")
      .edge("step_c", END)
      .compile(more as never);
  };

  test("the message names the node; it has not run; resume() runs it once", async () => {
    const done: string[] = [];
    const runner = createRunner({ agent: steps(done, { interruptBefore: ["step_c"] }) });
    const session = await runner.open("graph_checkpoint_001");
    await session.run("initial_input").result;
    expect(session.interrupts[0]?.message).toBe("interrupt happened, before nodes: [step_c]");
    expect((await session.checkpoint())?.beforeNodes).toEqual(["step_c"]);
    expect(done).toEqual(["step_a", "step_b"]);
    expect(await session.resume().result).toMatchObject({ output: "critical_result" });
    expect(done).toEqual(["step_a", "step_b", "step_c"]);
    await runner.close();
  });

  test("with the approval of a person: the decision, the approver and the time are on record", async () => {
    const done: string[] = [];
    const request = humanApproval("Run the critical operation?", { approvers: ["manager_456"] });
    const runner = createRunner({ agent: steps(done, { approveBefore: [{ node: "step_c", request }] }) });
    const session = await runner.open("graph_checkpoint_001");
    await session.run("initial_input").result;
    const [item] = (await runner.inbox()).items;
    expect(item).toMatchObject({ node: "step_c", args: "processed_data" });
    await runner.answer(item!.id, approve({ by: "manager_456" }));
    expect(await session.resume().result).toMatchObject({ output: "critical_result" });
    const { items } = await runner.journal("graph_checkpoint_001");
    expect(items.find(({ type }) => type === "request-answered")).toMatchObject({
      by: "manager_456",
      answer: { type: "approve" },
      at: expect.any(Number),
    });
    await runner.close();
  });
});

describe("eino, example 3: interrupt and rerun", () => {
  test("WebSearchTool asks to be run again after a network error; resume() runs only it, and the model is called once for the turn", async () => {
    const did: string[] = [];
    let online = false;
    const web = toolOf("web_search", () => {
      did.push("web_search");
      if (!online) throw rerun({ retry_count: did.length - 1, last_error: "Connection timeout after 5s" });
      return "Search results...";
    });
    const other = toolOf("calculator", () => {
      did.push("calculator");
      return 42;
    });
    const model = scriptedModel([
      [
        { call: "calculator", args: {}, id: "c" },
        { call: "web_search", args: { q: "belay" }, id: "w" },
      ],
      "Found it.",
    ]);
    const runner = createRunner({ agent: agent({ name: "searcher", model, tools: [web, other] }) });
    const session = await runner.open();
    const result = await session.run("search").result;
    expect(result).toMatchObject({
      interrupt: {
        kind: "rerun",
        data: {
          type: "tools",
          executedTools: { c: 42 },
          rerunTools: ["w"],
          extra: { w: { retry_count: 1, last_error: "Connection timeout after 5s" } },
        },
      },
    });
    online = true;
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "Found it." });
    expect(did).toEqual(["calculator", "web_search", "web_search"]);
    expect(model.requests).toHaveLength(2);
    await runner.close();
  });

  test("a node that asks to be run again is listed with its extra, and keeps its input", async () => {
    let online = false;
    const search = graph("search_graph")
      .node("search", (input: Json) => {
        if (!online) throw rerun({ last_error: "Connection timeout after 5s" });
        return `results of ${String(input)}`;
      })
      .edge(START, "search")
      .edge("search", END)
      .compile();
    const runner = createRunner({ agent: search });
    const session = await runner.open();
    const result = await session.run("belay").result;
    const rerunNodes = [{ node: "search", input: "belay", extra: { last_error: "Connection timeout after 5s" } }];
    expect(result).toMatchObject({
      interruptType: "node_interrupt",
      interrupts: [{ kind: "rerun", node: "search" }],
      interrupt: { data: { type: "graph", rerunNodes } },
    });
    expect((await session.checkpoint())?.rerunNodes).toEqual(rerunNodes);
    online = true;
    expect(await session.resume().result).toMatchObject({ output: "results of belay" });
    await runner.close();
  });
});

describe("eino, streaming after a resume", () => {
  test("N24, E1: a run that streamed continues streaming: the reader of the second segment gets its deltas, and one message of both", async () => {
    const model = scriptedModel([[{ text: ["One ", "two "] }, { stall: true }], [{ text: ["three ", "four"] }]]);
    const runner = createRunner({ agent: agent({ name: "a", model }) });
    const session = await runner.open();
    const first = session.run("count");
    await until(first, (event) => event.type === "text-delta" && event.text === "two ");
    await session.interrupt();
    const second = session.resume();
    const pieces: string[] = [];
    for await (const event of second) if (event.type === "text-delta") pieces.push(event.text);
    expect(pieces.join("")).toBe("three four");
    expect(await second.result).toMatchObject({ status: "completed", segment: 2, text: "One two three four" });
    expect(messageText(session.messages.at(-1)!)).toBe("One two three four");
    await runner.close();
  });
});

describe("eino, nested graphs", () => {
  test("the parent stops before the sub-graph, then the child stops inside it: SubGraphs records the levels", async () => {
    const child = graph("child")
      .node("sensitive_operation", () => "done")
      .edge(START, "sensitive_operation")
      .edge("sensitive_operation", END)
      .compile({ interruptBefore: ["sensitive_operation"] });
    const parent = graph("parent")
      .node("critical_subgraph", child)
      .edge(START, "critical_subgraph")
      .edge("critical_subgraph", END)
      .compile({ interruptBefore: ["critical_subgraph"] });
    const runner = createRunner({ agent: parent });
    const session = await runner.open();
    const first = await session.run("go").result;
    expect(first).toMatchObject({
      interrupt: { data: { type: "graph", beforeNodes: ["critical_subgraph"], subGraphs: {} } },
    });
    const second = await session.resume().result;
    expect(second).toMatchObject({
      interrupt: {
        data: {
          type: "graph",
          subGraphs: { critical_subgraph: { beforeNodes: ["sensitive_operation"], state: {} } },
        },
      },
    });
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "done" });
    await runner.close();
  });
});
