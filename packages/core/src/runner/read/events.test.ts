import { gate, heldStore, type Kit, listen, openKit, said, settle, shown, unpaired, wrapStore } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { type DeltaEvent, isFact } from "../../event.ts";
import { type BelayEvent, jsonSchema, memoryStore, type Store, tool } from "../../index.ts";

const add = tool({
  name: "add",
  description: "",
  input: jsonSchema<{ a: number; b: number }>({ type: "object" }),
  execute: ({ a, b }) => a + b,
});

const addTurn = [{ text: ["Let me ", "add."] }, { call: "add", id: "x", args: { a: 1, b: 2 } }] as const;

async function all(source: AsyncIterable<BelayEvent>): Promise<BelayEvent[]> {
  const events: BelayEvent[] = [];
  for await (const event of source) events.push(event);
  return events;
}

/** Everything there is now, from `after` on. */
async function now(kit: Kit, after = 0): Promise<BelayEvent[]> {
  const abort = new AbortController();
  const heard = listen(kit.session.events({ after, signal: abort.signal }));
  await settle();
  abort.abort();
  return [...(await heard.all)];
}

const whole = [
  "state initialized",
  "run-start",
  "state running",
  "message user: add",
  "turn-start 1",
  "text Let me add.",
  "message assistant: Let me add. + call x",
  "tool-start x",
  "tool-end x ok",
  "turn-end 1",
  "turn-start 2",
  "text 3",
  "message assistant: 3",
  "turn-end 2",
  "run-end completed",
  "state completed",
];

describe("a run", () => {
  it("E1: says everything once, in order, to each of its readers, and then ends", async () => {
    const kit = await openKit([addTurn, "3"], { tools: [add] });
    const run = kit.session.run("add");
    const readers = await Promise.all([all(run), all(run), all(run)]);
    for (const events of readers) {
      expect(said(merged(events))).toEqual(whole);
      expect(unpaired(events)).toEqual([]);
    }
  });

  it("E1: is iterable while it runs and after it: its facts from the first, deltas from now on", async () => {
    const go = gate();
    const slow = tool({
      name: "add",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: () => go.opened,
    });
    const kit = await openKit([addTurn, "3"], { tools: [slow] });
    const run = kit.session.run("add");
    const early = listen(run);
    await early.until((event) => event.type === "tool-start");
    const late = listen(run);
    await settle();
    expect(said(late.events)).toEqual(said(early.events.filter(isFact)));
    go.open();
    const facts = (await early.all).filter(isFact);
    expect((await late.all).filter(isFact)).toEqual(facts);
    expect(said(await late.all)).toContain("text 3");
    expect(await all(run)).toEqual(facts);
    expect(await all(run)).toEqual(facts);
  });

  it("E1: has nothing of the runs after it, whenever it is read", async () => {
    const kit = await openKit(["one", "two", [{ text: "th" }, { stall: true }], "ree"]);
    const first = kit.session.run("a");
    const slow = first[Symbol.asyncIterator]();
    await slow.next();
    await first.result;
    const second = kit.session.run("b");
    await second.result;
    const third = kit.session.run("c");
    await listen(third).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    const fourth = kit.session.resume();
    await fourth.result;
    const rest: BelayEvent[] = [];
    for (let step = await slow.next(); !step.done; step = await slow.next()) rest.push(step.value);
    expect(rest.filter(isFact).map((event) => event.seq)).toEqual([2, 3, 4, 5, 6, 7]);
    for (const run of [first, second, third, fourth]) {
      const facts = await all(run);
      expect(new Set(facts.map((event) => `${event.runId} ${event.segment}`))).toEqual(
        new Set([`${run.runId} ${run.segment}`]),
      );
    }
    const everything = await now(kit);
    expect((await Promise.all([first, second, third, fourth].map(all))).flat()).toEqual(everything);
  });

  it("E1: a reader that leaves does not stop it, nor the other readers", async () => {
    const kit = await openKit([addTurn, "3"], { tools: [add] });
    const run = kit.session.run("add");
    const other = listen(run);
    for await (const event of run) if (event.type === "text-delta") break;
    expect((await run.result).status).toBe("completed");
    expect(said(merged(await other.all))).toEqual(whole);
  });

  it("E1: next() called again before it has answered loses nothing", async () => {
    const kit = await openKit(["hi"]);
    const reader = kit.session.events()[Symbol.asyncIterator]();
    const pulls = Array.from({ length: 6 }, () => reader.next());
    await kit.session.run("a").result;
    const got = await Promise.all(pulls);
    expect(new Set(got.map((step) => step.value)).size).toBe(6);
  });

  it("E2: the result comes when the last fact is on record, and never rejects", async () => {
    const kit = await openKit([[{ throw: new Error("no") }]]);
    const run = kit.session.run("a");
    const result = await run.result;
    expect(result).toMatchObject({ status: "failed", runId: run.runId, segment: 1, usage: { inputTokens: 0 } });
    expect(kit.session.state).toBe("error");
    expect(said(await all(run)).at(-2)).toBe("run-end failed MODEL_FAILED");
  });
});

