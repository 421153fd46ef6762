import { expect, test } from "vitest";
import { startEngine } from "../../../scripts/services/engines.mjs";
import { dbosDispatcher } from "./index.ts";

test("DP10: before the first worker has created the tables, one wake waits for them, and no other is kept waiting", async () => {
  const own = await startEngine("dbos");
  const dispatcher = dbosDispatcher(own.settings() as { url: string });
  const wake = (threadId: string) => dispatcher.wake({ tenant: "acme", threadId });
  await expect(wake("first")).rejects.toMatchObject({ code: "ENGINE_AWAY" });
  const began = Date.now();
  for (let i = 0; i < 20; i++) await expect(wake(`next-${i}`)).rejects.toMatchObject({ code: "ENGINE_AWAY" });
  // Each of them waited three seconds.
  expect(Date.now() - began).toBeLessThan(20_000);
  const ending = new AbortController();
  const moved: string[] = [];
  const move = async ({ threadId }: { readonly threadId: string }) => {
    moved.push(threadId);
    return {};
  };
  const served = dispatcher.serve(move, { concurrency: 1, signal: ending.signal });
  await expect
    .poll(() =>
      wake("last").then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await expect.poll(() => moved).toContain("last");
  ending.abort();
  await served;
  await dispatcher.close();
  await own.stop();
});
