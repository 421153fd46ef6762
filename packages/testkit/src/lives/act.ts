// The next event in a life: by chance, some kinds more often. Each life has its own bag of events: with some kinds absent and
// others frequent, rare meetings occur.

import { isRequest, onPoint } from "@belay/core/inside";
import { ticks } from "../simulation/tick.ts";
import { oneOf } from "./dice.ts";
import * as happen from "./happen.ts";
import type { Life } from "./life.ts";
import * as say from "./say.ts";

const deeds: readonly (readonly [times: number, deed: say.Deed])[] = [
  [14, say.goOn],
  [4, say.run],
  [12, say.stop],
  [3, say.pause],
  [8, say.send],
  [12, say.answer],
  [4, say.answerAll],
  [3, say.raceToAnswer],
  [2, say.observe],
  [2, say.resumeByHandle],
  [1, say.issueHandle],
  [1, say.runById],
  [1, say.stopAnywhere],
  [1, say.breakpoint],
  [1, say.terminate],
  [1, say.fork],
  [1, say.moveFork],
  [1, say.handleForFork],
  [4, happen.timePasses],
  [3, happen.letGo],
  [2, happen.start],
  [2, happen.work],
  [3, happen.slowDown],
];

const rough: typeof deeds = [
  [2, happen.kill],
  [3, happen.close],
  [1, happen.drain],
  [1, happen.freeze],
  [2, happen.failStore],
];

export type Bag = readonly say.Deed[];

/** The events that may occur in one life. Resumes are never left out. */
export function bagFor({ dice, peaceful }: Pick<Life, "dice" | "peaceful">): Bag {
  return (peaceful ? deeds : [...deeds, ...rough]).flatMap(([times, deed]) => {
    const often = deed === say.goOn ? 1 : oneOf(dice, [0, 1, 1, 3]);
    return Array.from({ length: times * often }, () => deed);
  });
}

export function act(life: Life, bag: Bag): void {
  const { alive, dice } = life;
  const process = alive[dice(Math.max(1, alive.length))] ?? life.start();
  const { session } = process;
  const asked = life.keen && session?.interrupts.some(isRequest);
  const deed = asked && dice(2) === 0 ? say.answerAll : oneOf(dice, bag);
  if (session !== undefined) return deed(life, process, session);
  process.open();
  // The lease of one that died must end first.
  if (dice(4) === 0) happen.timePasses(life);
}

/** The most in one life: work that is under way must make progress. */
const MOST_PRESSED = 30;

/** Lets events also occur right at a step of the kernel: most races are that narrow. Returns the function that ends it. */
export function pressOn(life: Life, bag: Bag): () => void {
  let pressed = 0;
  return onPoint(() => {
    const { dice, pressure } = life;
    if (life.ending || pressure === 0 || pressed >= MOST_PRESSED || dice(pressure) > 0) return;
    pressed += 1;
    void ticks(oneOf(dice, [0, 0, 1, 2])).then(() => {
      if (!life.ending) act(life, bag);
    });
  });
}
