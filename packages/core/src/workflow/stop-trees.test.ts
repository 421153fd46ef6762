import {
  type AnyAgent,
  asker,
  doing,
  eachStore,
  echo,
  enter,
  factsOf,
  gate,
  gated,
  hanging,
  history,
  type Log,
  lastWords,
  listen,
  newLog,
  runs,
  talker,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, createRunner, END, graph, START, type Store } from "../index.ts";
import { reduce } from "../journal/reduce.ts";
import { newThread } from "../journal/state.ts";
import { defineAgent } from "./define-agent.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const done = (output: unknown) => ({ status: "completed", output });

async function scope(store: Store, path: string) {
  const state = newThread("thread");
  for (const fact of await factsOf(store)) reduce(state, fact);
  return history(state.scopes.get(path)?.messages ?? []);
}

/** Hangs four levels deep. */
const deep = (log: Log, once: { hung?: boolean }) =>
  sequential({
    name: "seq",
    agents: [
      echo(log, "a"),
      parallel({
        name: "par",
        agents: [
          echo(log, "b"),
          loop({ name: "loop", maxIterations: 1, agents: [asker(log, "outer", hanging(log, "inner", once))] }),
        ],
      }),
      echo(log, "z"),
    ],
  });
const INNER = "seq/1:par/1:loop/0.0:outer/t1/c0/inner";

