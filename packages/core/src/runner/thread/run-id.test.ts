import {
  eachStore,
  factsOf,
  faultyStore,
  gate,
  history,
  listen,
  openKit,
  said,
  threadOf,
  toolOf,
  until,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { approve, jsonSchema } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };

describe.each(eachStore)("run(input, { id }) on $name", ({ make }) => {
  it("while it runs, asking again gives the same run", async () => {
    const held = gate();
    const kit = await openKit([() => held.opened.then(() => "done")], { store: await make() });
    const run = kit.session.run("go", { id: "r1" });
    expect(kit.session.run("go", { id: "r1" })).toBe(run);
    expect(() => kit.session.run("go", { id: "r2" })).toThrow(expect.objectContaining({ code: "ALREADY_RUNNING" }));
    held.open();
    expect(await run.result).toMatchObject({ status: "completed", text: "done" });
    expect(kit.requests).toHaveLength(1);
  });

  it("after it has ended, asking again gives its facts and its result, also in a new process and after other runs", async () => {
    const store = await make();
    const kit = await openKit(["one", "two"], { store });
    const first = kit.session.run("go", { id: "r1" });
    const heard = listen(first);
    const result = await first.result;
    await heard.all;
    await kit.session.run("other", { id: "r2" }).result;
    await kit.runner.close();
    const other = await openKit([], { store });
    const again = other.session.run("go", { id: "r1" });
    expect(again.runId).toBe(first.runId);
    expect(await again.result).toEqual(result);
    const facts = said((await factsOf(store)).filter((fact) => fact.runId === first.runId));
    expect(said(await listen(again).all)).toEqual(facts);
    expect(other.requests).toHaveLength(0);
    expect(history(other.session.messages)).toHaveLength(4);
  });

  it("after it has ended, a reader that begins in the tick of the call gets its facts, too", async () => {
    const store = await make();
    const kit = await openKit(["one"], { store });
    const first = kit.session.run("go", { id: "r1" });
    const result = await first.result;
    const again = kit.session.run("go", { id: "r1" });
    expect(again).not.toBe(first);
    const heard = listen(again);
    expect(await again.result).toEqual(result);
    expect(said(await heard.all)).toEqual(said(await factsOf(store)));
  });

  it("W3: the value with which a tool ended the run is returned again", async () => {
    for (const output of ["left", { sum: 3 }]) {
      const store = await make();
      const leave = toolOf("leave", (ctx) => ctx.exit(output));
      const turns = [[{ text: "so" }, { call: "leave" }]];
      const kit = await openKit(turns, { store, tools: [leave] });
      const result = await kit.session.run("go", { id: "r1" }).result;
      // Without an output schema the output is text (I4).
      const text = typeof output === "string" ? output : JSON.stringify(output);
      expect(result).toMatchObject({ status: "completed", output: text });
      await kit.runner.close();
      const other = await openKit([], { store, tools: [leave] });
      expect(await other.session.run("go", { id: "r1" }).result).toEqual(result);
    }
  });

  it("a failed run is returned as it failed; after a resume, as it ended then", async () => {
    const kit = await openKit([[{ throw: new Error("no luck") }], "better"], { store: await make() });
    await kit.session.run("go", { id: "r1" }).result;
    const failed = await kit.session.run("go", { id: "r1" }).result;
    expect(failed).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
    await kit.session.resume().result;
    expect(await kit.session.run("go", { id: "r1" }).result).toMatchObject({ status: "completed", text: "better" });
    expect(kit.requests).toHaveLength(2);
  });

  it("C2: after a crash a run continues when it is asked for again", async () => {
    const store = await make();
    const side = faultyStore(store);
    const kit = await openKit([[{ text: "a" }, { stall: true }]], { store: side, leaseTtlMs: 40 });
    const run = kit.session.run("go", { id: "r1" });
    await listen(run).until((event) => event.type === "text-delta");
    side.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);
    const other = await openKit(["whole"], { store });
    const again = other.session.run("go", { id: "r1" });
    expect(await again.result).toMatchObject({ status: "completed", text: "whole", runId: run.runId });
    expect(history(other.session.messages)).toEqual(["user: go", "assistant: whole"]);
  });

  it("V2: a run that a person stopped stays stopped; ended in segments, it is returned as one", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "one " }, { stall: true }], "two"], { store });
    const run = kit.session.run("go", { id: "r1" });
    await listen(run).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    const stopped = await run.result;
    const again = kit.session.run("go", { id: "r1" });
    const handle = { threadId: "thread", runId: run.runId, segment: 1, token: "" };
    expect(await again.result).toMatchObject({ ...stopped, handle });
    expect(await again.started).toEqual(await run.started);
    const result = await kit.session.resume().result;
    expect(await kit.session.run("go", { id: "r1" }).result).toEqual(result);
    expect(result).toMatchObject({ text: "one two", segment: 2 });
  });

  it("V2: a run that asked is followed with the requests of its pause, also if they are answered since", async () => {
    const asks = toolOf("asks", () => "asked", { needsApproval: true });
    const kit = await openKit([[{ call: "asks" }], "done"], { store: await make(), tools: [asks] });
    const first = await kit.session.run("go", { id: "r1" }).result;
    await kit.session.answer(kit.session.interrupts[0]!.id, approve());
    await until(() => kit.session.messages.at(-1)?.role === "tool");
    const again = await kit.session.run("go", { id: "r1" }).result;
    const { interrupts } = first as Extract<typeof first, { status: "interrupted" }>;
    expect(interrupts).toHaveLength(1);
    expect(again).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt", interrupts });
  });

  it("given to a paused thread the input enters once", async () => {
    const kit = await openKit([[{ text: "a" }, { stall: true }], "b"], { store: await make() });
    const run = kit.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    await run.result;
    const result = await kit.session.run("other way", { id: "r1" }).result;
    expect(await kit.session.run("other way", { id: "r1" }).result).toEqual(result);
    expect(history(kit.session.messages).filter((line) => line === "user: other way")).toHaveLength(1);
  });

  it("two processes that start a run under one id: one runs it, and both get the same result or THREAD_BUSY", async () => {
    const store = await make();
    const kits = await Promise.all([openKit(["a"], { store }), openKit(["b"], { store })]);
    const results = await Promise.all(kits.map((kit) => kit.session.run("go", { id: "r1" }).result));
    const won = results.find((result) => result.status === "completed");
    expect(won).toBeDefined();
    for (const result of results) {
      if (result.status === "failed") expect(result.error.code).toBe("THREAD_BUSY");
      else expect(result).toEqual(won);
    }
    expect((await factsOf(store)).filter((fact) => fact.type === "run-start")).toHaveLength(1);
    for (const kit of kits) {
      await threadOf(kit.session).refresh();
      expect(await kit.session.run("go", { id: "r1" }).result).toEqual(won);
    }
  });

  it("a session that has not read it yet finds it when it begins, and begins no run", async () => {
    const store = await make();
    const stale = await openKit(["zero", "never"], { store });
    await stale.session.run("before").result;
    const kit = await openKit(["one"], { store });
    const result = await kit.session.run("go", { id: "r1" }).result;
    const again = stale.session.run("go", { id: "r1" });
    expect(await again.result).toEqual(result);
    expect(stale.requests).toHaveLength(1);
    await threadOf(stale.session).refresh();
    expect(stale.session.state).toBe("completed");
    expect(history(stale.session.messages).slice(2)).toEqual(["user: go", "assistant: one"]);
  });

  it("a value made by a schema is recorded, and comes back", async () => {
    const store = await make();
    const output = jsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } });
    const kit = await openKit(['{"n":7}'], { store, agent: { output } as never });
    const result = await kit.session.run("go", { id: "r1" }).result;
    expect(result).toMatchObject({ output: { n: 7 } });
    await kit.runner.close();
    const other = await openKit([], { store, agent: { output } as never });
    expect(await other.session.run("go", { id: "r1" }).result).toEqual(result);
  });

  it("runner.run with an id makes one thread, however often it is asked", async () => {
    const kit = await openKit(["a", "b"], { store: await make() });
    const first = await kit.runner.run("go", { id: "job 1" });
    const result = await first.result;
    expect(first.threadId).toBe("job 1");
    expect(await (await kit.runner.run("go", { id: "job 1" })).result).toEqual(result);
    expect((await kit.runner.threads()).items.filter(({ threadId }) => threadId === "job 1")).toHaveLength(1);
    expect(kit.requests).toHaveLength(1);
  });
});

describe.each(eachStore)("interrupt({ id }) on $name", ({ make }) => {
  it("S2: a stop sent again under its id does not hit a later run, and gets its receipt again, in any process", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "one" }, { stall: true }], [{ text: "two" }, { stall: true }], "three"], {
      store,
    });
    const first = kit.session.run("go");
    await listen(first).until((event) => event.type === "text-delta");
    const receipt = await kit.session.interrupt({ id: "x" });
    expect(receipt).toMatchObject({ accepted: true, partialText: "one", segment: 1 });
    const second = kit.session.resume({ input: "on" });
    await listen(second).until((event) => event.type === "text-delta");
    expect(await kit.session.interrupt({ id: "x" })).toEqual(receipt);
    expect(kit.session.state).toBe("running");
    const other = await openKit([], { store, threadId: "elsewhere" });
    expect(await other.runner.interrupt("thread", { id: "x" })).toEqual(receipt);
    expect(kit.session.state).toBe("running");
    expect(await other.runner.interrupt("thread", { id: "y" })).toMatchObject({ accepted: true, segment: 2 });
    expect(await second.result).toMatchObject({ status: "interrupted" });
  });
});
