// The order of the calls in a receipt, whichever of them moved first.

import { eachStore, openKit, paying, requestOf, settle, toolOf, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, agentTool, approve, type Receipt, type Session, type Store } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

const ids = ["a", "b", "c", "d"];

/** Stops the thread under an id, and compares the receipt with the one that another process reads under it. */
async function stopped({ session, store }: { readonly session: Session; readonly store: Store }): Promise<Receipt> {
  const receipt = await session.interrupt({ id: "stop" });
  const other = await openKit([], { store, threadId: "another" });
  expect(await other.runner.interrupt("thread", { id: "stop" })).toEqual(receipt);
  return receipt;
}

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

describe.each(eachStore)(
  "S2, S4: the calls of a receipt are in the order in which the model asked ($name)",
  ({ make }) => {
    test("at any moment after an answer, in this process and from the record", async () => {
      for (let delay = 0; delay <= 40; delay += 2) {
        const { tools } = paying({ serial: true });
        const kit = await waiting(ids, { store: await make(), tools });
        const answered = kit.session.answer(requestOf(kit, "c").id, approve());
        await microtasks(delay);
        const { notStarted, finished } = await stopped(kit);
        await answered.catch(() => {});
        expect([...notStarted], `after ${delay} microtasks`).toEqual(notStarted.toSorted());
        expect([...notStarted, ...finished].toSorted(), `after ${delay} microtasks`).toEqual(ids);
      }
    });

    test("also if they end in another order, inside an agent, too", async () => {
      const ends: (() => void)[] = [];
      const slow = toolOf("slow", ({ signal }) => {
        return new Promise((_, refuse) => {
          signal.addEventListener("abort", () => {
            ends.push(() => refuse(signal.reason));
            if (ends.length === 4) for (const end of ends.toReversed()) end();
          });
        });
      });
      const inner = agent({
        name: "inner",
        model: scriptedModel([
          [
            { call: "slow", id: "x" },
            { call: "slow", id: "y" },
          ],
        ]),
        tools: [slow],
      });
      const turn = [
        { call: "slow", id: "a" },
        { call: "inner", id: "b", args: { request: "do" } },
        { call: "slow", id: "c" },
      ];
      const kit = await openKit([turn], { store: await make(), tools: [slow, agentTool(inner)] as never });
      kit.session.run("go");
      await settle(20);
      expect((await stopped(kit)).stopped).toEqual(["a", "b", "x", "y", "c"]);
    });
  },
);
