import { eachStore, history, listen, openKit, paying, requestOf, settle, toolOf, until, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  agent,
  approve,
  createRunner,
  humanApproval,
  humanInput,
  type Json,
  jsonSchema,
  respond,
  tool,
} from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

/** Works until the returned function is called. */
function working(runner: { work(options: object): Promise<void> }, options: object = {}) {
  const ending = new AbortController();
  const over = runner.work({ signal: ending.signal, pollMs: 1, ...options });
  return async () => {
    ending.abort();
    await over;
  };
}

describe.each(eachStore)("which process starts an input ($name)", ({ make }) => {
  test("V7: runner.enqueue() leaves it to a worker, session.enqueue() starts it here; `start` and the runner say otherwise", async () => {
    const store = await make();
    const kit = await openKit(() => "ok", { store });
    const left = await kit.runner.enqueue("one", "go");
    await kit.runner.enqueue("two", "go", { start: "here" });
    await (await kit.runner.open("three")).enqueue("go");
    await (await kit.runner.open("four")).enqueue("go", { start: "worker" });
    const shy = await openKit(() => "ok", { store, threadId: "x", runner: { start: "worker" } });
    await (await shy.runner.open("five")).enqueue("go");
    expect(await shy.runner.send("six", "go")).toMatchObject({ how: "enqueue" });
    const states = async () =>
      Object.fromEntries((await store.threads("default")).map(({ threadId, state }) => [threadId, state]));
    const ended = { two: "completed", three: "completed" };
    await until(async () => (await states()).two === "completed" && (await states()).three === "completed");
    await settle();
    expect(await states()).toMatchObject({ one: "initialized", ...ended, four: "initialized", five: "initialized" });
    expect((await kit.runner.look("one"))!.waiting).toMatchObject([{ kind: "input", id: left.id }]);
    const stop = working(kit.runner);
    await until(async () => Object.values(await states()).every((state) => state === "completed"));
    await stop();
    await expect(kit.runner.enqueue("t", "x", { start: "there" } as never)).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
    expect(() => createRunner({ agent: agent({ name: "a", model: scriptedModel([]) }), start: "x" as never })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });

  test("V7: an answer with start worker is checked at once, and a worker runs the call", async () => {
    const store = await make();
    const { tools, ran } = paying();
    const kit = await waiting(["a", "b"], { store, tools });
    const [a, b] = ["a", "b"].map((id) => requestOf(kit, id).id);
    expect(await kit.runner.answer(a!, approve({ by: "ann" }), { start: "worker" })).toEqual({ open: 1 });
    await settle();
    expect(ran).toEqual([]);
    await expect(kit.runner.answer("none", approve(), { start: "worker" })).rejects.toMatchObject({
      code: "ANSWER_UNKNOWN",
    });
    const stop = working(kit.runner);
    await until(() => ran.includes("pay 1"));
    await stop();
    expect((await kit.runner.look("thread"))!.interrupts.map(({ id }) => id)).toEqual([b]);
  });

  test("V7: concurrency bounds work, enqueue and send together: 300 inputs, never more than four at once", async () => {
    const store = await make();
    let now = 0;
    let most = 0;
    const busy = toolOf("busy", async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 1));
      now -= 1;
      return "ok";
    });
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === "tool" ? "done" : [{ call: "busy" }]));
    const runner = createRunner({
      agent: agent({ name: "helper", model, tools: [busy] }),
      store,
      concurrency: 4,
    });
    const stop = working(runner, { concurrency: 16 });
    const ids = Array.from({ length: 300 }, (_, i) => `t${i}`);
    await Promise.all(
      ids.map(async (id, i) => {
        if (i % 10 === 0) return runner.send(id, "go");
        if (i % 10 === 1) return runner.enqueue(id, "go");
        return (await runner.open(id)).enqueue("go");
      }),
    );
    await until(
      async () => (await store.threads("default")).filter(({ state }) => state === "completed").length === 300,
    );
    await stop();
    expect([most <= 4, most > 1]).toEqual([true, true]);
    await expect(async () => createRunner({ store, concurrency: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

describe.each(eachStore)("a runner without agents ($name)", ({ make }) => {
  test("V8: sends, looks, lists, answers, stops and follows; other processes start everything", async () => {
    const store = await make();
    const asked = toolOf("ask", (ctx) =>
      ctx.ask(humanInput("How many?", { schema: jsonSchema<number>({ type: "integer" }) })),
    );
    const { tools, ran } = paying({ needsApproval: () => humanApproval("Pay?", { approvers: ["ann"] }) });
    const turns = [
      [
        { call: "ask", id: "q" },
        { call: "pay", id: "p", args: { n: 1 } },
      ],
      "done",
    ];
    const kit = await openKit(turns as never, { store, tools: [asked, ...tools], threadId: "elsewhere" });
    const front = createRunner({ store });
    expect(front.agents()).toEqual([]);
    // A new thread needs the name of its agent.
    await expect(front.send("t", "go")).rejects.toMatchObject({
      code: "AGENT_UNKNOWN",
      message: "This runner was made without agents: a new thread needs the name of its agent.",
      hint: expect.stringContaining("name the agent of a new thread"),
    });
    expect(await front.send("t", "go", { agent: "helper", id: "s1", by: "ann" })).toMatchObject({
      how: "enqueue",
      id: "s1",
    });
    expect(await front.send("t", "go", { agent: "helper", id: "s1" })).toMatchObject({ how: "enqueue", id: "s1" });
    expect((await front.look("t"))!).toMatchObject({ state: "initialized", agent: "helper", waiting: [{ id: "s1" }] });
    const heard = listen(front.events("t"));
    const stop = working(kit.runner);
    await heard.until((event) => event.type === "state" && event.state === "paused");
    const { items: inbox } = await front.inbox({ threadId: "t" });
    const [question] = inbox.filter(({ kind }) => kind === "input");
    const [approval] = inbox.filter(({ kind }) => kind === "approval");
    await expect(front.answer(question!.id, respond("three"))).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    await expect(front.answer(approval!.id, approve({ by: "bob" }))).rejects.toMatchObject({
      code: "ANSWER_FORBIDDEN",
    });
    expect(await front.answer(question!.id, respond(3))).toEqual({ open: 1 });
    await front.answer(approval!.id, approve({ by: "ann" }));
    await until(async () => (await front.look("t"))!.state === "completed");
    expect(ran).toEqual(["pay 1"]);
    await stop();
    expect((await front.threads()).items.length).toBeGreaterThan(0);
    await expect(front.start("t", "again")).rejects.toMatchObject({
      code: "AGENT_UNKNOWN",
      message: "This runner was made without agents: it cannot run helper.",
      hint: expect.stringContaining("worker"),
    });
    await expect(async () => front.work()).rejects.toMatchObject({ code: "AGENT_UNKNOWN" });
    expect(() => createRunner({} as never)).toThrow(expect.objectContaining({ code: "AGENT_INVALID" }));
  });

  test("V8: it stops a run of another process, withdraws the requests of a resting thread, steers and terminates", async () => {
    const store = await make();
    const { tools } = paying();
    const stall = [{ text: "so far" }, { stall: true }] as const;
    const kit = await openKit([stall], { store, tools });
    const front = createRunner({ store });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    expect(await front.send("thread", "hurry", { id: "h" })).toMatchObject({ how: "steer" });
    expect(await front.interrupt("thread", { by: "ann" })).toMatchObject({ accepted: true, partialText: "so far" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    const asks = await waiting(["a"], { store, tools, threadId: "asks" });
    expect(await front.interrupt("asks")).toMatchObject({ accepted: true });
    expect((await front.look("asks"))!).toMatchObject({ pauseType: "user_interrupt" });
    await front.terminate("asks");
    expect((await front.look("asks"))!.state).toBe("terminated");
    await asks.runner.open("asks");
    expect(history(asks.session.messages).at(0)).toBe("user: go");
  });

  test.each(["the front", "the worker"])(
    "V2, V8, Q4: edited arguments are checked by the schema of the request; the worker checks them by the tool's own, its refusal leaves the request open, and the same id is another try (from %s)",
    async (from) => {
      const store = await make();
      const ran: unknown[] = [];
      const { "~standard": plain, ...schema } = jsonSchema<{ n: number }>({
        type: "object",
        properties: { n: { type: "integer" } },
        required: ["n"],
      });
      // The tool itself takes less than its JSON Schema says.
      const validate = (value: unknown) =>
        (value as { n: number }).n > 100 ? { issues: [{ message: "more than 100" }] } : plain.validate(value);
      const pay = tool({
        name: "pay",
        description: "pays",
        input: { ...schema, "~standard": { ...plain, validate } },
        needsApproval: true,
        execute: (args) => {
          ran.push(args);
          return "paid";
        },
      });
      const kit = await openKit([[{ call: "pay", args: { n: 1 } }], "done"], { store, tools: [pay] });
      await kit.session.run("go").result;
      await kit.session.close();
      const front = createRunner({ store });
      const [request] = (await front.inbox()).items;
      const before = (await front.look("thread"))!.head;
      const invalid = { code: "ANSWER_INVALID", message: expect.stringContaining("n") };
      for (const args of [{ n: "two" }, { m: 1 }, { n: 1.5 }] as Json[]) {
        await expect(front.answer(request!.id, approve({ args }), { by: "ann" })).rejects.toMatchObject(invalid);
      }
      expect(await front.look("thread")).toMatchObject({ head: before, waiting: [] });
      expect(await front.answer(request!.id, approve({ args: { n: 1000 } }), { by: "ann", id: "much" })).toEqual({
        open: 0,
      });
      const stop = working(kit.runner);
      await until(async () => (await front.look("thread"))!.head > before);
      const refused = (await front.journal("thread", { after: before })).items.filter(({ type }) => type === "command");
      const words = { code: "ANSWER_INVALID", message: expect.stringContaining("more than 100") };
      expect(refused).toMatchObject([{ by: "ann", refused: words }]);
      expect((await front.inbox()).items.map(({ id }) => id)).toEqual([request!.id]);
      expect(ran).toEqual([]);
      const again = () =>
        (from === "the front" ? front : kit.runner).answer(request!.id, approve({ args: { n: 2 } }), { id: "much" });
      expect(await again()).toEqual({ open: 0 });
      await until(async () => (await front.look("thread"))!.state === "completed");
      expect(await again()).toEqual({ open: 0 });
      await stop();
      expect(ran).toEqual([{ n: 2 }]);
    },
  );
});
