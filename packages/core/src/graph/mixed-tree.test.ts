import { describe, expect, test } from "vitest";
import type { Clock } from "../clock.ts";
import { memoryStore } from "../store/memory.ts";
import { sqliteStore } from "../store/sqlite/sqlite.ts";
import { allFaults, interruptAnywhere } from "../testing/interrupt-anywhere.ts";
import { mixedAnswer, mixedRepeatable, mixedTree } from "../testing/mixed-tree.ts";
import { openDatabase } from "../testing/open-database.ts";

// BELAY_TREE_POINTS=all strikes at every point; else at this many for each fault, spread evenly.
const wanted = process.env.BELAY_TREE_POINTS ?? "24";

const stores = [
  { name: "memory", store: (clock: Clock) => memoryStore({ clock }) },
  { name: "sqlite", store: async (clock: Clock) => sqliteStore(await openDatabase(":memory:"), { clock }) },
];

describe.each(stores)("every way to put agents into agents, in one tree, on $name", ({ store }) => {
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
    expect(report.points).toBeGreaterThan(150);
    console.log(`${report.passes} passes over ${report.points} points`);
  }, 3_600_000);
});
