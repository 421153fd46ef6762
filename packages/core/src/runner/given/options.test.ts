import { expect, test } from "vitest";
import { agent, createRunner, END, graph, humanInput, memoryStore, respond, START } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

test("V9: an unknown option is refused and changes nothing", async () => {
  const asks = graph("g")
    .node("a", (_input: unknown, ctx) => ctx.ask(humanInput("how?")))
    .edge(START, "a")
    .edge("a", END)
    .compile();
  const session = await createRunner({ agent: asks }).open();
  await session.run("x").result;
  const [question] = session.interrupts;
  const answers = { [question!.id]: respond("so") };
  const slip = (option: string, meant: string) => ({
    code: "OPTION_UNKNOWN",
    message: expect.stringMatching(`There is no option ${option} in `),
    hint: expect.stringMatching(`Did you mean ${meant}?`),
  });
  expect(() => session.resume({ answer: answers } as object)).toThrow(
    expect.objectContaining(slip("answer", "answers")),
  );
  await expect(session.interrupt({ gracems: 0 } as object)).rejects.toMatchObject(slip("gracems", "graceMs"));
  await expect(session.setBreakpoint({ nodes: "a" } as never)).rejects.toMatchObject(slip("nodes", "node"));
  expect([session.state, session.interrupts]).toEqual(["paused", [question]]);
  expect(await session.resume({ answers }).result).toMatchObject({ status: "completed", output: "so" });
});

test("bad options: one that is no text, no flag or no object at all is refused when it is given, and the run continues", async () => {
  const model = scriptedModel([[{ text: "I say" }, { stall: true }], "well"]);
  const runner = createRunner({ agent: agent({ name: "a", model }) });
  const session = await runner.open("thread");
  const run = session.run("go");
  for await (const event of run) if (event.type === "text-delta") break;
  const invalid = (option: string) => ({
    code: "OPTION_INVALID",
    message: expect.stringMatching(new RegExp(`^Option ${option} is `)),
  });
  const bad: [string, object][] = [
    ["reason", { reason: 5n }],
    ["message", { message: new Map() }],
    ["by", { by: {} }],
    ["runId", { runId: 7 }],
    ["segment", { segment: "1" }],
    ["force", { force: "yes" }],
    ["rollbackPartial", { rollbackPartial: "no" }],
    ["id", { id: "" }],
    ["options", "after-tools" as never],
    ["options", null as never],
  ];
  for (const [option, options] of bad) {
    await expect(session.interrupt(options)).rejects.toMatchObject(invalid(option));
    await expect(runner.interrupt("thread", options)).rejects.toMatchObject(invalid(option));
  }
  const refused: [string, () => Promise<unknown>][] = [
    ["options", () => session.steer("x", null as never)],
    ["id", () => session.steer("x", { id: 5 as never })],
    ["by", () => runner.enqueue("thread", "x", { by: 5n as never })],
    ["id", () => session.withdraw(undefined as never)],
    ["id", () => runner.withdraw("thread", "")],
    ["id", () => runner.run("x", { id: 5 as never })],
    ["options", () => session.answer("x", respond(1), null as never)],
    ["options", () => runner.open("thread", null as never)],
    ["signal", () => runner.work({ signal: "stop" as never })],
    ["timeoutMs", () => runner.drain({ timeoutMs: Number.NaN })],
  ];
  // No JSON has these values.
  for (const value of [Symbol("now"), () => {}, 5n, Object.create(null)] as never[]) {
    refused.push(
      ["mode", () => session.interrupt({ mode: value })],
      ["timeoutMs", () => session.interrupt({ mode: "after-tools", timeoutMs: value })],
      ["start", () => session.enqueue("x", { start: value })],
      ["node", () => session.setBreakpoint({ node: value })],
      ["id", () => session.answer(value, respond(1))],
      ["tool", () => session.permission(value, {})],
    );
  }
  for (const [option, call] of refused) await expect(call()).rejects.toMatchObject(invalid(option));
  expect(() => session.resume(null as never)).toThrow(expect.objectContaining(invalid("options")));
  expect(() => session.run("x", { id: "" })).toThrow(expect.objectContaining(invalid("id")));
  expect([session.state, await session.waiting()]).toEqual(["running", []]);
  expect(await session.interrupt()).toMatchObject({ accepted: true, partialText: "I say" });
});

test("a thread id that is no text is refused by every verb, and makes no thread", async () => {
  const store = memoryStore();
  const runner = createRunner({ agent: agent({ name: "a", model: scriptedModel([]) }), store });
  for (const id of [undefined, null, 7, "", "x".repeat(201), {}, Symbol("x"), Object.create(null)] as never[]) {
    const calls: readonly (() => unknown)[] = [
      () => runner.start(id, "x"),
      () => runner.interrupt(id),
      () => runner.pause(id),
      () => runner.steer(id, "x"),
      () => runner.enqueue(id, "x"),
      () => runner.observe(id, "x"),
      () => runner.withdraw(id, "x"),
      () => runner.fork(id, { at: 1 }),
      () => runner.history(id),
      () => runner.repair(id),
      () => runner.delete(id),
      () => runner.events(id),
    ];
    for (const call of calls) {
      await expect((async () => call())()).rejects.toMatchObject({
        code: "OPTION_INVALID",
        message: expect.stringMatching(/^Option threadId is /),
      });
    }
  }
  expect(await store.threads("default")).toEqual([]);
});
