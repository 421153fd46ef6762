import {
  eachStore,
  factsOf,
  history,
  listen,
  openKit,
  paying,
  requestOf,
  toolOf,
  until,
  waiting,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type AgentContext,
  type Answer,
  approve,
  createRunner,
  defineAgent,
  humanInput,
  memoryStore,
  reject,
  respond,
  type ToolContext,
} from "./index.ts";

const longest = "x".repeat(1024);
/** Few characters, and more bytes. */
const wide = "é".repeat(513);
const huge = "x".repeat(10_000_000);
const invalid = (option: string) => ({
  code: "OPTION_INVALID",
  message: expect.stringMatching(
    new RegExp(`^Option ${option} is .{100}… \\(\\d+ characters\\); it must be text of (1–)?1024 bytes( at most)?\\.$`),
  ),
});

describe.each(eachStore)("names that a caller gives, on $name", ({ make }) => {
  test("P12: an id or an actor of more than 1024 bytes is refused when it is given: nothing is written, and the run continues", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "Well, " }, { stall: true }]], { store });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    const facts = await factsOf(store);
    for (const name of [wide, huge]) {
      const refused: [string, () => Promise<unknown>][] = [
        ["id", async () => kit.session.run("x", { id: name })],
        ["id", () => kit.runner.run("x", { id: name })],
        ["id", () => kit.session.steer("x", { id: name })],
        ["by", () => kit.session.steer("x", { by: name })],
        ["id", () => kit.session.enqueue("x", { id: name })],
        ["id", () => kit.session.observe("x", { id: name })],
        ["id", () => kit.session.withdraw(name)],
        ["id", () => kit.runner.withdraw("thread", name)],
        ["id", () => kit.session.interrupt({ id: name })],
        ["by", () => kit.session.interrupt({ by: name })],
        ["id", () => kit.runner.interrupt("thread", { id: name })],
        ["id", () => kit.session.answer("r", approve(), { id: name })],
        ["by", async () => kit.session.resume({ by: name })],
        ["by", () => kit.session.removeRule("r", { by: name })],
        ["by", () => kit.runner.removeRule("r", { threadId: "thread", by: name })],
      ];
      for (const [option, call] of refused) await expect(call()).rejects.toMatchObject(invalid(option));
    }
    const thread = { code: "OPTION_INVALID", message: expect.stringMatching(/1–200 characters\.$/) };
    await expect(kit.runner.open(huge)).rejects.toMatchObject(thread);
    await expect(kit.session.steer([{ id: huge, parts: [{ type: "text", text: "x" }] }])).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringMatching(/message 0 has an id of more than 1024 bytes\.$/),
    });
    expect([kit.session.state, await kit.session.waiting(), await factsOf(store)]).toEqual(["running", [], facts]);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true });
  });

  test("P12: a name of 1024 bytes is accepted", async () => {
    const kit = await openKit([[{ text: "Well, " }, { stall: true }], "done", "again"], { store: await make() });
    const run = kit.session.run("go", { id: longest });
    await listen(run).until(({ type }) => type === "text-delta");
    expect(await kit.session.steer("never mind", { id: longest, by: longest })).toEqual({ id: longest });
    expect(await kit.session.withdraw(longest)).toBe(true);
    expect(await kit.session.interrupt({ id: longest, by: longest })).toMatchObject({ accepted: true });
    expect(await kit.session.resume({ by: longest }).result).toMatchObject({ status: "completed" });
    await kit.session.enqueue("more", { id: `${longest.slice(1)}y` });
    await until(() => kit.session.state === "completed" && kit.session.messages.length === 4);
    expect(history(kit.session.messages).slice(2)).toEqual(["user: more", "assistant: again"]);
  });

  test.each<[string, Answer]>([
    ["approve", approve({ by: huge })],
    ["reject", reject("no", { by: huge })],
    ["respond", respond("so", { by: huge })],
  ])("P12: %s by an actor of more than 1024 bytes is refused, and a valid answer still counts", async (_, answer) => {
    const { tools, ran } = paying();
    const kit = await waiting(["p"], { store: await make(), tools });
    const { id } = requestOf(kit, "p");
    const refused = {
      code: "ANSWER_INVALID",
      message: expect.stringMatching(/: its by takes more than 1024 bytes\.$/),
    };
    await expect(kit.session.answer(id, answer)).rejects.toMatchObject(refused);
    await kit.session.resume({ answers: { [id]: approve({ by: longest }) } }).result;
    expect(ran).toEqual(["pay 1"]);
  });

  test("P12: `to` of resume() over maxBytes is TOO_LARGE: the thread is unchanged", async () => {
    const store = await make();
    const kit = await openKit([[{ text: "Well, " }, { stall: true }]], { store, runner: { maxBytes: 1000 } });
    const run = kit.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await kit.session.interrupt();
    const facts = await factsOf(store);
    const resume = (to: string) => () => kit.session.resume({ mode: "rethink", to });
    expect(resume(huge)).toThrow(expect.objectContaining({ code: "TOO_LARGE" }));
    expect(resume(5 as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect([kit.session.state, await factsOf(store)]).toEqual(["paused", facts]);
  });
});

