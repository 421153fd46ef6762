import { expect, describe as group, test } from "vitest";
import {
  agent,
  agentTool,
  defineAgent,
  describe,
  END,
  graph,
  jsonSchema,
  loop,
  parallel,
  START,
  sequential,
  tool,
} from "./index.ts";
import { scriptedModel } from "./testing/index.ts";

const input = jsonSchema({ type: "object", properties: { n: { type: "integer" } } });
const model = { ...scriptedModel([]), id: "script-1" };
const chat = (name: string, more: object = {}) => agent({ name, model, ...more });

group("describe(agent)", () => {
  test("L6: a chat agent has its model, and its tools with schema, flags and version", () => {
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input,
      version: "3",
      needsApproval: () => true,
      destructive: true,
      timeoutMs: 5,
      execute: () => 1,
    });
    const look = tool({ name: "look", description: "Looks.", input, readOnly: true, execute: () => 1 });
    const helper = chat("helper", { tools: [pay, look, agentTool(chat("expert"))], output: input });
    expect(describe(helper)).toEqual({
      name: "helper",
      kind: "chat",
      model: "script-1",
      output: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false },
      tools: [
        {
          name: "pay",
          description: "Pays.",
          version: "3",
          input: { type: "object", properties: { n: { type: "integer" } } },
          needsApproval: "depends",
          onStop: "abort",
          onCrash: "ask",
          serial: false,
          readOnly: false,
          repeatable: false,
          destructive: true,
          timeoutMs: 5,
        },
        {
          name: "look",
          description: "Looks.",
          version: "1",
          input: { type: "object", properties: { n: { type: "integer" } } },
          onStop: "abort",
          onCrash: "retry",
          serial: false,
          readOnly: true,
          repeatable: false,
          destructive: false,
        },
        expect.objectContaining({ name: "expert", agent: "expert", needsApproval: false }),
      ],
      children: [{ name: "expert", kind: "chat", model: "script-1", tools: [], children: [] }],
    });
  });

  test("L6: agents made of agents name their kind and have their parts as children", () => {
    const custom = defineAgent({ name: "custom", run: () => 1, agents: [chat("inner")] });
    const tree = sequential({
      name: "all",
      agents: [
        loop({ name: "rounds", agents: [chat("one")], maxIterations: 3 }),
        parallel({ name: "both", agents: [chat("two"), custom] }),
      ],
    });
    const { kind, children } = describe(tree);
    expect([kind, children.map((child) => child.kind)]).toEqual(["sequential", ["loop", "parallel"]]);
    expect(children[0]).toMatchObject({ maxIterations: 3, children: [{ name: "one", kind: "chat" }] });
    expect(children[1]!.children).toMatchObject([
      { name: "two", kind: "chat" },
      { name: "custom", kind: "custom", children: [{ name: "inner" }] },
    ]);
  });

  test("L6: a graph has its nodes, edges, branches and breakpoints, and only its agents as children", () => {
    const made = graph("ways")
      .node("a", () => "a")
      .node("b", chat("writer"))
      .edge(START, "a")
      .branch("a", () => "b", ["b", END])
      .edge("b", END)
      .compile({ trigger: "all", interruptBefore: ["a"], interruptAfter: [{ node: "b", when: () => true }] });
    expect(describe(made)).toEqual({
      name: "ways",
      kind: "graph",
      graph: {
        nodes: [{ key: "a" }, { key: "b", agent: "writer" }],
        edges: [
          { from: START, to: "a" },
          { from: "b", to: END },
        ],
        branches: [{ from: "a", to: ["b", END] }],
        trigger: "all",
        interruptBefore: [{ node: "a", conditional: false }],
        interruptAfter: [{ node: "b", conditional: true }],
      },
      children: [{ name: "writer", kind: "chat", model: "script-1", tools: [], children: [] }],
    });
  });

  test("L6: the description is JSON and leaves out the instructions", () => {
    const helper = chat("helper", { instructions: "secret words", subAgents: [chat("other")] });
    const described = describe(helper);
    expect(JSON.parse(JSON.stringify(described))).toEqual(described);
    expect(JSON.stringify(described)).not.toContain("secret");
    expect(described.children).toMatchObject([{ name: "other" }]);
  });

  test("refuses a value that is not an agent", () => {
    expect(() => describe({} as never)).toThrow(expect.objectContaining({ code: "AGENT_INVALID" }));
  });
});
