import { type AnyAgent, eachStore, factsOf, faultyStore, gate, history, runs, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  agent,
  type BelayError,
  createRunner,
  END,
  graph,
  humanInput,
  type Json,
  memoryStore,
  type NodeContext,
  rerun,
  respond,
  START,
  type Store,
} from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { agentTool } from "./agent-tool.ts";
import { defineAgent } from "./define-agent.ts";
import type { AgentContext } from "./live-agent.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const large = "x".repeat(2000);
const half = "x".repeat(700);
/** 611 bytes; twice that in a text, where each of them is escaped once more. */
const quotes = { text: '"'.repeat(300) };
const chat = agent({ name: "chat", model: scriptedModel(["never"]) });
const key = { tenant: "default", threadId: "thread" };
const tooLarge = (what: string) => ({
  status: "failed",
  error: { code: "TOO_LARGE", message: expect.stringMatching(`^${what} takes \\d+ bytes; at most 1000 are taken`) },
});
const open = (root: Agent<unknown, never>, store: Store = memoryStore(), maxBytes = 1000, leaseTtlMs = 30_000) =>
  createRunner({ agent: root as AnyAgent, store, maxBytes, leaseTtlMs }).open("thread");
const code = (name: string, run: (ctx: AgentContext, input: Json) => unknown) => defineAgent({ name, run });

describe.each(eachStore)("inputs and outputs of agents larger than maxBytes, on $name", ({ make }) => {
  test("W3, P12, F5: a yield that cannot be recorded throws in the generator: it tidies up, and continues if it catches the error", async () => {
    const did: string[] = [];
    const tells = (value: unknown, catches: boolean) =>
      code("root", async function* () {
        try {
          yield value;
        } catch (error) {
          if (!catches) throw error;
          did.push((error as BelayError).code);
        } finally {
          did.push("tidied up");
        }
        return "done";
      });
    const run = async (root: Agent<unknown, never>) => (await open(root, await make())).run("go").result;
    expect(await run(tells(large, true))).toMatchObject({ status: "completed", output: "done" });
    expect(await run(tells(new Map(), true))).toMatchObject({ status: "completed", output: "done" });
    expect(await run(tells(large, false))).toMatchObject(tooLarge("A custom action"));
    expect(did).toEqual(["TOO_LARGE", "tidied up", "NOT_SERIALIZABLE", "tidied up", "tidied up"]);
  });

  test("P12, F4: an agent whose output is too large has failed, on record: code that catches the error gets it again, and the agent does not run again", async () => {
    const store = await make();
    let ran = 0;
    const child = code("child", () => {
      ran += 1;
      return large;
    });
    const root = code("root", async (ctx) => {
      const met = await ctx.run(child, null).catch((error) => error.message);
      await ctx.ask(humanInput("On?"));
      return met;
    });
    const first = await open(root, store);
    expect((await first.run("go").result).status).toBe("interrupted");
    const second = await open(root, store);
    const answers = { [second.interrupts[0]!.id]: respond("yes") };
    const output = "The output of agent child takes 2002 bytes; at most 1000 are taken.";
    expect(await second.resume({ answers }).result).toMatchObject({ status: "completed", output });
    expect(ran).toBe(1);
    expect(runs(await factsOf(store))).toEqual(["+ root", "+ root/child:child", "! root/child:child", "- root"]);
  });

  test("P12, G5: a node whose output is too large is not run again after a crash; the others end, and the run has failed by it", async () => {
    const store = await make();
    const side = faultyStore(store);
    const ran: string[] = [];
    const hangs = gate();
    const g = graph("g")
      .node("large", () => {
        ran.push("large");
        return large;
      })
      .node("slow", () => {
        ran.push("slow");
        return ran.length > 2 ? "slow" : hangs.opened;
      })
      .edge(START, "large")
      .edge(START, "slow")
      .edge("large", END)
      .edge("slow", END)
      .compile();
    void (await open(g, side, 1000, 30)).run("go");
    await until(async () => runs(await factsOf(store)).includes("! g/large#0:large"));
    side.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);
    const other = await open(g, store);
    expect(await other.resume().result).toMatchObject(tooLarge("The output of agent large"));
    expect(ran.toSorted()).toEqual(["large", "slow", "slow"]);
    expect(runs(await factsOf(store))).toContain("- g/slow#0:slow");
  });
});

