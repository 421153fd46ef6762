// The effect of each event on the view. It is one piece: every case is written with the same few helpers.

import type { BelayEvent, Interrupt } from "@belay/core";
import { describe, expect, test } from "vitest";
import type { Key } from "../keys/decoder.ts";
import { en } from "../texts/en.ts";
import { choicesOf } from "./dialog.ts";
import { modelWork } from "./model-work.ts";
import { tourHint } from "./suggestions.ts";
import { update } from "./update.ts";
import { type Block, canGoOn, type Effect, firstView, type Happening, isRunning, type View } from "./view.ts";

const base = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "belay", runPath: "belay" };
let seq = 0;
// biome-ignore lint/suspicious/noExplicitAny: tests write events by hand, and only what matters of them.
const event = (type: BelayEvent["type"], more: any = {}): Extract<Happening, { type: "event" }> => ({
  type: "event",
  event: { ...base, seq: ++seq, type, ...more } as BelayEvent,
});
const key = (name: string, now = 10_000, text?: string): Happening => ({
  type: "key",
  now,
  key: (text === undefined ? { name } : { name, text }) as Key,
});
const typed = (text: string, now = 10_000) => key("text", now, text);
const enter = key("enter");
const esc = key("escape");

/** Events are numbered as they come, whenever the test wrote them. */
const inOrder = (happenings: readonly Happening[]): readonly Happening[] =>
  happenings.map((each) => (each.type === "event" ? { type: "event", event: { ...each.event, seq: ++seq } } : each));

/** The view after all of it, and everything that was to be done. */
function after(...happenings: readonly Happening[]): { view: View; effects: Effect[]; blocks: readonly Block[] } {
  let view = firstView({ columns: 80, rows: 24 }, 0);
  const effects: Effect[] = [];
  for (const happening of [caughtUp(), ...inOrder(happenings)]) {
    const step = update(view, happening, en);
    view = step.view;
    effects.push(...step.effects);
  }
  return { view, effects, blocks: view.transcript.slice(0) };
}

function caughtUp(more: Partial<Extract<Happening, { type: "caught-up" }>> = {}): Happening {
  return { type: "caught-up", state: "created", pauseType: undefined, requests: [], now: 0, ...more };
}

const running = event("state", { state: "running" });
const stopped = event("state", { state: "paused", pauseType: "user_interrupt" });
const delta = (text: string, offset = 0, messageId = "m") => event("text-delta", { text, offset, messageId });
const request = (id: string, more: Partial<Interrupt> = {}): Interrupt =>
  ({
    id,
    kind: "approval",
    address: "a",
    raisedAt: 0,
    by: "belay",
    tool: "write",
    args: { path: id },
    callId: id,
    ...more,
  }) as Interrupt;
const asks = (...ids: string[]) => [
  ...ids.map((id) => event("action", { action: { interrupted: request(id) } })),
  event("state", { state: "paused", pauseType: "tool_interrupt" }),
];

test("it is pure: the same view and the same happening give the same, as often as they are asked", () => {
  const { view } = after(running, delta("one\ntwo"));
  const first = update(view, delta("one\ntwo\nthree", 0), en).view;
  const second = update(view, delta("one\ntwo\nthree", 0), en).view;
  expect(second.transcript.slice(0)).toEqual(first.transcript.slice(0));
  expect(view.transcript.slice(0)).toEqual([{ kind: "answer", lines: ["one"], from: {}, first: true }]);
});

test("V6: after a crash of its process a thread is paused here, with its text and its calls, and can be resumed", () => {
  const call = event("tool-start", { callId: "c", tool: "shell", args: { command: "make" } });
  const lost = event("owner-lost");
  const { view, blocks } = after(running, delta("half a li"), call, lost, lost);
  expect([view.state, view.pauseType, view.calls, isRunning(view), canGoOn(view)]).toEqual([
    "paused",
    "crash",
    [],
    false,
    true,
  ]);
  expect(blocks.map(({ kind }) => kind)).toEqual(["answer", "note"]);
  expect(blocks[1]).toMatchObject({ text: expect.stringContaining(en.stop.crashed), tone: "stop" });
  expect(blocks[1]).toMatchObject({ text: expect.stringContaining("make") });
  // A run that begins here has another owner.
  expect(after(running, stopped, lost).view.pauseType).toBe("user_interrupt");
});

