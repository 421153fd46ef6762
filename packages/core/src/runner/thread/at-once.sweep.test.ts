// Two things done to a thread in one moment: each with each, wherever the thread stands, in one process or in two, in the
// same tick or a few apart, with a store that takes its time. Chance seldom leads there: this counts through.

import { type Action, type Turn, World } from "@belay/testkit/world";
import { expect, inject, test } from "vitest";

/** It runs for longer than a stop is looked for. */
const gated = { call: "gated", ticks: 6 } as const;

/** The state of the thread: the first answer of its model, and the time of it. */
const scenes: Readonly<Record<string, { readonly turn: Turn; readonly ticks: number }>> = {
  "it waits for an answer": { turn: [{ ...gated, id: 1 }], ticks: 14 },
  "it waits for two answers": {
    turn: [
      { ...gated, id: 1 },
      { ...gated, id: 2 },
    ],
    ticks: 14,
  },
  "code of a call waits for an answer": { turn: [{ call: "asks", ticks: 1, id: 1 }], ticks: 18 },
  "a call runs, and another one waits for an answer": {
    turn: [
      { ...gated, id: 1 },
      { call: "slow", ticks: 6, id: 2 },
    ],
    ticks: 6,
  },
  "a call runs": { turn: [{ call: "slow", ticks: 6, id: 1 }], ticks: 4 },
  "its model speaks": { turn: [{ text: "Hello" }, { wait: 6 }, { text: " world" }], ticks: 4 },
  "it is completed": { turn: [{ text: "Hello" }], ticks: 20 },
};

const deeds = {
  "an approval": (on) => ({ do: "answer", on, which: 0, how: "yes", times: 1 }),
  "an approval of the other": (on) => ({ do: "answer", on, which: 1, how: "yes", times: 1 }),
  "a rejection": (on) => ({ do: "answer", on, which: 0, how: "no", times: 1 }),
  "a stop": (on) => ({ do: "interrupt", on, options: {}, times: 1 }),
  "a forced stop": (on) => ({ do: "interrupt", on, options: { force: true }, times: 1 }),
  "a stop after the tools": (on) => ({ do: "interrupt", on, options: { mode: "after-tools" }, times: 1 }),
  "a stop by the runner": (on) => ({ do: "interrupt-anywhere", on, options: {} }),
  "a resume": (on) => ({ do: "resume", on, inputs: 0 }),
  "a resume with input": (on) => ({ do: "resume", on, inputs: 1 }),
  "a resume by its handle": (on) => ({ do: "resume-handle", on, back: 0, inputs: 0 }),
  "a pause": (on) => ({ do: "pause", on }),
  "a close": (on) => ({ do: "close", on }),
  "an end for good": (on) => ({ do: "terminate", on }),
  "a steer": (on) => ({ do: "steer", on }),
  "an enqueued input": (on) => ({ do: "enqueue", on }),
} satisfies Readonly<Record<string, (on: number) => Action>>;
type Deed = keyof typeof deeds;
const all = Object.keys(deeds) as Deed[];

const stops: readonly Deed[] = ["a stop", "a forced stop"];

/** The delays of the store: rounds before a write, and before its answer. */
const paces: readonly { readonly of: "all" | "append" | "load"; readonly before: number; readonly after: number }[] = [
  { of: "all", before: 0, after: 0 },
  { of: "all", before: 1, after: 1 },
  { of: "load", before: 1, after: 0 },
  { of: "load", before: 2, after: 0 },
  { of: "load", before: 1, after: 1 },
  { of: "append", before: 1, after: 0 },
  { of: "append", before: 0, after: 1 },
  { of: "append", before: 2, after: 2 },
];

interface Moment {
  readonly first: Deed;
  readonly second: Deed;
  /** The second is done in another process. */
  readonly elsewhere: boolean;
  /** Rounds from the first to the second. */
  readonly apart: number;
  readonly pace: (typeof paces)[number];
}

/** How many there are of each, and so of moments: each has a number. */
const counts = [2, 4, paces.length, all.length, all.length] as const;
const MOMENTS = counts.reduce((product, count) => product * count, 1);

function momentOf(number: number): Moment {
  let rest = number;
  const [elsewhere, apart, pace, first, second] = counts.map((count) => {
    const digit = rest % count;
    rest = Math.floor(rest / count);
    return digit;
  }) as [number, number, number, number, number];
  return { first: all[first]!, second: all[second]!, elsewhere: elsewhere === 1, apart, pace: paces[pace]! };
}

/** A step that shares no divisor with the counts above meets another moment of each two deeds. */
const { eachMoment: STEP } = inject("effort");

/** An answer lets a call run that no tenure has yet: a command that ends the call, or continues past it, meets it at every moment. */
const ends: readonly Deed[] = ["a stop", "a resume", "a resume with input", "a close", "an end for good"];

function isNarrow({ first, second }: Moment): boolean {
  const other = first === "an approval" ? second : second === "an approval" ? first : undefined;
  return other !== undefined && ends.includes(other);
}

async function live({ turn, ticks }: (typeof scenes)[string], moment: Moment): Promise<readonly string[]> {
  const { first, second, elsewhere, apart, pace } = moment;
  const world = new World({ turns: [turn], prefill: false, repair: "synthetic" });
  const settle = (ticks: number) => world.act({ do: "settle", ticks });
  const slowDown = async (on: number) => {
    const { of, before, after } = pace;
    if (of === "all") return world.act({ do: "slow", on, fault: { before, after } });
    const faults = Array.from({ length: 50 }, () => ({ before, after }));
    return world.act({ do: "fault", on, operation: of, faults });
  };
  await settle(4);
  await world.act({ do: "go", on: 0, inputs: 1 });
  await settle(ticks);
  if (elsewhere) {
    await world.act({ do: "start" });
    await settle(3);
    await slowDown(1);
  }
  await slowDown(0);
  await world.act(deeds[first](0));
  for (let i = 0; i < apart; i++) await settle(1);
  await world.act(deeds[second](elsewhere ? 1 : 0));
  await settle(60);
  await world.act({ do: "advance", ms: 200 });
  const { state } = world.facts.findLast((fact) => fact.type === "state")!;
  const here = !elsewhere && first !== "a close";
  if (here && stops.includes(second)) {
    if (state === "running") world.problems.push("the stop left it running");
    if (world.open.length > 0) world.problems.push("the stop left it waiting for an answer");
  }
  if (here && second === "an end for good" && state !== "terminated")
    world.problems.push(`it is ${state}, not terminated`);
  await world.end();
  return world.problems;
}

const moments = Array.from({ length: MOMENTS }, (_, number) => momentOf(number));
const named = Object.entries(scenes);

test.each(named)("where %s, any two things may be done at once", async (name, scene) => {
  const from = named.findIndex(([other]) => other === name) * 9;
  for (let number = from % STEP; number < MOMENTS; number += STEP) {
    const moment = moments[number]!;
    expect(await live(scene, moment), JSON.stringify(moment)).toEqual([]);
  }
});

test.each(named.slice(0, 1))("where %s, an answer may meet a stop or a resume at any moment", async (_, scene) => {
  // There are few of them: of those a spread is denser.
  const few = moments.filter(isNarrow);
  const step = Math.ceil(STEP / 31);
  for (let number = 0; number < few.length; number += step) {
    const moment = few[number]!;
    expect(await live(scene, moment), JSON.stringify(moment)).toEqual([]);
  }
});