describe("names that code gives", () => {
  const child = defineAgent({ name: "child", run: () => "ran" });
  const both: [string, (ctx: ToolContext | AgentContext, key: string) => unknown][] = [
    ["step", (ctx, key) => ctx.step(key, () => "ran")],
    ["ask", (ctx, key) => ctx.ask(humanInput("On?"), { key })],
  ];
  const ofTools: [string, (ctx: ToolContext, key: string) => unknown][] = [
    ...both,
    ["transferTo", (ctx, key) => ctx.transferTo(key)],
  ];
  const ofAgents: [string, (ctx: AgentContext, key: string) => unknown][] = [
    ...both,
    ["run", (ctx, key) => ctx.run(child, null, { key })],
  ];
  const expected = (name: string) => invalid(name === "transferTo" ? "transferTo\\(\\)" : "key");

  test.each(ofTools)("P12: ctx.%s of a tool refuses more than 1024 bytes, and does nothing", async (name, use) => {
    const caught: unknown[] = [];
    const refuses = toolOf("work", async (ctx) => {
      for (const key of [wide, huge]) {
        try {
          await use(ctx, key);
        } catch (error) {
          caught.push(error);
        }
      }
    });
    const kit = await openKit([[{ call: "work", id: "c" }], "done"], { tools: [refuses] });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed", text: "done" });
    expect(caught).toEqual([expect.objectContaining(expected(name)), expect.objectContaining(expected(name))]);
    expect(JSON.stringify(await factsOf(kit.store)).length).toBeLessThan(5000);
  });

  test.each(ofAgents)("P12: ctx.%s of a custom agent refuses more than 1024 bytes, too", async (name, use) => {
    const store = memoryStore();
    const root = defineAgent({ name: "root", run: (ctx) => use(ctx, huge) });
    const session = await createRunner({ agent: root, store }).open("thread");
    expect(await session.run("go").result).toMatchObject({ status: "failed", error: expected(name) });
    expect(JSON.stringify(await factsOf(store)).length).toBeLessThan(5000);
  });

  test("P12: a key of 1024 bytes is accepted", async () => {
    const store = memoryStore();
    const root = defineAgent({
      name: "root",
      run: async (ctx) => [
        await ctx.step(longest, () => "did"),
        await ctx.run(child, null, { key: longest }),
        await ctx.ask(humanInput("On?"), { key: longest.slice(1) }),
      ],
    });
    const first = await createRunner({ agent: root, store }).open("thread");
    expect((await first.run("go").result).status).toBe("interrupted");
    const second = await createRunner({ agent: root, store }).open("thread");
    const answers = { [second.interrupts[0]!.id]: respond("yes") };
    expect(await second.resume({ answers }).result).toMatchObject({ output: ["did", "ran", "yes"] });
  });
});
