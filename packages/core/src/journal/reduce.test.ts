import { factsOf, heldStore, history, listen, openKit } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { type Fact, memoryStore, type Store } from "../index.ts";
import type { Line } from "./codec.ts";
import { fold } from "./fold.ts";
import { reduce } from "./reduce.ts";
import { newThread } from "./state.ts";

const key = { tenant: "default", threadId: "thread" };
const coded = (code: string) => expect.objectContaining({ code });

function fact(seq: number, more: object): Fact {
  const base = {
    seq,
    at: 1,
    threadId: "thread",
    runId: "r",
    segment: 1,
    attempt: 1,
    agentName: "helper",
    runPath: "helper",
  };
  return { ...base, ...more } as Fact;
}

describe("the fold", () => {
  it("C4: a fact that does not follow the last one is JOURNAL_CORRUPT, and the state stays as it was", () => {
    const state = newThread("thread");
    reduce(state, fact(1, { type: "state", state: "initialized" }));
    for (const seq of [0, 1, 3]) {
      expect(() => reduce(state, fact(seq, { type: "run-start" }))).toThrow(coded("JOURNAL_CORRUPT"));
    }
    expect(state).toMatchObject({ head: 1, state: "initialized", run: undefined });
  });

  it("D1: a state that the lifecycle does not have next is refused and changes nothing", () => {
    const state = newThread("thread");
    for (const next of ["running", "paused", "completed"]) {
      expect(() => reduce(state, fact(1, { type: "state", state: next }))).toThrow(coded("INVALID_STATE_TRANSITION"));
      expect(state).toEqual(newThread("thread"));
    }
  });

  it("F4: folded line by line, in any pieces, or as it happened, a thread is the same", async () => {
    const kit = await openKit([[{ text: "Hel" }, { stall: true }], "lo", [{ throw: new Error("no") }], "ok"]);
    const run = kit.session.run("a");
    await listen(run).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    await kit.session.resume().result;
    await kit.session.run("b").result;
    await kit.session.resume({ input: "c" }).result;
    const { lines } = (await kit.store.load(key))!;
    const whole = newThread("thread");
    fold(whole, lines);
    for (let at = 0; at <= lines.length; at++) {
      const pieces = newThread("thread");
      fold(pieces, lines.slice(0, at));
      fold(pieces, lines.slice(at));
      expect(pieces).toEqual(whole);
    }
    const facts = newThread("thread");
    for (const one of await factsOf(kit.store)) reduce(facts, one);
    expect(facts).toEqual(whole);
    expect(whole.scopes.get("helper")!.messages).toEqual(kit.session.messages);
    expect(history(kit.session.messages)).toEqual([
      "user: a",
      "assistant: Hello",
      "user: b",
      "user: c",
      "assistant: ok",
    ]);
  });

  it("D2: the requests of a pause leave the state with the pause", () => {
    const state = newThread("thread");
    const interrupts = [{ id: "i", kind: "user", address: "helper/t1", raisedAt: 1, by: "me" }];
    reduce(state, fact(1, { type: "state", state: "initialized" }));
    reduce(state, fact(2, { type: "state", state: "running" }));
    reduce(state, fact(3, { type: "state", state: "paused", pauseType: "user_interrupt", interrupts, tokenHash: "h" }));
    expect(state).toMatchObject({ pauseType: "user_interrupt", interrupts, tokenHash: "h" });
    reduce(state, fact(4, { type: "state", state: "running", mode: "continue" }));
    expect(state).toMatchObject({ pauseType: undefined, interrupts: [], tokenHash: undefined });
  });
});

describe("a journal that cannot be read", () => {
  /** A store that returns changed lines. */
  function spoiled(real: Store, spoil: (line: Line, i: number) => Line): Store {
    const { load } = real;
    return {
      ...heldStore(real, {}),
      load: async (...args) => {
        const loaded = await load.apply(real, args);
        return loaded && { ...loaded, lines: loaded.lines.map(spoil) };
      },
    };
  }

  for (const [what, change, code] of [
    ["text that is no JSON", (body: string) => body.slice(1), "JOURNAL_CORRUPT"],
    ["a line cut short", (body: string) => body.slice(0, -3), "JOURNAL_CORRUPT"],
    ["a newer version", (body: string) => body.replace(/"v":\d+/, '"v":99'), "JOURNAL_VERSION"],
    ["no version", (body: string) => body.replace(/"v":\d+,/, ""), "JOURNAL_CORRUPT"],
    ["a fact too few", (body: string) => body.replace(/"e":\[.*\]/, '"e":[]'), "JOURNAL_CORRUPT"],
  ] as const) {
    it(`C4: ${what}: open says ${code}, where, and nothing is overwritten`, async () => {
      const store = memoryStore();
      const kit = await openKit(["ok", "more"], { store });
      await kit.session.run("a").result;
      const before = await store.load(key);
      const bad = spoiled(store, (line, i) => (i === 1 ? { ...line, body: change(line.body) } : line));
      for (let i = 0; i < 2; i++) {
        await expect(openKit([], { store: bad })).rejects.toMatchObject({
          code,
          message: expect.stringMatching(/thread.* 5/),
        });
      }
      expect(await store.load(key)).toEqual(before);
      const other = await openKit([], { store: bad, threadId: "other" });
      await expect(listen(other.runner.events("thread")).all).rejects.toMatchObject({ code });
      expect(other.session.state).toBe("created");
    });
  }
});
