import { expect, it } from "vitest";
import { belayError, UserInterrupt } from "./error.ts";

it("an error that is sent as JSON keeps its words", () => {
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

it("section 14: a message has the value that is wrong, and not all of a long one", () => {
  const said = (value: string) => belayError("OPTION_INVALID", { option: "as", value, needed: "short" }).message;
  expect(said("5")).toBe("Option as is 5; it must be short.");
  expect(said("x".repeat(9_000))).toBe(`Option as is ${"x".repeat(100)}… (9000 characters); it must be short.`);
});