describe("inputs and outputs of agents larger than maxBytes", () => {
  test("P12: resume() with a larger bound continues: the node runs again, and its recorded steps are not repeated", async () => {
    const store = memoryStore();
    let charged = 0;
    const g = graph("g")
      .node("pay", async (_input: Json, ctx: NodeContext<unknown>) => {
        await ctx.step("charge", () => ++charged);
        return large;
      })
      .edge(START, "pay")
      .edge("pay", END)
      .compile();
    const session = await open(g, store);
    expect(await session.run("go").result).toMatchObject(tooLarge("The output of agent pay"));
    await session.close();
    const other = await open(g, store, 10_000);
    expect(await other.resume().result).toMatchObject({ status: "completed", output: large });
    expect(charged).toBe(1);
  });

  test.each<[string, () => Agent<unknown, never>]>([
    ["code of one's own", () => code("all", () => large)],
    ["code that leaves with exit()", () => code("all", (ctx) => ctx.exit(large))],
    [
      "all of several together",
      () => parallel({ name: "all", agents: [code("a", () => half), code("b", () => half)] }),
    ],
  ])("P12: the output of the whole (%s) fails the run, and is not part of the thread", async (_, make) => {
    const store = memoryStore();
    const session = await open(make(), store);
    expect(await session.run("go").result).toMatchObject(tooLarge("The output of (agent all|exit\\(\\))"));
    expect(history(session.messages)).toEqual(["user: go"]);
    expect(JSON.stringify(await factsOf(store)).includes("x".repeat(1001))).toBe(false);
  });

  test("P12: ctx.run() with too large an input rejects, and begins nothing; its key is free", async () => {
    const given: Json[] = [];
    const child = code("child", (_ctx, input) => given.push(input));
    const root = code("root", async (ctx) => {
      await expect(ctx.run(child, large)).rejects.toMatchObject({ code: "TOO_LARGE" });
      return ctx.run(child, "small");
    });
    const store = memoryStore();
    expect(await (await open(root, store)).run("go").result).toMatchObject({ status: "completed", output: 1 });
    expect(given).toEqual(["small"]);
  });

  test("P12: results that are too large only together: the node that gets all of them does not begin", async () => {
    const ran: string[] = [];
    const node = (name: string, output: Json) => () => {
      ran.push(name);
      return output;
    };
    const g = graph("g")
      .node("a", node("a", half))
      .node("b", node("b", half))
      .node("join", node("join", 1))
      .edge(START, "a")
      .edge(START, "b")
      .edge("a", "join")
      .edge("b", "join")
      .edge("join", END)
      .compile({ trigger: "all" });
    const session = await open(g);
    expect(await session.run("go").result).toMatchObject(tooLarge("The input of agent join"));
    expect(ran.toSorted()).toEqual(["a", "b"]);
    expect(await session.resume().result).toMatchObject(tooLarge("The input of agent join"));
    expect(ran.toSorted()).toEqual(["a", "b"]);
  });

  test("P12, G5: a change that is too large only with the changes of other nodes: the node has failed, on record, and the other changes stay", async () => {
    const store = memoryStore();
    const written = gate();
    const adds = (name: string) => async (_input: Json, ctx: NodeContext<{ list: string[] }>) => {
      ctx.setState(({ list }) => ({ list: [...list, name + half] }));
      if (name === "b") await written.opened;
    };
    const g = graph<{ list: string[] }>("g")
      .node("a", adds("a"))
      .node("b", adds("b"))
      .edge(START, "a")
      .edge(START, "b")
      .edge("a", END)
      .edge("b", END)
      .compile({ state: { list: [] } });
    const session = await open(g, store);
    const run = session.run("go");
    await until(async () => runs(await factsOf(store)).includes("- g/a#0:a"));
    written.open();
    expect(await run.result).toMatchObject(tooLarge("What setState\\(\\) changes"));
    expect((await session.checkpoint())?.state).toEqual({ list: [`a${half}`] });
    expect(runs(await factsOf(store)).slice(-3)).toEqual(["- g/a#0:a", "! g/b#0:b", "! g"]);
    await session.close();
    const other = await open(g, store, 10_000);
    expect((await other.resume().result).status).toBe("completed");
    expect((await other.checkpoint())?.state).toEqual({ list: [`a${half}`, `b${half}`] });
  });

  test.each<[string, string, (ctx: NodeContext<{ text: string; more: string }>) => unknown]>([
    ["setState()", "What setState\\(\\) changes", (ctx) => ctx.setState(() => ({ text: large }))],
    [
      "setState() again and again",
      "What setState\\(\\) changes",
      (ctx) => {
        ctx.setState(() => ({ text: half }));
        ctx.setState(() => ({ more: half }));
      },
    ],
    ["customAction()", "A custom action", (ctx) => ctx.customAction(large)],
    [
      "rerun(extra)",
      "What rerun\\(\\) was given",
      () => {
        throw rerun(large);
      },
    ],
  ])("P12, G5: %s in a node is TOO_LARGE, and fails the node if its code does not catch it", async (_, what, work) => {
    const g = graph<{ text: string; more: string }>("g")
      .node("a", (_input: Json, ctx) => work(ctx))
      .edge(START, "a")
      .edge("a", END)
      .compile({ state: { text: "", more: "" } });
    const session = await open(g);
    expect(await session.run("go").result).toMatchObject(tooLarge(what));
    expect((await session.checkpoint())?.state).toEqual({ text: "", more: "" });
  });

  test("P12: a result of `before` that is too large fails the node before it begins", async () => {
    let ran = 0;
    const g = graph("g")
      .node("a", () => ++ran, { before: () => large })
      .edge(START, "a")
      .edge("a", END)
      .compile();
    expect(await (await open(g)).run("go").result).toMatchObject(tooLarge("What a is given"));
    expect(ran).toBe(0);
  });

  test.each<[string, string, Agent<unknown, never>]>([
    [
      "a chat is given",
      "The input of agent chat",
      sequential({ name: "all", agents: [code("first", () => quotes), chat] }),
    ],
    ["the whole gives", "The output of agent all", code("all", () => quotes)],
  ])(
    "P12: a value that %s is recorded as text, and measured as text: the value fits, and its text does not",
    async (_, what, root) => {
      const store = memoryStore();
      expect(await (await open(root, store)).run("go").result).toMatchObject(tooLarge(what));
      expect((await factsOf(store)).filter((fact) => JSON.stringify(fact).length > 1000)).toEqual([]);
    },
  );

  test("P12: an agent behind a tool whose output is too large is an error to the model, and is run once", async () => {
    let ran = 0;
    const inner = code("inner", () => {
      ran += 1;
      return large;
    });
    const model = scriptedModel([[{ call: "inner", id: "c", args: { request: "do" } }], "done"]);
    const session = await open(agent({ name: "outer", model, tools: [agentTool(inner)] }));
    expect(await session.run("go").result).toMatchObject({ status: "completed", text: "done" });
    const output = "inner failed: The output of agent inner takes 2002 bytes; at most 1000 are taken.";
    expect(session.messages[2]!.parts).toMatchObject([{ outcome: "error", output }]);
    expect(ran).toBe(1);
  });

  test("P12, R2: the answer of an agent behind a tool, cut by a stop and continued, is a result up to the size of one record", async () => {
    const inner = agent({ name: "inner", model: scriptedModel([[{ text: half }, { stall: true }], half]) });
    const model = scriptedModel([[{ call: "inner", id: "c", args: { request: "do" } }], "done"]);
    const session = await open(agent({ name: "outer", model, tools: [agentTool(inner)] }));
    for await (const event of session.run("go")) if (event.type === "text-delta") await session.interrupt();
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "done" });
    const output = "Ran, result too large to store (1402 bytes).";
    expect(session.messages[2]!.parts).toMatchObject([{ outcome: "ok", output }]);
  });

  test("P12, W5: an input that was too large before a beforeReply returned it unchanged is not a failure of the hook", async () => {
    const join = defineAgent({ name: "join", hooks: { beforeReply: () => undefined }, run: () => 1 });
    const g = graph("g")
      .node("a", () => half)
      .node("b", () => half)
      .node("join", join)
      .edge(START, "a")
      .edge(START, "b")
      .edge("a", "join")
      .edge("b", "join")
      .edge("join", END)
      .compile({ trigger: "all" });
    expect(await (await open(g)).run("go").result).toMatchObject(tooLarge("The input of agent join"));
  });

  test("P12, W5: a beforeReply of an agent inside another that makes too much of its input has failed; the agent has not begun", async () => {
    const ran: Json[] = [];
    const inner = defineAgent({
      name: "inner",
      hooks: { beforeReply: () => large },
      run: (_ctx, input) => ran.push(input),
    });
    const result = await (await open(sequential({ name: "s", agents: [inner] }))).run("go").result;
    const reason = "The input of agent inner takes 2002 bytes; at most 1000 are taken.";
    expect(result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED", details: { reason } } });
    expect(ran).toEqual([]);
  });

  test("P12: of words without end that an agent fails with, the beginning is recorded", async () => {
    const store = memoryStore();
    const session = await open(
      code("root", () => Promise.reject(new Error("e".repeat(5_000_000)))),
      store,
    );
    expect(await session.run("go").result).toMatchObject({ status: "failed", error: { code: "AGENT_FAILED" } });
    expect(JSON.stringify(await factsOf(store)).length).toBeLessThan(20_000);
  });
});
