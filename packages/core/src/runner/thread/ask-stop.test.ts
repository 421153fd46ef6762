import {
  eachStore,
  factProblems,
  factsOf,
  gate,
  heldStore,
  history,
  listen,
  openKit,
  said,
  settle,
  stepsOf,
  toolOf,
  toolResult,
  until,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, humanInput, respond, type Store, type Tool, type ToolContext } from "../../index.ts";
import { fakeClock } from "../../testing/index.ts";

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === "tool") ? "done" : ([{ call: "ask", id: "a" }] as const);

const open = (store: Store, tools: readonly Tool<unknown>[], more = {}) => openKit(script, { store, tools, ...more });

const outcome = async (store: Store, id = "a") =>
  (await factsOf(store)).flatMap((fact) =>
    fact.type === "tool-end" && fact.callId === id ? [`${fact.held ? "held " : ""}${fact.outcome}`] : [],
  );

describe.each(eachStore)("a stop that meets code which asks, on $name", ({ make }) => {
  test("S9, S4: parked, hot or cold: the call is cut off, the request withdrawn; on continue it keeps that result", async () => {
    for (const where of ["hot", "cold"] as const) {
      const store = await make();
      const settled: string[] = [];
      const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("?")).finally(() => settled.push("settled")));
      const first = await open(store, [ask]);
      await first.session.run("go").result;
      const kit = where === "hot" ? first : await open(store, [ask]);
      const [request] = kit.session.interrupts;
      expect(await kit.session.interrupt()).toMatchObject({ accepted: true, stopped: ["a"], notStarted: [], late: [] });
      expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
      await expect(kit.session.answer(request!.id, respond("x"))).rejects.toMatchObject({ code: "ANSWER_WITHDRAWN" });
      expect((await kit.session.resume().result).status).toBe("completed");
      expect(history(kit.session.messages)).toEqual([
        "user: go",
        "assistant: call a",
        "tool: a interrupted",
        "assistant: done",
      ]);
      expect(settled).toEqual([]);
      expect(kit.problems()).toEqual([]);
      expect(factProblems(await factsOf(store))).toEqual([]);
    }
  });

  test("S1, S4: a step runs beside an open ask: its signal fires, its call is cut off, its error is not an outcome", async () => {
    const store = await make();
    const ask = toolOf("ask", async (ctx) => {
      const asked = ctx.ask(humanInput("?"));
      const work = ctx.step("work", ({ signal }) => {
        return new Promise((_, refuse) => signal.addEventListener("abort", () => refuse(signal.reason)));
      });
      await Promise.race([asked, work]);
    });
    const kit = await open(store, [ask]);
    void kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    expect(kit.session.state).toBe("running");
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, stopped: ["a"], late: [] });
    const facts = await factsOf(store);
    expect(stepsOf(facts)).toEqual([]);
    expect(await outcome(store)).toEqual(["interrupted"]);
    expect(said(facts).filter((line) => line.startsWith("answered"))).toEqual(["answered withdraw by user"]);
    expect((await kit.runner.inbox()).items).toEqual([]);
    expect(factProblems(facts)).toEqual([]);
  });

  test("S4: a step that ends after the stop is recorded, then the code only waits: it is dropped at once, not after its grace", async () => {
    const store = await make();
    const work = gate<string>();
    const ask = toolOf(
      "ask",
      async (ctx) => {
        await Promise.all([ctx.ask(humanInput("?")), ctx.step("work", () => work.opened)]);
      },
      { graceMs: 60_000 },
    );
    const kit = await open(store, [ask]);
    void kit.session.run("go");
    await until(() => kit.session.interrupts.length === 1);
    const receipt = kit.session.interrupt();
    await settle();
    work.open("worked");
    expect(await receipt).toMatchObject({ accepted: true, stopped: ["a"], late: [] });
    expect(stepsOf(await factsOf(store))).toEqual(["work"]);
    expect(await outcome(store)).toEqual(["interrupted"]);
  });

  test("S4: code that asks after the stop raises no request: its call ends there, and its ask never settles", async () => {
    for (const onStop of ["abort", "finish"] as const) {
      const store = await make();
      const work = gate();
      const settled: string[] = [];
      const ask = toolOf(
        "ask",
        async (ctx) => {
          await work.opened;
          try {
            await ctx.ask(humanApproval("Go on?"));
          } catch {
            settled.push("caught");
          } finally {
            settled.push("finally");
          }
          return "as if it had been answered";
        },
        { onStop, graceMs: 60_000 },
      );
      const kit = await open(store, [ask]);
      void kit.session.run("go");
      await settle(10);
      const receipt = kit.session.interrupt();
      await settle();
      work.open();
      expect(await receipt, onStop).toMatchObject({ accepted: true, stopped: ["a"], late: [] });
      expect(await outcome(store)).toEqual(["interrupted"]);
      expect(said(await factsOf(store)).filter((line) => line.startsWith("asks"))).toEqual([]);
      expect(settled).toEqual([]);
    }
  });

  test("S5: a tool that was left behind: its steps run and are not recorded; its ask raises no request, and it is late no longer", async () => {
    const store = await make();
    const work = gate();
    const did: string[] = [];
    const ask = toolOf(
      "ask",
      async (ctx) => {
        await work.opened;
        did.push(await ctx.step("late", () => "stepped"));
        await ctx.ask(humanApproval("Go on?")).finally(() => did.push("settled"));
      },
      { graceMs: 5 },
    );
    const kit = await open(store, [ask]);
    void kit.session.run("go");
    await settle(10);
    expect(await kit.session.interrupt()).toMatchObject({ stopped: ["a"], late: ["a"] });
    const head = (await factsOf(store)).length;
    work.open();
    await until(() => did.length > 0);
    await settle();
    expect(did).toEqual(["stepped"]);
    expect((await factsOf(store)).length).toBe(head);
    expect((await kit.session.interrupt()).late).toEqual([]);
    expect((await kit.session.resume().result).status).toBe("completed");
    expect((await kit.runner.inbox()).items).toEqual([]);
  });

  test("S5: a tool that was left behind and only takes steps sends its late result", async () => {
    const store = await make();
    const work = gate();
    const ask = toolOf("ask", async (ctx) => `late ${await work.opened.then(() => ctx.step("s", () => 1))}`, {
      graceMs: 5,
    });
    const kit = await open(store, [ask]);
    void kit.session.run("go");
    await settle(10);
    await kit.session.interrupt();
    work.open();
    await settle();
    const heard = listen(kit.session.resume());
    expect(said(await heard.all)).toContain('late a replace ok "late 1"');
    expect(stepsOf(await factsOf(store))).toEqual([]);
  });

  test("S4: an answer is on record, and the stop comes before the code continues: held, it continues with that answer on continue", async () => {
    const store = await make();
    const entered: string[] = [];
    const ask = toolOf("ask", async (ctx) => {
      await ctx.step("one", () => entered.push("one"));
      const name = await ctx.ask(humanInput("?"));
      return `hello ${name}`;
    });
    const first = await open(store, [ask]);
    await first.session.run("go").result;
    // Another process: the code is not hot there.
    const opening = gate();
    const held = heldStore(store, { after: (n) => (n === 1 ? opening.opened : undefined) });
    const kit = await open(held, [ask]);
    const [request] = kit.session.interrupts;
    const run = kit.session.resume({ answers: { [request!.id]: respond("ann") } });
    await until(() => held.appends.length === 1);
    const receipt = kit.session.interrupt();
    opening.open();
    expect((await receipt).accepted).toBe(true);
    expect((await run.result).status).toBe("interrupted");
    expect(await outcome(store)).toEqual(["held interrupted"]);
    const next = await open(store, [ask]);
    expect((await next.session.resume().result).status).toBe("completed");
    expect(toolResult(await factsOf(store), "a")).toBe("hello ann");
    expect(entered).toEqual(["one"]);
    expect(factProblems(await factsOf(store))).toEqual([]);
  });

  test("S4, H1: the same, and the person sends new input: the model reads that it may have taken effect", async () => {
    const store = await make();
    const ask = toolOf("ask", async (ctx) => `hello ${await ctx.ask(humanInput("?"))}`);
    await (await open(store, [ask])).session.run("go").result;
    const kit = await open(store, [ask]);
    const [request] = kit.session.interrupts;
    const run = kit.session.resume({ answers: { [request!.id]: respond("ann") } });
    void kit.session.interrupt();
    await run.result;
    expect((await kit.session.resume({ input: "no" }).result).status).toBe("completed");
    expect(history(kit.session.messages).slice(2)).toEqual(["tool: a interrupted", "user: no", "assistant: done"]);
    expect(kit.problems()).toEqual([]);
  });

  test("S1: while it replays: the recorded steps are not computed, the call is cut off", async () => {
    const store = await make();
    const replaying = gate();
    let entries = 0;
    const computed: string[] = [];
    const ask = toolOf("ask", async (ctx: ToolContext) => {
      entries += 1;
      for (const key of ["a", "b", "c"]) {
        await ctx.step(key, () => computed.push(key));
        if (entries === 2 && key === "b") replaying.open();
      }
      await ctx.ask(humanInput("?"));
      await new Promise((_, refuse) => ctx.signal.addEventListener("abort", () => refuse(ctx.signal.reason)));
    });
    await (await open(store, [ask])).session.run("go").result;
    const kit = await open(store, [ask]);
    const [request] = kit.session.interrupts;
    const run = kit.session.resume({ answers: { [request!.id]: respond("ann") } });
    await replaying.opened;
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, stopped: ["a"] });
    expect((await run.result).status).toBe("interrupted");
    expect(computed).toEqual(["a", "b", "c"]);
    expect(await outcome(store)).toEqual(["interrupted"]);
  });

  test("S2: a stop that comes while the pause is being written acts on the pause", async () => {
    const store = await make();
    const pause = gate();
    const held = heldStore(store, { before: (_n, append) => (append.state === "paused" ? pause.opened : undefined) });
    const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("?")));
    const kit = await open(held, [ask]);
    const run = kit.session.run("go");
    await until(() => held.appends.some(({ state }) => state === "paused"));
    const receipt = kit.session.interrupt();
    pause.open();
    await run.result;
    expect((await receipt).accepted).toBe(true);
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
    expect((await kit.runner.inbox()).items).toEqual([]);
    expect(await outcome(store)).toEqual(["interrupted"]);
  });
});

