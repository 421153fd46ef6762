import { expect, test } from "vitest";
import { systemClock } from "../../clock.ts";
import { belayError, errorRecord } from "../../error.ts";
import { newThread } from "../../journal/state.ts";
import { take } from "../../journal/taken.ts";
import { type Command, labelCommand, nextTry, signalCommand } from "./command.ts";
import { type Context, decide } from "./decide.ts";

const place = { threadId: "thread", runId: "run", segment: 1, agentName: "a", runPath: "a" };
const context: Context = { place, now: 1, groups: {}, callsRun: false, byRow: false };

/** A thread on which this command was refused. */
function refusedOn({ key }: Command) {
  const state = newThread("thread");
  const refused = errorRecord(belayError("THREAD_UNKNOWN", { threadId: "thread" }));
  take(state, key, { seq: 7, runId: "run", segment: 1 }, refused);
  return { state, known: { seq: 7, runId: "run", segment: 1, refused } };
}

const label = labelCommand("thread", { title: "new" }, { id: "x" }, "fresh");

test("V2: a refused command is decided anew, under the key of its next try", () => {
  const { state } = refusedOn(label);
  const decision = decide(state, label, context);
  expect(decision).toMatchObject({
    facts: [{ type: "command", key: "label:x~7" }, { type: "state" }, { type: "label" }],
  });
  take(state, "label:x~7", { seq: 9, runId: "run", segment: 1 });
  expect(decide(state, label, context)).toEqual({ known: { seq: 9, runId: "run", segment: 1 } });
});

test("V2: a row with a refused command is not decided again: its sender reads the refusal", () => {
  const { state, known } = refusedOn(label);
  expect(decide(state, label, { ...context, byRow: true })).toEqual({ known });
});

test("V2: a stop that met nothing has met nothing when it is sent again", () => {
  const stop = signalCommand("stop", { id: "x" }, { clock: systemClock, maxBytes: 1_000 });
  const { state, known } = refusedOn(stop);
  expect(decide(state, stop, context)).toEqual({ known });
  expect(nextTry(state, stop)).toBe(stop);
});
