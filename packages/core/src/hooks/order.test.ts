import { openKit } from "@belay/testkit";
import { expect, test } from "vitest";
import {
  agent,
  agentTool,
  approve,
  createRunner,
  type Json,
  jsonSchema,
  messageText,
  sequential,
  tool,
} from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import type { HookName, Hooks } from "./hooks.ts";

const names: readonly HookName[] = [
  "beforeReply",
  "afterReply",
  "beforeModel",
  "afterModel",
  "beforeTool",
  "afterTool",
  "beforeObserve",
  "afterObserve",
  "onInterrupt",
];

/** Hooks that only log their calls. */
function listing(calls: string[], who: string): Hooks {
  const told = names.map((name) => [
    name,
    (info: { runPath: string; tool?: string }) =>
      void calls.push(`${who}.${name} ${info.runPath}${info.tool === undefined ? "" : ` ${info.tool}`}`),
  ]);
  return Object.fromEntries(told) as Hooks;
}

const pay = (ran: Json[]) =>
  tool({
    name: "pay",
    description: "Pays",
    input: jsonSchema<{ amount: number }>({
      type: "object",
      properties: { amount: { type: "number" } },
      required: ["amount"],
    }),
    execute: (args) => {
      ran.push(args as Json);
      return `paid ${args.amount}`;
    },
  });

const payTurns = [[{ call: "pay", args: { amount: 5 }, id: "c1" }], "done"] as const;

test("A9, W5: hooks of the runner go around those of the agent, around each reply, model call and tool call", async () => {
  const calls: string[] = [];
  const { session } = await openKit([...payTurns], {
    tools: [pay([])],
    agent: { hooks: [listing(calls, "outer"), listing(calls, "inner")] },
    runner: { hooks: listing(calls, "runner") },
  });
  await session.run("go").result;
  const around = (name: string, more = "") => [
    `runner.${name} helper${more}`,
    `outer.${name} helper${more}`,
    `inner.${name} helper${more}`,
  ];
  const after = (name: string, more = "") => around(name, more).reverse();
  expect(calls).toEqual([
    ...around("beforeReply"),
    ...around("beforeModel"),
    ...after("afterModel"),
    ...around("beforeTool", " pay"),
    ...after("afterTool", " pay"),
    ...around("beforeModel"),
    ...after("afterModel"),
    ...after("afterReply"),
  ]);
});

test("W5: a child's own hooks are called in the child, the runner's for every agent with its path", async () => {
  const calls: string[] = [];
  const asked = agent({ name: "clerk", model: scriptedModel("42"), hooks: listing(calls, "clerk") });
  const first = agent({
    name: "first",
    model: scriptedModel([[{ call: "clerk", args: { request: "?" }, id: "c" }], "one"]),
    tools: [agentTool(asked)],
    hooks: listing(calls, "first"),
  });
  const second = agent({ name: "second", model: scriptedModel("two") });
  const all = sequential({ name: "all", agents: [first, second], hooks: listing(calls, "all") });
  const runner = createRunner({
    agent: all,
    hooks: { beforeReply: ({ runPath }) => void calls.push(`runner ${runPath}`) },
  });
  const session = await runner.open("t");
  await session.run("go").result;
  expect(calls).toEqual([
    "runner all",
    "all.beforeReply all",
    "runner all/0:first",
    "first.beforeReply all/0:first",
    "first.beforeModel all/0:first",
    "first.afterModel all/0:first",
    "first.beforeTool all/0:first clerk",
    "runner all/0:first/t1/c0/clerk",
    "clerk.beforeReply all/0:first/t1/c0/clerk",
    "clerk.beforeModel all/0:first/t1/c0/clerk",
    "clerk.afterModel all/0:first/t1/c0/clerk",
    "clerk.afterReply all/0:first/t1/c0/clerk",
    "first.afterTool all/0:first clerk",
    "first.beforeModel all/0:first",
    "first.afterModel all/0:first",
    "first.afterReply all/0:first",
    "runner all/1:second",
    "all.afterReply all",
  ]);
});

test("W5: the input that beforeReply returns is recorded; beforeModel changes that request alone", async () => {
  const { session, requests, problems } = await openKit("fine", {
    agent: {
      hooks: {
        beforeReply: ({ input }) =>
          "messages" in input ? `${messageText({ ...input.messages[0]! } as never)}!` : undefined,
        beforeModel: ({ request }) => ({
          temperature: 0,
          messages: [
            ...request.messages,
            { id: "note", role: "user", parts: [{ type: "text", text: "be brief" }], at: 0, origin: "hook" },
          ],
        }),
      },
    },
  });
  await session.run("hello").result;
  expect(session.messages.map(messageText)).toEqual(["hello!", "fine"]);
  expect(requests.map(({ messages, temperature }) => [messages.map(messageText), temperature])).toEqual([
    [["hello!", "be brief"], 0],
  ]);
  expect(problems()).toEqual([]);
});

