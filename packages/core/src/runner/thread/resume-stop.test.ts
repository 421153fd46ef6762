import {
  eachStore,
  faultyStore,
  history,
  type KitOptions,
  listen,
  openKit,
  paying,
  pays,
  settle,
  wrapStore,
} from "@belay/testkit";
import { World } from "@belay/testkit/world";
import { describe, expect, it, test } from "vitest";
import type { Handle, Model, Store } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

/** A thread that waits for an approval, on a store that takes its time, and the handle of its pause. */
async function asking(inner: Store, options: KitOptions = {}) {
  const store = faultyStore(inner);
  const { tools, ran } = paying();
  const kit = await openKit([pays("a"), "on", "and on"], { store, tools, ...options });
  const result = await kit.session.run("go").result;
  if (result.status !== "interrupted") throw new Error(`It is ${result.status}.`);
  return { ...kit, store, ran, handle: result.handle };
}

/** The same, after a person has stopped it. */
async function stopped(inner: Store) {
  const kit = await asking(inner);
  await kit.session.interrupt();
  const handle = await kit.session.handle();
  kit.store.always({ before: 2, after: 2 });
  return { ...kit, handle };
}

describe.each(eachStore)("a stop during a resume by a handle, on $name", ({ make }) => {
  it("S1, R5: a resume that was asked for before the stop is stopped by it, however long the check of the handle takes", async () => {
    for (let apart = 0; apart < 6; apart++) {
      const { runner, session, handle, requests } = await stopped(await make());
      const resumed = runner.resume(handle);
      await settle(apart);
      const receipt = await session.interrupt();
      expect([apart, receipt.accepted, receipt.segment]).toEqual([apart, true, 2]);
      const result = await (await resumed).result;
      expect(result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt", segment: 2 });
      expect(requests).toHaveLength(1);
    }
  });

  it("S2, R1: ten such stops are one, also by the runner, and the input given with the handle is recorded", async () => {
    const { runner, session, handle, requests } = await stopped(await make());
    const resumed = runner.resume(handle, { input: "again" });
    const receipts = await Promise.all([
      ...Array.from({ length: 9 }, () => session.interrupt()),
      runner.interrupt("thread"),
    ]);
    expect(receipts.map(({ accepted, segment }) => [accepted, segment])).toEqual(Array(10).fill([true, 2]));
    expect(await (await resumed).result).toMatchObject({ status: "interrupted", segment: 2 });
    expect(history(session.messages).at(-1)).toBe("user: again");
    expect(requests).toHaveLength(1);
  });

  it("R5: a pause() in between parks the run that it begins, as one after resume() does", async () => {
    const lives = ["by a handle", "by its session"].map(async (how) => {
      const { runner, session, handle, requests } = await stopped(await make());
      const resumed = how === "by a handle" ? runner.resume(handle) : session.resume();
      const receipt = await session.pause();
      const { status } = await (await resumed).result;
      return [receipt.accepted, receipt.segment, status, session.state, session.pauseType, requests.length];
    });
    const [byHandle, bySession] = await Promise.all(lives);
    expect(bySession).toEqual([true, 2, "interrupted", "paused", "manual", 1]);
    expect(byHandle).toEqual(bySession);
  });

  it("S9: if the handle is refused the stop is for the pause", async () => {
    const { runner, session, handle, store } = await asking(await make());
    store.always({ before: 2, after: 2 });
    const spent: Handle = { ...handle, token: handle.token.replace(/./g, "0") };
    const resumed = runner.resume(spent);
    const receipt = session.interrupt();
    await expect(resumed).rejects.toMatchObject({ code: "TOKEN_UNKNOWN" });
    expect(await receipt).toMatchObject({ accepted: true, segment: 1, notStarted: ["a"] });
    expect(session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
  });

  it("S2: one for the segment of the pause is for that alone", async () => {
    const { runner, session, handle, ran } = await stopped(await make());
    const resumed = runner.resume(handle);
    expect(await session.interrupt({ segment: 1 })).toMatchObject({ accepted: false, segment: 1 });
    expect(await (await resumed).result).toMatchObject({ status: "completed", text: "on" });
    expect(ran).toEqual([]);
  });

  it("S2, S9: one that comes before is for the pause, for which the handle is not valid any more", async () => {
    const { runner, session, handle, store } = await asking(await make());
    store.always({ before: 2, after: 2 });
    const receipt = session.interrupt();
    const resumed = runner.resume(handle);
    await expect(resumed).rejects.toMatchObject({
      code: expect.stringMatching(/^(TOKEN_SPENT|TOKEN_UNKNOWN|THREAD_BUSY)$/),
    });
    expect(await receipt).toMatchObject({ accepted: true, segment: 1 });
  });

  it("S9: it has a bound: if the store gives no answer for the handle, the requests are withdrawn", async () => {
    const inner = await make();
    const clock = fakeClock();
    let deaf = false;
    const never = new Promise<never>(() => {});
    const { linesSync: _, ...store } = wrapStore(inner, {
      load: (key, after) => {
        if (!deaf) return inner.load(key, after);
        deaf = false;
        return never;
      },
    });
    const { runner, session, handle } = await asking(store, { clock });
    deaf = true;
    void runner.resume(handle);
    const receipt = session.interrupt();
    await settle();
    expect(session.interrupts).toHaveLength(1);
    await clock.advance(1_000);
    expect(await receipt).toMatchObject({ accepted: true, segment: 1 });
  });
});

test("S1: a stop of a running thread sets its signal at once beside a resume that was asked for and has not begun", async () => {
  let signal: AbortSignal | undefined;
  const heeds: Model = {
    id: "heeds",
    async *stream(_, { signal: given }) {
      signal = given;
      yield { type: "text", text: "on" };
      await new Promise((resolve) => given.addEventListener("abort", resolve));
    },
  };
  const { runner, session } = await openKit(heeds);
  const run = session.run("go");
  await listen(run).until(({ type }) => type === "text-delta");
  const resumed = runner.resume("thread");
  const receipt = session.interrupt();
  expect(signal?.aborted).toBe(true);
  await expect(resumed).rejects.toMatchObject({ code: "ALREADY_RUNNING" });
  expect(await receipt).toMatchObject({ accepted: true, segment: 1, partialText: "on" });
});

test("S1, Q3: also if an answer is on its way before both of them", async () => {
  for (let apart = 0; apart < 6; apart++) {
    const world = new World({ turns: [[{ call: "pair", ticks: 1, id: 1 }]], prefill: false, repair: "synthetic" });
    const settleIn = (ticks: number) => world.act({ do: "settle", ticks });
    await settleIn(4);
    await world.act({ do: "go", on: 0, inputs: 1 });
    await settleIn(18);
    await world.act({ do: "slow", on: 0, fault: { before: 2, after: 2 } });
    await world.act({ do: "answer", on: 0, which: 0, how: "no", times: 1 });
    await settleIn(apart);
    await world.act({ do: "resume-handle", on: 0, back: 0, inputs: 0 });
    await world.act({ do: "interrupt", on: 0, options: { force: true }, times: 1 });
    await settleIn(80);
    const { state } = world.facts.findLast((fact) => fact.type === "state")!;
    expect([apart, state, world.open.length]).toEqual([apart, "paused", 0]);
    await world.end();
    expect(world.problems).toEqual([]);
  }
});
