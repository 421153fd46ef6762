// The fold against real threads: whatever cursor a reader joins at, the view is the same.

import {
  agent,
  agentTool,
  approve,
  type BelayEvent,
  createRunner,
  type Fact,
  humanApproval,
  jsonSchema,
  type Message,
  memoryStore,
  messageText,
  sequential,
  tool,
} from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { factsOf, foldAll, gate, listen, openKit } from "@belay/testkit";
import { expect, test } from "vitest";
import { emptyThread, foldThread, shownMessages, shownState, type ThreadView } from "./index.ts";

const fold = (events: readonly BelayEvent[], from = emptyThread) => events.reduce(foldThread, from);
const overWire = <T>(value: T): T => JSON.parse(JSON.stringify(value));
const words = (messages: readonly Message[]) => messages.map((message) => `${message.role}: ${messageText(message)}`);

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}

/** A thread with an approval that a person edits, a stop in mid-answer, a continuation and a second run. */
async function eventfulThread() {
  const store = memoryStore();
  const speaking = gate();
  const pay = tool({
    name: "pay",
    description: "pays",
    input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
    needsApproval: () => humanApproval("Pay?", { quorum: 2 }),
    execute: ({ euros }) => `paid ${euros}`,
  });
  const stall = async function* () {
    yield { type: "text", text: "Half an " } as const;
    speaking.open();
    await new Promise(() => {});
  };
  const script = scriptedModel([[{ call: "pay", id: "p", args: { euros: 900 } }], "answer, continued.", "Second."]);
  let calls = 0;
  const model = {
    ...script,
    stream: (...given: Parameters<typeof script.stream>) => (calls++ === 1 ? stall() : script.stream(...given)),
  };
  const kit = await openKit(model, { store, tools: [pay] });
  const heard = listen(kit.runner.events("thread"));
  const { session, runner } = kit;
  await session.run("Pay 900").result;
  const [request] = session.interrupts;
  await session.answer(request!.id, approve({ args: { euros: 90 }, by: "ben" }));
  await session.answer(request!.id, approve({ args: { euros: 90 }, by: "anna", note: "less" }));
  const run = session.resume();
  await speaking.opened;
  await session.interrupt({ reason: "add_info" });
  await run.result;
  await session.resume().result;
  await session.run("And now?").result;
  const facts = await factsOf(store);
  return { kit, runner, session, facts, heard };
}

test("L2: messages, state and interrupts are those of the session", async () => {
  const { session, facts, runner } = await eventfulThread();
  const view = fold(facts);
  expect(words(view.messages)).toEqual(words(session.messages).map((each) => each.replace(/^(tool: ).*/s, "$1")));
  expect(words(view.messages)).toEqual([
    "user: Pay 900",
    "assistant: ",
    "tool: ",
    "assistant: Half an answer, continued.",
    "user: And now?",
    "assistant: Second.",
  ]);
  expect(view).toMatchObject({ state: session.state, runId: session.runId, head: facts.length, first: 1 });
  expect(view.interrupts).toEqual([]);
  await runner.close();
});

test("L2: the fold shows the arguments that ran beside the model's, every approval, and the receipt of the stop", async () => {
  const { facts, runner } = await eventfulThread();
  const view = fold(facts);
  expect(view.calls).toMatchObject([
    { id: "p", args: { euros: 900 }, ranArgs: { euros: 90 }, state: "ended", outcome: "ok", output: "paid 90" },
  ]);
  const [call] = view.calls;
  expect(call?.decision).toMatchObject({ how: "approved", by: "anna", note: "less", args: { euros: 90 } });
  expect(view.requests).toMatchObject([{ quorum: 2, approvals: [{ by: "ben" }], decision: { by: "anna" } }]);
  expect(view.stops).toMatchObject([{ kind: "user", reason: "add_info", partialText: "Half an ", stopped: [] }]);
  expect(view.stops[0]!.recordedAt).toBeGreaterThanOrEqual(view.stops[0]!.askedAt);
  expect(
    view.runs.map(({ status, segments }) => [status, segments.map(({ ended, pauseType }) => pauseType ?? ended)]),
  ).toEqual([
    ["completed", ["tool_interrupt", "user_interrupt", "completed"]],
    ["completed", ["completed"]],
  ]);
  await runner.close();
});

test("L2: replay from 0, a page and its tail, and a reconnect at every index give the same view", async () => {
  const { facts, runner, heard } = await eventfulThread();
  const whole = frozen(fold(frozen(facts)));
  await runner.close();
  const live = await heard.all;
  expect(overWire(fold(live))).toEqual(overWire(whole));
  let page: ThreadView = emptyThread;
  for (let cut = 0; cut <= facts.length; cut += 1) {
    page = cut === 0 ? page : frozen(foldThread(page, facts[cut - 1]!));
    // The view went over a wire, and the reader repeats the last fact that it has.
    const tail = facts.slice(Math.max(0, cut - 1));
    expect(fold(tail, overWire(page))).toEqual(whole);
  }
  // A connection that breaks anywhere between two events, drafts included: it continues after its last fact.
  for (let cut = 0; cut <= live.length; cut += 1) {
    const before = fold(live.slice(0, cut));
    const { draft: _draft, ...view } = fold(facts.slice(before.head), before);
    const { draft: _none, ...known } = whole;
    expect(view).toEqual(known);
  }
});

test("L2: a view that begins with the tail has its state, and says from which fact on it is whole", async () => {
  const { facts, runner } = await eventfulThread();
  await runner.close();
  const tail = fold(facts.slice(-8));
  expect(tail).toMatchObject({ head: facts.length, first: facts.length - 7, state: "completed" });
  expect(words(tail.messages).at(-1)).toBe("assistant: Second.");
});