describe("session.events", () => {
  it("E1: gives the facts after any cursor, and each has the next seq and the same base", async () => {
    const kit = await openKit([addTurn, "3"], { tools: [add] });
    const { runId } = await kit.session.run("add").result;
    const facts = await now(kit);
    expect(said(facts)).toEqual(whole.filter((line) => !/^(turn|text)/.test(line)));
    expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, i) => i + 1));
    for (const fact of facts) {
      expect(fact).toMatchObject({
        threadId: "thread",
        runId,
        segment: 1,
        attempt: 1,
        agentName: "helper",
        runPath: "helper",
      });
    }
    for (let after = 0; after <= facts.length; after++) expect(await now(kit, after)).toEqual(facts.slice(after));
  });

  it("E1: a tool-start has its arguments, also when the cursor lies between the message and it", async () => {
    const kit = await openKit([addTurn, "3"], { tools: [add] });
    await kit.session.run("add").result;
    const at = (await now(kit)).findIndex((event) => event.type === "tool-start");
    const [start] = await now(kit, at);
    expect(start).toMatchObject({
      type: "tool-start",
      callId: "x",
      tool: "add",
      args: { a: 1, b: 2 },
      address: "helper/t1/c0",
    });
  });

  it("E1: follows live over several runs, pauses and segments, until its signal ends it", async () => {
    const kit = await openKit(["one", [{ text: "tw" }, { stall: true }], "o"]);
    const abort = new AbortController();
    const heard = listen(kit.session.events({ signal: abort.signal }));
    await kit.session.run("a").result;
    const run = kit.session.run("b");
    await heard.until((event) => event.type === "text-delta" && event.text === "tw");
    await kit.session.interrupt();
    await kit.session.resume().result;
    await settle();
    abort.abort();
    const events = await heard.all;
    expect(shown(events)).toBe("onetwo");
    expect(unpaired(events)).toEqual([]);
    const facts = events.filter(isFact);
    expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, i) => i + 1));
    expect(facts.filter((fact) => fact.runId === run.runId).map((fact) => fact.segment)).toContain(2);
    for (const [i, event] of events.entries()) {
      if (!isFact(event)) expect(event.seq).toBe(events.slice(0, i).filter(isFact).at(-1)?.seq);
    }
  });

  it("E1: a signal that has fired already ends it at once", async () => {
    const kit = await openKit(["one"]);
    await kit.session.run("a").result;
    expect(await all(kit.session.events({ signal: AbortSignal.abort() }))).toEqual([]);
  });

  it("E1: a signal that fires while it reads the store ends it, also if the store is closed in the meantime", async () => {
    const reading = gate();
    const closed = gate();
    const store = memoryStore();
    let isHeld = false;
    const load: Store["load"] = async (key, after) => {
      if (!isHeld) return store.load(key, after);
      reading.open();
      await closed.opened;
      throw new Error("closed");
    };
    const { linesSync: _sync, ...held } = wrapStore(store, { load });
    const kit = await openKit(["one"], { store: held });
    await kit.session.run("go").result;
    isHeld = true;
    const abort = new AbortController();
    const events = all(kit.session.events({ after: 0, signal: abort.signal }));
    await reading.opened;
    abort.abort();
    closed.open();
    expect(await events).toEqual([]);
  });

  it("OPTION_INVALID: a cursor that is no seq is refused", async () => {
    const kit = await openKit([]);
    for (const after of [-1, 1.5, Number.NaN, "3" as never]) {
      expect(() => kit.session.events({ after })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
      expect(() => kit.runner.events("other", { after })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    }
  });
});

describe("runner.events", () => {
  it("E1: another runner over the same store gets every fact, live, and from before the thread exists", async () => {
    const store = memoryStore();
    const other = await openKit([], { store, threadId: "unrelated" });
    const abort = new AbortController();
    const heard = listen(other.runner.events("thread", { signal: abort.signal }));
    await settle();
    const kit = await openKit([addTurn, "3"], { store, tools: [add] });
    await kit.session.run("add").result;
    await heard.until((event) => event.type === "state" && event.state === "completed");
    const late = listen(other.runner.events("thread", { after: 4, signal: abort.signal }));
    await settle();
    abort.abort();
    expect((await heard.all).filter(isFact)).toEqual(await now(kit));
    expect((await late.all).filter(isFact)).toEqual((await now(kit)).slice(4));
  });

  it("E1: a reader that disconnects elsewhere does not stop the run", async () => {
    const store = memoryStore();
    const other = await openKit([], { store, threadId: "unrelated" });
    const kit = await openKit([addTurn, "3"], { store, tools: [add] });
    const run = kit.session.run("add");
    for await (const event of other.runner.events("thread")) if (event.type === "message") break;
    expect((await run.result).status).toBe("completed");
  });

  it("E1: runner.events() streams text across open, close and reopen", async () => {
    const kit = await openKit(["one", "two"], { threadId: "unrelated" });
    const heard = listen(kit.runner.events("thread"));
    await settle();
    for (const input of ["a", "b"]) {
      const session = await kit.runner.open("thread");
      await session.run(input).result;
      await session.close();
    }
    await kit.runner.close();
    expect(shown(await heard.all)).toBe("onetwo");
  });
});