describe("the screen is drawn from the fold of the thread", () => {
  const said = (text: string, more: object = {}) =>
    event("message", {
      message: { id: "m", role: "assistant", origin: "model", parts: [{ type: "text", text }], ...more },
    });
  const start = event("tool-start", { callId: "c", tool: "shell", args: { command: "make" } });
  const answers = (blocks: readonly Block[]) => blocks.flatMap((each) => (each.kind === "answer" ? each.lines : []));

  test("L2: facts that a reader repeats are drawn once, and text of a message on record not at all", () => {
    const { view } = after(running, said("one"));
    const head = view.thread.head;
    const fact = { ...said("one").event, seq: head };
    const late = { ...delta("onetwo").event, seq: 1 };
    for (const each of [fact, late]) expect(update(view, { type: "event", event: each }, en).view).toBe(view);
  });

  test("F1: text of a failed try is void, also if the word of it was lost, and its late pieces are not drawn", () => {
    const second = event("text-delta", { text: "second", offset: 0, messageId: "m", attempt: 2 });
    const { blocks } = after(running, delta("first"), second, delta("late", 5), said("second"));
    expect(blocks.map((each) => (each.kind === "note" ? each.text : each.kind))).toEqual([
      "answer",
      en.stop.superseded,
      "answer",
    ]);
    expect(answers(blocks)).toEqual(["first", "second"]);
  });

  test("a piece that repeats what is shown adds its end, and a hole is filled by the message", () => {
    const repeats = after(running, delta("one t"), delta("one two", 0), said("one two"));
    expect(answers(repeats.blocks)).toEqual(["one two"]);
    const holed = after(running, delta("one "), delta("three", 8), said("one two three"));
    expect(answers(holed.blocks)).toEqual(["one two three"]);
  });

  test("C1: a call of an owner that is gone runs no more; one that is approved while others ask runs on", () => {
    expect(after(running, start, running).view.calls).toEqual([]);
    expect(after(running, start, running, start).view.calls).toMatchObject([{ id: "c", label: "shell make" }]);
    const working = after(running, ...asks("a"), start, running);
    expect(working.view.calls).toMatchObject([{ id: "c" }]);
  });

  test("a summary on record ends the wait for it; tokens of agents inside count", () => {
    const wait = event("model-wait", { reason: "summary" });
    const message = { id: "s", role: "user", origin: "runtime", parts: [], summary: { coversTo: "m" } };
    expect(modelWork(after(running, wait).view).wait?.reason).toBe("summary");
    expect(modelWork(after(running, wait, event("message", { message })).view).wait).toBeUndefined();
    const inside = event("message", {
      runPath: "belay/t1/c0",
      message: { id: "i", role: "assistant", origin: "model", parts: [], usage: { inputTokens: 7, outputTokens: 2 } },
    });
    const { blocks } = after(running, inside, typed("/cost"), enter);
    expect(blocks.at(-1)).toMatchObject({ text: en.slash.tokens(7, 2) });
  });

  test("reasoning between words is shown in its place, once", () => {
    const thinks = (text: string, offset: number) => event("reasoning-delta", { text, offset, messageId: "m" });
    const { blocks } = after(
      running,
      thinks("why", 0),
      delta("one\n"),
      thinks(" not", 3),
      delta("two", 4),
      said("one\ntwo"),
    );
    expect(blocks.map((each) => (each.kind === "thought" ? each.text : each.kind))).toEqual([
      "why",
      "answer",
      " not",
      "answer",
    ]);
  });
});

describe("text that streams", () => {
  test("whole lines are in the transcript at once, the last one may still grow", () => {
    const { view, blocks } = after(running, delta("one\ntw"), delta("o\n```ts\nco", 6));
    expect(blocks).toEqual([
      { kind: "answer", lines: ["one"], from: {}, first: true },
      { kind: "answer", lines: ["two", "```ts"], from: {}, first: false },
    ]);
    expect(view.stream).toMatchObject({ line: "co", from: { fence: "```", language: "ts" } });
  });

  test("missed text comes with the message, and no text comes twice", () => {
    const message = { id: "m", role: "assistant", parts: [{ type: "text", text: "one\ntwo\nthree" }] };
    const { blocks, view } = after(running, delta("one\n"), delta("x", 100), event("message", { message }));
    expect(blocks.flatMap((block) => (block.kind === "answer" ? block.lines : []))).toEqual(["one", "two", "three"]);
    expect(view.stream).toBeUndefined();
  });

  test("a line without an end is drawn in pieces, and a megabyte at once in many blocks", () => {
    const long = "word ".repeat(2_000);
    expect(after(running, delta(long)).view.stream!.line.length).toBeLessThan(2_001);
    const lines = Array.from({ length: 10_000 }, (_, at) => `line ${at}`).join("\n");
    const { blocks } = after(running, delta(lines));
    expect(Math.max(...blocks.map((block) => (block.kind === "answer" ? block.lines.length : 0)))).toBeLessThanOrEqual(
      100,
    );
    expect(blocks.flatMap((block) => (block.kind === "answer" ? block.lines : [])).length).toBe(9_999);
  });

  test("one that ends without a word, or by the provider's filter, says so", () => {
    const ended = (finish: string) => event("run-end", { status: "completed", finish });
    const asked = event("message", {
      message: { id: "p", role: "user", origin: "person", parts: [{ type: "text", text: "q" }] },
    });
    const said = event("message", {
      message: { id: "m", role: "assistant", origin: "model", parts: [{ type: "text", text: "one" }] },
    });
    const last = (...happenings: Happening[]) => after(running, asked, ...happenings).blocks.at(-1);
    expect(last(ended("stop"))).toMatchObject({ kind: "note", text: en.stop.noWords });
    expect(last(delta("one"), said, ended("content-filter"))).toMatchObject({ kind: "note", text: en.stop.filtered });
    expect(last(delta("one"), said, ended("stop"))).toMatchObject({ kind: "answer", lines: ["one"] });
  });

  test("an answer that is void says so and begins again", () => {
    const { blocks } = after(running, delta("half"), event("superseded", { messageId: "m" }), delta("whole\n"));
    expect(
      blocks.map((block) => (block.kind === "answer" ? block.lines[0] : block.kind === "note" ? block.text : "")),
    ).toEqual(["half", en.stop.superseded, "whole"]);
  });
});

