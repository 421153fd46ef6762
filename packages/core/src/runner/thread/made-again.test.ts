// A thread that another process deleted, and one that was made again under its name: code that knew the first one must not touch
// the second.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { eachStore, gate, history, openKit, settle, toolOf } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../clock.ts";
import { isFact } from "../../event.ts";
import {
  agent,
  type BelayEvent,
  type Clock,
  createRunner,
  humanInput,
  jsonSchema,
  respond,
  type Store,
  tool,
} from "../../index.ts";
import { type ScriptedTurn, scriptedModel } from "../../testing/index.ts";

/** A moment passes with each thread that is made. */
function moments(): { clock: Clock; pass: () => void } {
  let skew = 0;
  return {
    clock: { ...systemClock, now: () => Date.now() + skew },
    pass: () => {
      skew += 1_000;
    },
  };
}

/** Reads to the end. */
async function eventsOf(events: AsyncIterable<BelayEvent>): Promise<readonly BelayEvent[]> {
  const all: BelayEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("Who?")));

/** A session on a thread that another process deletes and makes again. */
async function stale(store: Store, first: readonly ScriptedTurn[], second: readonly ScriptedTurn[]) {
  const { clock, pass } = moments();
  const old = await openKit(first, { store, clock, tools: [ask] });
  await old.session.run("secret").result;
  const other = await openKit(second, { store, clock, tools: [ask] });
  await other.runner.delete("thread");
  pass();
  const again = await other.runner.open("thread");
  const result = await again.run("uno").result;
  return { old, other, again, result };
}