test("L2: agents inside calls have their own history", async () => {
  const inner = agent({ name: "inner", model: scriptedModel(["Inside."]) });
  const outer = agent({
    name: "outer",
    model: scriptedModel([[{ call: "inner", id: "i", args: { request: "Well?" } }], "Outside."]),
    tools: [agentTool(inner)],
  });
  const store = memoryStore();
  const runner = createRunner({ agent: outer, store });
  const session = await runner.open("thread");
  await session.run("Go").result;
  const view = foldAll(await factsOf(store));
  expect(view.agents.map(({ agentName, state, messages }) => [agentName, state, words(messages)])).toEqual([
    ["outer", "completed", ["user: Go", "assistant: ", "tool: ", "assistant: Outside."]],
    ["inner", "completed", ["user: Well?", "assistant: Inside."]],
  ]);
  expect(view.calls).toMatchObject([{ tool: "inner", outcome: "ok" }]);
  await runner.close();
});

test("L2: an agent deep inside a call begins with an empty history in the same call of the next run", async () => {
  const store = memoryStore();
  const inner = agent({ name: "inner", model: scriptedModel(["First.", "Second."]) });
  const line = agentTool(sequential({ name: "line", agents: [inner] }));
  const call = (id: string) => [{ call: "line", id, args: { request: "Speak." } }];
  const kit = await openKit([call("a"), "Done.", call("b"), "Done."], { store, tools: [line] });
  await kit.session.run("Go.").result;
  await kit.session.run("Again.").result;
  const { agents } = fold(await factsOf(store));
  const deep = agents.find(({ path }) => path.endsWith("inner"))!;
  expect(words(deep.messages)).toEqual(["user: Speak.", "assistant: Second."]);
});

test("S4: calls that a stop held are held; new input closes them as not executed", async () => {
  const store = memoryStore();
  const first = gate();
  const slow = tool({
    name: "slow",
    description: "waits",
    input: jsonSchema<object>({ type: "object" }),
    serial: true,
    execute: async (_args, ctx) => {
      first.open();
      await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
    },
  });
  const turn = [
    { call: "slow", id: "a" },
    { call: "slow", id: "b" },
  ] as const;
  const { session, runner } = await openKit([[...turn], "Done."], { store, tools: [slow] });
  const run = session.run("Go");
  await first.opened;
  await session.interrupt({ graceMs: 0 });
  await run.result;
  const stopped = foldAll(await factsOf(store));
  expect(stopped.calls.map(({ id, state }) => [id, state])).toEqual([
    ["a", "ended"],
    ["b", "held"],
  ]);
  expect(stopped.stops).toMatchObject([{ stopped: ["a"], notStarted: ["b"] }]);
  await session.resume({ input: "Something else" }).result;
  const after = foldAll(await factsOf(store));
  expect(after.calls.map(({ id, outcome }) => [id, outcome])).toEqual([
    ["a", "interrupted"],
    ["b", "not-executed"],
  ]);
  await runner.close();
});

test("V6: after `owner-lost` a running thread shows as paused by a crash, until its next fact", () => {
  const base = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "a", runPath: "a" };
  const running = fold([
    { type: "state", state: "initialized", seq: 1, ...base },
    { type: "run-start", seq: 2, ...base },
    { type: "state", state: "running", seq: 3, ...base },
  ]);
  const lost = foldThread(running, { type: "owner-lost", seq: 3, ...base } as never);
  expect(shownState(running)).toEqual({ state: "running", pauseType: undefined });
  expect(shownState(lost)).toEqual({ state: "paused", pauseType: "crash" });
  const { draft: _draft, ...facts } = lost;
  expect(facts).toEqual((({ draft: _d, ...rest }) => rest)(running));
  const taken = foldThread(lost, { type: "state", state: "running", seq: 4, ...base, segment: 2 });
  expect(shownState(taken)).toEqual({ state: "running", pauseType: undefined });
  expect(taken.runs[0]?.segments).toMatchObject([{ ended: "paused", pauseType: "crash" }, { segment: 2 }]);
});

test("unknown types are passed over", () => {
  const base = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "a", runPath: "a" };
  const view = fold([
    { type: "state", state: "initialized", seq: 1, ...base },
    { type: "of-tomorrow", seq: 2, ...base } as unknown as Fact,
    { type: "run-start", seq: 3, ...base },
  ]);
  expect(view).toMatchObject({ head: 3, first: 1, runId: "r" });
});

test("a fold of 10,000 facts shares unchanged parts", async () => {
  const { session, runner, store } = await openKit(() => "Yes.", {});
  for (let i = 0; i < 3; i += 1) await session.run(`Question ${i}`).result;
  const sample = await factsOf(store);
  await runner.close();
  const facts = Array.from({ length: 10_000 }, (_, i) => {
    const fact = sample[i % sample.length]!;
    const round = Math.floor(i / sample.length);
    return { ...fact, seq: i + 1, runId: `${fact.runId}-${round}` };
  });
  const started = performance.now();
  const view = fold(facts);
  // Some tens of milliseconds on an idle machine; a fold that copies the whole thread takes minutes.
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(view.head).toBe(10_000);
  const next = foldThread(view, { ...facts[0]!, type: "command", key: "k", by: "ann", seq: 10_001 } as Fact);
  expect(next.messages).toBe(view.messages);
  expect(next.calls).toBe(view.calls);
  expect(next.runs).toBe(view.runs);
  expect(shownMessages(next)).toBe(view.messages);
});