describe("ESC", () => {
  test("stops the run, also while the person types; a second one forces; the draft stays", () => {
    const { view, effects } = after(running, typed("draft"), esc);
    expect(effects).toEqual([{ do: "interrupt" }]);
    expect(view).toMatchObject({ stopping: 1, draft: { text: "draft" } });
    expect(after(running, typed("draft"), esc, esc).view.stopping).toBe(2);
  });

  test("popup, then the draft in a dialog, then the run: one layer at a time", () => {
    const open = after(running, typed("?"));
    expect(open.view.popup).toEqual({ kind: "help", cursor: 0 });
    const closed = update(open.view, esc, en);
    expect([closed.view.popup, closed.effects]).toEqual([undefined, []]);
    const writing = after(running, ...asks("a"), typed("n"), enter);
    expect(writing.view.dialog?.mode).toBe("reason");
    const back = update(writing.view, esc, en);
    expect([back.view.dialog?.mode, back.effects]).toEqual(["choose", []]);
    expect(update(back.view, esc, en).effects).toEqual([{ do: "interrupt" }]);
  });

  test("Y11: with nothing running it clears the draft; twice it asks where to go back to", () => {
    expect(after(typed("draft"), esc)).toMatchObject({ effects: [], view: { draft: { text: "" } } });
    expect(after(esc, esc).effects).toEqual([{ do: "list-rewind" }]);
    expect(after(esc, key("escape", 20_000)).effects).toEqual([]);
    expect(after(esc, key("left"), esc).effects).toEqual([]);
  });

  test("D5: hammered, it is one stop: the draft stays, and no list opens", () => {
    const presses = [100, 200, 600, 1_000].map((ms) => key("escape", 5 + ms));
    const { view, effects } = after(running, typed("draft", 5), key("escape", 5), stopped, ...presses);
    expect(effects).toEqual([{ do: "interrupt" }]);
    expect(view).toMatchObject({ draft: { text: "draft" }, armed: undefined, popup: undefined });
    expect(update(view, key("escape", 2_000), en).view.draft.text).toBe("");
  });

  test("text typed over a list that takes no words closes it, and is on the prompt", () => {
    const items = [{ messageId: "m", text: "go", calls: [] }];
    for (const opens of [{ type: "rewind-items", items } as const, typed("?")]) {
      const { view } = after(opens, typed("he"), typed("llo"));
      expect(view).toMatchObject({ popup: undefined, draft: { text: "hello" } });
    }
    expect(after(typed("?"), typed("?")).view).toMatchObject({ popup: undefined, draft: { text: "" } });
  });

  test("input sent during a stop resumes the run when the stop is done", () => {
    const { view, effects } = after(running, esc, typed("instead"), enter, stopped);
    expect(effects).toEqual([{ do: "interrupt" }, { do: "resume", input: "instead" }]);
    expect(view).toMatchObject({ starting: true, afterStop: undefined, draft: { text: "" } });
  });

  test("the line after it lists the calls that were stopped, had finished, never began, still run", () => {
    const start = (callId: string) => event("tool-start", { callId, tool: "shell", args: { command: callId } });
    const calls = { stopped: ["a", "d"], finished: ["b"], notStarted: ["c"], late: ["d"] };
    const message = {
      id: "m",
      role: "assistant",
      parts: [{ type: "call", id: "c", tool: "write", args: { path: "c.txt" } }],
    };
    const { blocks } = after(
      running,
      event("message", { message }),
      ...["a", "b", "d"].map(start),
      event("action", { action: { interrupted: { id: "i", kind: "user", calls, raisedAt: 4_005 } } }),
    );
    expect(blocks.at(-1)).toEqual({
      kind: "stop",
      ms: 4_000,
      stopped: ["shell a"],
      finished: ["shell b"],
      notStarted: ["write c.txt"],
      late: ["shell d"],
    });
  });
});

