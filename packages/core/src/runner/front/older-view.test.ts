import { faultyStore, listen, openKit, until, wrapStore } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { agent, memoryStore, type Store } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";
import { createRunner } from "./runner.ts";

const key = { tenant: "default", threadId: "thread" };

/** A thread after the death of its process in mid-answer, or in a tool call. */
async function crashed(store: Store, turns: Parameters<typeof openKit>[0]) {
  const side = faultyStore(store);
  const kit = await openKit(turns, { leaseTtlMs: 30, store: side });
  const heard = listen(kit.session.run("go"));
  await heard.until((event) => event.type === "text-delta" || event.type === "tool-start");
  side.kill();
  await until(async () => (await store.load(key))?.row.lease === undefined);
}

describe("a worker that judged a thread by an older view", () => {
  it.each([...Array.from({ length: 4 }, (_, i) => ["load", i + 1] as const), ["append", 1] as const])(
    "P2: leaves it alone if it was continued and stopped elsewhere before %s %i",
    async (call, nth) => {
      const store = memoryStore();
      await crashed(store, [[{ text: "ha" }, { stall: true }]]);
      // Another process continues the thread, and a person stops it there.
      let happened = false;
      const meanwhile = async () => {
        if (happened) return;
        happened = true;
        const other = await openKit([[{ text: "ho" }, { stall: true }]], { store });
        const heard = listen(other.session.resume());
        await heard.until((event) => event.type === "text-delta");
        await other.session.interrupt();
        await other.session.close();
      };
      let calls = 0;
      const slow = wrapStore(store, {
        async load(of, after) {
          if (call === "load" && ++calls === nth) await meanwhile();
          return store.load(of, after);
        },
        async append(of, what) {
          if (call === "append" && ++calls === nth) await meanwhile();
          return store.append(of, what);
        },
      });
      const model = scriptedModel(["I was not asked."]);
      const runner = createRunner({ agent: agent({ name: "helper", model }), store: slow });
      await runner.move("thread");
      await runner.close();
      expect(happened).toBe(true);
      const { state, pauseType } = (await openKit([], { store })).session;
      expect([state, pauseType, model.requests.length]).toEqual(["paused", "user_interrupt", 0]);
    },
  );
});
