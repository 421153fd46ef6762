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
