import { describe, expect, it, test } from "vitest";
import type { Fact } from "../event.ts";
import { type Cause, callEnds, type Phase, phaseOf } from "./call-ends.ts";
import { reduce } from "./reduce.ts";
import { newThread, type ThreadState } from "./state.ts";

const place = { threadId: "thread", runId: "r", segment: 1, agentName: "helper", runPath: "helper" };

/** A thread with these facts after the message that made the calls `a` and `b` of the root. */
function threadOf(...more: readonly object[]): ThreadState {
  const calls = ["a", "b"].map((id) => ({ type: "call", id, tool: "pay", args: {} }));
  return added(
    newThread("thread"),
    { type: "state", state: "initialized" },
    { type: "run-start" },
    { type: "state", state: "running" },
    { type: "message", turn: 1, message: { id: "m", role: "assistant", parts: calls, at: 1, origin: "model" } },
    ...more,
  );
}

function added(state: ThreadState, ...facts: readonly object[]): ThreadState {
  for (const fact of facts)
    reduce(state, { ...place, seq: state.head + 1, at: 1, attempt: 1, ...fact } as unknown as Fact);
  return state;
}

const start = (callId: string, runPath = "helper") => ({ type: "tool-start", callId, runPath });
const held = (callId: string, outcome: string) => ({ type: "tool-end", callId, outcome, output: null, held: true });
const agentAt = (runPath: string) => ({ type: "run-start", runPath });
const asked = (id: string, more: object) => ({
  type: "action",
  action: { interrupted: { id, by: "helper", ...more } },
});
const gate = (callId: string) => asked(`gate of ${callId}`, { kind: "approval", callId });
const doubt = (callId: string) => asked(`doubt of ${callId}`, { kind: "unknown", callId });
const ask = (callId: string) => asked(`ask of ${callId}`, { kind: "input", callId, key: "k" });
const settled = (id: string, answer: object) => ({ type: "request-answered", id, by: "ann", answer });
const answered = (callId: string) => settled(`ask of ${callId}`, { type: "respond", value: 1 });
const withdrawn = (callId: string) => settled(`ask of ${callId}`, { type: "withdraw" });

/** How a call comes into each phase, after the facts of `threadOf`. `from` is the head when the facts of the segment begin. */
const ways: Record<Phase, readonly object[]> = {
  fresh: [],
  gated: [gate("a")],
  cut: [start("a"), held("a", "unknown")],
  doubted: [start("a"), held("a", "unknown"), doubt("a")],
  resumable: [start("a"), held("a", "interrupted")],
  stranded: [start("a"), ask("a"), held("a", "interrupted")],
  agent: [start("a"), agentAt("helper/t1/c0/sub")],
  parked: [start("a"), ask("a")],
  answered: [start("a"), ask("a"), answered("a")],
  forsaken: [start("a"), ask("a"), withdrawn("a")],
  lost: [start("a")],
};

const causes: readonly Cause[] = ["pause", "let-go", "stop", "closed", "input", "over", "fork"];

/** N not-executed, U unknown, I interrupted, h held, - no fact. */
const wanted: Record<Phase, string> = {
  //         pause let-go stop closed input over fork
  fresh: "     -     -     -     -     -     -    -",
  gated: "     -     -     N     N     -     N    -",
  cut: "       -     -     -     -     -     -    -",
  doubted: "   -     -     U     U     -     U    -",
  resumable: " -     -     -     -     -     -    -",
  stranded: "  -     -     I     I     -     I    -",
  agent: "     -     -     -     -     I     I    -",
  parked: "    -     -     I     I     I     I    -",
  answered: "  Ih    Ih    Ih    -     I     I    Uh",
  forsaken: "  Uh    -     U     -     U     U    I",
  lost: "      Uh    -     U     -     U     U    Uh",
};

const short: Record<string, string> = { "not-executed": "N", unknown: "U", interrupted: "I" };

function line(fact: Fact): string {
  if (fact.type === "tool-end") return `${fact.callId} ${short[fact.outcome]}${fact.held ? "h" : ""}`;
  if (fact.type === "run-end") return `${fact.runPath} ${fact.agentName} ${fact.status}`;
  return fact.type === "request-answered" ? `${fact.id} ${fact.answer.type} by ${fact.by}` : fact.type;
}

const lines = (...args: Parameters<typeof callEnds>) => callEnds(...args).map(line);

describe("how an open call ends", () => {
  const cells = Object.entries(wanted).flatMap(([phase, row]) =>
    row
      .trim()
      .split(/ +/)
      .map((end, i) => [phase as Phase, causes[i]!, end] as const),
  );
  test.each(cells)("a call that is %s, on %s: %s", (phase, cause, end) => {
    const facts = ways[phase];
    const state = threadOf(...facts);
    const from = phase === "answered" ? state.head - 1 : state.head;
    const [a] = state.scopes.get("helper")!.calls;
    expect(phaseOf(state, a!, from)).toBe(phase);
    const ends = callEnds(place, state, cause, { from }).filter(({ type }) => type === "tool-end");
    expect(ends.map(line)).toEqual(end === "-" ? [] : [`a ${end}`]);
  });

  it("a call that has ended has no phase and no other end", () => {
    const state = threadOf(start("a"), {
      type: "tool-end",
      callId: "a",
      address: "helper/t1/c0",
      outcome: "ok",
      output: 1,
    });
    expect(phaseOf(state, state.scopes.get("helper")!.calls[0]!)).toBeUndefined();
    for (const cause of causes) expect(lines(place, state, cause)).toEqual([]);
  });

  it("a call with its end in the same append gets no second one", () => {
    const state = threadOf(start("a"), start("b"));
    const ended = callEnds(place, state, "pause").filter((fact) => line(fact) === "a Uh");
    expect(ended).toHaveLength(1);
    expect(lines(place, state, "stop", { ended })).toEqual(["b U"]);
  });

  it("without the head before the segment, an answered call counts as lost: it may have continued before a crash", () => {
    expect(lines(place, threadOf(...ways.answered), "pause")).toEqual(["a Uh"]);
  });

  it("a call that was cut once and continues from its steps since ends as interrupted, not as unknown", () => {
    const state = threadOf(start("a"), held("a", "unknown"), start("a"), ask("a"), held("a", "interrupted"));
    expect(lines(place, state, "stop")).toEqual(["a I", "ask of a withdraw by runtime"]);
  });

  it("the end is in the name of the agent that made the call, and has its address", () => {
    expect(callEnds(place, threadOf(start("a")), "stop")).toEqual([
      {
        type: "tool-end",
        ...place,
        seq: 0,
        at: 0,
        attempt: 1,
        callId: "a",
        tool: "pay",
        address: "helper/t1/c0",
        outcome: "unknown",
        output: null,
      },
    ]);
  });
});