describe.each(eachStore)("on $name, a thread deleted and made again elsewhere", ({ make }) => {
  it("F3: readers of the first one end, and get no fact of the second", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const first = await openKit(["one"], { store, clock });
    const elsewhere = await openKit(["um", "dois"], { store, clock });
    // One reader was there before the thread, and one joins at its end.
    const early = elsewhere.runner.events("thread");
    const readings = [eventsOf(early)];
    await first.session.run("secret").result;
    const { head } = (await first.runner.look("thread"))!;
    readings.push(eventsOf(first.runner.events("thread", { after: head })), eventsOf(first.runner.events("thread")));
    await settle();
    await first.session.close();
    await first.runner.delete("thread");
    pass();
    const again = await elsewhere.runner.open("thread");
    await again.run("uno").result;
    await again.run("dos").result;
    const [whole, tail, here] = await Promise.all(readings);
    expect(whole!.filter(isFact).map(({ seq }) => seq)).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    expect(here!.filter(isFact).map(({ seq }) => seq)).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    expect(tail).toEqual([]);
    expect(JSON.stringify([whole, here])).not.toContain("uno");
    await first.runner.close();
    await elsewhere.runner.close();
  });

  it.each([
    ["as long", ["uno"]],
    ["longer", ["uno", "dos"]],
  ])(
    "F3: %s as the one that a session knew is not mixed with it, and no deleted message reaches the model",
    async (_, inputs) => {
      const store = await make();
      const { clock, pass } = moments();
      const first = await openKit(["one", "never"], { store, clock });
      await first.session.run("secret").result;
      const elsewhere = await openKit(["um", "dois"], { store, clock });
      await elsewhere.runner.delete("thread");
      await elsewhere.session.close();
      pass();
      const again = await elsewhere.runner.open("thread");
      for (const input of inputs) await again.run(input).result;
      const before = history(again.messages);

      const refused = { status: "failed", error: { code: "THREAD_UNKNOWN" } };
      expect(await first.session.run("and?").result).toMatchObject(refused);
      expect(await first.session.run("and?").result).toMatchObject(refused);
      await expect(first.session.terminate()).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
      expect(first.requests).toHaveLength(1);
      expect(history(first.session.messages)).toEqual([]);
      const fresh = await openKit([], { store, clock });
      expect(history(fresh.session.messages)).toEqual(before);
      expect(fresh.session.state).toBe("completed");
    },
  );

  it("C3: open() after that returns a session on the new one", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const first = await openKit(["one", "two"], { store, clock });
    await first.session.run("secret").result;
    const elsewhere = await openKit(["um"], { store, clock });
    await elsewhere.runner.delete("thread");
    await elsewhere.session.close();
    pass();
    const other = await elsewhere.runner.open("thread");
    await other.run("uno").result;
    expect(await first.session.run("and?").result).toMatchObject({ error: { code: "THREAD_UNKNOWN" } });
    const again = await first.runner.open("thread");
    expect(await again.run("and?").result).toMatchObject({ status: "completed", text: "two" });
    expect(history(again.messages)).toEqual(["user: uno", "assistant: um", "user: and?", "assistant: two"]);
    expect(await first.session.run("and?").result).toMatchObject({ error: { code: "THREAD_UNKNOWN" } });
    await first.session.close();
    expect(await first.runner.open("thread")).toBe(again);
  });

  it("C3: so does open() before any refusal", async () => {
    const { old, again } = await stale(await make(), ["one", "two"], ["um"]);
    const opened = await old.runner.open("thread");
    expect(opened).not.toBe(old.session);
    expect(history(opened.messages)).toEqual(history(again.messages));
    expect(await opened.run("and?").result).toMatchObject({ status: "completed", text: "two" });
    expect(history(opened.messages)).toEqual(["user: uno", "assistant: um", "user: and?", "assistant: two"]);
    expect(await old.runner.open("thread")).toBe(opened);
    expect(await old.session.run("and?").result).toMatchObject({ error: { code: "THREAD_UNKNOWN" } });
  });

  it("C3: the agent that it is opened with is that of the new one", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const agents = ["first", "second"].map((name) => agent({ name, model: scriptedModel([name, name]) }));
    const [old, other] = [createRunner({ agents, store, clock }), createRunner({ agents, store, clock })];
    await (await old.open("thread", { agent: "first" })).run("secret").result;
    await other.delete("thread");
    pass();
    await (await other.open("thread", { agent: "second" })).run("uno").result;
    const opened = await old.open("thread", { agent: "second" });
    expect(await opened.run("and?").result).toMatchObject({ status: "completed", text: "second" });
    await expect(old.open("thread", { agent: "first" })).rejects.toMatchObject({ code: "AGENT_MISMATCH" });
  });

  it("S5: does not get the late result of a call that the first one made", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const end = gate<string>();
    const slow = tool({
      name: "slow",
      description: "takes its time",
      input: jsonSchema({ type: "object" }),
      graceMs: 1,
      execute: () => end.opened,
    });
    const first = await openKit([[{ call: "slow" }]], { store, clock, tools: [slow] });
    const run = first.session.run("secret");
    for await (const event of run) if (event.type === "tool-start") break;
    expect(await first.session.interrupt()).toMatchObject({ late: [expect.any(String)] });
    const elsewhere = await openKit(["um"], { store, clock, tools: [slow] });
    await elsewhere.runner.delete("thread");
    await elsewhere.session.close();
    pass();
    const again = await elsewhere.runner.open("thread");
    await again.run("uno").result;
    end.open("late");
    await settle();
    expect(await again.waiting()).toEqual([]);
  });

  it("Q3: a request of the new one is answered, also by a runner that knew the first, which asked as much", async () => {
    const { old, other, again } = await stale(await make(), [[{ call: "ask" }], "x"], [[{ call: "ask" }], "y"]);
    await other.runner.close();
    const [request] = (await old.runner.inbox()).items;
    expect(await old.runner.answer(request!.id, respond("me"))).toEqual({ open: 0 });
    expect(again.runId).toBe(request!.runId);
    expect((await old.runner.inbox()).items).toHaveLength(0);
  });

  it("Q3: and by one that had only looked at the first", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const setup = { store, clock, tools: [ask] };
    const first = await openKit([[{ call: "ask" }]], setup);
    await first.session.run("secret").result;
    await first.runner.close();
    const looker = await openKit([], setup);
    expect(looker.session.messages).toHaveLength(2);
    const other = await openKit([[{ call: "ask" }]], setup);
    await other.runner.delete("thread");
    pass();
    await (await other.runner.open("thread")).run("uno").result;
    await other.runner.close();
    const [request] = (await looker.runner.inbox()).items;
    expect(await looker.runner.answer(request!.id, respond("me"))).toEqual({ open: 0 });
  });

  it("R5: verbs by its name reach the new one, at the first try", async () => {
    for (const how of ["resume", "interrupt", "rules", "steer", "enqueue"] as const) {
      const { old, other, result } = await stale(await make(), ["one", "two"], [[{ call: "ask" }], "y"]);
      await other.runner.close();
      if (result.status !== "interrupted") throw new Error(result.status);
      switch (how) {
        case "resume": {
          const answers = { [result.interrupts[0]!.id]: respond("me") };
          const run = await old.runner.resume(result.handle, { answers });
          expect(await run.result).toMatchObject({ status: "completed" });
          break;
        }
        case "interrupt":
          expect(await old.runner.interrupt("thread")).toMatchObject({ accepted: true, runId: result.runId });
          break;
        case "rules":
          expect(await old.runner.rules({ threadId: "thread" })).toEqual([]);
          break;
        default:
          await old.runner[how]("thread", "more");
          expect(await (await old.runner.open("thread")).waiting()).toHaveLength(1);
      }
      await old.runner.close();
    }
  });

  it("F3: nor do lines that were only looked at, of a thread of others, become the past of another", async () => {
    const store = await make();
    const { clock, pass } = moments();
    const early = await openKit(["mine"], { store, clock });
    const other = await openKit(["one", "um"], { store, clock });
    await other.session.run("secret").result;
    expect(history(early.session.messages)).toEqual(["user: secret", "assistant: one"]);
    await other.runner.delete("thread");
    pass();
    await (await other.runner.open("thread")).run("uno").result;
    expect(await early.session.run("and?").result).toMatchObject({ status: "completed" });
    const kept = (await openKit([], { store, clock })).session.messages;
    expect(history(early.session.messages)).toEqual(["user: uno", "assistant: um", "user: and?", "assistant: mine"]);
    expect(history(kept)).toEqual(history(early.session.messages));
    expect(early.requests[0]!.messages).toHaveLength(3);
  });

  it("F3: input for the first one does not enter the second", async () => {
    const { old, again } = await stale(await make(), ["one", "two"], ["um", "dois"]);
    const refused = { code: "THREAD_UNKNOWN" };
    await expect(old.session.steer("private")).rejects.toMatchObject(refused);
    await expect(old.session.enqueue("private")).rejects.toMatchObject(refused);
    await expect(old.session.observe("private")).rejects.toMatchObject(refused);
    expect(await again.waiting()).toEqual([]);
    await again.run("dos").result;
    expect(history(again.messages)).toEqual(["user: uno", "assistant: um", "user: dos", "assistant: dois"]);
  });

  it("E1: readers of the first one end when it is known to be gone", async () => {
    const { old } = await stale(await make(), ["one", "two"], ["um"]);
    const read = async () => {
      for await (const event of old.session.events()) if (event.threadId !== "thread") return "another";
      return "ended";
    };
    const before = read();
    await old.session.run("and?").result;
    expect(await before).toBe("ended");
    expect(await read()).toBe("ended");
  });
});

