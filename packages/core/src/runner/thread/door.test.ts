// The rules of submit and decide that no verb has alone. scripts/guards.mjs takes each of them out. Long, and still one piece: a list
// of rules.

import {
  eachStore,
  factsOf,
  gate,
  heldStore,
  openKit,
  paying,
  pays,
  requestOf,
  settle,
  threadOf,
  until,
  waiting,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, createRunner, END, graph, jsonSchema, reject, START, type Store, tool } from "../../index.ts";
import { reached } from "../../testing/index.ts";
import { answerCommand, rowOf } from "../decide/command.ts";
import { doorOf } from "./door.ts";
import { submit } from "./submit.ts";

const key = { tenant: "default", threadId: "thread" };
const anything = jsonSchema({ type: "object" });

/** Counts the rows that are sent to the store. */
function counting(store: Store) {
  const sent: string[] = [];
  const counted = wrapStore(store, {
    send(thread, row) {
      sent.push(row.key);
      return store.send(thread, row);
    },
  });
  return { sent, counted };
}

/** A thread with an approved call that runs in `kit`, and another request that is open. */
async function callRuns(store: Store) {
  const { tools: made, ran } = paying();
  const begun = gate();
  const end = gate();
  const execute = async () => {
    begun.open();
    await end.opened;
    return "slow done";
  };
  const slow = tool({ name: "slow", description: "", input: anything, needsApproval: true, execute });
  const tools = [...made, slow];
  const kit = await openKit([[{ call: "slow", id: "s" }, ...pays("a")], "done"], { store, tools });
  await kit.session.run("go").result;
  await kit.session.answer(requestOf(kit, "s").id, approve(), { id: "first" });
  await begun.opened;
  return { kit, tools, ran, end };
}

