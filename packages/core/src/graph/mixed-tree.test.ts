import { faultyStore, mixedAnswer, mixedRepeatable, mixedTree, openDatabase, randomTree } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Clock, memoryStore } from "../index.ts";
import { sqliteStore } from "../sqlite.ts";
import { allFaults, interruptAnywhere } from "../testing/index.ts";

// BELAY_TREE_POINTS=all strikes at every point; else at this many for each fault, spread evenly.
const wanted = process.env.BELAY_TREE_POINTS ?? "8";

// BELAY_TREE_SEEDS=from-to makes trees of these seeds; each is struck at few points, and others for each fault.
const [firstSeed = 1, lastSeed = firstSeed] = (process.env.BELAY_TREE_SEEDS ?? "1-3").split("-").map(Number);
const seeds = Array.from({ length: lastSeed - firstSeed + 1 }, (_, i) => firstSeed + i);

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
      // A run that is queued would ask people anew, and nobody is there for it.
      faults: allFaults.filter((fault) => fault !== "enqueue"),
      repeatable: mixedRepeatable,
      answer: mixedAnswer,
      ...(wanted !== "all" && { mostPoints: Number(wanted) }),
    });
    expect(report.problems).toEqual([]);
    expect(report.unstruck).toBeLessThanOrEqual(report.passes * mayMiss);
    expect(report.points).toBeGreaterThan(150);
    console.log(`${report.passes} passes over ${report.points} points`);
  }, 3_600_000);

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
        mostPoints: wanted === "all" ? Number.POSITIVE_INFINITY : 2,
      });
      await expect(attack, shape).resolves.toMatchObject({ problems: [] });
    },
    600_000,
  );
});
