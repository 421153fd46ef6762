// Random lives of a thread: with any acts of people, processes, stores, models and tools, in any order, the promises hold.
// On a failure fast-check prints the seed and the shortest such life.

import { type Action, type Piece, type Turn, toolNames, World } from "@belay/testkit/world";
import fc from "fast-check";
import { expect, inject, test } from "vitest";

const { interleavings, seed } = inject("effort");

const small = fc.integer({ min: 0, max: 6 });
const words = fc.constantFrom("Hello", " world", " ", "\n", "é👩‍👧", "\ud83d", "x");

/** Half of them ask people something. */
const tool = fc.oneof(fc.constantFrom(...toolNames), fc.constantFrom("gated", "sealed", "asks", "pair", "doubt"));

const piece: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ text: words }) },
  { weight: 2, arbitrary: fc.record({ reasoning: words, signed: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ call: tool, ticks: small, id: small }) },
  { weight: 4, arbitrary: fc.record({ wait: small }) },
  { weight: 1, arbitrary: fc.record({ stall: fc.constantFrom("heeding" as const, "deaf" as const) }) },
  { weight: 1, arbitrary: fc.record({ fail: fc.constantFrom("retry" as const, "refused" as const) }) },
  { weight: 1, arbitrary: fc.record({ length: fc.constant(true as const) }) },
);
const work = fc.record({
  said: fc.array(piece, { maxLength: 3 }),
  calls: fc.array(fc.record({ call: tool, ticks: small, id: small }), {
    minLength: 1,
    maxLength: 4,
    size: "max",
  }),
});
const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 4, arbitrary: work.map(({ said, calls }) => [...said, ...calls]) },
  { weight: 2, arbitrary: fc.array(piece, { maxLength: 6, size: "max" }) },
);

