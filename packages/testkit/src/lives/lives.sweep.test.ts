// Random lives of random trees of agents: with any order of the acts of people and processes, the promises hold, and in calm
// everything continues to its end. `--seed 17 --runs 1` lives the life of seed 17 again.

import { queryObjects } from "node:v8";
import { expect, inject, test } from "vitest";
import { Life } from "./life.ts";
import { live } from "./live.ts";

const { firstSeed: first, lives } = inject("effort");
const seeds = Array.from({ length: lives }, (_, i) => first + i);

test.each(seeds)(
  "H1, S1, C2, F1, F4, Q1, T2: a life made by chance, seed %s: the promises hold, and it runs to its end",
  async (seed) => {
    const { problems, log } = await live(seed, seed % 4 === 0 ? "sqlite" : "memory");
    expect(problems, `seed ${seed}\n${log.join("\n")}`).toEqual([]);
  },
);

// In memory: in a file, processes look whether others have written, and when they do is real time.
test("the same seed is the same life", async () => {
  for (const seed of [first, first + 1, first + 2])
    expect(await live(seed, "memory")).toEqual(await live(seed, "memory"));
});

// A life has processes that die in the middle of their work, and files that are closed under them.
test.each(["memory", "sqlite"] as const)("nothing of a life is kept after its end, on %s", async (on) => {
  for (let seed = first; seed < first + 10; seed++) await live(seed, on);
  await expect.poll(() => queryObjects(Life)).toBe(0);
});