describe("requests", () => {
  test.each(causes)("%s withdraws all open requests, or none", (cause) => {
    const withdraws = ["stop", "closed", "input", "over"].includes(cause);
    const facts = callEnds(place, threadOf(gate("a")), cause, { by: "ann" });
    const answers = facts.filter(({ type }) => type === "request-answered").map(line);
    expect(answers).toEqual(withdraws ? ["gate of a withdraw by ann"] : []);
  });

  test.each(["stop", "closed"] as const)("%s leaves a call alone that waits for a request which stays", (cause) => {
    for (const [first, second] of [
      [gate("a"), gate("b")],
      [ask("a"), ask("b")],
    ] as const) {
      const state = threadOf(
        ...(first.action.interrupted.id.startsWith("ask") ? [start("a"), start("b")] : []),
        first,
        second,
      );
      const which = [...state.requests!.values()].slice(1).map(({ interrupt }) => interrupt);
      expect(lines(place, state, cause, { which })).toEqual([
        expect.stringMatching(/^b [NI]$/),
        expect.stringMatching(/ of b withdraw by runtime$/),
      ]);
    }
  });

  it("a fork withdraws the requests that it is given and no others", () => {
    const state = threadOf(gate("a"), gate("b"));
    const which = [state.requests!.get("gate of b")!.interrupt];
    expect(lines(place, state, "fork", { which })).toEqual(["gate of b withdraw by runtime"]);
  });
});

describe("agents inside calls", () => {
  /** The root calls `sub`, which calls `deep`, which has started a call; beside them, `other` runs outside of any call. */
  const nested = () => {
    const message = (runPath: string, id: string) => ({
      type: "message",
      runPath,
      turn: 1,
      message: { id, role: "assistant", parts: [{ type: "call", id, tool: "pay", args: {} }], at: 1, origin: "model" },
    });
    const sub = "helper/t1/c0/sub";
    const deep = `${sub}/t1/c0/deep`;
    return threadOf(
      start("a"),
      agentAt(sub),
      message(sub, "s"),
      start("s", sub),
      agentAt(deep),
      message(deep, "d"),
      start("d", deep),
      agentAt("helper/0:other"),
    );
  };
  const inside = [
    "d U",
    "helper/t1/c0/sub/t1/c0/deep deep terminated",
    "s I",
    "helper/t1/c0/sub sub terminated",
    "a I",
  ];

  it("end with the call, the innermost first; forGood, or when the run is over, all agents end", () => {
    const all = [...inside.slice(0, -1), "helper/0:other other terminated", "a I"];
    expect(lines(place, nested(), "input")).toEqual(inside);
    expect(lines(place, nested(), "input", { forGood: true })).toEqual(all);
    expect(lines(place, nested(), "over")).toEqual(all);
  });

  it("end innermost first also if the state has them in another order", () => {
    const state = nested();
    const scopes = [...state.scopes].reverse();
    state.scopes.clear();
    for (const [path, scope] of scopes) state.scopes.set(path, scope);
    expect(lines(place, state, "input")).toEqual(inside);
  });

  it("stay as they are while the call stays open or is held", () => {
    expect(lines(place, nested(), "stop")).toEqual(["d U"]);
    expect(lines(place, nested(), "pause")).toEqual(["d Uh"]);
  });

  it("within limits calls, agents and requests to those at a path and below; the agent at the place itself does not end", () => {
    const path = "helper/t1/c0/sub";
    const state = added(nested(), gate("b"), { ...ask("d"), runPath: `${path}/t1/c0/deep` });
    expect(lines({ ...place, runPath: path }, state, "over", { within: [path] })).toEqual([
      "d I",
      "helper/t1/c0/sub/t1/c0/deep deep terminated",
      "s I",
      "ask of d withdraw by runtime",
    ]);
  });

  it("that have their end in the same append, have ended before, or are of another run, have no other one", () => {
    const other = { type: "run-end", runPath: "helper/0:other", status: "completed", usage: {} };
    const ended = [{ ...place, seq: 0, at: 0, attempt: 1, ...other } as unknown as Fact];
    expect(lines(place, nested(), "over", { ended })).toEqual(inside);
    expect(lines(place, added(nested(), other), "over")).toEqual(inside);
    const later = nested();
    later.run = { ...later.run!, id: "another" } as never;
    expect(lines(place, later, "over")).toEqual(["d U", "s I", "a I"]);
  });
});