describe.each(eachStore)("a stop over agents made of agents, on $name", ({ make }) => {
  test("S4, S9: its receipt names the call that waits for people inside code, too", async () => {
    const store = await make();
    const log = newLog();
    const once: { hung?: boolean } = {};
    const payer = worker(log, "payer", gated(log, "pay"), "pay-call");
    const code = defineAgent({ name: "code", agents: [payer], run: (ctx) => ctx.run(payer, "x") });
    const session = await enter(parallel({ name: "par", agents: [code, hanging(log, "busy", once)] }), store);
    void session.run("hi");
    await until(() => once.hung === true && session.interrupts.length > 0);
    expect(await session.interrupt()).toMatchObject({ accepted: true, notStarted: ["pay-call"] });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S8, S3, R2: ESC while the deepest streams: its text is kept in its own history, and continued there", async () => {
    const store = await make();
    const log = newLog();
    const once = {};
    const session = await enter(deep(log, once), store);
    const run = session.run("hi");
    await listen(run).until((event) => event.type === "text-delta" && event.text === "one ");
    const receipt = await session.interrupt();
    expect(receipt).toMatchObject({ accepted: true, partialText: "one ", stopped: ["outer-call"], late: [] });
    expect(session.pauseType).toBe("user_interrupt");
    expect(await scope(store, INNER)).toEqual(["user: for inner", "assistant~user: one "]);
    await session.close();
    const other = await enter(deep(log, once), store);
    expect(await other.resume().result).toMatchObject(done('z(["b(a(hi))","outer[ok one two]"])'));
    expect(log.calls.filter((call) => /^[abz]:/.test(call))).toHaveLength(3);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("R1: with input, the call to an agent-tool is closed as interrupted, and the outer agent re-reasons", async () => {
    const store = await make();
    const log = newLog();
    const session = await enter(deep(log, {}), store);
    const run = session.run("hi");
    await listen(run).until((event) => event.type === "text-delta" && event.text === "one ");
    await session.interrupt();
    expect((await session.resume({ input: "stop that" }).result).status).toBe("completed");
    expect(await scope(store, "seq/1:par/1:loop/0.0:outer")).toEqual([
      "user: a(hi)",
      "assistant: call outer-call",
      "tool: outer-call interrupted",
      "user: stop that",
      "assistant: outer[stop that]",
    ]);
    expect(log.calls.filter((call) => call.startsWith("inner:"))).toHaveLength(1);
    expect(history(session.messages).slice(0, 2)).toEqual(["user: hi", "user: stop that"]);
    // The agent inside the call has ended with it: it reads nothing more.
    const heard = (await factsOf(store)).filter(({ type, segment }) => type === "message" && segment === 2);
    expect(heard.map(({ runPath }) => runPath)).not.toContain(INNER);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S4, S6: a stop after the tools that meets a call to an agent before that began holds the call; it runs once on continue", async () => {
    for (const cold of [false, true]) {
      const store = await make();
      const log = newLog();
      let session = await enter(asker(log, "outer", echo(log, "inner")), store);
      const run = session.run("hi");
      await listen(run).until((event) => event.type === "turn-start");
      const receipt = session.interrupt({ mode: "after-tools" });
      expect(await run.result).toMatchObject({ interruptType: "user_interrupt" });
      expect(await receipt).toMatchObject({ accepted: true, notStarted: ["outer-call"], stopped: [] });
      if (cold) {
        await session.close();
        session = await enter(asker(log, "outer", echo(log, "inner")), store);
      }
      expect(await session.resume().result).toMatchObject(done("outer[ok inner(for inner)]"));
      expect(log.calls.filter((call) => call.startsWith("inner:"))).toHaveLength(1);
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test.each(["sequence", "loop", "graph", "agent-tool"])(
    "S6: after the model whose answer is an agent's last, no other model is asked: %s",
    async (shape) => {
      const store = await make();
      const log = newLog();
      const slow = () => talker(log, "a", (request) => [{ wait: 10 }, { text: `a(${lastWords(request)})` }]);
      const roots = {
        sequence: () => sequential({ name: "seq", agents: [slow(), echo(log, "b")] }),
        loop: () => loop({ name: "loop", maxIterations: 2, agents: [slow()] }),
        graph: () => {
          const shape = graph<object, string, string>("graph").node("a", slow()).node("b", echo(log, "b"));
          return shape.edge(START, "a").edge("a", "b").edge("b", END).compile() as AnyAgent;
        },
        "agent-tool": () => asker(log, "outer", slow()),
      };
      const root = roots[shape as keyof typeof roots];
      const output = { loop: "a(a(hi))", "agent-tool": "outer[ok a(for a)]" }[shape] ?? "b(a(hi))";
      const session = await enter(root(), store);
      const run = session.run("hi");
      const inner = (call: string) => call.startsWith("a:");
      await until(() => log.calls.some(inner));
      const before = log.calls.length;
      expect(await session.interrupt({ mode: "after-model" })).toMatchObject({ accepted: true });
      expect(await run.result).toMatchObject({ interruptType: "user_interrupt" });
      expect(log.calls).toHaveLength(before);
      await session.close();
      expect(await (await enter(root(), store)).resume().result).toMatchObject(done(output));
      expect(log.calls).toHaveLength(before + 1);
      expect(await wrong(store, log)).toEqual([]);
    },
  );

  test("R1: every agent cut in mid-turn gets the input; `to` narrows it, and the others continue at the cut", async () => {
    for (const to of [undefined, "par/1:y"]) {
      const store = await make();
      const log = newLog();
      const session = await enter(
        parallel({ name: "par", agents: [hanging(log, "x", {}), hanging(log, "y", {}), echo(log, "e")] }),
        store,
      );
      const run = session.run("hi");
      await until(() => log.calls.length === 3);
      await listen(run).until((event) => event.type === "run-end");
      const { partialText } = await session.interrupt();
      expect(partialText).toBe("one one ");
      expect((await session.resume({ input: "new", ...(to && { to }) }).result).status).toBe("completed");
      const told = ["user: hi", "assistant~user: one ", "user: new", "assistant: one two"];
      expect(await scope(store, "par/1:y")).toEqual(told);
      expect(await scope(store, "par/0:x")).toEqual(to === undefined ? told : ["user: hi", "assistant: one two"]);
      expect(log.calls.filter((call) => call.startsWith("e:"))).toHaveLength(1);
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test("R1, F3: a steer that no agent has read enters with the input for all that were cut, and is consumed once", async () => {
    const store = await make();
    const log = newLog();
    const session = await enter(
      parallel({ name: "par", agents: [hanging(log, "x", {}), hanging(log, "y", {})] }),
      store,
    );
    void session.run("hi");
    await until(() => log.calls.length === 2);
    await session.steer("mind the rope", { id: "s1" });
    await session.interrupt();
    expect((await session.resume({ input: "new" }).result).status).toBe("completed");
    for (const path of ["par/0:x", "par/1:y"]) {
      expect((await scope(store, path)).filter((line) => line.startsWith("user"))).toEqual([
        "user: hi",
        "user: mind the rope",
        "user: new",
      ]);
    }
    const consumed = (await factsOf(store)).filter(({ type }) => type === "input-consumed");
    expect(consumed).toMatchObject([{ id: "s1", runPath: "par" }]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("R1: a composite that custom code runs without having named it keeps no messages", async () => {
    const store = await make();
    const log = newLog();
    const inner = sequential({ name: "inner", agents: [hanging(log, "x", {})] });
    const session = await enter(defineAgent({ name: "code", run: (ctx) => ctx.run(inner, "x") }), store);
    const run = session.run("hi");
    await listen(run).until((event) => event.type === "text-delta");
    await session.interrupt();
    expect((await session.resume({ input: "new" }).result).status).toBe("completed");
    const inside = (await factsOf(store)).filter(({ type, runPath }) => type === "message" && runPath !== "code");
    expect(new Set(inside.map(({ runPath }) => runPath.split("/").at(-1)))).toEqual(new Set(["0:x"]));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("R1: `to` that names no agent that was cut is refused, and nothing is spent", async () => {
    const store = await make();
    const log = newLog();
    const session = await enter(parallel({ name: "par", agents: [hanging(log, "x", {})] }), store);
    const run = session.run("hi");
    await listen(run).until((event) => event.type === "text-delta");
    await session.interrupt();
    expect(await session.resume({ input: "new", to: "par/7:q" }).result).toMatchObject({
      status: "failed",
      error: { code: "OPTION_INVALID" },
    });
    expect(await session.resume().result).toMatchObject(done(["one two"]));
  });

  test("S4, S8: ESC while a tool of the deepest runs: its signal fires, its call has its result, the others' work is kept", async () => {
    const store = await make();
    const log = newLog();
    const slow = () =>
      doing(log, "slow", (ctx) => new Promise((r) => ctx.signal.addEventListener("abort", () => r(1))));
    const root = () =>
      sequential({
        name: "seq",
        agents: [echo(log, "a"), asker(log, "outer", worker(log, "inner", slow(), "slow-call"))],
      });
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => log.did.length === 1);
    expect(await session.interrupt()).toMatchObject({
      accepted: true,
      stopped: ["outer-call"],
      finished: ["slow-call"],
      late: [],
    });
    await run.result;
    const other = await enter(root(), store);
    expect((await other.resume().result).status).toBe("completed");
    expect(log.did).toEqual(["slow"]);
    expect(log.calls.filter((call) => call.startsWith("a:"))).toHaveLength(1);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S8, S9: ESC while one waits for a person and another streams: the request is withdrawn, both continue", async () => {
    const store = await make();
    const log = newLog();
    const once = {};
    const root = () =>
      parallel({ name: "par", agents: [hanging(log, "x", once), worker(log, "w", gated(log, "pay"), "pay-call")] });
    const session = await enter(root(), store);
    const run = session.run("hi");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta");
    await heard.until((event) => event.type === "action");
    expect(session.interrupts).toHaveLength(1);
    const receipt = await session.interrupt();
    expect(receipt).toMatchObject({ accepted: true, partialText: "one ", notStarted: ["pay-call"] });
    const result = await run.result;
    expect(result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    const other = await enter(root(), store);
    expect(other.interrupts.map(({ kind }) => kind)).toEqual(["user"]);
    expect(await other.resume().result).toMatchObject(done(["one two", expect.stringMatching(/^w\[not-executed/)]));
    expect(log.did).toEqual([]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test.each(["seq", "nested"])(
    "R1: input after a stop between two agents is read by the next that begins, also after a restart (%s)",
    async (shape) => {
      const store = await make();
      const log = newLog();
      const slow = () => talker(log, "a", (request) => [{ wait: 10 }, { text: `a(${lastWords(request)})` }]);
      const root = () =>
        shape === "seq"
          ? sequential({ name: "seq", agents: [slow(), echo(log, "b"), echo(log, "c")] })
          : sequential({
              name: "seq",
              agents: [slow(), sequential({ name: "in", agents: [echo(log, "b"), echo(log, "c")] })],
            });
      const session = await enter(root(), store);
      const run = session.run("hi");
      await until(() => log.calls.length === 1);
      expect(await session.interrupt({ mode: "after-tools" })).toMatchObject({ accepted: true });
      await run.result;
      expect(runs(await factsOf(store)).filter((line) => /:[ab]/.test(line))).toEqual(["+ seq/0:a", "- seq/0:a"]);
      await session.close();
      const other = await enter(root(), store);
      // It is on record before any reader sees it.
      expect(await other.resume({ input: "and this" }).result).toMatchObject(done("c(b(and this))"));
      const path = shape === "seq" ? "seq/1:b" : "seq/1:in/0:b";
      expect(await scope(store, path)).toEqual(["user: a(hi)", "user: and this", "assistant: b(and this)"]);
      expect(await wrong(store, log)).toEqual([]);
    },
  );

  test("R1, W1: if several begin at once, each of them reads it, and those after them do not read it again", async () => {
    const store = await make();
    const log = newLog();
    const slow = () => talker(log, "a", (request) => [{ wait: 10 }, { text: `a(${lastWords(request)})` }]);
    const root = () => {
      const nested = sequential({ name: "in", agents: [echo(log, "c"), echo(log, "d")] });
      const both = parallel({ name: "par", agents: [echo(log, "b"), nested] });
      return sequential({ name: "seq", agents: [slow(), both, echo(log, "z")] });
    };
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => log.calls.length === 1);
    await session.interrupt({ mode: "after-tools" });
    await run.result;
    const result = await session.resume({ input: "and this" }).result;
    expect(result).toMatchObject(done('z(["b(and this)","d(c(and this))"])'));
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S6: pause() withdraws no request: the request of one branch can be answered, and resume() continues all", async () => {
    const store = await make();
    const log = newLog();
    const go = gate();
    const slow = worker(
      log,
      "b",
      doing(log, "slow", () => go.opened.then(() => "slept")),
    );
    const root = () => parallel({ name: "par", agents: [worker(log, "a", gated(log, "pay")), slow] });
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => session.interrupts.length === 1 && log.did.includes("slow"));
    const [request] = session.interrupts;
    const parked = session.pause();
    go.open();
    expect(await parked).toMatchObject({ accepted: true, finished: ["b-call"] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
    expect(session.interrupts.map(({ kind }) => kind).sort()).toEqual(["approval", "manual"]);
    expect(await session.answer(request!.id, approve())).toEqual({ open: 0 });
    await until(() => log.did.includes("pay"));
    await session.close();
    // Answers do not resume a thread that a person paused.
    const claims = createRunner<unknown, unknown>({ agent: root(), store });
    const enough = new AbortController();
    const working = claims.work({ signal: enough.signal, pollMs: 1 });
    const state = async () => (await factsOf(store)).findLast((fact) => fact.type === "state");
    await until(async () => (await state())?.pauseType === "manual");
    enough.abort();
    await working;
    await claims.close();
    const other = await enter(root(), store);
    expect(other).toMatchObject({ state: "paused", pauseType: "manual" });
    expect(await other.resume().result).toMatchObject({
      status: "completed",
      output: ["a[ok pay done]", "b[ok slept]"],
    });
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S6, S8: pause() parks between agents, and resume() continues as if nothing had happened", async () => {
    const store = await make();
    const log = newLog();
    const root = () => loop({ name: "loop", maxIterations: 3, agents: [echo(log, "a")] });
    const session = await enter(root(), store);
    let result = session.run("x").result;
    let current = session;
    for (let i = 0; i < 6; i++) {
      await until(() => log.calls.length > i || current.state !== "running");
      await current.pause();
      if ((await result).status !== "interrupted") break;
      await current.close();
      current = await enter(root(), store);
      result = current.resume().result;
    }
    expect(await result).toMatchObject(done("a(a(a(x)))"));
    expect(log.calls).toHaveLength(3);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S8, R2: stopped again and again, also before anything began, it ends as if it had never been", async () => {
    const store = await make();
    const log = newLog();
    const root = () =>
      sequential({
        name: "seq",
        agents: [
          asker(log, "outer", worker(log, "inner", gated(log, "pay"), "pay-call")),
          parallel({ name: "par", agents: [echo(log, "b"), echo(log, "c")] }),
        ],
      });
    const session = await enter(root(), store);
    const run = session.run("hi");
    void session.interrupt();
    expect((await run.result).status).toBe("interrupted");
    expect(log.calls).toEqual([]);
    let again = session.resume();
    void session.interrupt();
    await again.result;
    again = session.resume();
    expect(await again.result).toMatchObject({ interruptType: "tool_interrupt" });
    const [request] = session.interrupts;
    again = session.resume({ answers: { [request!.id]: approve() } });
    void session.interrupt();
    await again.result;
    expect(await session.resume().result).toMatchObject(
      done(["b(outer[ok inner[ok pay done]])", "c(outer[ok inner[ok pay done]])"]),
    );
    expect(log.did).toEqual(["pay"]);
    expect(await wrong(store, log)).toEqual([]);
  });
});
