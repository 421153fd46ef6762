import { factsOf, gate, heldStore, type Kit, openKit, said, settle, toolOf } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { belayError } from "../../error.ts";
import { isFact, type StateEvent } from "../../event.ts";
import {
  agent,
  approve,
  type BelayEvent,
  createRunner,
  jsonSchema,
  memoryStore,
  type SessionState,
  type Store,
  tool,
} from "../../index.ts";
import { move, moves } from "../../lifecycle.ts";
import { fakeClock, scriptedModel } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };

async function states(kit: Kit): Promise<SessionState[]> {
  const facts = await factsOf(kit.store);
  return facts.filter((fact): fact is StateEvent => fact.type === "state").map((fact) => fact.state);
}

async function head(kit: Kit): Promise<number> {
  return (await kit.store.load(key))?.row.head ?? 0;
}

/** Interrupted in the middle of "Hel…". */
async function interrupted(kit: Kit) {
  const run = kit.session.run("hello");
  for await (const event of run) if (event.type === "text-delta") break;
  await kit.session.interrupt();
  return run.result;
}

const cut = [{ text: "Hel" }, { stall: true }] as const;

const code = (wanted: string) => expect.objectContaining({ code: wanted });

describe("the moves", () => {
  it("D1: the seven states have exactly the moves of the contract", () => {
    expect(moves).toEqual({
      created: ["initialized", "terminated", "error"],
      initialized: ["running", "terminated", "error"],
      running: ["paused", "completed", "error", "terminated"],
      paused: ["running", "terminated"],
      completed: ["initialized", "terminated"],
      error: ["initialized", "terminated"],
      terminated: [],
    });
  });

  it("D1: any other move is refused with INVALID_STATE_TRANSITION", () => {
    const all = Object.keys(moves) as SessionState[];
    for (const from of all) {
      for (const to of all) {
        if (moves[from].includes(to)) expect(move(from, to)).toBe(to);
        else expect(() => move(from, to)).toThrow(belayError("INVALID_STATE_TRANSITION", { from, to }));
      }
    }
  });
});

