// How a question measures and how it answers. A child of run.mjs answers by message; alone it prints.

import { setImmediate as macrotask } from "node:timers/promises";

/**
 * Runs the cases in turns, so that other work of the machine disturbs all of them, and each time in another order. A
 * case does its work and returns its measurement. The first `warmup` rounds are not kept.
 */
export async function inTurns(cases, { rounds, warmup = Math.ceil(rounds / 5) }) {
  const names = Object.keys(cases);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round + warmup) % names.length];
      // No gc() here: it throws away the shapes of dead objects, and with them the code compiled for them.
      await macrotask();
      const value = await cases[name]();
      if (round >= 0) samples[name].push(value);
    }
    progress(`${Math.max(0, round + 1)}/${rounds}`);
  }
  return samples;
}

/** Microseconds that `work` takes. */
export async function timed(work) {
  const started = performance.now();
  await work();
  return (performance.now() - started) * 1000;
}

export const least = (values) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
export const most = (values) => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
export const median = (values) => quantile(values, 0.5);

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
}

/**
 * One line of the table. `judged` is the number the target is for: "over" the floor (measured less floor), the "ratio"
 * of the two, or the "measured" value. `typical` is the median of the same difference, where `measured` is a minimum.
 */
export function answer({ name, unit, measured, floor, target, judged = "measured", typical, note }) {
  send({ kind: "answer", name, unit, measured, floor, target, judged, typical, note });
}

/** The costs per one of `per` things: the least of each, the floor's taken off. */
export function answerCost({ name, per, measured, floor, target, note }) {
  answer({
    name,
    unit: "µs",
    measured: least(measured) / per,
    floor: least(floor) / per,
    typical: (median(measured) - median(floor)) / per,
    target,
    judged: "over",
    note,
  });
}

export function progress(text) {
  if (process.send !== undefined) send({ kind: "progress", text });
}

function send(message) {
  if (process.send !== undefined) process.send(message);
  else console.log(JSON.stringify(message));
}
