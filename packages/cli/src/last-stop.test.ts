import { agent, approve, createRunner, jsonSchema, memoryStore, tool } from "@belay/core";
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

/** A call that ends when it is told to, and not before. */
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
  const asked = async () => (await runner.inbox()).map((item) => item.tool);
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

test("so it does where the run is to go on, and waits for that call", async () => {
  const { runner, session, ended, asked, stands } = await running(write);
  void session.resume();
  expect([session.state, session.interrupts]).toEqual(["running", []]);
  await lastStop(runner, session, END);
  await ended;
  expect(await asked()).toEqual(["write"]);
  expect(await stands()).toEqual(["paused", "tool_interrupt"]);
});

test("where nothing is asked, a call that was approved is stopped, and that is on record", async () => {
  for (const goesOn of [false, true]) {
    const { runner, session, ended, asked, stands } = await running();
    if (goesOn) void session.resume();
    await lastStop(runner, session, END);
    await ended;
    expect(await asked()).toEqual([]);
    expect(await stands()).toEqual(["paused", "user_interrupt"]);
  }
});