describe("closing", () => {
  it("E1: close() ends the readers of a session after its events; readers of the thread continue", async () => {
    const kit = await openKit(["one", "two"]);
    const before = listen(kit.session.events());
    const thread = listen(kit.runner.events("thread"));
    await kit.session.run("a").result;
    await kit.session.close();
    expect(said(await before.all).at(-1)).toBe("state completed");
    expect(said(await all(kit.session.events())).at(-1)).toBe("state completed");
    await (await kit.runner.open("thread")).run("b").result;
    await kit.runner.close();
    expect(shown(await thread.all)).toBe("onetwo");
  });

  it("E1: of a runner ends all readers, also of a thread that has not begun", async () => {
    const kit = await openKit([[{ text: "o" }, { stall: true }]]);
    const readers = [kit.session.events(), kit.runner.events("thread"), kit.runner.events("none")].map(listen);
    const run = kit.session.run("a");
    await readers[0]!.until((event) => event.type === "text-delta");
    await kit.runner.close();
    await run.result;
    const [session, thread, none] = await Promise.all(readers.map((reader) => reader.all));
    expect(shown(session!)).toBe("o");
    expect(shown(thread!)).toBe("o");
    expect(none).toEqual([]);
  });

  it("E1: a reader that is not read lets go of the store", async () => {
    const store = memoryStore();
    const watch = store.watch.bind(store);
    let watching = 0;
    store.watch = (...given) => {
      const stop = watch(...given);
      watching += 1;
      return () => {
        watching -= 1;
        stop();
      };
    };
    const kit = await openKit(["one"], { store });
    kit.session.events();
    kit.runner.events("other");
    expect(watching).toBe(2);
    await kit.runner.close();
    expect(watching).toBe(0);
  });
});

describe("a slow reader", () => {
  const words = (n: number) => Array.from({ length: n }, (_, i) => `${i} `);

  it("E3: deltas that are not read yet are one delta, at its offset", async () => {
    const kit = await openKit([[{ text: words(5000) }]]);
    const run = kit.session.run("count");
    const reader = run[Symbol.asyncIterator]();
    await run.result;
    const events: BelayEvent[] = [];
    for (let step = await reader.next(); !step.done; step = await reader.next()) events.push(step.value);
    const deltas = events.filter((event): event is DeltaEvent => event.type === "text-delta");
    expect(deltas).toHaveLength(1);
    expect(deltas[0]).toMatchObject({ offset: 0, text: words(5000).join("") });
  });

  it("E3: a quick reader gets all deltas with their offsets, thousands of them", async () => {
    const kit = await openKit([[{ text: words(5000) }]]);
    const events = await all(kit.session.run("count"));
    let text = "";
    for (const event of events) {
      if (event.type !== "text-delta") continue;
      expect(event.offset).toBe(text.length);
      text += event.text;
    }
    expect(text).toBe(words(5000).join(""));
  });

  it("E3: one that falls behind gets gap, then every fact, and the run does not wait for it", async () => {
    // Text and reasoning in turns do not merge.
    const mixed = words(3000).flatMap((text) => [{ text }, { reasoning: text }]);
    const kit = await openKit([mixed, "after"]);
    const run = kit.session.run("count");
    const slow = run[Symbol.asyncIterator]();
    expect((await slow.next()).value).toMatchObject({ seq: 1 });
    expect((await run.result).status).toBe("completed");
    const rest: BelayEvent[] = [];
    for (let step = await slow.next(); !step.done; step = await slow.next()) rest.push(step.value);
    expect(rest[0]).toMatchObject({ type: "gap", seq: 1 });
    expect(rest.filter(isFact).map((event) => event.seq)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(rest.length).toBeLessThan(1100);
  });

  it("E3: a store that is slow to read keeps a reader late, not wrong", async () => {
    const real = memoryStore();
    const held = heldStore(real, {});
    const store = {
      ...held,
      load: async (...args: Parameters<typeof real.load>) => settle(2).then(() => real.load(...args)),
    };
    const kit = await openKit([addTurn, "3"], { store, tools: [add] });
    const heard = listen(kit.session.events());
    await kit.session.run("add").result;
    await heard.until((event) => event.type === "state" && event.state === "completed");
    const facts = heard.events.filter(isFact);
    expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, i) => i + 1));
  });
});

/** Joins deltas as if they had been unread. */
function merged(events: readonly BelayEvent[]): BelayEvent[] {
  const out: BelayEvent[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (event.type === "text-delta" && last?.type === "text-delta")
      out[out.length - 1] = { ...last, text: last.text + event.text };
    else out.push(event);
  }
  return out;
}
