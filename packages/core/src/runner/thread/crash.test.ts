import {
  factsOf,
  gate,
  heldStore,
  history,
  type Kit,
  listen,
  openKit,
  said,
  settle,
  threadOf,
  unpaired,
  until,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { type BelayEvent, jsonSchema, memoryStore, type Store, type Tool, tool } from "../../index.ts";
import type { Append } from "../../store/store.ts";
import { type FakeClock, fakeClock } from "../../testing/index.ts";

const ttl = 30_000;
const never = new Promise<never>(() => {});

/** A store as one process sees it, which can be frozen: from then on nothing answers, until it thaws. */
function mortal(store: Store, freezeAt?: { readonly append: number; readonly when: "before" | "after" }) {
  let ice: Promise<void> | undefined;
  let thaw = () => {};
  let appends = 0;
  const freeze = () => {
    ice ??= new Promise((resolve) => (thaw = resolve));
  };
  const held = heldStore(store, {});
  const after = async <T>(work: () => Promise<T>): Promise<T> => {
    if (ice !== undefined) await ice;
    return work();
  };
  const alive: Store = {
    ...held,
    load: (...args) => after(() => store.load(...args)),
    renew: (...args) => after(() => store.renew(...args)),
    release: (...args) => after(() => store.release(...args)),
    async append(at, append: Append) {
      appends += 1;
      if (appends === freezeAt?.append && freezeAt.when === "before") freeze();
      if (ice !== undefined) await ice;
      const appended = await store.append(at, append);
      if (appends === freezeAt?.append && freezeAt.when === "after") freeze();
      if (ice !== undefined) await ice;
      return appended;
    },
  };
  return { store: alive, freeze, thaw: () => thaw(), frozen: () => ice !== undefined };
}

function world() {
  const clock = fakeClock();
  return { clock, store: memoryStore({ clock }) };
}

const anything = jsonSchema({ type: "object" });

/** Tools that never end in the first process. */
function deadly(ran: string[], started: () => void, block: boolean): Tool<unknown>[] {
  const make = (name: string, more: object) =>
    tool({
      ...(!("readOnly" in more) && { onCrash: "fail" as const }),
      name,
      description: "",
      input: anything,
      ...more,
      execute: (_args, ctx) => {
        ran.push(`${name} ${ctx.idempotencyKey.split(":").at(-1)}`);
        if (name === "alone") return "alone";
        started();
        return block ? never : `${name} done`;
      },
    });
  return [
    make("pay", {}),
    make("look", { readOnly: true }),
    make("again", { onCrash: "retry" }),
    make("alone", { serial: true }),
  ];
}

const turn = [
  { call: "pay", id: "p" },
  { call: "look", id: "l" },
  { call: "again", id: "a" },
  { call: "alone", id: "s" },
] as const;

async function dieInTools(clock: FakeClock, store: Store, ran: string[]) {
  const started = gate();
  let count = 0;
  const tools = deadly(ran, () => ++count === 3 && started.open(), true);
  const process = mortal(store);
  const kit = await openKit([turn], { store: process.store, clock, tools });
  const run = kit.session.run("go");
  await started.opened;
  process.freeze();
  return { kit, run, process };
}

describe("a process that died", () => {
  it("C3: its thread reads running until its lease ends, then paused by a crash", async () => {
    const { clock, store } = world();
    await dieInTools(clock, store, []);
    await clock.advance(ttl - 1);
    const early = await openKit([], { store, clock });
    expect(early.session).toMatchObject({ state: "running", pauseType: undefined });
    await clock.advance(1);
    const { session } = await openKit([], { store, clock });
    expect(session).toMatchObject({ state: "paused", pauseType: "crash", interrupts: [] });
    expect(() => session.resumeWithInput("x")).toThrow(expect.objectContaining({ code: "INVALID_PAUSE_TYPE" }));
  });

  it("C1, X2: a started call is unknown, or run again if its tool allows it; a held one runs; the model gets the truth", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    await dieInTools(clock, store, ran);
    expect(ran).toEqual(["pay helper/t1/c0", "look helper/t1/c1", "again helper/t1/c2"]);
    await clock.advance(ttl);
    const second: string[] = [];
    const kit = await openKit(["ok"], { store, clock, tools: deadly(second, () => {}, false) });
    const heard = listen(kit.session.resume());
    expect(said(await heard.all)).toEqual([
      "state running continue",
      "turn-start 1",
      "tool-end p unknown",
      "tool-end l held",
      "tool-end a held",
      "tool-start l",
      "tool-start a",
      "tool-end l ok",
      "tool-end a ok",
      "tool-start s",
      "tool-end s ok",
      "turn-end 1",
      "turn-start 2",
      "text ok",
      "message assistant: ok",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(second).toEqual(["look helper/t1/c1", "again helper/t1/c2", "alone helper/t1/c3"]);
    expect(history(kit.session.messages).slice(1)).toEqual([
      "assistant: call p + call l + call a + call s",
      "tool: p unknown + l ok + a ok + s ok",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("R1: with input calls cut by the crash are unknown, held ones not executed, nothing runs", async () => {
    const { clock, store } = world();
    await dieInTools(clock, store, []);
    await clock.advance(ttl);
    const second: string[] = [];
    const kit = await openKit(["ok"], {
      store,
      clock,
      tools: deadly(second, () => {}, false),
      agent: { repair: "drop" },
    });
    const { runId } = kit.session;
    const run = kit.session.run("stop that");
    expect(run).toMatchObject({ runId, segment: 2 });
    await run.result;
    expect(second).toEqual([]);
    expect(history(kit.session.messages).slice(2)).toEqual([
      "tool: p unknown + l unknown + a unknown + s not-executed",
      "user: stop that",
      "assistant: ok",
    ]);
    expect(unpaired(await factsOf(store))).toEqual([]);
    expect(kit.problems()).toEqual([]);
  });

  it("F1: a model call it cut leaves no text; it is made again with the next attempt, and readers get superseded", async () => {
    const { clock, store } = world();
    const process = mortal(store);
    const first = await openKit([[{ text: "Hel" }, { stall: true }]], { store: process.store, clock });
    const shownFirst = listen(first.session.run("hello"));
    await shownFirst.until((event) => event.type === "text-delta");
    process.freeze();
    await clock.advance(ttl);
    const kit = await openKit(["Bonjour"], { store, clock });
    expect(history(kit.session.messages)).toEqual(["user: hello"]);
    const heard = listen(kit.session.resume());
    const events = await heard.all;
    expect(said(events)).toEqual([
      "state running continue",
      "turn-start 1",
      "superseded, attempt 2",
      "text Bonjour",
      "message assistant: Bonjour",
      "turn-end 1",
      "run-end completed",
      "state completed",
    ]);
    const of = (all: readonly BelayEvent[]) => all.find((event) => event.type === "text-delta");
    expect(of(events)).toMatchObject({
      attempt: 2,
      messageId: (of(shownFirst.events) as { messageId: string }).messageId,
    });
    expect(kit.requests[0]!.messages).toEqual(first.requests[0]!.messages);
  });

  it("F1: a second crash in the same call makes the third attempt", async () => {
    const { clock, store } = world();
    for (const attempt of [1, 2]) {
      const process = mortal(store);
      const kit = await openKit([[{ text: "Hel" }, { stall: true }]], { store: process.store, clock });
      const heard = listen(attempt === 1 ? kit.session.run("hello") : kit.session.resume());
      expect(await heard.until((event) => event.type === "text-delta")).toMatchObject({ attempt });
      process.freeze();
      await clock.advance(ttl);
    }
    const kit = await openKit(["ok"], { store, clock });
    const heard = listen(kit.session.resume());
    await heard.all;
    expect(said(heard.events)).toContain("superseded, attempt 3");
    expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: ok"]);
  });
});

describe("a process that was taken for dead", () => {
  it("F3: its next append is fenced, its run fails with FENCED, and nothing of it is in the journal", async () => {
    const { clock, store } = world();
    const process = mortal(store);
    const answer = gate();
    const late = {
      id: "late",
      async *stream() {
        yield { type: "text" as const, text: "from the dead" };
        await answer.opened;
      },
    };
    const zombie = await openKit(late, { store: process.store, clock });
    const follower = listen(zombie.session.events());
    const run = zombie.session.run("hello");
    await follower.until((event) => event.type === "text-delta");
    process.freeze();
    await clock.advance(ttl);
    const kit = await openKit(["alive"], { store, clock });
    await kit.session.resume().result;
    const journal = await factsOf(store);
    answer.open();
    await settle();
    process.thaw();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(await factsOf(store)).toEqual(journal);
    await threadOf(zombie.session).refresh();
    expect(zombie.session.state).toBe("completed");
    expect(history(zombie.session.messages)).toEqual(["user: hello", "assistant: alive"]);
    await follower.until((event) => event.type === "state" && event.state === "completed");
    expect(follower.events.filter((event) => event.type === "message").map((event) => event.seq)).toEqual([4, 7]);
  });

  it("F3: a process that stood still between an append and its answer starts no call of that append", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: jsonSchema({ type: "object" }),
      onCrash: "fail",
      execute: () => void ran.push("paid"),
    });
    // The second append is the message with the intent of its call.
    const process = mortal(store, { append: 2, when: "after" });
    const zombie = await openKit([[{ call: "pay" }], "done"], { store: process.store, clock, tools: [pay] });
    const run = zombie.session.run("hello");
    await settle();
    await clock.advance(ttl);
    const kit = await openKit(["alive"], { store, clock, tools: [pay] });
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
    process.thaw();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(ran).toEqual([]);
  });

  it("F3: it learns of it also by its lease, aborts its tools and writes nothing", async () => {
    const { clock, store } = world();
    const ran: string[] = [];
    const { run, process } = await dieInTools(clock, store, ran);
    await clock.advance(ttl);
    const kit = await openKit(["ok"], { store, clock, tools: deadly([], () => {}, false) });
    await kit.session.resume().result;
    const { length } = await factsOf(store);
    process.thaw();
    await clock.advance(ttl);
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "FENCED" } });
    expect(await factsOf(store)).toHaveLength(length);
  });
});