describe("the prompt", () => {
  test("Enter runs, steers, resumes with input, or continues", () => {
    expect(after(typed("go"), enter).effects).toEqual([{ do: "run", input: "go" }]);
    expect(after(running, typed("mind"), enter).effects).toEqual([{ do: "mail", kind: "steer", text: "mind" }]);
    expect(after(running, stopped, typed("other"), enter).effects).toEqual([{ do: "resume", input: "other" }]);
    expect(after(running, stopped, enter).effects).toEqual([{ do: "resume" }]);
    expect(after(enter).effects).toEqual([]);
    expect(after(running, enter).effects).toEqual([]);
  });

  test("sent input is under way until it runs: the status does not say ready in between", () => {
    const sent = [typed("go"), enter, event("state", { state: "initialized" })];
    expect(isRunning(after(...sent).view)).toBe(true);
    expect(isRunning(after(...sent, event("state", { state: "error" })).view)).toBe(false);
    expect(isRunning(after(event("state", { state: "initialized" })).view)).toBe(false);
  });

  test("a key pressed twice sends once", () => {
    expect(after(typed("go"), enter, enter).effects).toEqual([{ do: "run", input: "go" }]);
    expect(after(running, stopped, enter, enter).effects).toEqual([{ do: "resume" }]);
  });

  test("pending input is shown once, and not after it was read; Ctrl-S sends it also when idle", () => {
    const mail = { id: "q", kind: "queue", text: "left" } as const;
    const waiting: Happening = { type: "waiting", mail: [mail], late: [], running: [] };
    const consumed = event("input-consumed", { id: "q", kind: "input" });
    expect(after(caughtUp({ state: "completed" })).effects).toEqual([{ do: "look" }]);
    expect(after(running, event("input-queued", { id: "q", kind: "input" })).effects).toEqual([{ do: "look" }]);
    expect(after(waiting, event("input-queued", { id: "q", kind: "input" }))).toMatchObject({ effects: [] });
    expect(after(waiting, { type: "mailed", mail }, waiting).view.mail).toEqual([mail]);
    expect(after(running, consumed, waiting).view.mail).toEqual([]);
    expect(after(caughtUp({ state: "completed" }), waiting, key("ctrl-s")).effects.at(-1)).toEqual({
      do: "send-queue",
      mail: [mail],
    });
  });

  test("S5: a call that was left behind is looked after until it ends, and its end is shown once", () => {
    const left = event("action", { action: { interrupted: { kind: "user", calls: { late: ["c"], stopped: ["c"] } } } });
    const looking = { type: "waiting", mail: [], late: [] } as const;
    const waiting: Happening = { ...looking, late: [{ callId: "c", tool: "deaf" }], running: [] };
    const late = event("tool-late", { callId: "c", tool: "deaf" });
    const tick = (now: number): Happening => ({ type: "tick", now });
    const looked = after(running, left, stopped, tick(1_000), tick(1_100), tick(1_400));
    expect(looked.effects).toEqual([{ do: "look" }, { do: "look" }]);
    const ends = (...happenings: readonly Happening[]) => {
      const { effects, blocks } = after(running, left, stopped, ...happenings, tick(9_000));
      expect(effects).toEqual([]);
      return blocks.filter((block) => block.kind === "note" && block.text.includes("ended after all")).length;
    };
    expect([ends(waiting, waiting, late), ends(late, waiting), ends(late)]).toEqual([1, 1, 1]);
    // It has ended without a result to show.
    const nothing: Happening = { ...looking, running: [] };
    expect([ends(nothing), ends(nothing, late)]).toEqual([1, 1]);
    const still = after(running, left, stopped, { ...looking, running: ["c"] }, tick(9_000));
    expect(still.effects).toEqual([{ do: "look" }]);
  });

  test("after a signal nothing begins: the text typed for after the stop is not sent", () => {
    const { effects, view } = after(running, esc, typed("then this"), enter, { type: "ending" }, stopped, enter);
    expect(effects).toEqual([{ do: "interrupt" }]);
    expect(view).toMatchObject({ quitting: true, state: "paused" });
  });

  test("Tab queues, Alt-Up takes back, and after a stop Ctrl-S sends the held input", () => {
    const mailed: Happening = { type: "mailed", mail: { id: "q", kind: "queue", text: "next" } };
    expect(after(running, typed("next"), key("tab")).effects).toEqual([{ do: "mail", kind: "queue", text: "next" }]);
    expect(after(running, mailed, key("ctrl-s")).effects).toEqual([]);
    const held = after(running, mailed, stopped, key("ctrl-s"));
    expect(held.effects).toEqual([{ do: "send-queue", mail: [{ id: "q", kind: "queue", text: "next" }] }]);
    expect(after(running, mailed, key("alt-up")).effects).toEqual([
      { do: "take-back", mail: { id: "q", kind: "queue", text: "next" } },
    ]);
    const back = after(mailed, typed("x"), {
      type: "taken-back",
      mail: { id: "q", kind: "queue", text: "next" },
      taken: true,
    });
    expect(back.view).toMatchObject({ mail: [], draft: { text: "next\nx" } });
    expect(after(running, mailed, event("input-consumed", { id: "q", kind: "input" })).view.mail).toEqual([]);
  });

  test("D43: Ctrl-C clears, interrupts, and twice quits", () => {
    expect(after(typed("x"), key("ctrl-c"))).toMatchObject({ effects: [], view: { draft: { text: "" } } });
    expect(after(running, key("ctrl-c")).effects).toEqual([{ do: "interrupt" }]);
    expect(after(key("ctrl-c"), key("ctrl-c")).effects).toEqual([{ do: "quit" }]);
    expect(after(key("ctrl-c"), key("ctrl-c", 30_000)).effects).toEqual([]);
  });

  test("Up and Down go through earlier inputs, and back to the draft", () => {
    const input = (text: string) =>
      event("message", { message: { id: text, role: "user", origin: "person", parts: [{ type: "text", text }] } });
    const up = key("up");
    const down = key("down");
    const drafts = [up, up, down, down].map(
      (_, at, keys) => after(input("one"), input("two"), typed("thr"), ...keys.slice(0, at + 1)).view.draft.text,
    );
    expect(drafts).toEqual(["two", "one", "two", "thr"]);
  });

  test("a refusal shows its reason, and puts the words back on the prompt", () => {
    const { view, blocks } = after(typed("go"), enter, {
      type: "refused",
      problem: "Busy. Wait.",
      input: "go",
      state: "created",
    });
    expect(view).toMatchObject({ starting: false, draft: { text: "go" } });
    expect(blocks.at(-1)).toEqual({ kind: "note", text: "Busy. Wait.", tone: "error" });
    const refused = { type: "refused", problem: "Busy. Wait.", input: "go" } as const;
    const meanwhile = after(typed("go"), enter, typed("more"), refused);
    expect(meanwhile.view.draft.text).toBe("more");
    expect(after(typed("go"), enter, typed("more"), refused, key("up")).view.draft.text).toBe("go");
  });

  test("a draft that Esc or Ctrl-C has cleared is brought back by Up", () => {
    for (const name of ["escape", "ctrl-c"] as const) {
      expect(after(typed("long words"), key(name)).view.draft.text).toBe("");
      expect(after(typed("long words"), key(name), key("up")).view.draft.text).toBe("long words");
    }
  });
});

