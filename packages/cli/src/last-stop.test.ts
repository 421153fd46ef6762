import { agent, approve, createRunner, humanInput, jsonSchema, memoryStore, respond, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { lastStop } from "./last-stop.ts";

const END = { reason: "told to end", graceMs: 20, by: "somebody" };
const input = jsonSchema<object>({ type: "object" });

const write = tool({ name: "write", description: "", input, needsApproval: true, execute: () => "written" });

function latch(): readonly [opened: Promise<void>, open: () => void] {
  let open = () => {};
  return [new Promise((resolve) => (open = resolve)), () => open()];
}

/** A call that ends by its signal, and not before. */
function endless() {
  const [began, begin] = latch();
  const [ended, end] = latch();
  const run = tool({
    name: "run",
    description: "",
    input,
    needsApproval: true,
    async execute(_, { signal }) {
      begin();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      end();
      return "ended";
    },
  });
  return { run, began, ended };
}

/** People were asked for all of them, and have approved the one that does not end. */
async function running(...others: readonly (typeof write)[]) {
  const { run, began, ended } = endless();
  const tools = [run, ...others];
  const model = scriptedModel([tools.map(({ name }) => ({ call: name, id: name })), "done"]);
  const runner = createRunner({ agent: agent({ name: "belay", model, tools }), store: memoryStore() });
  const session = await runner.open();
  await session.run("begin").result;
  await session.answer(session.interrupts.find((each) => each.tool === "run")!.id, approve());
  await began;
  const asked = async () => (await runner.inbox()).items.map((item) => item.tool);
  const stands = async () => {
    const { state, pauseType } = await runner.open(session.threadId);
    return [state, pauseType];
  };
  return { runner, session, ended, asked, stands };
}

test("a request that is open beside a call that was approved stays open, and the call ends", async () => {
  const { runner, session, ended, asked, stands } = await running(write);
  expect(session.state).toBe("paused");
  await lastStop(runner, session, END);
  await ended;
  expect(await asked()).toEqual(["write"]);
  expect(await stands()).toEqual(["paused", "tool_interrupt"]);
});

test("it does so also for a run that is to continue, and waits for that call", async () => {
  const { runner, session, ended, asked, stands } = await running(write);
  void session.resume();
  expect([session.state, session.interrupts]).toEqual(["running", []]);
  await lastStop(runner, session, END);
  await ended;
  expect(await asked()).toEqual(["write"]);
  expect(await stands()).toEqual(["paused", "tool_interrupt"]);
});

test("without an open request, an approved call is stopped, and the stop is on record", async () => {
  for (const goesOn of [false, true]) {
    const { runner, session, ended, asked, stands } = await running();
    if (goesOn) void session.resume();
    await lastStop(runner, session, END);
    await ended;
    expect(await asked()).toEqual([]);
    expect(await stands()).toEqual(["paused", "user_interrupt"]);
  }
});

test("a question that is raised while the program ends stays open, too", async () => {
  const [raising, raise] = latch();
  const [raised, free] = latch();
  const [asked, ask] = latch();
  const [began, begin] = latch();
  const store = memoryStore();
  const append = store.append.bind(store);
  store.append = async (key, given) => {
    if (given.raise !== undefined) {
      raise();
      await raised;
    }
    return append(key, given);
  };
  const asks = tool({
    name: "asks",
    description: "",
    input,
    async execute(_, ctx) {
      await asked;
      return ctx.ask(humanInput("Which?"));
    },
  });
  const runs = tool({
    name: "runs",
    description: "",
    input,
    execute(_, { signal }) {
      begin();
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
  });
  const model = scriptedModel([[{ call: "asks" }, { call: "runs" }], "done"]);
  const runner = createRunner({ agent: agent({ name: "belay", model, tools: [asks, runs] }), store });
  const session = await runner.open();
  const run = session.run("begin");
  await began;
  ask();
  await raising;
  const stopped = lastStop(runner, session, END);
  await new Promise((resolve) => setTimeout(resolve, 50));
  free();
  await stopped;
  expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
  expect((await runner.inbox()).items.map((item) => item.tool)).toEqual(["asks"]);
  await runner.close();
  const next = createRunner({ agent: agent({ name: "belay", model, tools: [asks, runs] }), store });
  const [request] = (await next.inbox()).items;
  await next.answer(request!.id, respond("this"));
  const again = await next.open(session.threadId);
  expect(await again.resume().result).toMatchObject({ status: "completed", text: "done" });
});
