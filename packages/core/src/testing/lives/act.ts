// What happens next in a life: by chance, some of it more often.

import { oneOf } from "./dice.ts";
import * as happen from "./happen.ts";
import type { Life } from "./life.ts";
import * as say from "./say.ts";

const deeds: readonly (readonly [times: number, deed: say.Deed])[] = [
  [14, say.goOn],
  [4, say.run],
  [16, say.stop],
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

const bagOf = (table: typeof deeds) => table.flatMap(([times, deed]) => Array.from({ length: times }, () => deed));
const peace = bagOf(deeds);
const any = bagOf([...deeds, ...rough]);

export function act(life: Life): void {
  const { alive, dice } = life;
  const process = alive[dice(Math.max(1, alive.length))] ?? life.start();
  const deed = oneOf(dice, life.peaceful ? peace : any);
  const { session } = process;
  if (session !== undefined) return deed(life, process, session);
  process.open();
  // The lease of one that died must end first.
  if (dice(4) === 0) happen.timePasses(life);
}
