import { factsOf, heldStore, history, type Kit, listen, openKit, said, settle } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { isFact } from "../../event.ts";
import { jsonSchema, memoryStore, type Store, tool } from "../../index.ts";
import { type FakeClock, fakeClock } from "../../testing/index.ts";

const key = { tenant: "default", threadId: "thread" };
const ttl = 30_000;
const down = new Error("the disk is gone");

type Failing = { readonly append: number; readonly when: "before" | "after"; readonly times: number };

/** A store that fails appends from the given one on, for so many calls, before or after they are written. */
function failing(clock: FakeClock, { append: from, when, times }: Failing) {
  const real = memoryStore({ clock });
  const seen: string[] = [];
  let left = times;
  const store: Store = {
    ...heldStore(real, {}),
    async append(at, append) {
      if (!seen.includes(append.appendId)) seen.push(append.appendId);
      const fails = seen.length >= from && left > 0;
      if (fails) left -= 1;
      if (fails && when === "before") throw down;
      const appended = await real.append(at, append);
      if (fails) throw down;
      return appended;
    },
  };
  return { real, store, appends: () => seen.length, repair: () => (left = 0) };
}

function payTool() {
  let paid = 0;
  const execute = () => {
    paid += 1;
    return "paid";
  };
  const pay = tool({ name: "pay", description: "", input: jsonSchema({ type: "object" }), onCrash: "fail", execute });
  return { pay, paid: () => paid };
}

const script = (request: { messages: readonly { role: string }[] }) =>
  request.messages.some((message) => message.role === "tool") ? "done" : [{ call: "pay", id: "p" }];

/** Waits for the retries of an append, without letting a lease end. */
async function run(kit: Kit, clock: FakeClock, go = () => kit.session.run("go")) {
  const { result } = go();
  for (let i = 0; i < 8; i++) await clock.advance(150);
  return result;
}

describe("a store that fails", () => {
  for (const when of ["before", "after"] as const) {
    for (const append of [1, 2, 3, 4]) {
      it(`F6: once, ${when} append ${append} is written: it is tried again, nothing is lost or doubled`, async () => {
        const clock = fakeClock();
        const { store, real } = failing(clock, { append, when, times: 1 });
        const { pay, paid } = payTool();
        const kit = await openKit(script, { store, clock, tools: [pay] });
        expect(await run(kit, clock)).toMatchObject({ status: "completed", text: "done" });
        expect(paid()).toBe(1);
        const facts = await factsOf(real);
        expect(said(facts)).toEqual([
          "state initialized",
          "run-start",
          "state running",
          "message user: go",
          "message assistant: call p",
          "tool-start p",
          "tool-end p ok",
          "message assistant: done",
          "run-end completed",
          "state completed",
        ]);
      });

      it(`F6: for good, ${when} append ${append} is written: STORE_FAILED, nothing more, and later resume() continues`, async () => {
        const clock = fakeClock();
        const { store, real, repair, appends } = failing(clock, { append, when, times: Number.POSITIVE_INFINITY });
        const { pay, paid } = payTool();
        const kit = await openKit(script, { store, clock, tools: [pay] });
        const heard = listen(kit.session.events());
        expect(await run(kit, clock)).toMatchObject({
          status: "failed",
          error: { code: "STORE_FAILED", cause: down, message: expect.stringContaining("the disk is gone") },
        });
        expect(appends()).toBe(append);
        const written = await factsOf(real);
        await settle();
        expect(appends()).toBe(append);
        expect(heard.events.filter(isFact)).toEqual(written.slice(0, heard.events.filter(isFact).length));

        repair();
        await clock.advance(ttl);
        const other = await openKit(script, { store: real, clock, tools: [pay] });
        const { state, pauseType } = other.session;
        if (append === 1 && when === "before") expect(state).toBe("created");
        else if (append === 4 && when === "after") expect(state).toBe("completed");
        else expect([state, pauseType]).toEqual(["paused", "crash"]);
        if (state === "created") await other.session.run("go").result;
        if (state === "paused") await other.session.resume().result;
        expect(other.session.state).toBe("completed");
        expect(paid()).toBeLessThanOrEqual(1);
        expect(other.problems()).toEqual([]);
      });

      it(`F6: for good, ${when} append ${append}: the same session continues too, once the store is back`, async () => {
        const clock = fakeClock();
        const { store, repair } = failing(clock, { append, when, times: Number.POSITIVE_INFINITY });
        const { pay, paid } = payTool();
        const kit = await openKit(script, { store, clock, tools: [pay] });
        await run(kit, clock);
        history(kit.session.messages);
        repair();
        await clock.advance(ttl);
        for (let tries = 0; tries < 3 && kit.session.state !== "completed"; tries++) {
          await run(kit, clock, () => (kit.session.state === "created" ? kit.session.run("go") : kit.session.resume()));
        }
        expect(kit.session.state).toBe("completed");
        expect(history(kit.session.messages).at(-1)).toBe("assistant: done");
        expect(history(kit.session.messages)).toHaveLength(4);
        expect(paid()).toBeLessThanOrEqual(1);
        expect(kit.problems()).toEqual([]);
      });
    }
  }

  for (const also of ["", ", also where its lease could not be given back"]) {
    it(`F6: after a failure of its store a session reads paused by a crash, and continues when the store works again${also}`, async () => {
      const clock = fakeClock();
      const { store, repair } = failing(clock, { append: 2, when: "before", times: Number.POSITIVE_INFINITY });
      let whole = also === "";
      const given: number[] = [];
      const release: Store["release"] = async (at, fence) => {
        given.push(fence);
        if (!whole) throw down;
        return store.release(at, fence);
      };
      const kit = await openKit(script, { store: { ...store, release }, clock, tools: [payTool().pay] });
      await run(kit, clock);
      expect(kit.session).toMatchObject({ state: "paused", pauseType: "crash" });
      expect(history(kit.session.messages)).toEqual(["user: go"]);
      expect(given).toHaveLength(1);
      expect((await store.load(key))?.row.lease === undefined).toBe(whole);
      repair();
      whole = true;
      expect(await run(kit, clock, () => kit.session.resume())).toMatchObject({ status: "completed" });
      expect(kit.problems()).toEqual([]);
    });
  }

  it("F6: another runner continues with it, too, without waiting for the end of a lease", async () => {
    const clock = fakeClock();
    const { real, store } = failing(clock, { append: 2, when: "before", times: Number.POSITIVE_INFINITY });
    const { pay, paid } = payTool();
    await run(await openKit(script, { store, clock, tools: [pay] }), clock);
    const other = await openKit(script, { store: real, clock, tools: [pay] });
    expect(await run(other, clock, () => other.session.resume())).toMatchObject({ status: "completed" });
    expect(paid()).toBe(1);
  });

  it("F6: a store that cannot be read makes open, run and readers fail with STORE_FAILED, not with its own words", async () => {
    const clock = fakeClock();
    const real = memoryStore({ clock });
    const first = await openKit(["one"], { store: real, clock });
    await first.session.run("a").result;
    let broken = false;
    const store: Store = {
      ...heldStore(real, {}),
      load: (...args) => (broken ? Promise.reject(down) : real.load(...args)),
    };
    const kit = await openKit(["two"], { store, clock });
    broken = true;
    await expect(kit.runner.open("other")).rejects.toMatchObject({ code: "STORE_FAILED" });
    const reader = kit.session.events()[Symbol.asyncIterator]();
    await expect(reader.next()).rejects.toMatchObject({ code: "STORE_FAILED" });
    broken = false;
    expect((await reader.next()).value).toMatchObject({ type: "state", seq: 1 });
  });
});