describe("modes", () => {
  const shiftTab = key("back-tab");

  test("Shift-Tab goes through ask, accept edits and plan, beside a draft and beside a request", () => {
    expect(after(shiftTab, shiftTab, shiftTab).effects.map((effect) => "mode" in effect && effect.mode)).toEqual([
      "accept-edits",
      "plan",
      "ask",
    ]);
    expect(after(typed("words"), key("shift-tab")).view).toMatchObject({
      mode: "accept-edits",
      draft: { text: "words" },
    });
    expect(after(running, ...asks("a"), shiftTab).view).toMatchObject({ mode: "accept-edits", dialog: { id: "a" } });
  });

  test("Esc falls back to ask: with the stop of a run, and before it clears a draft", () => {
    expect(after(shiftTab, running, esc)).toMatchObject({
      effects: [{ do: "mode", mode: "accept-edits" }, { do: "mode", mode: "ask" }, { do: "interrupt" }],
      view: { mode: "ask", stopping: 1 },
    });
    expect(after(shiftTab, typed("words"), esc).view).toMatchObject({ mode: "ask", draft: { text: "words" } });
    expect(after(shiftTab, running, key("ctrl-c")).view.mode).toBe("ask");
    expect(after(running, esc).effects).toEqual([{ do: "interrupt" }]);
  });

  test("a mode stays when another thread is opened", () => {
    expect(after(shiftTab, { type: "opened", threadId: "other" }).view.mode).toBe("accept-edits");
  });
});

