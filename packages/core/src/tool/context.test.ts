import { expect, test } from "vitest";
import { humanApproval } from "../interrupt/request.ts";
import { detachedContext } from "./context.ts";

test("Q2: on its own, outside any run, a step just runs and an ask is ASK_DETACHED", async () => {
  const ctx = detachedContext();
  expect(await ctx.step("a", ({ idempotencyKey }) => idempotencyKey)).toBe("detached:detached:detached/s:a");
  await expect(ctx.step("b", () => Promise.reject(new Error("as it is")))).rejects.toThrow("as it is");
  await expect(ctx.ask(humanApproval("?"))).rejects.toMatchObject({ code: "ASK_DETACHED" });
});
