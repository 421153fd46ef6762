// Walks every public function. A function that takes options has a row with a call that passes an unknown one; a
// function without options has the reason. A new public name needs a row here.

import { describe, expect, test } from "vitest";
import * as dispatch from "./dispatch.ts";
import * as core from "./index.ts";
import { agent, createRunner, defineAgent, graph, jsonSchema, memoryStore, type Session, tool } from "./index.ts";
import * as postgres from "./postgres.ts";
import { postgresStore } from "./postgres.ts";
import * as redis from "./redis.ts";
import { redisStore } from "./redis.ts";
import * as sqlite from "./sqlite.ts";
import { sqliteStore } from "./sqlite.ts";
import * as store from "./store.ts";
import * as testing from "./testing/index.ts";
import { dispatcherSuite, interruptAnywhere, scriptedModel, storeSuite } from "./testing/index.ts";

/** A wrong key, the option that its error must suggest (undefined: none is near), and a call that gets the key. */
type Row = readonly [key: string, nearest: string | undefined, call: (options: never) => unknown];
/** A row, or the reason why the function has no options to refuse. */
type Rows = Readonly<Record<string, Row | string>>;

const NO_OPTIONS = "takes no options";
const DATA = "takes data of the user";

const bot = { name: "bot", model: scriptedModel(() => "hi") };
const pay = { name: "pay", description: "", input: jsonSchema<object>({ type: "object" }), execute: () => "paid" };
const one = agent(bot);
const runner = () => createRunner({ agent: one, log: () => {} });
const session = () => runner().open("t");
const finished = async (): Promise<Session> => {
  const opened = await session();
  await opened.run("go").result;
  return opened;
};
/** Starts a runner with a thread t. */
const started = async () => {
  const made = runner();
  await (await made.start("t", "go")).result;
  return made;
};
const steps = graph("steps")
  .node("a", () => 1)
  .edge(core.START, "a")
  .edge("a", core.END);

/** Returns the error of `act` with the context of a tool. */
async function inTool(act: (ctx: core.ToolContext) => unknown): Promise<unknown> {
  let met: unknown;
  const execute = async (_: object, ctx: core.ToolContext) => {
    met = await Promise.resolve()
      .then(() => act(ctx))
      .catch((error) => error);
    return "done";
  };
  const model = scriptedModel([[{ call: "pay" }], "done"]);
  const run = await createRunner({ agent: agent({ name: "asker", model, tools: [tool({ ...pay, execute })] }) }).run(
    "go",
  );
  await run.result;
  if (met instanceof Error) throw met;
  return met;
}

async function inAgent(act: (ctx: core.AgentContext) => unknown): Promise<unknown> {
  const run = await createRunner({
    agent: defineAgent({ name: "code", run: async (ctx) => void (await act(ctx)) }),
  }).run("go");
  const result = await run.result;
  if (result.status === "failed") throw Object.assign(new Error(result.error.message), result.error);
  return result;
}