describe("requests", () => {
  const seen = 10_000;

  test("TC1: text typed in the first moment, or beside a draft, is a draft; Enter then answers nothing", () => {
    const shown = after(running, { type: "tick", now: 5_000 }, ...asks("a"));
    const early = update(shown.view, key("text", 5_299, "y"), en);
    expect([early.effects, early.view.draft.text]).toEqual([[], "y"]);
    expect(update(shown.view, key("enter", 5_299), en).effects).toEqual([]);
    expect(update(shown.view, key("enter", 5_300), en).effects).toEqual([
      { do: "answer", id: "a", answer: { type: "approve" } },
    ]);
    const drafting = after(running, typed("yes", 5_000), ...asks("a"), typed("!", seen));
    expect(drafting).toMatchObject({ effects: [], view: { draft: { text: "yes!" } } });
  });

  const shell = (id: string, command: string) =>
    event("action", { action: { interrupted: request(id, { tool: "shell", args: { command } }) } });

  test.each([
    [["y", "enter"], { type: "approve" }],
    [["t", "enter"], { type: "approve", remember: "thread" }],
    [["a", "enter"], { type: "approve", remember: "folder" }],
    [["3", "enter"], { type: "approve", remember: "folder" }],
    [["p", "enter"], { type: "approve", remember: "prefix" }],
    [["v", "enter"], { type: "approve", remember: "everywhere" }],
    [["n", "enter", "no!", "enter"], { type: "reject", reason: "no!" }],
    [["n", "enter", "enter"], { type: "reject", reason: en.dialog.defaultReason }],
    [["e", "enter", "x", "enter"], { type: "approve", args: { command: "npm testx" } }],
    [["down", "enter"], { type: "approve", remember: "thread" }],
    [["up", "enter", "late", "enter"], { type: "reject", reason: "late" }],
  ])("TC1: %j is %j", (keys, answer) => {
    const names = ["enter", "up", "down"];
    const pressed = keys.map((each, at) => {
      const now = seen + at * 400;
      return names.includes(each) ? key(each, now) : typed(each, now);
    });
    expect(after(running, shell("a", "npm test"), ...pressed).effects).toEqual([{ do: "answer", id: "a", answer }]);
  });

  test("TC1: a letter alone grants nothing, and another one within a second makes both a draft", () => {
    const dialog = (...keys: Happening[]) => after(running, shell("a", "npm test"), ...keys);
    for (const letter of ["y", "t", "a", "p", "v", "1", "2"]) {
      const { effects, view } = dialog(typed(letter, seen));
      expect([effects, view.draft.text], letter).toEqual([[], ""]);
    }
    const two = dialog(typed("a", seen), typed("y", seen + 149), key("enter", seen + 600));
    expect(two.effects).toEqual([{ do: "mail", kind: "steer", text: "ay" }]);
    expect(dialog(typed("a", seen), typed("y", seen + 1_000)).view.dialog?.cursor).toBe(0);
    expect(dialog(typed("also", seen)).view.draft.text).toBe("also");
    expect(dialog(key("paste", seen, "yes")).view.draft.text).toBe("yes");
    // The rule is on the screen before Enter agrees to it.
    expect(dialog(typed("a", seen), key("enter", seen + 100)).effects).toEqual([]);
    expect(dialog(typed("y", seen), key("enter", seen + 100)).effects).toHaveLength(1);
  });

  test("TC1: no sentence grants anything, at whatever speed it is typed", () => {
    const sentences = [
      "also check the tests",
      "yes but first look",
      "try again",
      "any",
      "at",
      "a y a t",
      "neat",
      "ya",
      "3 files",
      "van",
      "p.s. not yet",
      "eat that",
    ];
    for (const sentence of sentences)
      for (const pace of [1, 30, 80, 150, 300, 700])
        for (const begin of [50, 250, 320, 2_000]) {
          const at = (nth: number) => seen + begin + nth * pace;
          const keys = [...sentence].map((text, nth) => typed(text, at(nth)));
          const end = sentence.length;
          const open = [{ type: "tick", now: seen } as const, running, shell("a", "npm test")];
          const { effects } = after(...open, ...keys, key("enter", at(end)), key("enter", at(end + 1)));
          const granted = effects.filter((effect) => effect.do === "answer");
          expect(granted, `${sentence} every ${pace} ms from ${begin} ms on`).toEqual([]);
        }
  });

  test("TC7: words that are sent under a request are pending, and the request stays open", () => {
    const { effects, view } = after(running, ...asks("a"), typed("and mind the tests", seen), key("enter", seen + 500));
    expect(effects).toEqual([{ do: "mail", kind: "steer", text: "and mind the tests" }]);
    expect([view.requests.length, view.dialog?.id]).toEqual([1, "a"]);
  });

  test("edits can be accepted from a request on; the target of a link is never remembered", () => {
    const accepted = after(running, ...asks("a"), typed("s", seen), key("enter", seen + 400));
    expect(accepted.effects).toEqual([
      { do: "mode", mode: "accept-edits" },
      { do: "answer", id: "a", answer: { type: "approve" } },
    ]);
    expect(accepted.view.mode).toBe("accept-edits");
    const read = request("r", { tool: "read", args: { path: "a.md" }, context: { path: "a.md", leadsTo: "a.md" } });
    const linked = { ...read, context: { path: "a.md", leadsTo: ".env" } };
    const keys = (one: Interrupt) =>
      choicesOf(one, en)
        .map((choice) => choice.key)
        .join("");
    expect([keys(read), keys(linked)]).toEqual(["yaen", "yen"]);
  });

  test("several are answered in any order; with the last one the run continues, wherever it was answered", () => {
    const open = after(running, ...asks("a", "b"), key("ctrl-n"), typed("y"), enter);
    expect(open.effects).toEqual([{ do: "answer", id: "b", answer: { type: "approve" } }]);
    const answered = (id: string) => event("request-answered", { id, by: "user", answer: { type: "approve" } });
    const one = update(open.view, answered("b"), en);
    expect([one.view.dialog?.id, one.effects]).toEqual(["a", []]);
    expect(update(one.view, answered("a"), en).effects).toEqual([{ do: "go-on" }]);
  });

  test("an answer that is not taken leaves the dialog open, and says why", () => {
    const { view } = after(running, ...asks("a"), enter, { type: "answer-refused", id: "a", problem: "taken" });
    expect(view.dialog).toMatchObject({ id: "a", problem: "taken", sending: false });
  });

  test("one that runs out of time is gone, and the run continues without it", () => {
    const late = event("action", { action: { interrupted: request("a", { expiresAt: 20_000 }) } });
    const open = after(running, late, event("state", { state: "paused", pauseType: "tool_interrupt" }));
    expect(update(open.view, { type: "tick", now: 20_001 }, en)).toMatchObject({
      effects: [{ do: "go-on" }],
      view: { requests: [] },
    });
  });

  test("questions: a choice by its number, words as they are, JSON if the schema requires it", () => {
    const asked = (more: Partial<Interrupt>) =>
      event("action", { action: { interrupted: request("q", { kind: "input", ...more }) } });
    const choice = after(running, asked({ context: { options: ["red", "blue"] } }), typed("2"), enter);
    expect(choice.effects).toEqual([{ do: "answer", id: "q", answer: { type: "respond", value: "blue" } }]);
    expect(after(running, asked({}), typed("in words"), enter).effects).toEqual([
      { do: "answer", id: "q", answer: { type: "respond", value: "in words" } },
    ]);
    const schema = { type: "object" };
    expect(after(running, asked({ schema }), typed("{"), enter).view.dialog?.problem).toContain("Not valid JSON");
    expect(after(running, asked({ schema }), typed('{"a":1}'), enter).effects).toEqual([
      { do: "answer", id: "q", answer: { type: "respond", value: { a: 1 } } },
    ]);
  });

  test("the outcome of a call that a crash cut off: again, its result, or skip", () => {
    const asked = event("action", { action: { interrupted: request("u", { kind: "unknown" }) } });
    expect(after(running, asked, typed("r"), enter).effects).toEqual([
      { do: "answer", id: "u", answer: { type: "approve" } },
    ]);
    expect(after(running, asked, typed("g"), enter, typed("it ran"), enter).effects).toEqual([
      { do: "answer", id: "u", answer: { type: "respond", value: "it ran" } },
    ]);
  });
});

