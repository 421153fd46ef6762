// Every verb by thread id, and what becomes of it, whatever state the thread is in. Tests play it on each store.

import { agentTool, approve, END, graph, type Runner, START, type Store, type ToolContext } from "@belay/core";
import { faultyStore } from "@belay/core/inside";
import { toolOf } from "./asking-tool.ts";
import { factsOf } from "./facts-of.ts";
import { gate, type Kit, listen, openKit, until } from "./session-kit.ts";

const key = { tenant: "default", threadId: "thread" };

const asks = toolOf("asks", () => "asked", { needsApproval: true });

/** Has a node to stop at. */
const flow = agentTool(
  graph("flow")
    .node("check", () => "checked")
    .edge(START, "check")
    .edge("check", END)
    .compile(),
);

/** Runs until it is stopped or released. */
function works() {
  const [begun, go] = [gate(), gate()];
  const execute = ({ signal }: ToolContext) => {
    begun.open();
    const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return Promise.race([go.opened.then(() => "worked"), stopped]);
  };
  return { begun, go, tool: toolOf("works", execute) };
}

interface Scene {
  /** Issues the commands. */
  readonly runner: Runner;
  /** Had the thread before; undefined if its process is gone. */
  readonly owner?: Runner;
  readonly store: Store;
  /** Lets the running call come to its end. */
  readonly go: () => void;
}

type Stage = (store: Store) => Promise<Scene>;

/** Brings a thread to a running call, in a runner of its own. */
async function running(store: Store): Promise<Kit & { readonly go: () => void }> {
  const { begun, go, tool } = works();
  const kit = await openKit([[{ text: "so" }, { call: "works" }], "done"], { store, tools: [tool, asks, flow] });
  kit.session.run("go");
  await begun.opened;
  return { ...kit, go: () => go.open() };
}

/** A runner that has only the store. */
async function another(store: Store): Promise<Runner> {
  const { runner } = await openKit(["one", "two", "three"], {
    store,
    threadId: "elsewhere",
    tools: [works().tool, asks, flow],
  });
  return runner;
}

const stages: Readonly<Record<string, Stage>> = {
  "running here": async (store) => ({ ...(await running(store)), store }),
  "running elsewhere": async (store) => {
    const { runner: owner, go } = await running(store);
    return { runner: await another(store), owner, store, go };
  },
  "at rest": async (store) => {
    const { runner: owner, session, go } = await running(store);
    await session.interrupt();
    return { runner: await another(store), owner, store, go };
  },
  asking: async (store) => {
    const kit = await openKit([[{ call: "asks" }], "done"], { store, tools: [asks] });
    await kit.session.run("go").result;
    return { runner: await another(store), owner: kit.runner, store, go: () => {} };
  },
  crashed: async (store) => {
    const dying = faultyStore(store);
    const kit = await openKit([[{ text: "so" }, { stall: true }]], { store: dying, leaseTtlMs: 40 });
    await listen(kit.session.run("go")).until(({ type }) => type === "text-delta");
    dying.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);
    return { runner: await another(store), store, go: () => {} };
  },
  completed: async (store) => {
    const kit = await openKit(["done"], { store });
    await kit.session.run("go").result;
    return { runner: await another(store), owner: kit.runner, store, go: () => {} };
  },
  terminated: async (store) => {
    const kit = await openKit(["done"], { store });
    await kit.session.run("go").result;
    await kit.session.terminate();
    return { runner: await another(store), owner: kit.runner, store, go: () => {} };
  },
  unknown: async (store) => ({ runner: await another(store), store, go: () => {} }),
};

type Verb = (scene: Scene) => Promise<string>;

const verbs: Readonly<Record<string, Verb>> = {
  start: async ({ runner }) => `segment ${(await (await runner.start("thread", "x")).started).segment}`,
  resume: async ({ runner }) => `segment ${(await (await runner.resume("thread")).started).segment}`,
  interrupt: async ({ runner }) => ((await runner.interrupt("thread")).accepted ? "accepted" : "nothing"),
  pause: async ({ runner, go, store }) => {
    const owner = (await store.load(key))?.row.lease?.owner;
    const pausing = runner.pause("thread");
    // The owner gets it as a row.
    if (owner !== undefined && owner !== runner.owner)
      await until(async () => (await store.load(key))?.commands.length === 1);
    go();
    return (await pausing).accepted ? "accepted" : "nothing";
  },
  terminate: async ({ runner, store }) => {
    await runner.terminate("thread");
    return (await store.load(key))!.row.state;
  },
  steer: async ({ runner }) => ((await runner.steer("thread", "x")).id ? "id" : "none"),
  enqueue: async ({ runner }) => ((await runner.enqueue("thread", "x")).id ? "id" : "none"),
  observe: async ({ runner }) => ((await runner.observe("thread", "x")).id ? "id" : "none"),
  send: async ({ runner }) => (await runner.send("thread", "x")).how,
  withdraw: async ({ runner }) => {
    const { id } = await runner.steer("thread", "x");
    return String(await runner.withdraw("thread", id));
  },
  answer: async ({ runner, store }) => {
    const [request] = await store.requests("default");
    return `${(await runner.answer(request?.id ?? "none", approve())).open} open`;
  },
  setBreakpoint: async ({ runner }) => {
    await runner.setBreakpoint("thread", { node: "check" });
    return "set";
  },
  handle: async ({ runner }) => (await runner.handle("thread")).interruptType,
  label: async ({ runner }) => {
    await runner.label("thread", { title: "named" });
    return (await runner.look("thread"))?.title ?? "none";
  },
  removeRule: async ({ runner }) => String(await runner.removeRule("none", { threadId: "thread" })),
  look: async ({ runner }) => (await runner.look("thread"))?.state ?? "none",
  open: async ({ runner }) => (await runner.open("thread")).state,
};

