// Random lives of random trees of agents: whatever people and processes do, in any order, the promises hold, and in calm
// everything goes on to its end. BELAY_LIVES_SEEDS=from-to lives those of other seeds; a seed alone lives one again.

import { expect, test } from "vitest";
import { live } from "./live.ts";

const [first = 1, last = first] = (process.env.BELAY_LIVES_SEEDS ?? "1-60").split("-").map(Number);
const seeds = Array.from({ length: last - first + 1 }, (_, i) => first + i);

test.each(seeds)(
  "H1, S1, C2, F1, F4, Q1, T2: a life made by chance, seed %s: the promises hold, and it goes on to its end",
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