const on = fc.constantFrom(0, 0, 0, 1, 2);
const inputs = fc.constantFrom(0, 0, 0, 1, 2);
const fault = fc.record(
  { before: small, after: small, fail: fc.constantFrom("before" as const, "after" as const) },
  { requiredKeys: [] },
);
const delay = fc.record({ before: small, after: small }, { requiredKeys: [] });
const options = fc.record(
  {
    mode: fc.constantFrom("now" as const, "after-model" as const, "after-tools" as const),
    force: fc.boolean(),
    rollbackPartial: fc.boolean(),
    timeoutMs: fc.constantFrom(0, 50, 500),
    graceMs: fc.constantFrom(0, 20),
  },
  { requiredKeys: [] },
);
const is = <T extends string>(...names: T[]) => fc.constantFrom(...names);

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record(
      { do: is("go"), on, inputs, mode: is("continue", "rethink") },
      { requiredKeys: ["do", "on", "inputs"] },
    ),
  },
  { weight: 1, arbitrary: fc.record({ do: is("run"), on, inputs }) },
  { weight: 1, arbitrary: fc.record({ do: is("resume"), on, inputs }) },
  { weight: 2, arbitrary: fc.record({ do: is("resume-handle"), on, back: fc.nat({ max: 2 }), inputs }) },
  { weight: 6, arbitrary: fc.record({ do: is("interrupt"), on, options, times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ do: is("pause", "close", "kill", "freeze", "thaw", "thaw"), on }) },
  { weight: 2, arbitrary: fc.record({ do: is("start") }) },
  { weight: 4, arbitrary: fc.record({ do: is("advance"), ms: fc.constantFrom(10, 60, 200, 1_100, 1_100) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: is("answer"),
      on,
      which: fc.constantFrom(0, 0, 0, 1, 2, 3),
      how: is("yes", "yes", "yes", "no", "instead", "wrong", "unknown"),
      times: fc.constantFrom(1, 1, 2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: is("steer", "enqueue"), on }) },
  { weight: 1, arbitrary: fc.record({ do: is("withdraw"), on, back: fc.nat({ max: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: is("interrupt-anywhere"), on, options }) },
  { weight: 1, arbitrary: fc.record({ do: is("release-deaf") }) },
  { weight: 12, arbitrary: fc.record({ do: is("settle"), ticks: fc.integer({ min: 1, max: 12 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: is("fault"),
      on,
      operation: is("append", "append", "load", "renew", "release"),
      faults: fc.array(fault, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: is("slow"), on, fault: delay }) },
);

/** The acts of people in a moment, one after the other: mostly in one tick. */
const moment: fc.Arbitrary<Action[]> = fc
  .array(
    fc.record({
      ticks: fc.constantFrom(0, 0, 0, 1, 2, 3),
      deed: fc.oneof(
        {
          weight: 5,
          arbitrary: fc.record({
            do: is("answer"),
            on,
            which: fc.constantFrom(0, 0, 1),
            how: is("yes", "yes", "no", "instead"),
            times: fc.constant(1),
          }),
        },
        { weight: 4, arbitrary: fc.record({ do: is("interrupt"), on, options, times: fc.constantFrom(1, 1, 2) }) },
        { weight: 1, arbitrary: fc.record({ do: is("interrupt-anywhere"), on, options }) },
        { weight: 3, arbitrary: fc.record({ do: is("resume"), on, inputs }) },
        { weight: 1, arbitrary: fc.record({ do: is("resume-handle"), on, back: fc.constant(0), inputs }) },
        { weight: 3, arbitrary: fc.record({ do: is("pause", "close", "steer", "enqueue"), on }) },
        { weight: 1, arbitrary: fc.record({ do: is("withdraw"), on, back: fc.constant(0) }) },
      ),
    }),
    { minLength: 2, maxLength: 4, size: "max" },
  )
  .map((deeds) => deeds.flatMap(({ deed, ticks }): Action[] => [deed, { do: "settle", ticks }]));

/** Stories that single actions would seldom make; 9 is the youngest process. */
const story: fc.Arbitrary<Action[]> = fc.oneof(
  // A process dies, and another one continues.
  fc
    .record({ on, inputs, mode: is("continue", "rethink") })
    .map(({ on, inputs, mode }): Action[] => [
      { do: "kill", on },
      { do: "advance", ms: 1_100 },
      { do: "start" },
      { do: "settle", ticks: 3 },
      { do: "go", on: 9, inputs, mode },
    ]),
  // A process stands still, another one takes over, and the first one revives.
  fc
    .record({ on, inputs, more: small, late: small, fail: fc.boolean() })
    .map(({ on, inputs, more, late, fail }): Action[] => [
      ...(fail ? [{ do: "fault", on, operation: "append", faults: [{ fail: "after" }] } as const] : []),
      { do: "go", on, inputs },
      { do: "settle", ticks: more },
      { do: "freeze", on },
      { do: "start" },
      { do: "advance", ms: 1_100 },
      { do: "settle", ticks: 3 },
      { do: "go", on: 9, inputs },
      { do: "settle", ticks: late },
      { do: "thaw", on },
      { do: "advance", ms: 200 },
    ]),
  // Several answer at once, in one process or in two, and one of them may die of it.
  fc
    .record({ on, other: on, which: fc.nat({ max: 3 }), ticks: small, more: small, dies: fc.boolean(), inputs })
    .map(({ on, other, which, ticks, more, dies, inputs }): Action[] => [
      { do: "go", on, inputs: 0 },
      { do: "settle", ticks: 8 },
      { do: "start" },
      { do: "settle", ticks: 2 },
      { do: "answer", on, which, how: "yes", times: 1 },
      { do: "answer", on: other, which, how: "no", times: 1 },
      { do: "settle", ticks },
      ...(dies ? [{ do: "kill", on } as const, { do: "advance", ms: 1_100 } as const, { do: "start" } as const] : []),
      { do: "answer", on: 9, which: more % 4, how: "yes", times: 2 },
      { do: "settle", ticks: more },
      { do: "go", on: 9, inputs },
    ]),
  // A stop meets an append that is under way.
  fc
    .record({ on, before: small, after: small, ticks: small, options })
    .map(({ on, before, after, ticks, options }): Action[] => [
      { do: "slow", on, fault: { before, after } },
      { do: "go", on, inputs: 0 },
      { do: "settle", ticks },
      { do: "interrupt", on, options, times: 1 },
      { do: "settle", ticks: 12 },
    ]),
  // It waits for people, and several things are done in one moment, here or in two processes, with a store that takes its time.
  fc
    .record({ before: fc.nat({ max: 3 }), after: fc.nat({ max: 3 }), two: fc.boolean(), ticks: small, moment })
    .map(({ before, after, two, ticks, moment }): Action[] => [
      { do: "go", on: 0, inputs: 0 },
      { do: "settle", ticks: ticks * 2 },
      ...(two ? [{ do: "start" } as const, { do: "settle", ticks: 2 } as const] : []),
      { do: "slow", on: 0, fault: { before, after } },
      ...(two ? [{ do: "slow", on: 1, fault: { before: after, after: before } } as const] : []),
      ...moment,
      { do: "settle", ticks: 12 },
    ]),
);

const life = fc.record({
  setup: fc.record({
    turns: fc.array(turn, { minLength: 1, maxLength: 10, size: "max" }),
    prefill: fc.boolean(),
    repair: is("synthetic", "drop"),
  }),
  actions: fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: action.map((one) => [one]) },
        { weight: 1, arbitrary: fc.oneof(story, story, moment) },
      ),
      {
        maxLength: 30,
        size: "max",
      },
    )
    .map((stories) => stories.flat()),
  terminate: fc.constantFrom(false, false, false, false, true),
});

test("after any events of a thread, in any order, the promises hold and it can continue", async () => {
  await fc.assert(
    fc.asyncProperty(life, async ({ setup, actions, terminate }) => {
      const world = new World(setup);
      await world.act({ do: "settle", ticks: 4 });
      await world.act({ do: "go", on: 0, inputs: 1 });
      for (const each of [...actions, ...(terminate ? [{ do: "terminate", on: 0 } as const] : [])]) {
        await world.act(each);
        expect(world.problems).toEqual([]);
      }
      await world.end();
      expect(world.problems).toEqual([]);
    }),
    { numRuns: interleavings, seed },
  );
});
