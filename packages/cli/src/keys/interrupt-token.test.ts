import { agent, createRunner, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { InterruptToken } from "./interrupt-token.ts";

function speaking() {
  const model = scriptedModel([[{ text: ["One ", "two "] }, { stall: true }], "And on."]);
  return createRunner({ agent: agent({ name: "guide", model }) });
}

test("D36: trigger before bind, before a run and after its end is harmless", async () => {
  const runner = speaking();
  const token = new InterruptToken();
  expect(token.trigger()).toBeUndefined();
  const session = await runner.open();
  token.bind(session);
  expect(await token.trigger()).toMatchObject({ accepted: false });
  token.clear();
  token.unbind();
  expect(token.trigger()).toBeUndefined();
  expect(token.isTriggered).toBe(false);
  await runner.close();
});

test("D36: it is one stop until it is cleared, and stops again after that", async () => {
  const runner = speaking();
  const session = await runner.open();
  const token = new InterruptToken();
  token.bind(session);
  const run = session.run("go");
  for await (const event of run) if (event.type === "text-delta") break;
  const first = token.trigger();
  expect(token.trigger()).toBe(first);
  expect(token.isTriggered).toBe(true);
  expect(await first).toMatchObject({ accepted: true });
  expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
  token.clear();
  expect(token.isTriggered).toBe(false);
  // D44: the same conversation continues, with its whole history.
  expect(await session.resume({ input: "on" }).result).toMatchObject({ status: "completed", text: "And on." });
  expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  await runner.close();
});

test("a second trigger ends all grace: a deaf tool is left behind at once", async () => {
  let begun = () => {};
  const started = new Promise<void>((resolve) => (begun = resolve));
  const deaf = tool({
    name: "deaf",
    description: "Hears nothing.",
    input: jsonSchema<object>({ type: "object" }),
    execute: () => {
      begun();
      return new Promise<string>(() => {});
    },
  });
  const model = scriptedModel([[{ call: "deaf", args: {} }]]);
  const runner = createRunner({ agent: agent({ name: "guide", model, tools: [deaf], graceMs: 3_600_000 }) });
  const session = await runner.open();
  const token = new InterruptToken();
  token.bind(session);
  const run = session.run("go");
  await started;
  const receipt = token.trigger();
  token.trigger();
  expect(await receipt).toMatchObject({ accepted: true, late: [expect.any(String)] });
  await run.result;
});

test("D37, D38: keys typed during a run fill the buffer, backspace edits it, and it is taken once", () => {
  const token = new InterruptToken();
  token.type("focus on 🧗‍♀️x");
  token.backspace();
  token.backspace();
  expect(token.buffer).toBe("focus on ");
  expect(token.takeBuffer()).toBe("focus on ");
  expect(token.buffer).toBe("");
});

test("D36, D37: Enter hands in the typed text; clear empties both", () => {
  const token = new InterruptToken();
  expect(token.submit()).toBe(false);
  token.type("one");
  expect(token.submit()).toBe(true);
  token.type("two");
  token.submit();
  expect(token.takePending()).toEqual(["one", "two"]);
  expect(token.takePending()).toEqual([]);
  token.type("x");
  token.submit();
  token.type("y");
  token.clear();
  expect([token.buffer, token.takePending()]).toEqual(["", []]);
});

test("O11: wait() resolves to true at the stop, also one that came before, and to false after its time", async () => {
  const runner = speaking();
  const token = new InterruptToken();
  const session = await runner.open();
  token.bind(session);
  expect(await token.wait(1)).toBe(false);
  const run = session.run("go");
  for await (const event of run) if (event.type === "text-delta") break;
  const waiting = [token.wait(), token.wait(10_000)];
  await token.trigger();
  expect(await Promise.all(waiting)).toEqual([true, true]);
  expect(await token.wait(0)).toBe(true);
  token.clear();
  expect(await token.wait(0)).toBe(false);
  expect(() => token.wait(-1)).toThrow(RangeError);
  await runner.close();
});