describe("waiting for a person", () => {
  test("timeoutMs counts the time that the code runs, not the time that it waits", async () => {
    const clock = fakeClock();
    const ask = toolOf(
      "ask",
      async (ctx) => {
        await new Promise<void>((resolve) => clock.setTimeout(resolve, 60));
        const name = await ctx.ask(humanInput("?"));
        await new Promise<void>((resolve) => clock.setTimeout(resolve, 30));
        return name;
      },
      { timeoutMs: 100 },
    );
    const kit = await openKit(script, { tools: [ask], clock });
    const run = kit.session.run("go");
    await settle();
    await clock.advance(60);
    expect((await run.result).status).toBe("interrupted");
    await clock.advance(1_000_000);
    const resumed = kit.session.resume({ answers: { [kit.session.interrupts[0]!.id]: respond("ann") } });
    await settle(10);
    await clock.advance(30);
    expect((await resumed.result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("ann");
  });

  test("timeoutMs continues from its value when the code continues", async () => {
    const clock = fakeClock();
    const ask = toolOf(
      "ask",
      async (ctx) => {
        await new Promise<void>((resolve) => clock.setTimeout(resolve, 60));
        await ctx.ask(humanInput("?"));
        await new Promise<void>((_, refuse) => ctx.signal.addEventListener("abort", () => refuse(ctx.signal.reason)));
      },
      { timeoutMs: 100 },
    );
    const kit = await openKit(script, { tools: [ask], clock });
    const run = kit.session.run("go");
    await settle();
    await clock.advance(60);
    await run.result;
    await clock.advance(1_000_000);
    const resumed = kit.session.resume({ answers: { [kit.session.interrupts[0]!.id]: respond("ann") } });
    await settle(10);
    await clock.advance(39);
    expect(kit.session.state).toBe("running");
    await clock.advance(1);
    expect((await resumed.result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("Timed out after 100 ms. It may have taken effect.");
  });

  test("timed out with a question open, code that only waits for it ends, and the question is withdrawn", async () => {
    const clock = fakeClock();
    const ask = toolOf(
      "ask",
      async (ctx) => {
        const asked = ctx.ask(humanInput("?"));
        await ctx.step(
          "work",
          ({ signal }) => new Promise<void>((done) => signal.addEventListener("abort", () => done())),
        );
        await asked;
      },
      { timeoutMs: 100 },
    );
    const kit = await openKit(script, { tools: [ask], clock });
    const run = kit.session.run("go");
    await settle(10);
    await clock.advance(100);
    expect((await run.result).status).toBe("completed");
    expect(toolResult(await factsOf(kit.store), "a")).toBe("Timed out after 100 ms. It may have taken effect.");
    expect((await kit.runner.inbox()).items).toEqual([]);
  });

  test("a serial tool that asks still runs alone: those after it wait for its end, those before it have ended", async () => {
    const order: string[] = [];
    const turn = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      messages.some(({ role }) => role === "tool")
        ? "done"
        : ([
            { call: "free", id: "1" },
            { call: "alone", id: "2" },
            { call: "free", id: "3" },
          ] as const);
    const free = toolOf("free", async (ctx) => {
      order.push(`begins ${ctx.callId}`);
      await settle(3);
      order.push(`ends ${ctx.callId}`);
    });
    const alone = toolOf(
      "alone",
      async (ctx) => {
        order.push("begins 2");
        await ctx.ask(humanApproval("?"));
        order.push("ends 2");
      },
      { serial: true },
    );
    const kit = await openKit(turn, { tools: [free, alone] });
    expect((await kit.session.run("go").result).status).toBe("interrupted");
    expect(order).toEqual(["begins 1", "ends 1", "begins 2"]);
    await kit.session.answer(kit.session.interrupts[0]!.id, approve());
    expect((await kit.session.resume().result).status).toBe("completed");
    expect(order.slice(3)).toEqual(["ends 2", "begins 3", "ends 3"]);
  });

  test("a generator yields around its questions: progress is shown live, and its last word is its result", async () => {
    const ask = toolOf("ask", async function* (ctx) {
      yield "looking";
      const name = await ctx.ask(humanInput("?"));
      yield `found ${name}`;
    });
    const kit = await openKit(script, { tools: [ask] });
    const first = listen(kit.session.run("go"));
    expect(said(await first.all)).toContain('progress a "looking"');
    const run = listen(kit.session.resume({ answers: { [kit.session.interrupts[0]!.id]: respond("ann") } }));
    expect(said(await run.all)).toContain('progress a "found ann"');
    expect(toolResult(await factsOf(kit.store), "a")).toBe("found ann");
  });

  test("S4: a generator that waits for a person and is stopped keeps its yielded values, and runs no finally", async () => {
    const did: string[] = [];
    const ask = toolOf("ask", async function* (ctx) {
      try {
        yield "looking";
        await ctx.ask(humanInput("?"));
      } finally {
        did.push("finally");
      }
    });
    const kit = await openKit(script, { tools: [ask] });
    await kit.session.run("go").result;
    await kit.session.interrupt();
    await settle();
    expect(did).toEqual([]);
    expect(history(kit.session.messages).at(-1)).toBe("tool: a interrupted");
  });
});
