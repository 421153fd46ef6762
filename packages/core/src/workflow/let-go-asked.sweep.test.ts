import {
  type AnyAgent,
  answersFor,
  asker,
  factsOf,
  gated,
  type Log,
  newLog,
  talker,
  toolOf,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, inject, test } from "vitest";
import {
  createRunner,
  END,
  graph,
  humanInput,
  memoryStore,
  type Runner,
  type Session,
  START,
  type Store,
  type Tool,
  type ToolContext,
} from "../index.ts";
import { isRequest } from "../interrupt/interrupt.ts";
import { onPoint } from "../point.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

/** Ends its work when its signal fires. */
const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
const soon = (signal?: AbortSignal) =>
  new Promise<string>((resolve, reject) => {
    setTimeout(() => resolve("soon"), 5);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
const question = humanInput("Who?");

/** Tools that ask, each in its own way. */
const tools: Readonly<Record<string, (log: Log) => Tool<unknown>>> = {
  "an approval": (log) => gated(log, "ask"),
  "a question": () => toolOf("ask", (ctx) => ctx.ask(question)),
  "a question in code that ends by its signal": () =>
    toolOf("ask", (ctx) => Promise.race([ctx.ask(question), aborted(ctx.signal)])),
  "a question beside a step": () =>
    toolOf("ask", async (ctx) => (await Promise.all([ctx.ask(question), ctx.step("s", () => soon())]))[0]),
  "a question beside a step that ends by its signal": () =>
    toolOf("ask", async (ctx) => (await Promise.all([ctx.ask(question), ctx.step("s", () => soon(ctx.signal))]))[0]),
  "a question beside another that comes after a step": () => {
    const second = async (ctx: ToolContext) => {
      await ctx.step("s", () => soon());
      return ctx.ask(humanInput("And who else?"), { key: "second" });
    };
    return toolOf("ask", async (ctx) => (await Promise.all([ctx.ask(question, { key: "first" }), second(ctx)]))[0]);
  },
  "a question of a tool that is left behind": () =>
    toolOf("ask", async (ctx) => (await Promise.all([ctx.ask(question), ctx.step("s", () => soon())]))[0], {
      graceMs: 0,
    }),
};

/** The agents that call the tool. */
const trees: Readonly<Record<string, (log: Log, ask: Tool<unknown>) => AnyAgent>> = {
  "a chat": (log, ask) => worker(log, "w", ask, "ask-call"),
  "a chat, beside a call that takes longer": (log, ask) => {
    const slow = toolOf("slow", (ctx) => soon(ctx.signal));
    const calls = [
      { call: "ask", id: "ask-call" },
      { call: "slow", id: "slow-call" },
    ];
    return talker(log, "w", ({ messages }) => (messages.at(-1)!.role === "tool" ? "done" : calls), [ask, slow]);
  },
  "an agent-tool": (log, ask) => asker(log, "outer", worker(log, "w", ask, "ask-call")),
  "a sequence": (log, ask) => sequential({ name: "seq", agents: [worker(log, "w", ask, "ask-call")] }),
  "agents that run at once": (log, ask) =>
    parallel({
      name: "par",
      agents: [
        worker(log, "w", ask, "ask-call"),
        worker(
          log,
          "slow",
          toolOf("wait", (ctx) => soon(ctx.signal)),
          "slow-call",
        ),
      ],
    }),
  "a graph": (log, ask) =>
    graph("g")
      .node("w", worker(log, "w", ask, "ask-call"))
      .node("slow", (_: string, ctx) => soon(ctx.signal))
      .edge(START, "w")
      .edge(START, "slow")
      .edge("w", END)
      .edge("slow", END)
      .compile(),
  "code of one's own": (log, ask) => {
    const inner = worker(log, "w", ask, "ask-call");
    return defineAgent({ name: "code", agents: [inner], run: (ctx) => ctx.run(inner, "go") });
  },
};

/** Code that asks itself. */
const askers: Readonly<Record<string, () => AnyAgent>> = {
  "code of one's own that asks": () => defineAgent({ name: "code", run: (ctx) => ctx.ask(question) }),
  "a custom agent that asks, and ends by its signal": () =>
    defineAgent({ name: "code", run: (ctx) => Promise.race([ctx.ask(question), aborted(ctx.signal)]) }),
  "a node that asks": () =>
    graph("g")
      .node("who", (_: string, ctx) => ctx.ask(question))
      .node("slow", (_: string, ctx) => soon(ctx.signal))
      .edge(START, "who")
      .edge(START, "slow")
      .edge("who", END)
      .edge("slow", END)
      .compile(),
};

/** All of them as the only call, and three, one by one and beside others, in every other place. */
const cases: readonly (readonly [string, (log: Log) => AnyAgent])[] = [
  ...Object.entries(trees).flatMap(([where, tree], i) =>
    Object.entries(tools)
      .filter((_, which) => i === 0 || which === 0 || which === 2 || which === 4)
      .map(([what, tool]) => [`${what}, in ${where}`, (log: Log) => tree(log, tool(log))] as const),
  ),
  ...Object.entries(askers),
];

type LetGo = (runner: Runner<unknown, unknown>, session: Session<unknown>) => Promise<unknown>;

/** Runs it, and lets go of it at the point, or never; gives how many points there were. */
async function begun(root: AnyAgent, store: Store, at: number, letGo: LetGo): Promise<number> {
  const runner = createRunner<unknown, unknown>({ agent: root, store });
  const session = await runner.open("thread");
  let points = 0;
  let gone: Promise<unknown> | undefined;
  const off = onPoint(() => {
    points += 1;
    if (points === at) gone = letGo(runner, session);
  });
  await session.run("go").result;
  await gone;
  off();
  await runner.close();
  return points;
}

describe("a program that ends while people are asked for something", () => {
  test.each(cases)("C5, Q1: leaves it open for the next one, at every point: %s", async (_, make) => {
    const quiet = newLog();
    const points = await begun(make(quiet), memoryStore(), 0, () => Promise.resolve());
    const ways: Readonly<Record<string, LetGo>> = {
      close: (runner) => runner.close(),
      drain: (runner) => runner.drain({ timeoutMs: 1 }),
      stop: (_, session) => session.interrupt({ requests: "keep" }),
      "stop and close": (runner, session) => Promise.all([session.interrupt({ requests: "keep" }), runner.close()]),
    };
    const count = Math.min(points, inject("effort").strikes);
    for (const [i, [way, letGo]] of Object.entries(ways).entries()) {
      for (let strike = 0; strike < count; strike++) {
        // Other points for the next way.
        const at = 1 + Math.floor(((strike + i / 4) * points) / count);
        const store = memoryStore();
        const log = newLog();
        await begun(make(log), store, at, letGo);
        const runner = createRunner<unknown, unknown>({ agent: make(log), store });
        const told = `${way} at ${at}`;
        const facts = await factsOf(store);
        const asked = facts.flatMap((fact) =>
          fact.type === "action" && isRequest(fact.action.interrupted) ? [fact.action.interrupted.id] : [],
        );
        const open = (await runner.inbox()).items.map(({ id }) => id);
        expect([told, open.sort()]).toEqual([told, asked.sort()]);
        const session = await runner.open("thread");
        if (session.state !== "created") {
          expect([
            told,
            session.interrupts
              .filter(isRequest)
              .map(({ id }) => id)
              .sort(),
          ]).toEqual([told, asked.sort()]);
          for (let rounds = 0; session.state === "paused" && rounds < 10; rounds++) {
            for (const { id, answer } of answersFor(session as never)) await session.answer(id, answer);
            await session.resume().result;
          }
          expect([told, session.state]).toEqual([told, "completed"]);
        }
        const withdrawn = (await factsOf(store)).filter(
          (fact) => fact.type === "request-answered" && fact.answer.type === "withdraw",
        );
        expect([told, withdrawn, await wrong(store, log)]).toEqual([told, [], []]);
        await runner.close();
      }
    }
  });
});
