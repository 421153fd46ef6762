import { expect, test } from "vitest";
import { definitionOf } from "../../agent.ts";
import { systemClock } from "../../clock.ts";
import { belayError, errorRecord } from "../../error.ts";
import { agent } from "../../index.ts";
import { newThread } from "../../journal/state.ts";
import { take } from "../../journal/taken.ts";
import { addUsage } from "../../message.ts";
import { scriptedModel } from "../../testing/index.ts";
import {
  type Command,
  inputCommand,
  labelCommand,
  nextTry,
  type ResumeCommand,
  type RunCommand,
  signalCommand,
} from "./command.ts";
import { type Context, decide } from "./decide.ts";

const place = { threadId: "thread", runId: "run", segment: 1, agentName: "a", runPath: "a" };
const helper = definitionOf(agent({ name: "a", model: scriptedModel([]) }));
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

test("F3: an input puts its thread on record, and not its own key: it waits until an append consumes it", () => {
  const setup = { clock: systemClock, maxBytes: 1_000 };
  const key = { tenant: "", threadId: "thread" };
  const input = inputCommand("enqueue", "more", { id: "x" }, { key, setup });
  expect(decide(newThread("thread"), input, context)).toEqual({
    facts: [expect.objectContaining({ type: "state", state: "initialized" })],
  });
});

/** A thread that a person has stopped, and a resume of it. */
function stoppedAndResumed() {
  const state = newThread("thread");
  state.state = "paused";
  state.pauseType = "user_interrupt";
  state.run = { id: "run", segment: 1, startSeq: 1, usage: addUsage(undefined, undefined), underway: true };
  const resume: ResumeCommand = {
    ...{ do: "resume", key: "run:x", inputs: [], mode: undefined, answers: new Map(), to: undefined, patch: undefined },
    drift: "warn",
  };
  return { state, resume, next: { ...context, place: { ...place, segment: 2 }, agent: helper } };
}

test("V2, C5: a resume for another segment, or by a worker for another pause, is STALE in the state of its append", () => {
  const { state, resume, next } = stoppedAndResumed();
  expect(decide(state, resume, next)).toHaveProperty("facts");
  for (const other of [{ segment: 3 }, { runId: "another" }, { ofPause: "crash" }] as const) {
    expect(decide(state, { ...resume, ...other }, next)).toMatchObject({ refusal: { code: "STALE" } });
  }
});

test("Q2: code that waits for a person is not woken in a thread that is not paused", () => {
  const state = newThread("thread");
  const wake = { do: "wake", key: "wake:x", by: "runtime", head: 0 } as const;
  state.state = "error";
  expect(decide(state, wake, context)).toMatchObject({ refusal: { code: "INVALID_STATE" } });
  state.state = "paused";
  expect(decide(state, wake, context)).toMatchObject({ facts: [{ type: "state", state: "paused" }] });
});

test("a thread ends once, also if the process that ends it again has not read the first end", () => {
  const state = newThread("thread");
  state.state = "terminated";
  const end = signalCommand("terminate", {}, { clock: systemClock, maxBytes: 1_000 });
  const ends = { intent: "terminate", asked: undefined, by: "user", commands: [] } as const;
  const rest = { agent: helper, tokenTtlMs: undefined, late: [], ...ends };
  expect(decide(state, end, { ...context, rest })).toMatchObject({ refusal: { code: "INVALID_STATE_TRANSITION" } });
});

test("R4: a run is judged by the state of its append, also if user code was asked before", () => {
  const run: RunCommand = { do: "run", key: "run:x", inputs: [] };
  const state = newThread("thread");
  state.state = "paused";
  expect(decide(state, run, context)).toMatchObject({ refusal: { code: "NEED_RESUME" } });
});

test("R4: a resume of a thread that another process has ended is refused in the state of its append", () => {
  const { state, resume, next } = stoppedAndResumed();
  state.state = "terminated";
  expect(decide(state, resume, next)).toMatchObject({ refusal: { code: "INVALID_STATE" } });
});
