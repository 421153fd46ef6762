// One life: processes that come and go around a thread, people that act at any time, and at the end calm, in which everything must
// be able to end. A seed is one life: time stands still except when it is moved, and nothing else is left to chance, but the
// moment at which one process polls a file for the writes of another.

import { fakeClock } from "@belay/core/testing";
import { THREAD } from "../simulation/segment.ts";
import { ticks } from "../simulation/tick.ts";
import { act, bagFor, pressOn } from "./act.ts";
import { oneOf } from "./dice.ts";
import { endInCalm, stopAll } from "./ending.ts";
import { Life } from "./life.ts";
import { placesOf } from "./places.ts";

export interface Lived {
  readonly problems: readonly string[];
  /** The tree and the events, in order. */
  readonly log: readonly string[];
}

/** Lives the life of a seed. */
export async function live(seed: number, on: keyof typeof placesOf): Promise<Lived> {
  const clock = fakeClock();
  const places = await placesOf[on](clock);
  const life = new Life(seed, clock, places);
  const bag = bagFor(life);
  const rest = pressOn(life, bag);
  try {
    const { problems, log } = life.witness;
    life.start();
    await ticks(5);
    const steps = 15 + life.dice(45);
    for (let i = 0; i < steps; i++) {
      act(life, bag);
      if (i % 5 === 0) life.witness.checkFacts(THREAD);
      await ticks(oneOf(life.dice, [0, 1, 1, 2, 3, 6, 12, 25]));
    }
    await stopAll(life);
    await endInCalm(life);
    return { problems, log: [life.shape, ...log] };
  } finally {
    rest();
    places.close();
  }
}