const exported: Rows = {
  BelayError: "is made by the runtime",
  UserInterrupt: "is made by the runtime",
  agent: ["instruction", "instructions", (o) => agent({ ...bot, ...(o as object) })],
  agentTool: ["describe", "description", (o) => core.agentTool(one, o)],
  ask: ["keys", "key", (o) => core.ask(core.humanInput("Who?"), o)],
  approve: ["arg", "args", (o) => core.approve(o)],
  content: DATA,
  createRunner: ["sotre", "store", (o) => createRunner({ agent: one, ...(o as object) })],
  customInterrupt: ["expires", "expiresAt", (o) => core.customInterrupt("why", o)],
  describe: NO_OPTIONS,
  defineAgent: ["agent", "agents", (o) => defineAgent({ name: "a", run: () => 1, ...(o as object) })],
  fromAiSdk: [
    "prefil",
    "prefill",
    (o) => core.fromAiSdk({ specificationVersion: "v3", provider: "p", modelId: "m", doStream: () => {} } as never, o),
  ],
  graph: "takes a name; its builder is below",
  hub: ["form", "from", async (o) => core.hub([await session()], o)],
  humanApproval: ["approver", "approvers", (o) => core.humanApproval("May I?", o)],
  humanInput: ["shema", "schema", (o) => core.humanInput("Who?", o)],
  isBelayError: DATA,
  jsonSchema: DATA,
  loop: ["maxIteration", "maxIterations", (o) => core.loop({ name: "l", agents: [one], ...(o as object) })],
  memoryStore: ["clocks", "clock", (o) => memoryStore(o)],
  messageText: DATA,
  parallel: ["agent", "agents", (o) => core.parallel({ name: "p", agents: [one], ...(o as object) })],
  reject: ["be", "by", (o) => core.reject("no", o)],
  rerun: DATA,
  respond: ["be", "by", (o) => core.respond(1, o)],
  sanitizeMessages: DATA,
  say: DATA,
  sequential: ["hook", "hooks", (o) => core.sequential({ name: "s", agents: [one], ...(o as object) })],
  tool: ["requireApproval", "needsApproval", (o) => tool({ ...pay, ...(o as object) })],
  sqliteStore: ["poll", "pollMs", (o) => sqliteStore({ prepare: () => {} } as never, o)],
  postgresStore: ["shema", "schema", (o) => postgresStore({ on: () => {} } as never, o)],
  redisStore: ["prefixes", "prefix", (o) => redisStore({} as never, o)],
  redisBus: "takes a client",
  fakeClock: "takes a time",
  interruptAnywhere: [
    "mostPoint",
    "mostPoints",
    (o) => interruptAnywhere({ agent: () => one, input: "go", faults: ["stop"], mostPoints: 1, ...(o as object) }),
  ],
  promptProblems: DATA,
  reached: NO_OPTIONS,
  beforeRest: DATA,
  belayError: "makes an error of the catalogue",
  fromText: DATA,
  haveWords: DATA,
  inListOrder: DATA,
  wordsIn: DATA,
  wordsOf: DATA,
  isGone: DATA,
  isMovable: DATA,
  toText: DATA,
  shardedStore: [
    "shard",
    "shardOf",
    (o) => store.shardedStore({ shardOf: () => "one", stores: { one: memoryStore() }, ...(o as object) }),
  ],
  confirmed: DATA,
  createWorker: [
    "dispatch",
    "dispatcher",
    (o) => dispatch.createWorker({ store: memoryStore(), runner: () => undefined, ...(o as object) }),
  ],
  deliver: DATA,
  dispatcherSuite: ["skips", "skip", (o) => dispatcherSuite(() => ({ open: () => ({}) as never }), o)],
  pause: DATA,
  pollingDispatcher: ["poll", "pollMs", (o) => dispatch.pollingDispatcher(memoryStore(), o)],
  retryPause: DATA,
  serveAsPlanned: DATA,
  slots: DATA,
  storeRecord: NO_OPTIONS,
  wakeName: DATA,
  wakingStore: NO_OPTIONS,
  scriptedModel: ["chunk", "chunkSize", (o) => scriptedModel("hi", o)],
  speak: NO_OPTIONS,
  storeSuite: ["skips", "skip", (o) => storeSuite(() => ({ store: memoryStore() }), o)],
};

const ofRunner: Rows = {
  observe: ["ids", "id", async (o) => (await started()).observe("t", "hi", o)],
  label: ["titles", "title", async (o) => (await started()).label("t", o)],
  pause: ["segments", "segment", async (o) => (await started()).pause("t", o)],
  terminate: ["forced", "force", async (o) => (await started()).terminate("t", o)],
  agents: NO_OPTIONS,
  answer: ["ids", "id", (o) => runner().answer("r", core.approve(), o)],
  changes: ["signals", "signal", (o) => runner().changes(o)],
  checkpoint: ["too", "to", async (o) => (await started()).checkpoint("t", o)],
  close: ["forced", "force", (o) => runner().close(o)],
  delete: NO_OPTIONS,
  drain: ["timeout", "timeoutMs", (o) => runner().drain(o)],
  effects: ["afer", "after", (o) => runner().effects("t", { after: 0, ...(o as object) })],
  enqueue: ["ids", "id", (o) => runner().enqueue("t", "hi", o)],
  events: ["afer", "after", (o) => runner().events("t", o)],
  fork: ["att", "at", (o) => runner().fork("t", { at: 0, ...(o as object) })],
  handle: NO_OPTIONS,
  history: NO_OPTIONS,
  inbox: ["tools", "tool", (o) => runner().inbox(o)],
  interrupt: ["timeout", "timeoutMs", (o) => runner().interrupt("t", o)],
  journal: ["limits", "limit", (o) => runner().journal("t", o)],
  look: NO_OPTIONS,
  move: NO_OPTIONS,
  open: ["dep", "deps", (o) => runner().open("t", o)],
  permission: DATA,
  prune: ["idle", "idleMs", (o) => runner().prune({ idleMs: 1, ...(o as object) })],
  removeRule: ["thread", "threadId", (o) => runner().removeRule("r", o)],
  repair: ["ass", "as", (o) => runner().repair("t", o)],
  request: NO_OPTIONS,
  requests: ["limits", "limit", (o) => runner().requests({ state: "decided", ...(o as object) })],
  resume: [
    "answer",
    "answers",
    async (o) => {
      const paused = await pausedRun();
      return createRunner({ agent: paused.asks, store: paused.store }).resume(paused.handle, o);
    },
  ],
  rules: ["thread", "threadId", (o) => runner().rules(o)],
  run: ["ids", "id", (o) => runner().run("hi", o)],
  send: ["whenAskd", "whenAsked", (o) => runner().send("t", "hi", o)],
  setBreakpoint: ["nodes", "node", (o) => runner().setBreakpoint("t", { node: "a", ...(o as object) })],
  start: ["agents", "agent", (o) => runner().start("t", "hi", o)],
  steer: ["ids", "id", (o) => runner().steer("t", "hi", o)],
  threads: ["stat", "state", (o) => runner().threads(o)],
  withdraw: NO_OPTIONS,
  work: ["concurency", "concurrency", (o) => runner().work({ signal: AbortSignal.abort(), ...(o as object) })],
};

