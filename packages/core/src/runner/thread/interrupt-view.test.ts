import {
  asker,
  eachStore,
  echo,
  enter,
  gated,
  hanging,
  listen,
  newLog,
  openKit,
  paying,
  requestOf,
  toolOf,
  until,
  waiting,
  worker,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  approve,
  createRunner,
  defineAgent,
  END,
  type Fact,
  graph,
  humanInput,
  parallel,
  type RunResult,
  rerun,
  respond,
  type Session,
  START,
  type Store,
  sequential,
} from "../../index.ts";

/** The facts of the append that paused the thread last. */
async function pausingFacts(session: Session<unknown>, root: string): Promise<readonly Fact[]> {
  const facts: Fact[] = [];
  const ending = new AbortController();
  for await (const event of session.events({ signal: ending.signal })) {
    facts.push(event as Fact);
    if (event.type === "state" && event.state === "paused") break;
  }
  const views = facts.filter(
    (fact) => fact.type === "action" && fact.runPath === root && "data" in (fact.action.interrupted ?? {}),
  );
  return views;
}

function interrupted(result: RunResult<unknown>) {
  if (result.status !== "interrupted") throw new Error(`it ended ${result.status}`);
  return result;
}

/** The view of a paused thread: of its result, of its session, and of a process that only looks and has other agents. */
async function everywhere(
  agent: Agent<unknown, never>,
  session: Session<unknown>,
  store: Store,
  result: RunResult<unknown>,
) {
  const { interrupt } = interrupted(result);
  const [fact] = await pausingFacts(session, agent.name);
  expect(fact?.type === "action" && fact.action.interrupted).toEqual(interrupt);
  expect(session.interruptView).toEqual(interrupt);
  const other = createRunner({ agent: defineAgent({ name: "other", run: () => 1 }), store });
  expect((await other.look(session.threadId))!.interrupt).toEqual(interrupt);
  const reopened = await createRunner({ agents: [agent], store }).open(session.threadId);
  expect(reopened.interruptView).toEqual(interrupt);
  expect(JSON.parse(JSON.stringify(interrupt))).toEqual(interrupt);
  return interrupt;
}