describe.each(eachStore)("on $name, a thread deleted elsewhere", ({ make }) => {
  it("Q1: has no code that waits in memory for its people, once that is known", async () => {
    const store = await make();
    let aborted = false;
    const waits = toolOf("ask", (ctx) => {
      ctx.signal.addEventListener("abort", () => (aborted = true));
      return ctx.ask(humanInput("Who?"));
    });
    const old = await openKit([[{ call: "ask" }]], { store, tools: [waits] });
    await old.session.run("secret").result;
    const other = await openKit([], { store });
    expect(aborted).toBe(false);
    await other.runner.delete("thread");
    await expect(old.session.steer("and?")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
    expect(aborted).toBe(true);
  });

  it("T3: is not made again by a session that knew it, with any memory", async () => {
    const store = await make();
    for (const forgets of [false, true]) {
      const old = await openKit(["one", "two"], { store });
      await old.session.run("secret").result;
      const other = await openKit([], { store });
      await other.runner.delete("thread");
      // A session that was idle for long has dropped its history.
      if (forgets) await collect();
      expect(await old.session.run("and?").result).toMatchObject({ error: { code: "THREAD_UNKNOWN" } });
      await expect(old.session.terminate()).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
      await expect(old.session.steer("and?")).rejects.toMatchObject({ code: "THREAD_UNKNOWN" });
      expect((await other.runner.threads()).items).toEqual([]);
      expect(history(old.session.messages)).toEqual([]);
      await old.runner.close();
      await other.runner.close();
    }
  });
});

/** Objects that are only held weakly are gone after it. */
async function collect(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  for (let i = 0; i < 5; i++) {
    await settle();
    gc();
  }
}
