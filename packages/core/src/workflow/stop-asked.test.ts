// Questions of code and of agents inside others, and a stop that comes just then.

import {
  type Append,
  doing,
  eachStore,
  enter,
  factProblems,
  factsOf,
  gate,
  gated,
  heldStore,
  newLog,
  settle,
  talker,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, approve, createRunner, humanInput, jsonSchema, memoryStore, type Session, tool } from "../index.ts";
import { isRequest } from "../interrupt/interrupt.ts";
import { scriptedModel } from "../testing/index.ts";
import { agentTool } from "./agent-tool.ts";
import { defineAgent } from "./define-agent.ts";
import { parallel } from "./parallel.ts";

const input = jsonSchema<object>({ type: "object" });

test.each(["now", "after-model"] as const)(
  "S4, S6: a stop (%s) that comes before an approved call inside an agent behind a tool has moved names it, and those that wait beside it",
  async (mode) => {
    const [written, writes] = [gate(), gate()];
    const before = (_n: number, { body }: Append) => {
      if (!body.includes('"answered":')) return undefined;
      written.open();
      return writes.opened;
    };
    const store = heldStore(memoryStore(), { before });
    const pay = tool({ name: "pay", description: "", input, needsApproval: true, execute: () => "paid" });
    const calls = ["p", "q"].map((id) => ({ call: "pay", id }));
    const inner = agent({ name: "inner", model: scriptedModel([calls, "paid both"]), tools: [pay] });
    const model = scriptedModel([[{ call: "inner", id: "i", args: { request: "do" } }], "done"]);
    const runner = createRunner({ agent: agent({ name: "outer", model, tools: [agentTool(inner)] }), store });
    const session = await runner.open("thread");
    await session.run("go").result;
    const answered = session.answer(session.interrupts.find(({ callId }) => callId === "p")!.id, approve());
    await written.opened;
    const stopped = session.interrupt({ mode });
    writes.open();
    await answered;
    expect(await stopped).toMatchObject({ accepted: true, stopped: ["i"], notStarted: ["p", "q"], late: [] });
    expect(session.pauseType).toBe("user_interrupt");
  },
);

describe.each(eachStore)("code that asks while it is ended, on $name", ({ make }) => {
  test.each<[string, (session: Session<unknown>) => Promise<unknown>]>([
    ["interrupt({ force })", (session) => session.interrupt({ force: true })],
    ["interrupt({ graceMs: 0 })", (session) => session.interrupt({ graceMs: 0 })],
  ])("S9: a request that it was about to raise is not raised after %s", async (_, end) => {
    const store = await make();
    const [written, writes] = [gate(), gate()];
    const before = (_n: number, { body }: Append) => {
      if (!body.includes('"step":')) return undefined;
      written.open();
      return writes.opened;
    };
    const steps = defineAgent({ name: "steps", run: (ctx) => ctx.step("a", () => 1) });
    const asks = defineAgent({
      name: "asks",
      async run(ctx) {
        await written.opened;
        return ctx.ask(humanInput("Who?"));
      },
    });
    const both = parallel({ name: "both", agents: [steps, asks] });
    const runner = createRunner({ agent: both, store: heldStore(store, { before }) });
    const session = await runner.open("thread");
    const run = session.run("go");
    await written.opened;
    await settle();
    const ended = end(session);
    await settle();
    writes.open();
    await ended;
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    expect((await runner.inbox()).items).toEqual([]);
    expect(factProblems(await factsOf(store))).toEqual([]);
    await runner.close();
  });
});

describe.each(eachStore)(
  "an agent that raises a request while an answered call of another one runs, on $name",
  ({ make }) => {
    test.each<[string, (session: Session<unknown>) => Promise<unknown>, string]>([
      ["interrupt()", (session) => session.interrupt(), "paused"],
      ["terminate()", (session) => session.terminate(), "terminated"],
    ])("S9: a request that it was about to raise is not raised after %s", async (_, end, state) => {
      const store = await make();
      const log = newLog();
      const works = gate();
      const hangs = doing(log, "hangs", ({ signal }) => {
        works.open();
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      });
      const hanging = worker(log, "worker", { ...hangs, needsApproval: true }, "hangs-call");
      const payer = talker(log, "payer", () => [{ call: "pay", id: "p" }, { stall: true }], [gated(log, "pay")]);
      const root = parallel({ name: "both", agents: [hanging, payer] });
      const first = await enter(root, store);
      void first.run("go");
      await until(() => first.interrupts.length === 1 && log.calls.length === 2);
      await settle();
      await first.close();
      const session = await enter(root, store);
      await session.answer(session.interrupts.find(isRequest)!.id, approve());
      await works.opened;
      await settle();
      await end(session);
      expect(session.state).toBe(state);
      expect(session.interrupts.filter(isRequest)).toEqual([]);
      expect(await wrong(store, log)).toEqual([]);
    });
  },
);
