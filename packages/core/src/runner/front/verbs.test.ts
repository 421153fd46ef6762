// Every verb by thread id, whatever state the thread is in. Long, and still one piece: it is one table.

import {
  eachStore,
  factsOf,
  faultyStore,
  gate,
  isFact,
  listen,
  openKit,
  toolOf,
  until,
  verbTable,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import type { Fact } from "../../event.ts";
import { approve, createRunner, humanInput, jsonSchema, type Runner, respond, type Store } from "../../index.ts";
import { encode } from "../../journal/codec.ts";

const { another, asks, key, playAgain, playVerb, repeatedCases, running, stages, verbCases, works } = verbTable;

describe.each(eachStore)("verbs by thread id, on $name", ({ make }) => {
  it.each(verbCases)("V1: $verb of a thread that is $stage", async (played) => {
    const { outcome, expected } = await playVerb(await make(), played);
    expect(outcome).toBe(expected);
  });
});

describe.each(eachStore)("a session of a thread that another process runs, on $name", ({ make }) => {
  /** A session that was opened while the thread rested, and has read nothing since. */
  async function stale() {
    const store = await make();
    const before = await openKit(["before"], { store });
    await before.session.run("before").result;
    await before.runner.close();
    const { session } = await openKit([], { store });
    const owner = await running(store);
    return { store, session, owner };
  }

  it("V1, S1: interrupt() stops it there", async () => {
    const { session, owner } = await stale();
    expect(await session.interrupt({ by: "ann" })).toMatchObject({ accepted: true, stopped: ["call_1"] });
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "user_interrupt", interrupts: [{ by: "ann" }] });
  });

  it("C3, R4: open() is not refused; the session shows that it runs, and refuses another run", async () => {
    const store = await make();
    const owner = await running(store);
    const runner = await another(store);
    const session = await runner.open("thread");
    expect([session.state, session.pauseType, session.runId]).toEqual(["running", undefined, owner.session.runId]);
    expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const runs = expect.objectContaining({
      code: "ALREADY_RUNNING",
      details: { threadId: "thread", runId: session.runId },
    });
    expect(() => session.run("x")).toThrow(runs);
    expect(() => session.resume()).toThrow(runs);
    await expect(session.handle()).rejects.toEqual(runs);
    const { id } = await session.steer("quick");
    expect(await session.waiting()).toMatchObject([{ id, kind: "steer" }]);
    const heard = listen(session.events());
    owner.go();
    await heard.until(({ type }) => type === "run-end");
    await until(() => session.state === "completed");
    expect(session.messages.at(-1)).toMatchObject({ role: "assistant", parts: [{ text: "done" }] });
    expect(await session.run("more").result).toMatchObject({ status: "completed" });
    expect(await runner.open("thread")).toBe(session);
    await runner.close();
  });

  it("C3, R4: it follows the requests and the pauses of the owner, and resumes after it", async () => {
    const store = await make();
    const { begun, go, tool } = works();
    const turns = [[{ text: "so" }, { call: "works" }, { call: "asks" }], "done"] as const;
    const kit = await openKit(turns, { store, tools: [tool, asks] });
    kit.session.run("go");
    await begun.opened;
    const runner = await another(store);
    const session = await runner.open("thread");
    await until(() => session.interrupts.length === 1);
    expect(session.state).toBe("running");
    go.open();
    await until(() => session.state === "paused");
    expect(session).toMatchObject({ pauseType: "tool_interrupt", interruptView: { kind: "approval" } });
    const [asked] = session.interrupts;
    expect(await session.resume({ answers: { [asked!.id]: approve() } }).result).toMatchObject({ status: "completed" });
    await runner.close();
  });

  it("C3, V6: when the owner is gone, the session shows a crash without being asked, and continues", async () => {
    const store = await make();
    const dying = faultyStore(store);
    const kit = await openKit([[{ text: "so" }, { stall: true }]], { store: dying, leaseTtlMs: 1_000 });
    await listen(kit.session.run("go")).until(({ type }) => type === "text-delta");
    const runner = await another(store);
    const session = await runner.open("thread");
    expect([session.state, session.pauseType]).toEqual(["running", undefined]);
    dying.kill();
    await until(() => session.state !== "running");
    expect([session.state, session.pauseType]).toEqual(["paused", "crash"]);
    expect(await session.run("more").result).toMatchObject({ status: "completed", segment: 2 });
    await runner.close();
  });

  it("V1: pause() parks it there, and the running call ends", async () => {
    const { session, owner, store } = await stale();
    const pausing = session.pause();
    await until(async () => (await store.load(key))?.commands.length === 1);
    owner.go();
    expect(await pausing).toMatchObject({ accepted: true, stopped: [], finished: ["call_1"] });
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "manual" });
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("V1: terminate() ends it there, and resolves when that is on record", async () => {
    const { session, owner, store } = await stale();
    await session.terminate();
    expect((await factsOf(store)).at(-1)).toMatchObject({ type: "state", state: "terminated" });
    expect([session.state, owner.session.state]).toEqual(["terminated", "terminated"]);
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("S2: a stop that names another segment than the one that runs there meets nothing", async () => {
    const { session, owner } = await stale();
    expect(await session.interrupt({ segment: 7 })).toMatchObject({ accepted: false });
    expect(owner.session.state).toBe("running");
    await owner.session.interrupt();
  });
});

describe.each(eachStore)("ids, callers and guards, on $name", ({ make }) => {
  it.each(repeatedCases)(
    "V2: $verb ($stage) again under its id has the first outcome, here, elsewhere and after a restart",
    async (played) => {
      const { first, again, facts } = await playAgain(await make(), played);
      expect(again).toEqual([first, first, first]);
      expect(facts.after).toEqual(facts.before);
      expect(JSON.stringify(facts.before)).toContain('"by":"ann"');
    },
  );

  it("V2, S2: a stop with an id that met nothing meets nothing again, also after a new run has begun", async () => {
    for (const verb of ["interrupt", "pause"] as const) {
      const store = await make();
      const kit = await openKit(["one", [{ text: "a" }, { stall: true }]], { store });
      await kit.session.run("go").result;
      expect(await kit.session[verb]({ id: "esc" })).toMatchObject({ accepted: false });
      const run = kit.session.run("more");
      await listen(run).until(({ type }) => type === "text-delta");
      expect(await kit.session[verb]({ id: "esc" })).toMatchObject({ accepted: false });
      expect(await (await another(store))[verb]("thread", { id: "esc" })).toMatchObject({ accepted: false });
      expect(kit.session.state).toBe("running");
      await kit.session.interrupt();
    }
  });

  it("V2: an answer again under its id returns the number that was open after the first", async () => {
    const store = await make();
    const kit = await openKit([[{ call: "asks" }, { call: "asks" }], "done"], { store, tools: [asks] });
    await kit.session.run("go").result;
    const [one, two] = kit.session.interrupts.map(({ id }) => id);
    expect(await kit.session.answer(one!, approve(), { id: "x", by: "ann" })).toEqual({ open: 1 });
    expect(await kit.session.answer(two!, approve(), { id: "y" })).toEqual({ open: 0 });
    expect(await kit.session.answer(one!, approve(), { id: "x" })).toEqual({ open: 1 });
    expect(await (await another(store)).answer(one!, approve(), { id: "x" })).toEqual({ open: 1 });
    const answered = (await factsOf(store)).find(({ type }) => type === "request-answered");
    expect(answered).toMatchObject({ id: one, by: "ann" });
    await expect(kit.session.answer(one!, approve({ by: "bob" }), { by: "ann" })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
  });

  it("V2: a run and a resume under a known id follow the first one while another process runs it", async () => {
    const store = await make();
    const { begun, go, tool } = works();
    const kit = await openKit([[{ call: "works" }], "done"], { store, tools: [tool] });
    const first = kit.session.run("go", { id: "r" });
    await begun.opened;
    const again = await (await another(store)).start("thread", "go", { id: "r" });
    expect(await again.started).toEqual(await first.started);
    const heard = listen(again);
    go.open();
    const result = await first.result;
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(await again.result).toEqual(result);
    const facts = (await factsOf(store)).map(({ seq }) => seq);
    expect((await heard.all).flatMap((event) => (isFact(event) ? [event.seq] : []))).toEqual(facts);
  });

  it("V2: `by` stands in a person's message, whichever verb brought it", async () => {
    const store = await make();
    const held = gate();
    const kit = await openKit([() => held.opened.then(() => "one"), "two", "three"], { store });
    const run = kit.session.run("first", { by: "ann" });
    await run.started;
    await kit.session.steer("second", { by: "bob" });
    held.open();
    await run.result;
    await kit.session.observe("third", { by: "cid" });
    await kit.session.enqueue("fourth", { by: "dee" });
    await until(() => kit.session.state === "completed" && kit.requests.length === 3);
    const said = kit.session.messages.filter(({ role }) => role === "user").map(({ by }) => by);
    expect(said).toEqual(["ann", "bob", "cid", "dee"]);
    await kit.runner.close();
    const reopened = await openKit([], { store });
    expect(reopened.session.messages.filter(({ role }) => role === "user").map(({ by }) => by)).toEqual(said);
    expect(kit.problems()).toEqual([]);
  });

  it("V2: a pause and a stop name their caller in the interrupt", async () => {
    const { session, go } = await running(await make());
    const pausing = session.pause({ by: "ann" });
    go();
    expect(await pausing).toMatchObject({ accepted: true });
    expect(session.interrupts).toMatchObject([{ kind: "manual", by: "ann" }]);
  });

  it.each(["running here", "running elsewhere", "at rest"])(
    "V2: resume, terminate and steer for a segment that the thread (%s) has left are STALE; stop and pause meet nothing",
    async (stage) => {
      const { runner, store, go } = await stages[stage]!(await make());
      const { runId } = (await factsOf(store)).at(-1)!;
      const before = await factsOf(store);
      for (const guard of [{ segment: 7 }, { runId: "another" }, { runId: "another", segment: 1 }]) {
        const stale = { code: "STALE", details: { present: { runId, segment: 1 } } };
        await expect(runner.terminate("thread", guard)).rejects.toMatchObject(stale);
        await expect(runner.steer("thread", "x", guard)).rejects.toMatchObject(stale);
        if (stage === "at rest") await expect(runner.resume("thread", guard)).rejects.toMatchObject(stale);
        expect(await runner.interrupt("thread", guard)).toMatchObject({ accepted: false });
        expect(await runner.pause("thread", guard)).toMatchObject({ accepted: false });
      }
      expect(await factsOf(store)).toEqual(before);
      await runner.steer("thread", "x", { runId, segment: 1 });
      await runner.terminate("thread", { runId, segment: 1 });
      expect((await store.load(key))?.row.state).toBe("terminated");
      go();
    },
  );

  it("V2: ann resumes, an admin stops again, and bob's older resume arrives: STALE, and the stop stands", async () => {
    const store = await make();
    const stall = [{ text: "so" }, { stall: true }] as const;
    const ann = await openKit([stall, stall], { store });
    const spoken = (run: Parameters<typeof listen>[0]) => listen(run).until(({ type }) => type === "text-delta");
    const run = ann.session.run("go");
    await spoken(run);
    await ann.session.interrupt();
    // Bob sees this pause, and writes his words to it.
    const { runId, segment } = (await createRunner({ store }).look("thread"))!;
    const older = { runId, segment };
    const again = ann.session.resume({ by: "ann" });
    await spoken(again);
    const admin = await another(store);
    expect(await admin.interrupt("thread", { by: "admin" })).toMatchObject({ accepted: true, segment: 2 });
    const facts = await factsOf(store);
    const stale = { code: "STALE", details: { present: { runId, segment: 2, state: "paused" } } };
    const bob = await another(store);
    await expect(bob.resume("thread", { ...older, input: "go on", by: "bob" })).rejects.toMatchObject(stale);
    const session = await bob.open("thread");
    expect(() => session.resume(older)).toThrow(expect.objectContaining({ code: "STALE" }));
    expect(await factsOf(store)).toEqual(facts);
    expect(await bob.look("thread")).toMatchObject({ pauseType: "user_interrupt", interrupts: [{ by: "admin" }] });
    await bob.close();
  });

  it("V1: a run and a resume wait for another process as long as `waitMs`, and begin when the thread is free", async () => {
    const store = await make();
    const { runner, deaf } = await deafOwner(store);
    const busy = { code: "THREAD_BUSY", message: expect.stringContaining("deaf") };
    await expect(runner.resume("thread", { waitMs: 30 })).rejects.toMatchObject(busy);
    await expect(runner.resume("thread", { signal: AbortSignal.timeout(10) })).rejects.toMatchObject(busy);
    const waiting = runner.resume("thread", { input: "never mind" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await store.release(key, deaf);
    expect(await (await waiting).started).toMatchObject({ segment: 2 });
    await runner.close();
  });

  const bounded: Readonly<Record<string, (runner: Runner, request: string, waitMs?: number) => Promise<unknown>>> = {
    answer: (runner, request, waitMs) => runner.answer(request, approve(), { id: "x", waitMs }),
    label: (runner, _, waitMs) => runner.label("thread", { title: "named" }, { id: "x", waitMs }),
    removeRule: (runner, _, waitMs) => runner.removeRule("none", { threadId: "thread", id: "x", waitMs }),
  };

  it.each(Object.keys(bounded))(
    "V1: %s of a thread that another process keeps is taken back after `waitMs`, and the same id again is a new command",
    async (verb) => {
      const store = await make();
      const { runner, deaf } = await deafOwner(store);
      const asked = (await store.requests("default"))[0]!.id;
      const busy = { code: "THREAD_BUSY", message: expect.stringContaining("deaf") };
      const before = await factsOf(store);
      await expect(bounded[verb]!(runner, asked, 30)).rejects.toMatchObject(busy);
      expect((await store.load(key))?.commands).toEqual([]);
      await store.release(key, deaf);
      expect(await factsOf(store)).toEqual(before);
      const outcome = await bounded[verb]!(runner, asked);
      expect(await bounded[verb]!(runner, asked)).toEqual(outcome);
      const taken = (await factsOf(store)).filter((fact) => fact.type === "command" && fact.key.endsWith(":x"));
      expect(taken.length).toBe(1);
      await runner.close();
    },
  );

  it("V1: an owner that has read a command does not take it once its sender has taken it back", async () => {
    const store = await make();
    const { begun, go, tool } = works();
    const [judging, judged] = [gate(), gate()];
    const { "~standard": plain } = jsonSchema<number>({ type: "integer" });
    const validate = async (value: unknown) => {
      judging.open();
      await judged.opened;
      return plain.validate(value);
    };
    const schema = { "~standard": { ...plain, validate } };
    const asked = toolOf("asked", (ctx) => ctx.ask(humanInput("How many?", { schema })));
    const kit = await openKit([[{ call: "works" }, { call: "asked" }], "done"], { store, tools: [tool, asked] });
    const run = kit.session.run("go");
    await begun.opened;
    await until(async () => (await store.requests("default")).length === 1);
    const request = (await store.requests("default"))[0]!.id;
    const front = createRunner({ store });
    const answering = front.answer(request, respond(3), { waitMs: 200, id: "x" });
    await judging.opened;
    await expect(answering).rejects.toMatchObject({ code: "THREAD_BUSY" });
    judged.open();
    go.open();
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    expect((await factsOf(store)).map(({ type }) => type)).not.toContain("request-answered");
    expect(await front.answer(request, respond(4), { id: "x" })).toEqual({ open: 0 });
    await kit.runner.close();
  });

  it("V1: `signal` ends the wait, not the command: the same id finds its outcome", async () => {
    const store = await make();
    const { runner, deaf } = await deafOwner(store);
    const asked = (await store.requests("default"))[0]!.id;
    const ending = new AbortController();
    const waiting = runner.answer(asked, approve(), { signal: ending.signal, id: "later" });
    await until(async () => (await store.load(key))?.commands.length === 1);
    ending.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect((await store.load(key))?.commands).toHaveLength(1);
    await store.release(key, deaf);
    expect(await runner.answer(asked, approve(), { id: "later" })).toEqual({ open: 0 });
    await until(async () => (await store.load(key))?.commands.length === 0);
    await runner.close();
  });

  it("V1: a rule is removed by the process that runs the thread, and `by` is on record", async () => {
    const store = await make();
    const { begun, go, tool } = works();
    const kit = await openKit([[{ call: "asks" }], [{ call: "works" }], "done"], { store, tools: [asks, tool] });
    await kit.session.run("go").result;
    const asked = kit.session.interrupts[0]!.id;
    const run = kit.session.resume({ answers: { [asked]: approve({ remember: "thread" }) } });
    await begun.opened;
    const rule = kit.session.rules[0]!.id!;
    const command = { threadId: "thread", by: "ann", id: "away" };
    expect(await (await another(store)).removeRule(rule, command)).toBe(true);
    expect(kit.session.rules).toEqual([]);
    expect(await (await another(store)).removeRule(rule, command)).toBe(true);
    const removed = (await factsOf(store)).filter(({ type }) => type === "rule-removed");
    expect(removed).toMatchObject([{ id: rule, by: "ann" }]);
    go.open();
    expect(await run.result).toMatchObject({ status: "completed" });
  });

  /** A thread that asks, and a process that holds its lease and reads nothing. */
  async function deafOwner(store: Store) {
    const kit = await openKit([[{ call: "asks" }], "done"], { store, tools: [asks] });
    await kit.session.run("go").result;
    await kit.runner.close();
    const { row } = (await store.load(key))!;
    const line = encode([{ ...samePlace((await factsOf(store)).at(-1)!), type: "command", key: "x:1", by: "deaf" }]);
    const writer = { take: "deaf", ttlMs: 60_000 };
    const appended = await store.append(key, {
      appendId: "deaf.1",
      expect: row.head,
      count: 1,
      at: Date.now(),
      body: line,
      writer,
      release: false,
      agent: row.agent,
      state: row.state,
    });
    if (!appended.ok) throw new Error(appended.why);
    return { runner: await another(store), deaf: appended.fence };
  }
});

function samePlace({ threadId, runId, segment, agentName, runPath, seq, at }: Fact) {
  return { threadId, runId, segment, agentName, runPath, attempt: 1, seq: seq + 1, at };
}