describe("commands of the prompt", () => {
  const last = (text: string, ...before: readonly Happening[]) => after(...before, typed(text), enter);

  test("one that is not known is not sent, says so, and stays to be corrected; a path and a blank before it are text", () => {
    const unknown = last("/xyz now");
    expect(unknown.effects).toEqual([]);
    expect(unknown.blocks.at(-1)).toEqual({ kind: "note", tone: "error", text: en.slash.unknown("/xyz") });
    expect(unknown.view.draft.text).toBe("/xyz now");
    expect(last("/etc/hosts says?").effects).toEqual([{ do: "run", input: "/etc/hosts says?" }]);
    expect(last(" /xyz").effects).toEqual([{ do: "run", input: "/xyz" }]);
    expect(last("/xyz", running).effects).toEqual([]);
  });

  test("the palette: what begins like it, Tab completes, the arrows choose, Enter runs the chosen one", () => {
    expect(after(typed("/re"), key("tab")).view.draft.text).toBe("/resume");
    expect(after(typed("/re"), key("down"), enter).effects).toEqual([{ do: "list-rewind" }]);
    expect(after(typed("/comp"), key("tab"), typed("the ropes"), enter).effects).toEqual([
      { do: "compact", focus: "the ropes" },
    ]);
    expect(last("/").view.popup).toEqual({ kind: "help", cursor: 0 });
    expect(last("/theme light").effects).toEqual([{ do: "theme", theme: "light" }]);
    expect(last("/QUIT").effects).toEqual([{ do: "quit" }]);
  });

  test("one that leaves the thread waits for a stop; the others run beside it", () => {
    for (const name of ["new", "resume", "rewind", "fork"]) {
      const { effects, blocks } = last(`/${name}`, running);
      expect(effects).toEqual([]);
      expect(blocks.at(-1)).toMatchObject({ text: en.slash.busy(`/${name}`) });
    }
    expect(last("/rules", running).effects).toEqual([{ do: "command", name: "rules", words: "" }]);
  });
});