test("W5, Q4: a call runs with the arguments of beforeTool; the history and the model see both", async () => {
  const ran: Json[] = [];
  const { session, requests } = await openKit([...payTurns], {
    tools: [pay(ran)],
    agent: {
      hooks: { beforeTool: () => ({ args: { amount: 3 } }), afterTool: ({ output }) => ({ output: `${output}!` }) },
    },
  });
  await session.run("go").result;
  expect(ran).toEqual([{ amount: 3 }]);
  const call = session.messages[1]!.parts[0]!;
  expect(call).toMatchObject({ type: "call", args: { amount: 5 }, ranArgs: { amount: 3 }, changedBy: "hook" });
  expect(requests[1]!.messages.at(-1)!.parts[0]).toMatchObject({
    outcome: "ok",
    output: "[The program changed the arguments before it ran: amount is now 3.]\npaid 3!",
  });
});

test("W5, Q5: the gate sees what beforeTool made of it; a person approves that, and nothing changes it after", async () => {
  const ran: Json[] = [];
  let asked = 0;
  const { session } = await openKit([...payTurns], {
    tools: [{ ...pay(ran), needsApproval: ({ amount }: { amount: number }) => amount < 5 } as never],
    agent: {
      hooks: {
        beforeTool: () => {
          asked += 1;
          return { args: { amount: 3 } };
        },
      },
    },
  });
  await session.run("go").result;
  const [request] = session.interrupts;
  expect(request).toMatchObject({ kind: "approval", args: { amount: 3 }, changedBy: "hook" });
  const result = await session.resume({ answers: { [request!.id]: approve() } }).result;
  expect(result.status).toBe("completed");
  expect(ran).toEqual([{ amount: 3 }]);
  expect(asked).toBe(1);
});

test("W5: beforeTool can reject a call, or give its result: it never runs, and the next hook is not asked", async () => {
  const ran: Json[] = [];
  const inner: string[] = [];
  const { session } = await openKit(
    [
      [
        { call: "pay", args: { amount: 1 }, id: "a" },
        { call: "pay", args: { amount: 2 }, id: "b" },
      ],
      "done",
    ],
    {
      tools: [pay(ran)],
      agent: { hooks: { beforeTool: ({ callId }) => void inner.push(callId) } },
      runner: {
        hooks: { beforeTool: ({ callId }) => (callId === "a" ? { reject: "too late" } : { result: { cached: true } }) },
      },
    },
  );
  await session.run("go").result;
  expect([ran, inner]).toEqual([[], []]);
  expect(session.messages[2]!.parts).toMatchObject([
    { id: "a", outcome: "rejected", output: "Not executed: too late" },
    { id: "b", outcome: "ok", output: { cached: true } },
  ]);
});

test("W5: a hook gets its place, the deps of the runner, and a signal", async () => {
  const seen: unknown[] = [];
  const { session } = await openKit("fine", {
    deps: { region: "eu" },
    agent: {
      hooks: {
        afterModel({ threadId, agentName, runPath, segment, deps, signal, text, usage, how }) {
          seen.push({ threadId, agentName, runPath, segment, deps, aborted: signal.aborted, text, usage, how });
        },
      },
    },
  });
  await session.run("hello").result;
  expect(seen).toEqual([
    {
      threadId: "thread",
      agentName: "helper",
      runPath: "helper",
      segment: 1,
      deps: { region: "eu" },
      aborted: false,
      text: "fine",
      usage: { inputTokens: 1, outputTokens: 1 },
      how: "finished",
    },
  ]);
});

test("W5: a value that is not a hook is refused when it is given", () => {
  const model = scriptedModel("x");
  const codes = [{ beforeToolCall: () => {} }, { beforeTool: "x" }, [null]].map((hooks) => {
    try {
      return agent({ name: "a", model, hooks: hooks as never }).name;
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  expect(codes).toEqual(["OPTION_UNKNOWN", "OPTION_INVALID", "OPTION_INVALID"]);
});

test("W5: hooks may be the methods of a class", async () => {
  class Watching {
    readonly #seen: string[] = [];
    beforeModel() {
      this.#seen.push("model");
    }
    get seen() {
      return this.#seen;
    }
  }
  const hooks = new Watching();
  await (await createRunner({ agent: agent({ name: "a", model: scriptedModel("x"), hooks }) }).run("go")).result;
  expect(hooks.seen).toEqual(["model"]);
});