const ofSession: Rows = {
  answer: ["ids", "id", async (o) => (await session()).answer("r", core.approve(), o)],
  checkpoint: ["too", "to", async (o) => (await session()).checkpoint(o)],
  close: ["forced", "force", async (o) => (await session()).close(o)],
  enqueue: ["ids", "id", async (o) => (await session()).enqueue("hi", o)],
  events: ["afer", "after", async (o) => (await session()).events(o)],
  handle: NO_OPTIONS,
  interrupt: ["timeout", "timeoutMs", async (o) => (await session()).interrupt(o)],
  label: ["titel", "title", async (o) => (await session()).label(o)],
  observe: ["ids", "id", async (o) => (await session()).observe("hi", o)],
  pause: ["segments", "segment", async (o) => (await session()).pause(o)],
  permission: DATA,
  removeRule: ["bye", "by", async (o) => (await session()).removeRule("r", o)],
  resume: ["inputs", "input", async (o) => (await finished()).resume(o)],
  resumeWithInput: NO_OPTIONS,
  run: ["ids", "id", async (o) => (await session()).run("hi", o)],
  send: ["whenAskd", "whenAsked", async (o) => (await session()).send("hi", o)],
  setBreakpoint: ["nodes", "node", async (o) => (await session()).setBreakpoint({ node: "a", ...(o as object) })],
  steer: ["ids", "id", async (o) => (await session()).steer("hi", o)],
  terminate: ["forced", "force", async (o) => (await session()).terminate(o)],
  waiting: NO_OPTIONS,
  withdraw: NO_OPTIONS,
};

const inside: Rows = {
  "settings of agent()": ["temprature", "temperature", (o) => agent({ ...bot, settings: o })],
  "settings.retry of agent()": ["attempt", "attempts", (o) => agent({ ...bot, settings: { retry: o } })],
  "timeouts of agent()": ["idle", "idleMs", (o) => agent({ ...bot, timeouts: o })],
  "context of agent()": [
    "keepToken",
    "keepTokens",
    (o) => agent({ ...bot, context: { maxTokens: 9, ...(o as object) } }),
  ],
  "permissions of agent:bot": ["rule", "rules", (o) => agent({ ...bot, permissions: o })],
  "rule 0 in the permissions of runner": [
    "arg",
    "args",
    (o) => createRunner({ agent: one, permissions: { rules: [{ tool: "x", effect: "deny", ...(o as object) }] } }),
  ],
  hooks: ["beforeTools", "beforeTool", (o) => agent({ ...bot, hooks: o })],
  'node("b") of graph steps': ["befor", "before", (o) => graph("steps").node("b", () => 1, o)],
  "compile() of graph steps": ["interruptBefor", "interruptBefore", (o) => steps.compile(o)],
  "interruptBefore of graph steps": [
    "whenever",
    "when",
    (o) => steps.compile({ interruptBefore: [{ node: "a", when: () => true, ...(o as object) }] }),
  ],
  "approveBefore of graph steps": [
    "onRejected",
    "onReject",
    (o) => steps.compile({ approveBefore: [{ node: "a", ...(o as object) }] }),
  ],
  "ctx.interrupt()": ["reasons", "reason", (o) => inTool((ctx) => ctx.interrupt(o))],
  "toMermaid()": ["att", "at", (o) => steps.compile().toMermaid(o)],
  "skip of storeSuite()": ["zzz", undefined, (o) => storeSuite(() => ({ store: memoryStore() }), { skip: o })],
  "ctx.ask()": ["kay", "key", (o) => inTool((ctx) => ctx.ask(core.humanInput("Who?"), o))],
  "ctx.spawn()": ["cwdd", "cwd", (o) => inTool((ctx) => void ctx.spawn("true", [], o))],
  "ctx.run()": ["kay", "key", (o) => inAgent((ctx) => ctx.run(one, "hi", o))],
};