test("Ctrl-R: inputs of all threads, searched by their words; Enter takes one to the prompt and sends nothing", () => {
  expect(after(key("ctrl-r")).effects).toEqual([{ do: "list-history" }]);
  const items = ["make the tests pass", "what is here?", "run the tests"].map((text) => ({ text, detail: "shop" }));
  const popup: Happening = {
    type: "popup",
    popup: { kind: "history", items, cursor: 0, query: { text: "", cursor: 0 } },
  };
  const { view, effects } = after(popup, typed("tests"), key("ctrl-r"), enter);
  expect([view.draft.text, view.popup, effects]).toEqual(["run the tests", undefined, []]);
});

test("a summary of the context is one line", () => {
  const message = { id: "s", role: "user", origin: "runtime", parts: [], summary: { coversTo: "m" } };
  const usage = { inputTokens: 900, outputTokens: 100 };
  const said = { id: "m", role: "assistant", origin: "model", parts: [{ type: "text", text: "one" }], usage };
  const { blocks, view } = after(running, event("message", { message: said }), event("message", { message }));
  expect(blocks.at(-1)).toEqual({ kind: "note", tone: "dim", text: en.slash.compacted(1_000) });
  expect(view.contextTokens).toBe(0);
});

describe("a person that looks elsewhere", () => {
  const away = key("focus-out");
  const done = event("state", { state: "completed" });

  test("is called when something waits for them, or a run has ended", () => {
    expect(after(away, running, ...asks("a")).effects).toEqual([{ do: "notify", why: "asks" }]);
    expect(after(away, running, done).effects).toEqual([{ do: "notify", why: "done" }]);
    expect(after(away, running, event("state", { state: "error" })).effects).toEqual([{ do: "notify", why: "failed" }]);
  });

  test("is not called back while they look, or by a past that is only read", () => {
    expect(after(away, key("focus-in"), running, ...asks("a")).effects).toEqual([]);
    expect(after({ type: "opened", threadId: "t" }, away, running, done).effects).toEqual([]);
    // A terminal that does not report its focus: only after a while.
    expect(after(running, done).effects).toEqual([]);
    expect(after(running, event("state", { state: "completed", at: 60_000 })).effects).toEqual([
      { do: "notify", why: "done" },
    ]);
  });
});

describe("the demo lists inputs to type", () => {
  const demo = (...happenings: readonly Happening[]) =>
    inOrder(happenings).reduce(
      (view, each) => update(view, each, en).view,
      firstView({ columns: 80, rows: 24, demo: true }, 0),
    );
  const person = (text: string) =>
    event("message", { message: { id: text, role: "user", origin: "person", parts: [{ type: "text", text }] } });

  test("Tab and Up choose a suggestion before the first input; a draft stays", () => {
    const { tour, summarise, write } = en.demo;
    const tab = key("tab");
    expect([demo(tab), demo(tab, tab), demo(key("up"))].map(({ draft }) => draft.text)).toEqual([
      tour,
      summarise,
      write,
    ]);
    expect(demo(typed("mine"), key("up")).draft.text).toBe("mine");
    expect(after(key("tab")).view.draft.text).toBe("");
  });

  test("the tour: stop, other words, an approval, a way back", () => {
    const stop = event("action", { action: { interrupted: { id: "i", kind: "user", raisedAt: 6 } } });
    const steps = [person(en.demo.tour), running, stop, stopped] as const;
    const hints = (...more: readonly Happening[]) => tourHint(demo(...more), en);
    expect(hints(...steps.slice(0, 2))).toBe(en.demo.steps[0]);
    expect(hints(...steps)).toBe(en.demo.steps[1]);
    expect(demo(...steps, key("tab")).draft.text).toBe(en.demo.tourInstead);
    const asked = [...steps, person(en.demo.tourInstead), running, ...asks("a")];
    expect(hints(...asked)).toBe(en.demo.steps[2]);
    const end = event("tool-end", { callId: "a", tool: "write", outcome: "ok", output: "" });
    const answered = event("request-answered", { id: "a", answer: { type: "approve" }, by: "me" });
    expect(hints(...asked, answered, running, end, event("state", { state: "completed" }))).toBe(en.demo.steps[3]);
    expect(hints(person("hello"), running)).toBeUndefined();
  });
});
