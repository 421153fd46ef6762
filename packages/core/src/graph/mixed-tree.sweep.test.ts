import { faultyStore, mixedAnswer, mixedRepeatable, mixedTree, openDatabase, randomTree } from "@belay/testkit";
import { describe, expect, inject, test } from "vitest";
import { type Clock, memoryStore } from "../index.ts";
import { sqliteStore } from "../sqlite.ts";
import { allFaults, interruptAnywhere } from "../testing/index.ts";

const { firstSeed, strikesInTree, strikesByChance, trees } = inject("effort");
const seeds = Array.from({ length: trees }, (_, i) => firstSeed + i);

const stores = [
  { name: "memory", mayMiss: 0, store: (clock: Clock) => memoryStore({ clock }) },
  {
    // Some races show only there.
    name: "a store that takes its time",
    mayMiss: 0,
    store: (clock: Clock) => {
      const slow = faultyStore(memoryStore({ clock }));
      slow.always({ before: 1, after: 2 });
      return slow;
    },
  },
  {
    name: "sqlite",
    // A file is looked at by the clock: on a busy machine the last points may never come.
    mayMiss: 0.05,
    store: async (clock: Clock) => sqliteStore(await openDatabase(":memory:"), { clock }),
  },
];

describe.each(stores)("every way to put agents into agents, in one tree, on $name", ({ store, mayMiss }) => {
  test("W1, W4, G1, S8, C2, F4: every fault, answers in any order: it ends as if nothing had happened, and pays once", async () => {
    const report = await interruptAnywhere({
      agent: mixedTree,
      input: "hi",
      store,
      // A queued run would ask people again, and no person answers in this test.
      faults: allFaults.filter((fault) => fault !== "enqueue"),
      repeatable: mixedRepeatable,
      answer: mixedAnswer,
      mostPoints: strikesInTree,
    });
    expect(report.problems).toEqual([]);
    expect(report.unstruck).toBeLessThanOrEqual(report.passes * mayMiss);
    expect(report.points).toBeGreaterThan(150);
    console.log(`${report.passes} passes over ${report.points} points`);
  });

  test.each(seeds)(
    "W1, W4, S8, C2, F4: a tree made by chance, seed %s: it ends as if nothing had happened",
    async (seed) => {
      const { shape } = randomTree(seed, 5, { effect: () => {} });
      const attack = interruptAnywhere({
        agent: (kit) => randomTree(seed, 5, kit).root,
        input: "hi",
        store,
        faults: allFaults.filter((fault) => fault !== "enqueue"),
        repeatable: mixedRepeatable,
        answer: mixedAnswer,
        mostPoints: strikesByChance,
      });
      await expect(attack, shape).resolves.toMatchObject({ problems: [] });
    },
  );
});