/** Starts an agent that waits for a person, and returns the handle of its pause. */
async function pausedRun() {
  const store = memoryStore();
  const tools = [tool({ ...pay, needsApproval: true })];
  const asks = agent({ name: "asks", model: scriptedModel([[{ call: "pay" }], "done"]), tools });
  const run = await createRunner({ agent: asks, store }).run("go");
  const result = await run.result;
  if (result.status !== "interrupted") throw new Error(result.status);
  return { asks, store, handle: result.handle };
}

async function errorOf(call: () => unknown): Promise<Error & { code?: string; hint?: string }> {
  try {
    await call();
    return new Error("it threw nothing");
  } catch (error) {
    return error as Error;
  }
}

const functionsOf = (door: object) =>
  Object.entries(door).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
const methodsOf = (of: object) =>
  Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(of))).flatMap(([name, { value }]) =>
    typeof value === "function" && name !== "constructor" ? [name] : [],
  );

describe("V9: unknown options", () => {
  test("V9: every public function has a row in this table", async () => {
    const doors = [core, dispatch, store, sqlite, postgres, redis, testing].flatMap(functionsOf);
    expect(Object.keys(exported).sort()).toEqual([...new Set(doors)].sort());
    expect(Object.keys(ofRunner).sort()).toEqual(methodsOf(runner()).sort());
    expect(Object.keys(ofSession).sort()).toEqual(methodsOf(await session()).sort());
  });

  test("section 19: a session shows the public verbs and no internals", async () => {
    const members = (of: object) => [
      ...Object.keys(of),
      ...Object.keys(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(of))).filter(
        (name) => name !== "constructor",
      ),
    ];
    const shown = [
      "agent",
      "interrupts",
      "interruptView",
      "late",
      "messages",
      "pauseType",
      "rules",
      "runId",
      "state",
      "threadId",
    ];
    expect(members(await session()).sort()).toEqual([...Object.keys(ofSession), ...shown].sort());
    expect(members(runner()).sort()).toEqual([...Object.keys(ofRunner), "owner", "tenant"].sort());
  });

  test("section 19: an agent shows its name; a graph its diagram too; a foreign object is AGENT_INVALID", () => {
    expect(Object.keys(one)).toEqual(["name"]);
    expect(Object.keys(core.sequential({ name: "s", agents: [one] }))).toEqual(["name"]);
    expect(Object.keys(steps.compile())).toEqual(["name", "toMermaid"]);
    for (const foreign of [{ ...one }, { name: "a" }, null, "a"])
      expect(() => createRunner({ agent: foreign as never })).toThrow(
        expect.objectContaining({ code: "AGENT_INVALID" }),
      );
  });

  const all = [
    ...Object.entries(exported).map(([name, row]) => [`${name}()`, row] as const),
    ...Object.entries(ofRunner).map(([name, row]) => [`${name}()`, row] as const),
    ...Object.entries(ofSession).map(([name, row]) => [`${name}()`, row] as const),
    ...Object.entries(inside),
  ].flatMap(([where, row]) => (typeof row === "string" ? [] : [[where, ...row] as const]));

  test.each(all)("V9: %s refuses %s and names %s", async (where, key, nearest, call) => {
    const error = await errorOf(() => call({ [key]: 1 } as never));
    expect(error).toMatchObject({ code: "OPTION_UNKNOWN", message: `There is no option ${key} in ${where}.` });
    expect(error.hint).toMatch(
      nearest === undefined ? /^The options are / : `Did you mean ${nearest}? The options are `,
    );
    const absent = await errorOf(() => call({ [key]: undefined } as never));
    expect(absent.code).not.toBe("OPTION_UNKNOWN");
  });

  test("V9: options that are not an object are refused", () => {
    for (const options of [undefined, null, 5, "agent"])
      expect(() => createRunner(options as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(() => memoryStore(null as never)).toThrow(
      "Option options is null; it must be an object of options for memoryStore().",
    );
  });

  test("V9: data of the user may have any keys", async () => {
    const deps = { sotre: 1 };
    const input = [{ role: "user" as const, parts: [{ type: "text" as const, text: "hi" }] }];
    const settings = { providerOptions: { openai: { any: 1 } } };
    const run = await createRunner({ agent: agent({ ...bot, settings }), deps }).run(input);
    expect(await run.result).toMatchObject({ status: "completed" });
  });
});
