// Faults of the processes of a life and of their surroundings.

import { ticks } from "../simulation/tick.ts";
import { oneOf } from "./dice.ts";
import type { Life } from "./life.ts";
import type { Deed } from "./say.ts";

/** At once. */
const MOST_PROCESSES = 3;

export const timePasses = (life: Life): void => {
  const ms = oneOf(life.dice, [10, 100, 500, 1_100]);
  life.witness.note(`${ms} ms pass`);
  void life.clock.advance(ms);
};

export const letGo: Deed = (life) => {
  life.witness.note("deaf calls are released");
  life.letGo();
};

export const start: Deed = (life) => {
  if (life.alive.length >= MOST_PROCESSES) return;
  life.witness.note("start");
  life.start();
};

export const kill: Deed = (life, process) => {
  life.witness.note(`p${process.number} is killed`);
  process.kill();
};

export const close: Deed = (life, process) => {
  life.witness.note(`p${process.number} close`);
  process.close();
};

export const drain: Deed = (life, process) => {
  life.witness.note(`p${process.number} drain`);
  process.drain(50);
};

export const work: Deed = (life, process) => {
  life.witness.note(`p${process.number} work`);
  const working = new AbortController();
  process.own("work", process.runner.work({ signal: working.signal, pollMs: 1 }));
  void ticks(3).then(() => working.abort());
};

export const slowDown: Deed = (life, process) => {
  life.witness.note(`p${process.number} has another pace`);
  process.store.always(oneOf(life.dice, [{}, { before: 1 }, { after: 2 }, { before: 2, after: 2 }]));
};

/** It stands still; at times so long that others take over. */
export const freeze: Deed = (life, process) => {
  const { dice } = life;
  const rounds = 5 + dice(60);
  life.witness.note(`p${process.number} stands still for ${rounds} rounds`);
  life.witness.leaveBehind(process.number);
  process.store.freeze();
  if (dice(2) === 0) void life.clock.advance(1_200);
  void ticks(rounds).then(() => process.store.thaw());
};

export const failStore: Deed = (life, process) => {
  if (!life.storeFails) return;
  const { dice, witness } = life;
  const operation = oneOf(dice, ["append", "append", "append", "send", "load", "renew"] as const);
  const fail = oneOf(dice, ["before", "after"] as const);
  const later = Array.from({ length: dice(3) }, () => ({}));
  const twice = dice(3) === 0 ? [{ fail }] : [];
  witness.note(`p${process.number}: ${operation} will fail ${fail} the commit`);
  witness.leaveBehind(process.number);
  process.store.plan(operation, ...later, { fail }, ...twice);
};