describe("facts first", () => {
  it("F1: every fact a reader sees is in the store when it sees it", async () => {
    const inner = memoryStore();
    const store = heldStore(inner, { before: () => settle(1), after: () => settle(1) });
    const { pay } = payTool();
    const kit = await openKit(script, { store, tools: [pay] });
    const checked: number[] = [];
    const watch = async (events: AsyncIterable<{ seq: number }>) => {
      for await (const event of events) {
        const stored = (inner.linesSync?.(key) ?? []).reduce((count, line) => count + line.count, 0);
        expect(event.seq).toBeLessThanOrEqual(stored);
        checked.push(event.seq);
      }
    };
    const ran = kit.session.run("go");
    await Promise.all([watch(ran), watch(ran)]);
    expect(checked.filter((seq) => seq === 10)).toHaveLength(2);
    expect(kit.session.state).toBe("completed");
  });

  it("F1: session.state may run ahead of the journal by one append, events never do", async () => {
    const inner = memoryStore();
    const store = heldStore(inner, { before: () => settle(3) });
    const kit = await openKit(["one"], { store });
    const heard = listen(kit.session.events());
    const { result } = kit.session.run("go");
    expect(kit.session.state).toBe("running");
    await settle(1);
    expect(heard.events).toEqual([]);
    expect(await inner.load(key)).toBeUndefined();
    await result;
    expect(kit.session.state).toBe("completed");
  });

  it("F2: one step is one append, and an append holds only new facts", async () => {
    const store = heldStore(memoryStore(), {});
    const { pay } = payTool();
    const kit = await openKit(script, { store, tools: [pay] });
    await kit.session.run("go").result;
    expect(store.appends.map((append) => append.count)).toEqual([4, 2, 1, 3]);
    const journal = store.appends.map((append) => append.body).join("");
    for (const once of ["go", "done", "paid"]) expect(journal.split(`"${once}"`)).toHaveLength(2);
  });
});
