import type { BelayEvent, Draft } from "@belay/core";
import { messageText } from "@belay/core";
import { expect, test } from "vitest";
import { emptyThread, foldThread, shownMessages } from "./index.ts";

const base = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "a", runPath: "a" };
const fold = (events: readonly BelayEvent[], from = emptyThread) => events.reduce(foldThread, from);

const running = fold([
  { type: "state", state: "initialized", seq: 1, ...base },
  { type: "run-start", seq: 2, ...base },
  { type: "state", state: "running", seq: 3, ...base },
]);

const delta = (text: string, offset: number, more: Partial<Draft> = {}) =>
  ({ type: "text-delta", text, offset, messageId: "m1", seq: 3, ...base, ...more }) as BelayEvent;
const answer = (text: string, more: object = {}, seq = 4): BelayEvent => ({
  ...{ type: "message", seq, turn: 1, ...base },
  message: { id: "m1", role: "assistant", parts: [{ type: "text", text }], at: 5, origin: "model", ...more },
});
const texts = (events: readonly BelayEvent[]) => shownMessages(fold(events, running)).map(messageText);

test("L2: text streams, and its message takes its place", () => {
  expect(texts([delta("Hel", 0), delta("lo", 3)])).toEqual(["Hello"]);
  expect(texts([delta("Hel", 0), delta("lo", 3), answer("Hello!")])).toEqual(["Hello!"]);
});

test("L2: the text so far at offset 0 and pieces that repeat it are shown once", () => {
  expect(texts([delta("Hello wor", 0), delta("Hello world", 0)])).toEqual(["Hello world"]);
  expect(texts([delta("Hello", 0), delta("Hel", 0), delta("llo you", 2)])).toEqual(["Hello you"]);
});

test("S1: a delta of a message on record, or of a segment that is over, is dropped", () => {
  expect(texts([delta("Hel", 0), answer("Hello"), delta("lo", 3)])).toEqual(["Hello"]);
  const paused: BelayEvent = { type: "state", state: "paused", pauseType: "user_interrupt", seq: 4, ...base };
  expect(texts([delta("Hel", 0), paused, delta("lo", 3)])).toEqual([]);
});

test("L1: a lost piece is counted, until the text so far comes", () => {
  const holed = fold([delta("Hel", 0), { type: "gap", seq: 3, ...base }, delta("world", 6)], running);
  expect(holed.draft).toMatchObject({ gap: true, answers: [{ text: "Helworld", missing: 3 }] });
  expect(foldThread(holed, delta("Hello world", 0)).draft).toMatchObject({
    gap: false,
    answers: [{ text: "Hello world", missing: 0 }],
  });
});

test("F1: superseded text is kept apart until the message is on record; text of an older attempt is dropped", () => {
  const again = [
    delta("First", 0),
    { type: "superseded", messageId: "m1", seq: 3, ...base, attempt: 2 } as BelayEvent,
    delta("Sec", 0, { attempt: 2 }),
    delta("late", 5),
  ];
  expect(fold(again, running).draft.answers).toMatchObject([{ text: "Sec", superseded: ["First"], attempt: 2 }]);
  // Also if the word of it was lost.
  expect(texts([delta("First", 0), delta("Sec", 0, { attempt: 2 })])).toEqual(["Sec"]);
  expect(fold([...again, answer("Second")], running).draft.answers).toEqual([]);
});

test("L2: text that continues a cut message is shown as one with it", () => {
  const cut = fold([delta("Half ", 0), answer("Half ", { interrupted: { by: "user", at: 5 } })], running);
  const more = delta("whole", 0, { messageId: "m1c2", seq: 4, continues: "m1" } as never);
  expect(shownMessages(foldThread(cut, more)).map(messageText)).toEqual(["Half whole"]);
  expect(foldThread(cut, more).messages.map(messageText)).toEqual(["Half "]);
});

test("progress and arguments of calls stream, and end with them", () => {
  const input = (text: string, tool = ""): BelayEvent =>
    ({ type: "tool-input-delta", callId: "c", tool, text, messageId: "m1", seq: 3, ...base }) as BelayEvent;
  const writing = fold([input('{"a"', "shell"), input(":1}")], running);
  expect(writing.draft.answers[0]?.inputs).toEqual([{ callId: "c", tool: "shell", text: '{"a":1}' }]);
  const progress: BelayEvent = {
    type: "tool-progress",
    callId: "c",
    tool: "shell",
    address: "a/t1/c0",
    data: 1,
    seq: 3,
    ...base,
  };
  const worked = fold([progress, { ...progress, data: 2 }], running);
  expect(worked.draft.progress).toMatchObject([{ callId: "c", data: [1, 2] }]);
  const end: BelayEvent = {
    type: "tool-end",
    callId: "c",
    tool: "shell",
    address: "a/t1/c0",
    outcome: "ok",
    output: 3,
    seq: 4,
    ...base,
  };
  expect(foldThread(worked, end).draft.progress).toEqual([]);
});

test("two agents that speak at once stream side by side", () => {
  const [one, two] = ["a/x", "a/y"].map((runPath) => delta(runPath, 0, { runPath, messageId: runPath } as never));
  const both = fold([one!, two!, delta("!", 3, { runPath: "a/x", messageId: "a/x" } as never)], running);
  expect(both.draft.answers.map(({ text }) => text).sort()).toEqual(["a/x!", "a/y"]);
});

test("a model that waited for a summary waits no more once it is on record", () => {
  const wait: BelayEvent = { type: "model-wait", reason: "summary", seq: 3, ...base };
  const inside = { ...wait, runPath: "a/x" };
  const summary = answer("So far: tea.", { role: "user", origin: "runtime", summary: { coversTo: "m0" } });
  expect(fold([wait], running).draft.wait).toMatchObject({ reason: "summary" });
  expect(fold([wait, summary], running).draft.wait).toBeUndefined();
  expect(fold([inside, summary], running).draft.wait).toMatchObject({ runPath: "a/x" });
});
