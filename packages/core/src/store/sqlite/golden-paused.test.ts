// golden/paused.sql is a database that a release with journal version 2 wrote: one thread for each pauseType, commands that
// were on their way, and ids that callers gave. It is never made anew.

import { readFileSync } from "node:fs";
import { factsOf, history, openDatabase } from "@belay/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import {
  agent,
  approve,
  createRunner,
  END,
  graph,
  humanInput,
  jsonSchema,
  START,
  type Store,
  tool,
} from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";
import { sqliteStore } from "./sqlite.ts";

const any = jsonSchema<Record<string, unknown>>({ type: "object" });
const named = (name: string, output: string, more: object = {}) =>
  tool({ name, description: "", input: any, execute: () => output, ...more });
const tools = [
  named("pay", "paid", { needsApproval: true }),
  tool({
    name: "ask",
    description: "",
    input: any,
    execute: async (_, ctx) => `asked ${await ctx.ask(humanInput("Who?"))}`,
  }),
  named("look", "seen", { readOnly: true }),
  named("hang", "", { onCrash: "fail" }),
];

let store: Store;

beforeEach(async () => {
  const db = await openDatabase(":memory:");
  db.exec(readFileSync(new URL("golden/paused.sql", import.meta.url), "utf8"));
  store = sqliteStore(db);
});

async function open(threadId: string, turn = "done") {
  const runner = createRunner({ agent: agent({ name: "test", model: scriptedModel(turn), tools }), store });
  return { runner, session: await runner.open(threadId) };
}

test("L4, U1: a thread that the release before paused is listed with its pause and run, and by its pause", async () => {
  const { runner } = await open("unused");
  const { items } = await runner.threads({ state: "paused" });
  expect(items.length).toBeGreaterThan(3);
  for (const { threadId, pauseType, runId } of items) {
    expect(await runner.look(threadId)).toMatchObject({ pauseType, runId });
    const found = await runner.threads({ pauseType: pauseType! });
    expect(found.items.map((item) => item.threadId)).toContain(threadId);
  }
});

describe("U1: a thread that the release before paused resumes", () => {
  test("after a person's stop", async () => {
    const { session } = await open("user", " and whole");
    expect([session.state, session.pauseType]).toEqual(["paused", "user_interrupt"]);
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    expect(history(session.messages)).toEqual(["user: go", "assistant: half and whole"]);
  });

  test("with its requests open, and takes an answer that was on its way", async () => {
    const { session } = await open("tool", "done");
    expect([session.state, session.pauseType]).toEqual(["paused", "tool_interrupt"]);
    const pay = session.interrupts.find(({ callId }) => callId === "p");
    await session.answer(pay!.id, approve({ by: "ann" }));
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "done" });
    const results = session.messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "result" ? [part] : [])),
    );
    expect(results.map(({ id, output }) => [id, output])).toEqual([
      ["p", "paid"],
      ["q", "asked Bob"],
      ["l", "seen"],
    ]);
    expect((await store.load({ tenant: "default", threadId: "tool" }))!.commands).toEqual([]);
  });

  test("with a part of its requests answered", async () => {
    const { session } = await open("answered", "done");
    const [who] = session.interrupts;
    expect(session.interrupts).toHaveLength(1);
    const answers = { [who!.id]: { type: "respond" as const, value: "Ann" } };
    expect(await session.resume({ answers }).result).toMatchObject({ status: "completed", text: "done" });
  });

  test("after pause()", async () => {
    const { session } = await open("manual", "done");
    expect([session.state, session.pauseType]).toEqual(["paused", "manual"]);
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "done" });
  });

  test("before a node", async () => {
    const flow = graph<object, string, string>("flow")
      .node("a", (input: string) => `${input} a`)
      .node("b", (input: string) => `${input} b`)
      .edge(START, "a")
      .edge("a", "b")
      .edge("b", END)
      .compile({ interruptBefore: ["b"] });
    const session = await createRunner({ agent: flow, store }).open("node");
    expect([session.state, session.pauseType]).toEqual(["paused", "node_interrupt"]);
    expect(await session.resume().result).toMatchObject({ status: "completed", output: "go a b" });
  });

  test("after a crash", async () => {
    const { session } = await open("crash", "done");
    expect([session.state, session.pauseType]).toEqual(["paused", "crash"]);
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "done" });
  });
});

describe("V2: the ids that the release before recorded are known", () => {
  test("of a run: it is not run again", async () => {
    const { session } = await open("completed", "again");
    expect(await session.run("go", { id: "run-1" }).result).toMatchObject({ status: "completed", text: "first" });
    expect((await factsOf(store, "completed")).filter(({ type }) => type === "run-start")).toHaveLength(1);
  });

  test("of a stop: its receipt is the first one, and nothing else is stopped", async () => {
    const { session, runner } = await open("user", " and whole");
    const receipt = await session.interrupt({ id: "stop-1" });
    expect(receipt).toMatchObject({ accepted: true, segment: 1, partialText: "half" });
    expect(await runner.interrupt("user", { id: "stop-1" })).toEqual(receipt);
  });

  test("of a stop that came too late: it met nothing", async () => {
    const { session } = await open("missed");
    expect(await session.interrupt({ id: "late" })).toMatchObject({ accepted: false, segment: 1 });
  });

  test("of an answer: it counts once", async () => {
    const { session } = await open("answered");
    const answered = (await factsOf(store, "answered")).find(({ type }) => type === "request-answered");
    const id = answered?.type === "request-answered" ? answered.id : "";
    expect(await session.answer(id, approve({ by: "ann" }), { id: "yes-1" })).toEqual({ open: 1 });
  });
});