/** Death at each append of a run with two tool turns, before and after it is written. */
describe("death at every append", () => {
  const script = (request: { messages: readonly { role: string }[] }) => {
    const done = request.messages.filter((message) => message.role === "tool").length;
    if (done === 0)
      return [
        { call: "pay", id: "p1" },
        { call: "look", id: "l1" },
      ];
    return done === 1 ? [{ call: "pay", id: "p2" }] : "paid";
  };

  for (const when of ["before", "after"] as const) {
    for (let append = 1; append <= 7; append++) {
      it(`C2, X2: ${when} append ${append}: nothing finished runs again, nothing is lost or doubled`, async () => {
        const { clock, store } = world();
        const ran: string[] = [];
        const process = mortal(store, { append, when });
        const first = await openKit(script, { store: process.store, clock, tools: deadly(ran, () => {}, false) });
        first.session.run("go");
        await settle(20);
        const kit: Kit = await openKit(script, { store, clock, tools: deadly(ran, () => {}, false) });
        if (kit.session.state === "running") {
          await clock.advance(ttl);
          await until(() => kit.session.state === "paused");
        }
        const { state } = kit.session;
        if (state === "created") await kit.session.run("go").result;
        else if (state === "paused") expect((await kit.session.resume().result).status).toBe("completed");
        expect(kit.session.state).toBe("completed");
        for (const pay of ["pay helper/t1/c0", "pay helper/t2/c0"]) {
          expect(ran.filter((one) => one === pay).length).toBeLessThanOrEqual(1);
        }
        expect(history(kit.session.messages).map((line) => line.replace(/unknown|ok/g, "ended"))).toEqual([
          "user: go",
          "assistant: call p1 + call l1",
          "tool: p1 ended + l1 ended",
          "assistant: call p2",
          "tool: p2 ended",
          "assistant: paid",
        ]);
        expect(kit.problems()).toEqual([]);
        const facts = await factsOf(store);
        expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, i) => i + 1));
      });
    }
  }
});