describe.each(eachStore)("the view of a pause, on $name", ({ make }) => {
  test("O2: one action of the root carries it, and result, session and look show it in every process", async () => {
    const store = await make();
    const log = newLog();
    const root = sequential({
      name: "seq",
      agents: [echo(log, "a"), asker(log, "outer", worker(log, "inner", gated(log, "pay"), "p"))],
    });
    const session = await enter(root, store);
    const interrupt = await everywhere(root, session, store, await session.run("hi").result);
    expect(interrupt.data).toMatchObject({ type: "workflow", origInput: "hi", sequentialIndex: 1 });
    expect(await pausingFacts(session, "seq")).toHaveLength(1);
  });

  test("O2, S2: for a person's stop it is the one event of the stop; each agent that was cut has its own id and address", async () => {
    const store = await make();
    const log = newLog();
    const root = parallel({ name: "par", agents: [hanging(log, "x", {}), hanging(log, "y", {})] });
    const session = await enter(root, store);
    const run = session.run("hi");
    await until(() => log.calls.length === 2);
    await session.interrupt({ by: "ann", reason: "enough" });
    const interrupt = await everywhere(root, session, store, await run.result);
    expect(interrupt).toMatchObject({ kind: "user", by: "ann", reason: "enough" });
    const data = interrupt.data as Extract<typeof interrupt.data, { type: "workflow" }>;
    expect(data).not.toHaveProperty("sequentialIndex");
    const { 0: x, 1: y } = data.parallel;
    expect([x!.address, y!.address]).toEqual(["par/0:x/t1", "par/1:y/t1"]);
    expect(new Set([interrupt.id, x!.id, y!.id]).size).toBe(3);
  });

  test("O2: a graph shows state, beforeNodes, afterNodes, rerunNodes and the graphs inside it", async () => {
    const store = await make();
    const inner = graph("inner")
      .node("c", () => {
        throw rerun({ because: "later" });
      })
      .edge(START, "c")
      .edge("c", END)
      .compile({ state: { deep: 1 } });
    const root = graph<{ seen: string }>("outer")
      .node("a", (_input, ctx) => {
        ctx.setState(() => ({ seen: "a" }));
        return "out";
      })
      .node("b", inner)
      .node("d", () => "d")
      .edge(START, "a")
      .edge("a", "b")
      .edge("a", "d")
      .edge("b", END)
      .edge("d", END)
      .compile({ state: { seen: "" }, interruptBefore: ["d"] });
    const session = await enter(root, store);
    const interrupt = await everywhere(root, session, store, await session.run("hi").result);
    expect(interrupt.data).toMatchObject({
      type: "graph",
      state: { seen: "a" },
      beforeNodes: ["d"],
      afterNodes: [],
      rerunNodes: [],
      subGraphs: { b: { state: { deep: 1 }, rerunNodes: [{ node: "c", extra: { because: "later" } }], subGraphs: {} } },
    });
  });

  test("O2: a request that was decided is no longer in it, and one that was raised since is", async () => {
    const store = await make();
    const twice = toolOf("twice", async (ctx) => [
      await ctx.ask(humanInput("Two?")),
      await ctx.ask(humanInput("Three?")),
    ]);
    const one = toolOf("one", (ctx) => ctx.ask(humanInput("One?")));
    const calls = [
      { call: "one", id: "o" },
      { call: "twice", id: "t" },
    ];
    const kit = await openKit([calls, "done"], { store, tools: [one, twice] });
    await kit.session.run("hi").result;
    const reader = await openKit([], { store, tools: [one, twice], threadId: "elsewhere" });
    const reasons = async () => {
      const { data } = (await reader.runner.look("thread"))!.interrupt!;
      return data.type === "tools" && data.interrupts.map(({ reason }) => reason);
    };
    expect(await reasons()).toEqual(["One?", "Two?"]);
    await kit.session.answer(requestOf(kit, "t").id, respond("2"));
    await until(() => kit.session.interrupts.some(({ reason }) => reason === "Three?"));
    expect(await reasons()).toEqual(["One?", "Three?"]);
    await kit.session.answer(requestOf(kit, "o").id, respond("1"));
    expect(await reasons()).toEqual(["Three?"]);
    expect(kit.session.interruptView!.data).toMatchObject({ interrupts: [{ reason: "Three?" }] });
    const before = (await reader.runner.look("thread"))!.interrupt;
    const result = interrupted(await kit.session.resume().result);
    expect(result.interrupt).toEqual(before);
  });

  test("O2: every pause lists all that it waits for in its state event; the journal holds each request once", async () => {
    const store = await make();
    const { tools } = paying();
    const kit = await waiting(["a", "b"], { store, tools });
    const state = (await kit.runner.journal("thread")).items.at(-1);
    expect(state).toMatchObject({ type: "state", pauseType: "tool_interrupt" });
    expect(state?.type === "state" && state.interrupts).toEqual(kit.session.interrupts);
    await kit.session.handle();
    const again = (await kit.runner.journal("thread", { after: state!.seq })).items.at(-1);
    expect(again?.type === "state" && again.interrupts).toEqual(kit.session.interrupts);
    const lines = (await store.load({ tenant: "default", threadId: "thread" }))!.lines
      .map(({ body }) => body)
      .join("\n");
    expect(lines.split(kit.session.interrupts[0]!.digest!)).toHaveLength(2);
  });

  test("O2: it is the same after handle(), after a fork, and gone once the thread continues", async () => {
    const store = await make();
    const { tools } = paying();
    const kit = await waiting(["a"], { store, tools });
    const view = kit.session.interruptView!;
    await kit.session.handle();
    expect((await kit.runner.look("thread"))!.interrupt).toEqual(view);
    const { session: fork } = await kit.runner.fork("thread", {
      at: kit.session.interruptView ? (await kit.runner.look("thread"))!.head : 0,
    });
    const [asked] = fork.interrupts;
    expect(fork.interruptView!.data).toEqual({ type: "tools", interrupts: [{ ...asked, data: { type: "none" } }] });
    await kit.session.resume({ answers: { [kit.session.interrupts[0]!.id]: approve() } }).result;
    expect(kit.session.interruptView).toBe(undefined);
    expect(await kit.runner.look("thread")).not.toHaveProperty("interrupt");
  });

  test("O2: a stop of a thread that waits, and of a thread that another process opened, shows the stop", async () => {
    const store = await make();
    const { tools } = paying();
    const kit = await waiting(["a"], { store, tools });
    await (await openKit([], { store, tools, threadId: "elsewhere" })).runner.interrupt("thread", { by: "bob" });
    const look = (await kit.runner.look("thread"))!;
    expect(look).toMatchObject({
      pauseType: "user_interrupt",
      interrupt: { kind: "user", by: "bob", data: { type: "none" } },
    });
  });

  test("O2: after a crash there is none: nothing was recorded for the pause", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "so far" }, { stall: true }]], { store });
    await listen(kit.session.run("go")).until(({ type }) => type === "text-delta");
    await kit.runner.close({ force: true });
    const look = (await (await openKit([], { store })).runner.look("thread"))!;
    expect(look).toMatchObject({ pauseType: "crash", interrupts: [] });
    expect(look).not.toHaveProperty("interrupt");
  });
});
