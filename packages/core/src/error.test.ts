import { expect, it, vi } from "vitest";
import { BelayError, belayError, isBelayError, UserInterrupt } from "./error.ts";
import { agent, createRunner, jsonSchema, tool } from "./index.ts";
import { scriptedModel } from "./testing/index.ts";

it("an error that is sent as JSON keeps its message", () => {
  const cause = new Error("socket closed");
  const error = belayError("THREAD_UNKNOWN", { threadId: "t" }, cause);
  const { name, code, message, hint, details } = error;
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: { name, code, message, hint, details } });
  expect(message).toContain("t");
  expect(JSON.parse(JSON.stringify(new UserInterrupt(5, "later")))).toMatchObject({
    name: "UserInterrupt",
    code: "USER_INTERRUPT",
    message: expect.stringContaining("later"),
  });
});

it("section 19: isBelayError() recognizes errors of another installed copy", async () => {
  vi.resetModules();
  const other = await import("./error.ts");
  const foreign = other.belayError("THREAD_UNKNOWN", { threadId: "t" });
  expect(foreign instanceof BelayError).toBe(false);
  expect(
    [foreign, new other.UserInterrupt(1), belayError("THREAD_UNKNOWN", { threadId: "t" })].map(isBelayError),
  ).toEqual([true, true, true]);
  expect([new Error("x"), { code: "THREAD_UNKNOWN" }, undefined, "x"].map(isBelayError)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

it("section 14: a hint fits the problem", () => {
  const names = /letters, digits/;
  const hintOf = (call: () => unknown) => {
    try {
      call();
    } catch (error) {
      return (error as { hint: string }).hint;
    }
    return "";
  };
  const model = scriptedModel("hi");
  const execute = () => 1;
  expect(hintOf(() => createRunner({} as never))).not.toMatch(names);
  expect(
    hintOf(() => tool({ name: "t", description: "", input: jsonSchema({ type: "string" }), execute })),
  ).not.toMatch(names);
  expect(hintOf(() => agent({ name: "a", model, maxTurns: 0 }))).not.toMatch(names);
  expect(hintOf(() => agent({ name: "two words", model }))).toMatch(names);
  expect(hintOf(() => tool({ name: "1st", description: "", input: jsonSchema({}), execute }))).toMatch(names);
  expect(belayError("NEED_RESUME", { threadId: "t", pauseType: "tool_interrupt" }).hint).toContain("resume({ input })");
  const failed = (status?: number) =>
    belayError("MODEL_FAILED", { model: "m", attempts: 1, reason: "no", status }).hint;
  expect(failed(500)).toContain("resuming repeats only this call");
  expect(failed(401)).toContain("API key");
  expect(failed(401)).not.toContain("repeats");
});

it("section 14: a message has the wrong value, shortened if it is long", () => {
  const said = (value: string) => belayError("OPTION_INVALID", { option: "as", value, needed: "short" }).message;
  expect(said("5")).toBe("Option as is 5; it must be short.");
  expect(said("x".repeat(9_000))).toBe(`Option as is ${"x".repeat(100)}… (9000 characters); it must be short.`);
});
