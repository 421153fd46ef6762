import { eachStore, factsOf, listen } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  ask,
  createRunner,
  defineAgent,
  humanApproval,
  humanInput,
  memoryStore,
  messageText,
  reject,
  respond,
  say,
  sequential,
} from "../index.ts";

describe.each(eachStore)("a custom agent that speaks, on $name", ({ make }) => {
  const guide = () =>
    defineAgent({
      name: "guide",
      async *run(_ctx, input) {
        yield say("Looking…");
        yield { progress: 1 };
        const name: string = yield ask(humanInput("Your name?"));
        yield say(`Hello ${name}.`);
        return `${String(input)} for ${name}`;
      },
    });

  test("O8: yield say(text) streams it and records it once; yield ask(request) returns its answer, also in another process", async () => {
    const store = await make();
    const first = createRunner({ agent: guide(), store });
    const session = await first.open("t");
    const run = session.run("tea");
    const seen = listen(run);
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    const events = await seen.all;
    const delta = events.find(({ type }) => type === "text-delta");
    expect(delta).toMatchObject({ text: "Looking…", offset: 0 });
    const said = events.find((event) => event.type === "message" && event.message.role === "assistant");
    expect(said).toMatchObject({ message: { id: (delta as { messageId: string }).messageId } });
    expect(events.some((event) => event.type === "action" && event.action.customized !== undefined)).toBe(true);
    await first.close();

    const second = createRunner({ agent: guide(), store });
    const [item] = (await second.inbox()).items;
    const again = await second.open("t");
    expect(await again.resume({ answers: { [item!.id]: respond("Ana") } }).result).toMatchObject({
      status: "completed",
      output: "tea for Ana",
    });
    expect(again.messages.map(messageText)).toEqual(["tea", "Looking…", "Hello Ana.", "tea for Ana"]);
    const customs = (await factsOf(store, "t")).filter((fact) => fact.type === "action" && fact.action.customized);
    expect(customs).toHaveLength(1);
    await second.close();
  });

  test("O8: a rejected question throws at its `yield`, an approval returns the decision", async () => {
    const store = await make();
    const root = defineAgent({
      name: "asker",
      async *run() {
        try {
          yield ask(humanInput("Which?"), { key: "which" });
        } catch (error) {
          yield say(`No answer: ${(error as { code: string }).code}`);
        }
        const { approved } = yield ask(humanApproval("May I?"));
        return approved;
      },
    });
    const runner = createRunner({ agent: root, store });
    const session = await runner.open("t");
    await session.run("go").result;
    const [which] = (await runner.inbox()).items;
    await session.resume({ answers: { [which!.id]: reject("no") } }).result;
    const [may] = (await runner.inbox()).items;
    expect(await session.resume({ answers: { [may!.id]: reject("no") } }).result).toMatchObject({ output: false });
    expect(session.messages.map(messageText)).toEqual(["go", "No answer: REQUEST_REJECTED", "false"]);
    await runner.close();
  });

  test("O8: inside another agent it speaks in its own scope; an agent that returns its last words adds no second message", async () => {
    const store = await make();
    const polite = defineAgent({
      name: "polite",
      async *run() {
        yield say("Good day.");
        yield say("  ");
        return "Good day.";
      },
    });
    const quiet = defineAgent({
      name: "quiet",
      async *run(_ctx, input) {
        yield say(`I heard ${String(input)}`);
        return null;
      },
    });
    const after = defineAgent({ name: "after", run: (_ctx, input) => ({ input }) });
    const runner = createRunner({ agent: polite, store });
    const session = await runner.open("t");
    await session.run("hi").result;
    expect(session.messages.map(messageText)).toEqual(["hi", "Good day."]);
    await runner.close();
    const root = sequential({ name: "two", agents: [quiet, after] });
    const other = createRunner({ agent: root as Agent<unknown, unknown>, store: memoryStore() });
    const inner = await other.open("t");
    // Its text is not its output.
    expect(await inner.run("hi").result).toMatchObject({ output: { input: null } });
    await other.close();
  });
});

test("O8: say() of a non-text and ask() of no request are typed errors when they are made", () => {
  expect(() => say(42 as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  expect(() => ask({} as never)).toThrow(expect.objectContaining({ code: "REQUEST_INVALID" }));
  expect(() => ask(humanInput("Which?"), { kee: "x" } as never)).toThrow(
    expect.objectContaining({ code: "OPTION_UNKNOWN" }),
  );
});

test("O8: a text that is too large is refused at its `yield`, and again when the agent begins again", async () => {
  const root = defineAgent({
    name: "loud",
    async *run() {
      try {
        yield say("x".repeat(5000));
      } catch (error) {
        return (error as { code: string }).code;
      }
      return "said";
    },
  });
  const runner = createRunner({ agent: root, maxBytes: 4096 });
  const session = await runner.open("t");
  expect(await session.run("go").result).toMatchObject({ output: "TOO_LARGE" });
  await runner.close();
});