describe("the lifecycle of a session", () => {
  it("D1: a run goes created → initialized → running → completed, and a second one through initialized again", async () => {
    const kit = await openKit(["one", "two"]);
    expect(kit.session.state).toBe("created");
    const run = kit.session.run("a");
    expect(kit.session.state).toBe("running");
    await run.result;
    expect(kit.session.state).toBe("completed");
    const again = kit.session.run("b");
    expect(kit.session.state).toBe("running");
    expect((await again.result).status).toBe("completed");
    expect(again.runId).not.toBe(run.runId);
    expect(await states(kit)).toEqual(["initialized", "running", "completed", "initialized", "running", "completed"]);
  });

  it("D2: a pause has exactly one type, and a resume clears it", async () => {
    const kit = await openKit([cut, "lo"]);
    expect(kit.session.pauseType).toBeUndefined();
    const result = await interrupted(kit);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    expect(kit.session.interrupts).toEqual(result.status === "interrupted" && result.interrupts);
    const run = kit.session.resume();
    expect(kit.session).toMatchObject({ state: "running", pauseType: undefined, interrupts: [] });
    await run.result;
    expect(kit.session).toMatchObject({ state: "completed", pauseType: undefined, interrupts: [] });
    expect(await states(kit)).toEqual(["initialized", "running", "paused", "running", "completed"]);
  });

  it("D29: a manual pause parks after the turn's calls, and a resume adds no message and repeats no request", async () => {
    const started = gate();
    const go = gate();
    const execute = async () => {
      started.open();
      await go.opened;
      return 1;
    };
    const count = tool({ name: "count", description: "", input: jsonSchema({ type: "object" }), execute });
    const kit = await openKit([[{ call: "count" }], "done"], { tools: [count] });
    const run = kit.session.run("go");
    await started.opened;
    const parked = kit.session.pause();
    await settle();
    expect(kit.session.state).toBe("running");
    go.open();
    expect(await parked).toMatchObject({ accepted: true, finished: ["call_1"], stopped: [], notStarted: [] });
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "manual", partialText: "" });
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "manual" });
    const before = kit.session.messages;
    expect(() => kit.session.resumeWithInput("x")).toThrow(code("INVALID_PAUSE_TYPE"));
    expect(kit.requests).toHaveLength(1);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(kit.session.messages.slice(0, before.length)).toEqual(before);
    expect(kit.session.messages).toHaveLength(before.length + 1);
    expect(kit.requests).toHaveLength(2);
    expect(kit.requests[1]!.messages).toEqual(before);
  });

  it("D34: a failed run is error, run-end says why; a new run goes through initialized", async () => {
    const kit = await openKit([[{ throw: new Error("no") }], "two"]);
    const failed = await kit.session.run("a").result;
    expect(failed).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    expect(kit.session).toMatchObject({ state: "error", pauseType: undefined });
    expect((await kit.session.run("b").result).status).toBe("completed");
    expect(await states(kit)).toEqual(["initialized", "running", "error", "initialized", "running", "completed"]);
    expect(kit.problems()).toEqual([]);
  });

  it("D1: terminate() ends a run for good, from created, running, paused, completed and error", async () => {
    const fresh = await openKit(["one"]);
    await fresh.session.terminate();
    expect(await states(fresh)).toEqual(["terminated"]);

    const running = await openKit([cut]);
    const run = running.session.run("a");
    for await (const event of run) if (event.type === "text-delta") break;
    await running.session.terminate();
    expect(await run.result).toMatchObject({ status: "terminated", runId: run.runId, segment: 1 });
    expect(await states(running)).toEqual(["initialized", "running", "terminated"]);

    const paused = await openKit([cut]);
    await interrupted(paused);
    await paused.session.terminate();
    expect(await states(paused)).toEqual(["initialized", "running", "paused", "terminated"]);

    const completed = await openKit(["one"]);
    await completed.session.run("a").result;
    await completed.session.terminate();
    expect(await states(completed)).toEqual(["initialized", "running", "completed", "terminated"]);

    const failed = await openKit([[{ throw: new Error("no") }]]);
    await failed.session.run("a").result;
    await failed.session.terminate();
    expect(await states(failed)).toEqual(["initialized", "running", "error", "terminated"]);

    for (const kit of [fresh, running, paused, completed, failed]) {
      expect(kit.session).toMatchObject({ state: "terminated", pauseType: undefined, interrupts: [] });
      const at = await head(kit);
      await expect(kit.session.terminate()).rejects.toEqual(code("INVALID_STATE_TRANSITION"));
      expect(() => kit.session.run("x")).toThrow(code("INVALID_STATE"));
      expect(() => kit.session.resume()).toThrow(code("INVALID_STATE"));
      expect(() => kit.session.resumeWithInput("x")).toThrow(code("INVALID_STATE"));
      expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
      expect(await kit.session.pause()).toMatchObject({ accepted: false });
      expect(await head(kit)).toBe(at);
    }
  });

  it("D1, Q3: terminate() ends it also if an answer in another process is faster, and stops the call that the answer lets run", async () => {
    const [asked, go, begun] = [gate(), gate(), gate()];
    const store = memoryStore();
    let isHeld = false;
    const before = () => {
      if (!isHeld) return undefined;
      isHeld = false;
      asked.open();
      return go.opened;
    };
    const pay = toolOf(
      "pay",
      ({ signal }) => {
        begun.open();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      { needsApproval: true },
    );
    const kit = await openKit([[{ call: "pay", id: "p" }]], { store: heldStore(store, { before }), tools: [pay] });
    await kit.session.run("a").result;
    const other = await openKit([], { store, tools: [pay] });
    isHeld = true;
    const ended = kit.session.terminate();
    await asked.opened;
    expect(await other.session.answer(kit.session.interrupts[0]!.id, approve())).toEqual({ open: 0 });
    await begun.opened;
    go.open();
    await ended;
    expect(kit.session.state).toBe("terminated");
    expect(await states(kit)).toEqual(["initialized", "running", "paused", "terminated"]);
    expect(kit.session.messages.at(-1)!.parts).toMatchObject([{ id: "p", outcome: "interrupted" }]);
    expect(kit.problems()).toEqual([]);
  });

  it("D33: an error that comes after terminate() leaves it terminated", async () => {
    const stuck = gate();
    const model = {
      id: "late",
      async *stream() {
        yield { type: "text" as const, text: "x" };
        await stuck.opened;
      },
    };
    const kit = await openKit(model);
    const run = kit.session.run("a");
    for await (const event of run) if (event.type === "text-delta") break;
    const ended = kit.session.terminate();
    stuck.fail(new Error("too late"));
    await ended;
    expect((await run.result).status).toBe("terminated");
    expect(kit.session.state).toBe("terminated");
  });
});