const table: Readonly<Record<keyof typeof verbs, Readonly<Record<keyof typeof stages, string>>>> = {
  start: {
    "running here": "ALREADY_RUNNING",
    "running elsewhere": "ALREADY_RUNNING",
    "at rest": "segment 2",
    asking: "NEED_RESUME",
    crashed: "segment 2",
    completed: "segment 1",
    terminated: "INVALID_STATE",
    unknown: "segment 1",
  },
  resume: {
    "running here": "ALREADY_RUNNING",
    "running elsewhere": "ALREADY_RUNNING",
    "at rest": "segment 2",
    asking: "segment 2",
    crashed: "segment 2",
    completed: "INVALID_STATE",
    terminated: "INVALID_STATE",
    unknown: "THREAD_UNKNOWN",
  },
  interrupt: {
    "running here": "accepted",
    "running elsewhere": "accepted",
    "at rest": "nothing",
    asking: "accepted",
    crashed: "nothing",
    completed: "nothing",
    terminated: "nothing",
    unknown: "THREAD_UNKNOWN",
  },
  pause: {
    "running here": "accepted",
    "running elsewhere": "accepted",
    "at rest": "nothing",
    asking: "nothing",
    crashed: "nothing",
    completed: "nothing",
    terminated: "nothing",
    unknown: "THREAD_UNKNOWN",
  },
  terminate: {
    "running here": "terminated",
    "running elsewhere": "terminated",
    "at rest": "terminated",
    asking: "terminated",
    crashed: "terminated",
    completed: "terminated",
    terminated: "INVALID_STATE_TRANSITION",
    unknown: "THREAD_UNKNOWN",
  },
  steer: sends(),
  enqueue: sends(),
  observe: sends(),
  send: {
    "running here": "steer",
    "running elsewhere": "steer",
    "at rest": "resume",
    asking: "resume",
    crashed: "resume",
    completed: "run",
    terminated: "INVALID_STATE",
    unknown: "run",
  },
  withdraw: sends("true"),
  answer: {
    "running here": "ANSWER_UNKNOWN",
    "running elsewhere": "ANSWER_UNKNOWN",
    "at rest": "ANSWER_UNKNOWN",
    asking: "0 open",
    crashed: "ANSWER_UNKNOWN",
    completed: "ANSWER_UNKNOWN",
    terminated: "ANSWER_UNKNOWN",
    unknown: "ANSWER_UNKNOWN",
  },
  setBreakpoint: sends("set"),
  handle: {
    "running here": "ALREADY_RUNNING",
    "running elsewhere": "ALREADY_RUNNING",
    "at rest": "user_interrupt",
    asking: "tool_interrupt",
    crashed: "INVALID_PAUSE_TYPE",
    completed: "INVALID_STATE",
    terminated: "INVALID_STATE",
    unknown: "THREAD_UNKNOWN",
  },
  label: { ...sends("named"), unknown: "THREAD_UNKNOWN" },
  removeRule: { ...sends("false"), terminated: "false", unknown: "THREAD_UNKNOWN" },
  look: {
    "running here": "running",
    "running elsewhere": "running",
    "at rest": "paused",
    asking: "paused",
    crashed: "paused",
    completed: "completed",
    terminated: "terminated",
    unknown: "none",
  },
  open: {
    "running here": "running",
    "running elsewhere": "running",
    "at rest": "paused",
    asking: "paused",
    crashed: "paused",
    completed: "completed",
    terminated: "terminated",
    unknown: "created",
  },
};

/** The verbs that each state of a thread accepts, except a terminated one. */
function sends(outcome = "id") {
  const states = ["running here", "running elsewhere", "at rest", "asking", "crashed", "completed", "unknown"];
  return { ...Object.fromEntries(states.map((state) => [state, outcome])), terminated: "INVALID_STATE" };
}

