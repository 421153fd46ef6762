import {
  eachStore,
  factsOf,
  gate,
  heldStore,
  history,
  type Kit,
  listen,
  openKit,
  settle,
  threadOf,
  toolOf,
  until,
  wrapStore,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve, type InterruptOptions, type ToolContext } from "../../index.ts";

const pay = toolOf("pay", () => "paid", { needsApproval: true });
const tools = [pay];

describe.each(eachStore)("a stop of a thread that waits for people, on $name", ({ make }) => {
  /** It asks in its first segment, and again in the next one. */
  async function asking() {
    const store = await make();
    const owner = await openKit([[{ call: "pay", id: "p" }], [{ call: "pay", id: "q" }], "done"], { store, tools });
    await owner.session.run("go").result;
    return { store, owner };
  }

  async function goOn({ session }: Kit): Promise<void> {
    await session.resume({ answers: { [session.interrupts[0]!.id]: approve() } }).result;
  }

  it("S2: withdraws nothing in a later segment than the given one, also if its session has not read that one", async () => {
    const { store, owner } = await asking();
    const { session } = await openKit([], { store, tools });
    await goOn(owner);
    expect(await session.interrupt({ segment: 1 })).toMatchObject({ accepted: false });
    expect(await store.requests("default")).toHaveLength(1);
    expect(await session.interrupt({ segment: 2, runId: "another" })).toMatchObject({ accepted: false });
    expect(await store.requests("default")).toHaveLength(1);
    await threadOf(session).refresh();
    expect(await session.interrupt({ segment: 2 })).toMatchObject({ accepted: true, segment: 2 });
    expect(await store.requests("default")).toEqual([]);
  });

  it("S2: a stop for another segment is refused by no termination that is called in the same tick", async () => {
    const { owner } = await asking();
    const stopped = owner.session.interrupt({ segment: 7 });
    const ended = owner.session.terminate();
    expect(await stopped).toMatchObject({ accepted: false });
    await ended;
    expect(owner.session.state).toBe("terminated");
    const late = owner.session.interrupt();
    await owner.session.terminate().catch(() => {});
    expect(await late).toMatchObject({ accepted: false });
  });

  it("S2: nor in one that began while its hooks ran", async () => {
    const { store, owner } = await asking();
    const [heard, go] = [gate(), gate()];
    const onInterrupt = async () => {
      heard.open();
      await go.opened;
      return "As you say.";
    };
    const { session } = await openKit([], { store, tools, agent: { hooks: { onInterrupt } } });
    const stopped = session.interrupt({ graceMs: 60_000 });
    await heard.opened;
    await goOn(owner);
    go.open();
    expect(await stopped).toMatchObject({ accepted: false, segment: 1 });
    expect(await store.requests("default")).toHaveLength(1);
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
  });

  it("S2, S9: nor is one of that lost, which comes while the first is with its hooks", async () => {
    const [heard, go] = [gate(), gate()];
    const onInterrupt = async () => {
      heard.open();
      await go.opened;
    };
    const { store, owner } = await asking();
    const kit = await openKit([], { store, tools, agent: { hooks: { onInterrupt } } });
    const first = kit.session.interrupt({ graceMs: 60_000 });
    await heard.opened;
    await goOn(owner);
    const second = kit.session.interrupt({ graceMs: 60_000 });
    go.open();
    expect(await first).toMatchObject({ accepted: false });
    expect(await second).toMatchObject({ accepted: true, segment: 2, notStarted: ["q"] });
    expect(kit.session.pauseType).toBe("user_interrupt");
  });

  it("S2: does not stop a segment that another process began while its append was on its way", async () => {
    const store = await make();
    const turns = [[{ call: "pay", id: "p" }], [{ text: "on" }, { stall: true }]] as const;
    const owner = await openKit(turns, { store, tools });
    await owner.session.run("go").result;
    const [written, writes] = [gate(), gate()];
    const before = () => {
      written.open();
      return writes.opened;
    };
    const { session } = await openKit([], { store: heldStore(store, { before }), tools });
    const stopped = session.interrupt();
    await written.opened;
    const run = owner.session.resume({ answers: { [owner.session.interrupts[0]!.id]: approve() } });
    await listen(run).until(({ type }) => type === "text-delta");
    writes.open();
    expect(await stopped).toMatchObject({ accepted: false, segment: 1 });
    expect([owner.session.state, run.segment]).toEqual(["running", 2]);
    await owner.session.interrupt();
  });

  it("S2, S9: withdraws the open requests also if an answered call ran and ended in between", async () => {
    const store = await make();
    const [written, writes] = [gate(), gate()];
    let isHeld = false;
    const before = () => {
      if (!isHeld) return undefined;
      isHeld = false;
      written.open();
      return writes.opened;
    };
    const slow = heldStore(store, { before });
    const calls = [
      { call: "pay", id: "p" },
      { call: "pay", id: "q" },
    ];
    const { session } = await openKit([calls, "done"], { store: slow, tools });
    await session.run("go").result;
    isHeld = true;
    const stopped = session.interrupt();
    await written.opened;
    const other = await openKit([], { store, tools });
    expect(await other.session.answer(session.interrupts[0]!.id, approve())).toEqual({ open: 1 });
    await until(async () => (await store.load({ tenant: "default", threadId: "thread" }))!.row.lease === undefined);
    writes.open();
    expect(await stopped).toMatchObject({ accepted: true, notStarted: ["q"] });
    expect([session.pauseType, await store.requests("default")]).toEqual(["user_interrupt", []]);
  });

  /** It asks for `calls`, and reads of its store wait from the next one on until they are released. */
  async function held(calls: readonly string[], tool = pay) {
    const store = await make();
    const [asked, go] = [gate(), gate()];
    let isHeld = false;
    const slow = wrapStore(store, {
      async load(key, after) {
        if (isHeld) {
          isHeld = false;
          asked.open();
          await go.opened;
        }
        return store.load(key, after);
      },
    });
    const kit = await openKit([calls.map((id) => ({ call: "pay", id })), "done"], { store: slow, tools: [tool] });
    await kit.session.run("go").result;
    const stop = async (options: InterruptOptions = {}) => {
      isHeld = true;
      const stopped = kit.session.interrupt(options);
      await asked.opened;
      return { stopped };
    };
    return { ...kit, store, stop, go };
  }

  /** A call that runs until its signal fires. */
  function waiting() {
    const begun = gate();
    const execute = ({ signal }: ToolContext) => {
      begun.open();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    return { begun, waits: toolOf("pay", execute, { needsApproval: true }) };
  }

  it("S9: an answer of this process that comes later is not taken, nor does it wait for ever", async () => {
    const { session, stop, go } = await held(["p"]);
    const { stopped } = await stop();
    const answered = session.answer(session.interrupts[0]!.id, approve());
    go.open();
    expect(await stopped).toMatchObject({ accepted: true, notStarted: ["p"] });
    await expect(answered).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
  });

  it("S2: a resume that comes later begins after it, on what the stop leaves", async () => {
    const { session, stop, go } = await held(["p"]);
    const { stopped } = await stop();
    const run = session.resume({ input: "go on" });
    go.open();
    expect(await stopped).toMatchObject({ accepted: true, segment: 1, notStarted: ["p"] });
    expect(await run.result).toMatchObject({ status: "completed", segment: 2 });
  });

  it("S2, V2: a stop after that resume is for the segment that it begins, also when it is sent again", async () => {
    const { session, requests, stop, go } = await held(["p"]);
    const { stopped } = await stop();
    const run = session.resume({ input: "go on" });
    const second = session.interrupt({ id: "second" });
    go.open();
    expect(await stopped).toMatchObject({ accepted: true, segment: 1 });
    expect(await second).toMatchObject({ accepted: true, segment: 2 });
    expect(await run.result).toMatchObject({ status: "interrupted", segment: 2 });
    expect(history(session.messages).at(-1)).toBe("user: go on");
    expect(requests).toHaveLength(1);
    expect(await session.interrupt({ id: "second" })).toEqual(await second);
  });

  it("S1, S9: stops the call that the last answer let run in another process while it read the requests", async () => {
    const { begun, waits } = waiting();
    const { store, stop, go } = await held(["p"], waits);
    const other = await openKit([], { store, tools: [waits] });
    const { stopped } = await stop();
    expect(await other.session.answer(other.session.interrupts[0]!.id, approve())).toEqual({ open: 0 });
    await begun.opened;
    go.open();
    expect(await stopped).toMatchObject({ accepted: true, stopped: ["p"] });
    expect(other.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
  });

  it("S2: meets nothing if that call has ended by then", async () => {
    const { store, stop, go } = await held(["p"]);
    const { stopped } = await stop();
    const { session } = await openKit([], { store, tools });
    await session.answer(session.interrupts[0]!.id, approve());
    await until(() => session.messages.at(-1)?.role === "tool");
    await settle(10);
    go.open();
    expect(await stopped).toMatchObject({ accepted: false, stopped: [] });
    expect(session).toMatchObject({ state: "paused", pauseType: "tool_interrupt" });
  });

  it("S2: those that it was merged with are on record with it, and hit nothing when they are sent again", async () => {
    const { session, runner, stop, go, store } = await held(["p"]);
    const { stopped } = await stop({ id: "first" });
    const merged = session.interrupt({ id: "second" });
    go.open();
    const receipt = await stopped;
    expect(receipt).toMatchObject({ accepted: true, notStarted: ["p"] });
    expect(await merged).toEqual(receipt);
    const run = session.resume({ input: "go on" });
    expect(await session.interrupt({ id: "second" })).toMatchObject({ accepted: true, segment: 1 });
    expect(await run.result).toMatchObject({ status: "completed" });
    expect(await runner.interrupt("thread", { id: "first" })).toMatchObject({ accepted: true, segment: 1 });
    expect((await store.load({ tenant: "default", threadId: "thread" }))!.commands).toEqual([]);
  });

  it.each(["waits for people", "runs"])(
    "S2: also those that it is merged with while it is being written, and the thread %s",
    async (how) => {
      const store = await make();
      const [written, writes] = [gate(), gate()];
      let isHeld = false;
      const before = () => {
        if (!isHeld) return undefined;
        isHeld = false;
        written.open();
        return writes.opened;
      };
      const first = how === "runs" ? [{ text: "half " }, { stall: true as const }] : [{ call: "pay", id: "p" }];
      const { session } = await openKit([first, "done"], { store: heldStore(store, { before }), tools });
      const run = session.run("go");
      if (how === "runs") for await (const event of run) if (event.type === "text-delta") break;
      if (how !== "runs") await run.result;
      isHeld = true;
      const stopped = session.interrupt({ id: "first" });
      await written.opened;
      const merged = ["second", "third"].map((id) => session.interrupt({ id }));
      writes.open();
      const receipt = await stopped;
      expect(receipt).toMatchObject({ accepted: true, segment: 1 });
      expect(await Promise.all(merged)).toEqual([receipt, receipt]);
      const goesOn = session.resume({ input: "go on" });
      for (const id of ["second", "third"])
        expect(await session.interrupt({ id })).toMatchObject({ accepted: true, segment: 1 });
      expect(await goesOn.result).toMatchObject({ status: "completed" });
    },
  );

  it("V2: one that joined while it was being written is on record, also if an answer is refused meanwhile", async () => {
    const store = await make();
    const [written, writes] = [gate(), gate()];
    let isHeld = false;
    const before = () => {
      if (!isHeld) return undefined;
      isHeld = false;
      written.open();
      return writes.opened;
    };
    const { session } = await openKit([[{ call: "pay", id: "p" }], "done"], {
      store: heldStore(store, { before }),
      tools,
    });
    await session.run("go").result;
    isHeld = true;
    const stopped = session.interrupt();
    await written.opened;
    const joined = session.interrupt({ id: "joined" });
    const answered = session.answer(session.interrupts[0]!.id, approve());
    writes.open();
    expect(await stopped).toMatchObject({ accepted: true, segment: 1 });
    expect(await joined).toEqual(await stopped);
    await expect(answered).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
    await session.resume({ input: "go on" }).result;
    expect(await session.interrupt({ id: "joined" })).toEqual(await stopped);
  });

  it("V2: one with an id that comes after a resume by id is on record once, in the segment that begins", async () => {
    const { session, runner, store, stop, go } = await held(["p"]);
    const { stopped } = await stop();
    const resumed = runner.resume("thread", { input: "go on" });
    const second = session.interrupt({ id: "second" });
    go.open();
    expect(await stopped).toMatchObject({ accepted: true, segment: 1 });
    expect(await second).toMatchObject({ accepted: true, segment: 2 });
    expect(await (await resumed).result).toMatchObject({ status: "interrupted", segment: 2 });
    const keys = (await factsOf(store)).flatMap((fact) => (fact.type === "command" ? [fact.key] : []));
    expect(keys).toEqual(["stop:second"]);
    expect(await session.interrupt({ id: "second" })).toEqual(await second);
  });

  it("S4: a forced one that is merged with it also forces the call that it stops next", async () => {
    const begun = gate();
    const deaf = toolOf(
      "pay",
      () => {
        begun.open();
        return new Promise(() => {});
      },
      { needsApproval: true, graceMs: 60_000 },
    );
    const { session, store, stop, go } = await held(["p"], deaf);
    const other = await openKit([], { store, tools: [deaf] });
    const { stopped } = await stop();
    const forced = session.interrupt({ force: true });
    await other.session.answer(session.interrupts[0]!.id, approve());
    await begun.opened;
    go.open();
    expect(await stopped).toMatchObject({ accepted: true, late: ["p"] });
    expect(await forced).toEqual(await stopped);
  });
});

describe.each(eachStore)("a stop of a thread that waits for nothing, on $name", ({ make }) => {
  it("loses no steer that is sent in the same tick, also on a new thread", async () => {
    const kit = await openKit(["done"], { store: await make() });
    const stopped = kit.session.interrupt();
    await kit.session.steer("be brief");
    expect(await stopped).toMatchObject({ accepted: false, runId: undefined, segment: undefined });
    await kit.session.run("go").result;
    expect(history(kit.session.messages)).toEqual(["user: go", "user: be brief", "assistant: done"]);
  });

  it.each([{}, { id: "esc" }])("keeps no input from starting that is queued meanwhile %j", async (options) => {
    const kit = await openKit(["done", "next"], { store: await make() });
    await kit.session.run("go").result;
    const stopped = kit.session.interrupt(options);
    await kit.session.enqueue("and then");
    expect(await stopped).toMatchObject({ accepted: false });
    await until(() => kit.requests.length === 2);
  });

  it("V2: that is merged with a termination has the same receipt when it is sent again", async () => {
    const kit = await openKit([[{ text: "half " }, { stall: true }]], { store: await make() });
    for await (const event of kit.session.run("go")) if (event.type === "text-delta") break;
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true });
    const stopped = kit.session.interrupt({ id: "esc" });
    await kit.session.terminate();
    expect(await stopped).toMatchObject({ accepted: false, segment: 1 });
    expect(await kit.session.interrupt({ id: "esc" })).toEqual(await stopped);
  });

  it("keeps no message from the history that is observed meanwhile", async () => {
    const kit = await openKit(["done"], { store: await make() });
    await kit.session.run("go").result;
    const stopped = kit.session.interrupt();
    await kit.session.observe("it rains");
    await stopped;
    expect(await kit.session.waiting()).toEqual([]);
    expect(history(kit.session.messages).at(-1)).toBe("user: it rains");
  });
});