describe("refusals change nothing", () => {
  it("R4, D35: run and resume while running are refused synchronously with ALREADY_RUNNING", async () => {
    const kit = await openKit([cut]);
    const run = kit.session.run("a");
    expect(() => kit.session.run("b")).toThrow(code("ALREADY_RUNNING"));
    expect(() => kit.session.resume()).toThrow(code("ALREADY_RUNNING"));
    expect(() => kit.session.resumeWithInput("b")).toThrow(code("INVALID_STATE"));
    await kit.session.interrupt();
    expect((await run.result).status).toBe("interrupted");
    expect(kit.session.messages.filter((m) => m.role === "user")).toHaveLength(1);
  });

  it("D26: resume and resumeWithInput in a state that cannot resume are refused with INVALID_STATE", async () => {
    const kit = await openKit(["one"]);
    expect(() => kit.session.resume()).toThrow(code("INVALID_STATE"));
    expect(() => kit.session.resumeWithInput("x")).toThrow(code("INVALID_STATE"));
    expect(kit.session.state).toBe("created");
    await kit.session.run("a").result;
    const at = await head(kit);
    expect(() => kit.session.resume()).toThrow(code("INVALID_STATE"));
    expect(() => kit.session.resumeWithInput("x")).toThrow(code("INVALID_STATE"));
    expect(kit.session.state).toBe("completed");
    expect(await head(kit)).toBe(at);
  });

  it("D26: resumeWithInput is for a person's interrupt only, and then equals resume", async () => {
    const kit = await openKit([cut, "lo", "again"]);
    await interrupted(kit);
    expect((await kit.session.resumeWithInput("other").result).status).toBe("completed");
    expect(kit.session.messages.map((m) => m.role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it("R4: a bad mode or input is refused when given, and the pause is still there", async () => {
    const kit = await openKit([cut, "lo"]);
    await interrupted(kit);
    const at = await head(kit);
    expect(() => kit.session.resume({ mode: "nonsense" as never })).toThrow(code("OPTION_INVALID"));
    expect(() => kit.session.resume({ input: 7 as never })).toThrow(code("INPUT_INVALID"));
    expect(() => kit.session.resume({ input: [{ role: "assistant", parts: [] }] })).toThrow(code("INPUT_INVALID"));
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    expect(await head(kit)).toBe(at);
  });
});

describe("several sessions, several runners", () => {
  const helper = () => agent({ name: "helper", model: scriptedModel(["one", "two"]) });

  it("C3: opening a thread twice gives the same session, also at the same time, and it is ready", async () => {
    const store = memoryStore();
    await openKit(["one"], { store }).then((kit) => kit.session.run("a").result);
    const runner = createRunner({ agent: helper(), store });
    const [a, b, c] = await Promise.all([runner.open("thread"), runner.open("thread"), runner.open("thread")]);
    expect(a).toBe(b);
    expect(b).toBe(c);
    expect(await runner.open("thread")).toBe(a);
    expect(a.state).toBe("completed");
  });

  it("C3: a second open() of a thread that is being opened resolves when it is ready", async () => {
    const store = memoryStore();
    await openKit(["one"], { store }).then((kit) => kit.session.run("a").result);
    const slow: Store = { ...heldStore(store, {}), load: (...args) => settle(1).then(() => store.load(...args)) };
    const runner = createRunner({ agent: helper(), store: slow });
    const first = runner.open("thread");
    const seen: string[] = [];
    for (let i = 0; i < 4; i++) {
      seen.push((await runner.open("thread")).state);
      await settle(1);
    }
    expect(seen).toEqual(["completed", "completed", "completed", "completed"]);
    await first;
  });

  it("C3: an open that is refused does not spoil another one of the same thread", async () => {
    const runner = createRunner({ agent: helper() });
    const [wrong, right] = await Promise.allSettled([
      runner.open("thread", { agent: "nobody" }),
      runner.open("thread"),
    ]);
    expect(wrong).toMatchObject({ status: "rejected", reason: { code: "AGENT_UNKNOWN" } });
    expect(right.status).toBe("fulfilled");
  });

  it("C3, V1: a thread that another runner is running can be opened, and takes no run: also on a session opened before", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = await openKit([cut], { store, clock });
    const second = await openKit(["one"], { store, clock });
    const run = first.session.run("a");
    for await (const event of run) if (event.type === "text-delta") break;
    const late = second.session.run("b");
    expect(await late.result).toMatchObject({ status: "failed", error: { code: "ALREADY_RUNNING" } });
    expect(said(await all(late))).toEqual([]);
    const third = createRunner({ agent: helper(), store, clock });
    const looking = await third.open("thread");
    expect(looking.state).toBe("running");
    expect(() => looking.run("c")).toThrow(code("ALREADY_RUNNING"));
    await first.session.interrupt();
    expect((await third.open("thread")).pauseType).toBe("user_interrupt");
  });

  it("AGENT_MISMATCH, AGENT_UNKNOWN: a thread stays with the agent that began it", async () => {
    const store = memoryStore();
    await openKit(["one"], { store }).then((kit) => kit.session.run("a").result);
    const other = agent({ name: "other", model: scriptedModel([]) });
    const third = agent({ name: "third", model: scriptedModel([]) });
    await expect(createRunner({ agent: other, store }).open("thread")).rejects.toEqual(code("AGENT_MISMATCH"));
    const both = createRunner({ agents: [other, helper()], store });
    await expect(both.open("thread", { agent: "other" })).rejects.toEqual(code("AGENT_MISMATCH"));
    const session = await both.open("thread");
    expect(session.agent.name).toBe("helper");
    await expect(both.open("thread", { agent: "other" })).rejects.toEqual(code("AGENT_MISMATCH"));
    await expect(both.open("new", { agent: "nobody" })).rejects.toEqual(code("AGENT_UNKNOWN"));
    await expect(createRunner({ agents: [other, third], store }).open("thread")).rejects.toEqual(code("AGENT_UNKNOWN"));
    expect((await both.open("new")).agent.name).toBe("other");
    expect((await both.open("newer", { agent: "helper" })).agent.name).toBe("helper");
  });

  it("R4: a session whose thread continued elsewhere says so, reads the new facts, and works again", async () => {
    const store = memoryStore();
    const first = await openKit([cut, "third"], { store });
    await interrupted(first);
    const second = await openKit(["lo"], { store });
    await second.session.resume().result;
    expect(first.session.state).toBe("paused");
    expect(await first.session.resume().result).toMatchObject({ status: "failed" });
    expect(first.session.state).toBe("completed");
    expect((await first.session.run("b").result).status).toBe("completed");
  });

  it("R4: a session of a thread that was moved to another pause of the same run does not resume that one unseen", async () => {
    const store = memoryStore();
    const first = await openKit([cut, "lo"], { store });
    await interrupted(first);
    const second = await openKit([[{ text: "l" }, { stall: true }]], { store });
    const run = second.session.resume();
    for await (const event of run) if (event.type === "text-delta") break;
    await second.session.interrupt();
    expect(await first.session.resume().result).toMatchObject({ status: "failed", error: { code: "TOKEN_SPENT" } });
    expect(first.requests).toHaveLength(1);
    expect(first.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    expect(await first.session.resume().result).toMatchObject({ status: "completed", text: "Helllo", segment: 3 });
  });
});

async function all(source: AsyncIterable<BelayEvent>): Promise<BelayEvent[]> {
  const events: BelayEvent[] = [];
  for await (const event of source) if (isFact(event)) events.push(event);
  return events;
}
