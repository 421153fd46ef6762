import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { fakeClock, storeSuite } from "../testing/index.ts";
import { memoryStore } from "./memory.ts";

describe("the store in memory", () => {
  const make = () => {
    const clock = fakeClock();
    return { store: memoryStore({ clock }), advance: (ms: number) => clock.advance(ms) };
  };
  for (const { name, run, skip } of storeSuite(make)) test.skipIf(skip !== undefined)(name, run);

  test("keeps nothing of threads that were watched and are deleted", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const store = memoryStore();
    const append = { expect: 0, count: 1, at: 0, body: "[]", release: true, agent: "a", state: "completed" } as const;
    const pass = async (many: number) => {
      for (let i = 0; i < many; i++) {
        const key = { tenant: "tenant", threadId: `thread ${i}` };
        await store.append(key, { ...append, appendId: "1", writer: { take: "me", ttlMs: 1 } });
        store.watch(key, () => {})();
        await store.delete(key);
      }
      collect();
      return process.memoryUsage().heapUsed;
    };
    await pass(1_000);
    const before = await pass(1_000);
    expect((await pass(30_000)) - before).toBeLessThan(2_000_000);
  });
});