/** The cases of the table, in an order that mixes verbs and states. */
const verbCases = Object.keys(verbs).flatMap((verb) => Object.keys(stages).map((stage) => ({ verb, stage })));

/** Plays one case. Returns its outcome, or the code of its refusal, beside the one that the table has. */
async function playVerb(store: Store, { verb, stage }: { readonly verb: string; readonly stage: string }) {
  const scene = await stages[stage]!(store);
  const outcome = await verbs[verb]!(scene).catch((error: { code?: string }) => error.code ?? String(error));
  scene.go();
  await scene.runner.close();
  await scene.owner?.close();
  return { outcome, expected: table[verb]![stage] };
}

interface Caller {
  readonly id: string;
  readonly by: string;
}

/** A command, and the state of the thread that it meets. `asked` is the open request. `act` returns its outcome. */
interface Repeated {
  readonly verb: string;
  readonly stage: string;
  readonly act: (runner: Runner, options: Caller, asked: string) => Promise<unknown>;
}

const repeatedCases: readonly Repeated[] = [
  { verb: "start", stage: "completed", act: async (runner, o) => (await runner.start("thread", "x", o)).started },
  { verb: "start", stage: "at rest", act: async (runner, o) => (await runner.start("thread", "x", o)).started },
  { verb: "resume", stage: "at rest", act: async (runner, o) => (await runner.resume("thread", o)).started },
  { verb: "interrupt", stage: "running elsewhere", act: (runner, o) => runner.interrupt("thread", o) },
  { verb: "interrupt", stage: "running here", act: (runner, o) => runner.interrupt("thread", o) },
  { verb: "interrupt", stage: "asking", act: (runner, o) => runner.interrupt("thread", o) },
  { verb: "interrupt", stage: "completed", act: (runner, o) => runner.interrupt("thread", o) },
  { verb: "pause", stage: "at rest", act: (runner, o) => runner.pause("thread", o) },
  { verb: "terminate", stage: "running elsewhere", act: (runner, o) => runner.terminate("thread", o) },
  { verb: "terminate", stage: "running here", act: (runner, o) => runner.terminate("thread", o) },
  { verb: "terminate", stage: "at rest", act: (runner, o) => runner.terminate("thread", o) },
  { verb: "steer", stage: "running elsewhere", act: (runner, o) => runner.steer("thread", "x", o) },
  { verb: "enqueue", stage: "completed", act: (runner, o) => runner.enqueue("thread", "x", { ...o, start: "here" }) },
  { verb: "label", stage: "running elsewhere", act: (runner, o) => runner.label("thread", { title: "x" }, o) },
  { verb: "label", stage: "at rest", act: (runner, o) => runner.label("thread", { title: "x" }, o) },
  { verb: "send", stage: "running elsewhere", act: (runner, o) => runner.send("thread", "x", o) },
  { verb: "send", stage: "at rest", act: (runner, o) => runner.send("thread", "x", o) },
  { verb: "send", stage: "completed", act: (runner, o) => runner.send("thread", "x", o) },
  {
    verb: "removeRule",
    stage: "running elsewhere",
    act: (runner, o) => runner.removeRule("none", { ...o, threadId: "thread" }),
  },
  {
    verb: "setBreakpoint",
    stage: "running elsewhere",
    act: (runner, o) => runner.setBreakpoint("thread", { ...o, node: "check" }),
  },
  {
    verb: "answer",
    stage: "asking",
    act: (runner, o, asked) => runner.answer(asked, approve(), o),
  },
  { verb: "observe", stage: "completed", act: (runner, o) => runner.observe("thread", "x", o) },
];

/** Issues a command four times under one id: twice here, then elsewhere, and after a restart. */
async function playAgain(store: Store, { stage, act }: Repeated) {
  const { runner, owner, go } = await stages[stage]!(store);
  const asked = (await store.requests("default"))[0]?.id ?? "none";
  const issue = (by: Runner) => act(by, { id: "once", by: "ann" }, asked);
  const first = await issue(runner);
  go();
  // Whatever it began: the thread rests before it is asked again.
  await until(async () => {
    const { row, commands } = (await store.load(key))!;
    return row.lease === undefined && commands.length === 0;
  });
  const before = await factsOf(store);
  const elsewhere = await another(store);
  const again = [await issue(runner), await issue(elsewhere)];
  for (const each of [runner, elsewhere, owner]) await each?.close();
  const restarted = await another(store);
  again.push(await issue(restarted));
  await restarted.close();
  return { first, again, facts: { before, after: await factsOf(store) } };
}

export const verbTable = { key, asks, works, running, another, stages, verbCases, playVerb, repeatedCases, playAgain };