describe.each(eachStore)("the door to a thread ($name)", ({ make }) => {
  test("V1, R5: a handle waits for the answered calls that run, and is good for the pause that they leave", async () => {
    const { kit, end } = await callRuns(await make());
    let isIssued = false;
    const issued = kit.session.handle().then((handle) => {
      isIssued = true;
      return handle;
    });
    await settle();
    expect(isIssued).toBe(false);
    end.open();
    const handle = await issued;
    const facts = await factsOf(kit.store);
    const ended = facts.findIndex((fact) => fact.type === "tool-end" && fact.callId === "s");
    expect(facts.slice(0, ended).filter(({ type }) => type === "state")).toHaveLength(3);
    const run = await kit.runner.resume(handle, { answers: { [requestOf(kit, "a").id]: approve() } });
    expect(await run.result).toMatchObject({ status: "completed" });
  });

  test("V1, Q6: a command that the record refuses is not sent to the owner", async () => {
    const store = await make();
    const { kit, tools, end } = await callRuns(store);
    const { sent, counted } = counting(store);
    const other = await openKit([], { store: counted, tools, threadId: "elsewhere" });
    const slow = (await factsOf(store)).find((fact) => fact.type === "request-answered")!.id;
    await expect(other.runner.answer(slow, reject("no"))).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    expect(sent).toEqual([]);
    end.open();
    await kit.session.close();
  });

  test("V2: a command under a known id is not sent to the owner; its outcome is the first one", async () => {
    const store = await make();
    const { kit, tools, end } = await callRuns(store);
    const { sent, counted } = counting(store);
    const other = await openKit([], { store: counted, tools, threadId: "elsewhere" });
    const slow = (await factsOf(store)).find((fact) => fact.type === "request-answered")!.id;
    expect(await other.runner.answer(slow, reject("no"), { id: "first" })).toEqual({ open: 1 });
    expect(sent).toEqual([]);
    end.open();
    await kit.session.close();
  });

  test("a session that is closed takes no command", async () => {
    const kit = await waiting(["a"], { store: await make(), tools: paying().tools });
    const { id } = requestOf(kit, "a");
    await kit.session.close();
    const facts = await factsOf(kit.store);
    await expect(kit.session.answer(id, approve())).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await expect(kit.session.handle()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    expect(await factsOf(kit.store)).toEqual(facts);
  });

  test("a command that waits for the calls of a session is refused when that is closed, and writes nothing", async () => {
    const { kit } = await callRuns(await make());
    const issued = kit.session.handle();
    await settle();
    const closed = kit.session.close();
    await expect(issued).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await closed;
    const { lease } = (await kit.store.load(key))!.row;
    expect(lease).toBeUndefined();
  });

  test("S9, V2: a stop with an id that keeps requests withdraws none of a thread at rest", async () => {
    const kit = await waiting(["a"], { store: await make(), tools: paying().tools });
    const stop = { requests: "keep", id: "x" } as const;
    expect(await kit.session.interrupt(stop)).toMatchObject({ accepted: false, segment: 1 });
    expect(kit.session.pauseType).toBe("tool_interrupt");
    expect(await kit.store.requests("default")).toHaveLength(1);
    expect(await kit.runner.interrupt("thread", stop)).toMatchObject({ accepted: false, segment: 1 });
  });

  test("V2: a stop with an id that met nothing is remembered, and meets nothing later", async () => {
    const kit = await openKit(["done", [{ text: "half" }, { stall: true }]], { store: await make() });
    await kit.session.run("go").result;
    expect(await kit.session.interrupt({ id: "x" })).toMatchObject({ accepted: false });
    const commands = (await factsOf(kit.store)).filter(({ type }) => type === "command");
    expect(commands).toMatchObject([{ key: "stop:x", refused: { code: "INVALID_STATE" } }]);
    const run = kit.session.run("more");
    await reached(run, "text-delta");
    expect(await kit.session.interrupt({ id: "x" })).toMatchObject({ accepted: false });
    expect(kit.session.state).toBe("running");
    await kit.session.interrupt();
  });

  test("V2, S9: a stop with an id is on record with the requests that it withdrew, and withdraws no others", async () => {
    const { tools } = paying();
    const kit = await openKit([pays("a"), pays("b"), "done"], { store: await make(), tools });
    await kit.session.run("go").result;
    const receipt = await kit.session.interrupt({ id: "x" });
    expect(receipt).toMatchObject({ accepted: true, segment: 1, notStarted: ["a"] });
    await kit.session.resume({ input: "more" }).result;
    expect(kit.session.pauseType).toBe("tool_interrupt");
    expect(await kit.session.interrupt({ id: "x" })).toEqual(receipt);
    expect(await kit.store.requests("default")).toHaveLength(1);
  });

  test("V2: a termination for another segment is refused with STALE and changes nothing", async () => {
    const kit = await waiting(["a"], { store: await make(), tools: paying().tools });
    const facts = await factsOf(kit.store);
    await expect(kit.session.terminate({ segment: 7 })).rejects.toMatchObject({ code: "STALE" });
    expect(await factsOf(kit.store)).toEqual(facts);
  });

  test("a termination of a thread that waits for people ends its calls, its run and the thread in one append", async () => {
    const kit = await waiting(["a"], { store: await make(), tools: paying().tools });
    const { head } = (await kit.store.load(key))!.row;
    await kit.session.terminate();
    const facts = (await factsOf(kit.store)).filter(({ seq }) => seq > head);
    expect(facts.map(({ type }) => type)).toEqual(["tool-end", "request-answered", "run-end", "state"]);
    expect(facts).toMatchObject([{ callId: "a", outcome: "not-executed" }, {}, { status: "terminated" }, {}]);
    await expect(kit.session.terminate()).rejects.toMatchObject({ code: "INVALID_STATE_TRANSITION" });
  });

  test("S2: a stop that comes while the end of a run is appended does not hit the next run", async () => {
    const reachedEnd = gate();
    const end = gate();
    const isNext = gate();
    const made = await make();
    const held = heldStore(made, {
      before: (_, { state }) => {
        if (state !== "completed") return undefined;
        reachedEnd.open();
        return end.opened;
      },
    });
    let isSlow = false;
    const store = wrapStore(held, {
      async load(thread, after) {
        // The stop reads the thread when the next run is on record.
        if (isSlow) await isNext.opened;
        return made.load(thread, after);
      },
    });
    const kit = await openKit(["one", [{ text: "half" }, { stall: true }]], { store });
    const first = kit.session.run("go");
    await reachedEnd.opened;
    isSlow = true;
    const stopped = kit.session.interrupt();
    end.open();
    await first.result;
    await reached(kit.session.run("more"), "text-delta");
    isNext.open();
    expect(await stopped).toMatchObject({ accepted: false, runId: first.runId, segment: 1 });
    expect(kit.session.state).toBe("running");
    await kit.session.interrupt();
  });

  test("S9, W5: a stop at rest whose append comes second is made again, and its hook is called once", async () => {
    const made = await make();
    const { tools } = paying();
    let isFirst = true;
    const store = heldStore(made, {
      before: (_, { raise, close }) => {
        if (raise !== undefined || close === undefined || !isFirst) return undefined;
        isFirst = false;
        return other.runner.label("thread", { title: "faster" });
      },
    });
    const calls: string[] = [];
    const onInterrupt = () => {
      calls.push("asked");
      return "Stopped.";
    };
    const other = await openKit([], { store: made, tools, threadId: "elsewhere" });
    const kit = await waiting(["a"], { store, tools, agent: { hooks: { onInterrupt } } });
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["a"] });
    expect(isFirst).toBe(false);
    expect(calls).toEqual(["asked"]);
    expect(await made.requests("default")).toEqual([]);
    expect(kit.session.pauseType).toBe("user_interrupt");
  });

  test("S5: a call that was left behind is listed by a later stop, too", async () => {
    const begun = gate();
    const end = gate();
    const execute = async () => {
      begun.open();
      await end.opened;
      return "late";
    };
    const deaf = tool({ name: "deaf", description: "", input: anything, execute });
    const kit = await openKit([[{ call: "deaf", id: "d" }]], { store: await make(), tools: [deaf] });
    void kit.session.run("go");
    await begun.opened;
    expect(await kit.session.interrupt({ graceMs: 0 })).toMatchObject({ accepted: true, late: ["d"] });
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false, late: ["d"] });
    end.open();
  });

  test("a termination that comes while a stop is appended ends the thread", async () => {
    const reachedEnd = gate();
    const end = gate();
    const store = heldStore(await make(), {
      before: (_, { state }) => {
        if (state !== "paused") return undefined;
        reachedEnd.open();
        return end.opened;
      },
    });
    const kit = await openKit([[{ text: "half" }, { stall: true }]], { store });
    const run = kit.session.run("go");
    await reached(run, "text-delta");
    const stopped = kit.session.interrupt();
    await reachedEnd.opened;
    const terminated = kit.session.terminate();
    end.open();
    expect(await stopped).toMatchObject({ accepted: true });
    await terminated;
    expect(kit.session.state).toBe("terminated");
    expect((await kit.store.load(key))!.row.state).toBe("terminated");
  });

  test("a session that is being closed cannot be terminated", async () => {
    const kit = await openKit([[{ text: "half" }, { stall: true }]], { store: await make() });
    await reached(kit.session.run("go"), "text-delta");
    const closed = kit.session.close();
    await expect(kit.session.terminate()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await closed;
    expect((await kit.store.load(key))!.row.state).toBe("running");
  });

  test("L4: a thread takes sixteen labels and no more, and none when it is terminated", async () => {
    const kit = await openKit(["done"], { store: await make() });
    const labels = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${from + i}`, "x"]));
    await kit.session.run("go").result;
    await kit.session.label({ labels: labels(0, 16) });
    const { head } = (await kit.store.load(key))!.row;
    await expect(kit.session.label({ labels: labels(16, 1) })).rejects.toMatchObject({ code: "LABELS_INVALID" });
    await kit.session.label({ labels: { l0: null, ...labels(16, 1) } });
    await kit.session.terminate();
    await expect(kit.session.label({ title: "late" })).rejects.toMatchObject({ code: "INVALID_STATE" });
    const facts = (await factsOf(kit.store)).filter(({ seq }) => seq > head);
    expect(facts.map(({ type }) => type)).toEqual(["label", "state"]);
  });

  test("L4, G1: a label or a breakpoint makes a thread that has none of its facts yet", async () => {
    const flow = graph("flow")
      .node("a", () => "a")
      .edge(START, "a")
      .edge("a", END)
      .compile();
    const store = await make();
    const runner = createRunner({ agent: flow, store });
    await (await runner.open("labelled")).label({ title: "new" });
    await (await runner.open("halting")).setBreakpoint({ node: "a" });
    const typesOf = async (threadId: string) => (await factsOf(store, threadId)).map(({ type }) => type);
    expect(await typesOf("labelled")).toEqual(["state", "label"]);
    expect(await typesOf("halting")).toEqual(["state", "breakpoint"]);
    expect((await runner.look("halting"))!.state).toBe("initialized");
  });

  test("R5, O2: a new handle leaves the interrupt of the pause as it is, for other processes, too", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "half" }, { stall: true }]], { store });
    await reached(kit.session.run("go"), "text-delta");
    await kit.session.interrupt({ by: "ann" });
    const { interrupts } = kit.session;
    await kit.session.handle();
    const other = await openKit([], { store });
    expect(other.session.interrupts).toEqual(interrupts);
    expect(interrupts).toMatchObject([{ kind: "user", by: "ann" }]);
  });

  test("V2: a stop that met nothing, sent under one id by two processes at once, is on record once", async () => {
    const made = await make();
    const kit = await openKit(["done"], { store: made });
    await kit.session.run("go").result;
    let isSecond = true;
    /** The other process is faster: its append comes between the reading and the append of this one. */
    const store = heldStore(made, {
      before: () => {
        if (!isSecond) return undefined;
        isSecond = false;
        return kit.runner.interrupt("thread", { id: "esc" });
      },
    });
    const other = await openKit([], { store, threadId: "elsewhere" });
    expect(await other.runner.interrupt("thread", { id: "esc" })).toMatchObject({ accepted: false });
    expect(isSecond).toBe(false);
    const commands = (await factsOf(made)).filter(({ type }) => type === "command");
    expect(commands).toMatchObject([{ key: "stop:esc", refused: { code: "INVALID_STATE" } }]);
  });

  test("V2, Q6: a refusal by the owner is recorded once and read by its sender; the same id again is another try", async () => {
    const store = await make();
    const { "~standard": plain, ...schema } = jsonSchema<{ n: number }>({ type: "object" });
    const validate = (value: unknown) =>
      (value as { n: number }).n > 100 ? { issues: [{ message: "more than 100" }] } : plain.validate(value);
    const input = { ...schema, "~standard": { ...plain, validate } };
    const strict = tool({ name: "strict", description: "", input, needsApproval: true, execute: ({ n }) => n });
    const begun = gate();
    const end = gate();
    const execute = async () => {
      begun.open();
      await end.opened;
    };
    const slow = tool({ name: "slow", description: "", input: anything, execute });
    const turn = [{ call: "slow" }, { call: "strict", id: "s", args: { n: 1 } }];
    const kit = await openKit([turn, "done"], { store, tools: [slow, strict] });
    const run = kit.session.run("go");
    await begun.opened;
    const other = await openKit([], { store, threadId: "elsewhere" });
    await until(async () => (await store.requests("default")).length === 1);
    const [request] = await store.requests("default");
    const answer = (n: number) =>
      other.runner.answer(request!.id, approve({ args: { n } }), { id: "x", waitMs: 60_000 });
    await expect(answer(1000)).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    expect((await factsOf(store)).filter(({ type }) => type === "command")).toHaveLength(1);
    expect(await answer(2)).toEqual({ open: 0 });
    end.open();
    expect(await run.result).toMatchObject({ status: "completed" });
  });

  test("V1: a command whose sender took its row back is not sent again by a worker that had read it", async () => {
    const store = await make();
    const kit = await waiting(["a"], { store, tools: paying().tools });
    const command = answerCommand(requestOf(kit, "a").id, approve(), undefined, "gone");
    const moved = submit(doorOf(threadOf(kit.session)), command, {}, true);
    await expect(moved).rejects.toMatchObject({ code: "INPUT_WITHDRAWN" });
    expect((await store.load(key))!.commands).toEqual([]);
    expect(await store.requests("default")).toHaveLength(1);
  });

  test("V1: a command in the tick of run() is taken when the run is on record, not when it is over", async () => {
    const kit = await openKit([[{ text: "half" }, { stall: true }]], { store: await make() });
    const run = kit.session.run("go");
    await kit.session.label({ title: "new" });
    expect(kit.session.state).toBe("running");
    await kit.session.interrupt();
    await run.result;
  });

  test("V1: a command takes effect although another sender under the same id has taken the row back", async () => {
    const store = await make();
    // The owner gets no hint, and appends nothing while its call runs.
    const { kit, tools, end } = await callRuns(wrapStore(store, { watch: () => () => {} }));
    const senders = [
      await openKit([], { store, tools, threadId: "one" }),
      await openKit([], { store, tools, threadId: "two" }),
    ];
    const label = (i: number, waitMs: number) =>
      senders[i]!.runner.label("thread", { title: "new" }, { id: "same", waitMs });
    const patient = label(0, 60_000);
    await until(async () => (await store.load(key))!.commands.length === 1);
    await expect(label(1, 30)).rejects.toMatchObject({ code: "THREAD_BUSY" });
    expect((await store.load(key))!.commands).toEqual([]);
    end.open();
    await patient;
    expect((await kit.runner.look("thread"))!.title).toBe("new");
    await kit.session.close();
  });

  test("V1: a command at rest whose append comes second is decided again", async () => {
    const made = await make();
    let isFirst = false;
    const store = heldStore(made, {
      before: () => {
        if (!isFirst) return undefined;
        isFirst = false;
        return other.runner.label("thread", { title: "faster" });
      },
    });
    const other = await openKit([], { store: made, threadId: "elsewhere" });
    const kit = await openKit(["done"], { store });
    await kit.session.run("go").result;
    isFirst = true;
    await kit.session.label({ labels: { by: "the second" } });
    expect(isFirst).toBe(false);
    expect(await kit.runner.look("thread")).toMatchObject({ title: "faster", labels: { by: "the second" } });
  });

  test("V1: a sent answer waits for the tenure here, also while the lease is returned", async () => {
    const made = await make();
    const [returned, reply] = [gate(), gate()];
    let loads = 0;
    const store = wrapStore(made, {
      async release(thread, fence) {
        await made.release(thread, fence);
        returned.open();
        await reply.opened;
      },
      async load(thread, after) {
        loads += 1;
        // Rounds that do not wait stop the event loop: no timeout would end this test.
        if (loads > 100) throw new Error("the store is read again and again");
        return made.load(thread, after);
      },
    });
    const { kit, ran, end } = await callRuns(store);
    end.open();
    await returned.opened;
    expect((await made.load(key))?.row.lease).toBeUndefined();
    const command = answerCommand(requestOf(kit, "a").id, approve(), "second", "fresh");
    await made.send(key, rowOf(command, 0));
    loads = 0;
    const answered = submit(doorOf(threadOf(kit.session)), command, {}, true);
    await settle();
    reply.open();
    await answered;
    await until(() => ran.length === 1);
  });

  test("G1: a terminated thread takes no breakpoint", async () => {
    const flow = graph("flow")
      .node("a", () => "a")
      .edge(START, "a")
      .edge("a", END)
      .compile();
    const runner = createRunner({ agent: flow, store: await make() });
    const session = await runner.open("thread");
    await session.run("go").result;
    await session.terminate();
    await expect(session.setBreakpoint({ node: "a" })).rejects.toMatchObject({ code: "INVALID_STATE" });
  });
});
