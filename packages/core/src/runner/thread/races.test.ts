// Races that random lives of a thread have found, each as short as it gets.

import {
  factProblems,
  factsOf,
  faultyStore,
  gate,
  heldStore,
  history,
  listen,
  openKit,
  said,
  settle,
  threadOf,
  toolOf,
  unpaired,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { jsonSchema, memoryStore, tool } from "../../index.ts";
import type { Append } from "../../store/store.ts";
import { fakeClock, type ScriptedTurn } from "../../testing/index.ts";

const input = jsonSchema<Record<string, never>>({ type: "object" });

describe("races", () => {
  test("F1: terminate() and run() in one tick do not take each other's append for their own", async () => {
    const { session, store } = await openKit(["never said"]);
    const terminated = session.terminate();
    const { result } = session.run("hello");
    await terminated;
    const { status } = await result;
    const facts = await factsOf(store);
    expect([status, session.state, said(facts)]).toEqual(["failed", "terminated", ["state terminated"]]);
  });

  test("P9: an input with a lost answer of its append, with which another process continued, does not enter twice", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    const store = faultyStore(inner);
    const first = await openKit(["one"], { store, clock, leaseTtlMs: 1_000 });
    store.plan("append", { fail: "after" });
    const { result } = first.session.run("hello");
    await settle();
    store.freeze();
    await clock.advance(2_000);
    const second = await openKit(["two"], { store: inner, clock });
    expect((await second.session.resume().result).status).toBe("completed");
    store.thaw();
    await clock.advance(1_000);
    expect(await result).toMatchObject({ status: "failed", error: { code: "STORE_FAILED" } });
    expect(history(second.session.messages)).toEqual(["user: hello", "assistant: two"]);
    await threadOf(first.session).refresh();
    expect(history(first.session.messages)).toEqual(["user: hello", "assistant: two"]);
  });

  test("C3: open() while the thread's session is closing gives a session that works", async () => {
    const { runner, session } = await openKit([[{ stall: true }], "hello"]);
    const { result } = session.run("hi");
    await settle();
    const closed = session.close();
    const [again, twice] = await Promise.all([runner.open("thread"), session.close()]);
    expect(twice).toBeUndefined();
    await closed;
    expect((await result).status).toBe("failed");
    expect([again === session, again.state, again.pauseType]).toEqual([false, "paused", "crash"]);
    expect((await again.resume().result).status).toBe("completed");
  });

  test.each(["completes", "pauses"])(
    "F6, E2: a lease that its own last append has given back is not lost: a run that %s, with the answer of its store under way, ends as it is on record",
    async (how) => {
      const clock = fakeClock();
      const [written, answers] = [gate(), gate()];
      const inner = memoryStore({ clock });
      const after = (_: number, { release }: Append) => {
        if (!release) return undefined;
        written.open();
        return answers.opened;
      };
      const store = heldStore(inner, { after });
      const tools = [toolOf("pay", () => "paid", { needsApproval: true })];
      const turns: ScriptedTurn[] = how === "pauses" ? [[{ call: "pay", id: "c" }]] : ["hello"];
      const { session } = await openKit(turns, { store, clock, tools, leaseTtlMs: 900 });
      const run = session.run("hi");
      const heard = listen(run);
      await written.opened;
      // Time to make the lease last longer.
      await clock.advance(400);
      await settle();
      answers.open();
      expect(await run.result).toMatchObject({ status: how === "pauses" ? "interrupted" : "completed" });
      expect(unpaired(await heard.all)).toEqual([]);
    },
  );

  test("X3: the receipt of a pause that a lost lease made void names the calls that still run", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    const store = faultyStore(inner);
    const deaf = tool({
      name: "deaf",
      description: "hears nothing",
      input,
      onCrash: "fail",
      execute: () => new Promise(() => {}),
    });
    const options = { clock, tools: [deaf], leaseTtlMs: 1_000 };
    const first = await openKit([[{ call: "deaf", id: "c" }]], { store, ...options });
    const { result } = first.session.run("go");
    await settle();
    const paused = first.session.pause();
    store.freeze();
    await clock.advance(2_000);
    const second = await openKit(["on"], { store: inner, ...options });
    expect((await second.session.resume().result).status).toBe("completed");
    store.thaw();
    await clock.advance(1_000);
    expect(await result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(await paused).toMatchObject({ accepted: false, late: ["c"] });
  });

  test("X2, E2: a call that a crash cut, and a stop kept from running again, has ended and never reads not executed", async () => {
    const clock = fakeClock();
    const inner = memoryStore({ clock });
    const store = faultyStore(inner);
    let runs = 0;
    const work = tool({
      name: "work",
      description: "works",
      input,
      repeatable: true,
      execute: () => {
        runs += 1;
        return new Promise(() => {});
      },
    });
    const first = await openKit([[{ call: "work", id: "c" }]], { store, clock, tools: [work], leaseTtlMs: 1_000 });
    first.session.run("go");
    await settle();
    store.kill();
    await clock.advance(2_000);
    const slow = faultyStore(inner);
    const second = await openKit(["well"], { store: slow, clock, tools: [work], leaseTtlMs: 1_000 });
    // The stop comes while the append that says that the call starts again is on its way.
    slow.plan("append", {}, { after: 5 });
    second.session.resume();
    await settle(2);
    expect(await second.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["c"] });
    expect(factProblems(await factsOf(inner))).toEqual([]);
    await second.session.resume({ input: "never mind" }).result;
    expect([runs, ...history(second.session.messages)]).toEqual([
      1,
      "user: go",
      "assistant: call c",
      "tool: c unknown",
      "user: never mind",
      "assistant: well",
    ]);
  });
});
