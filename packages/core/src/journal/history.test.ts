import { history } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import type { ToolStartEvent } from "../event.ts";
import type { Message, Part } from "../index.ts";
import { addAnswer, addInput, closeCalls, endCall, holdCall, startCall } from "./history.ts";
import { newScope, type Scope } from "./state.ts";

const startOf = (callId: string) => ({ callId, segment: 1 }) as ToolStartEvent;

const cut = { by: "user", at: 1 };
const text = (value: string): Part => ({ type: "text", text: value });
const call = (id: string): Part => ({ type: "call", id, tool: "t", args: {} });

const input = (value: string): Message => ({
  id: `i-${value}`,
  role: "user",
  parts: [text(value)],
  at: 0,
  origin: "person",
});
const answer = (parts: readonly Part[], more: Partial<Message> = {}): Message => ({
  id: "a",
  role: "assistant",
  parts,
  at: 0,
  origin: "model",
  ...more,
});

/** A scope that was asked "hello". */
function asked(): Scope {
  const scope = newScope("helper");
  addInput(scope, input("hello"));
  return scope;
}

describe("a scope's history", () => {
  it("H1: a message with calls is in the prompt only when each call has its result, together with them", () => {
    const scope = asked();
    addAnswer(scope, answer([call("x"), call("y")]), 1);
    expect(history(scope.prompt)).toEqual(["user: hello"]);
    startCall(scope, startOf("x"));
    endCall(scope, "x", "ok", 1);
    expect(history(scope.prompt)).toEqual(["user: hello"]);
    expect(history(scope.messages)).toEqual(["user: hello", "assistant: call x + call y", "tool: x ok"]);
    endCall(scope, "y", "error", "no");
    expect(history(scope.prompt)).toEqual(["user: hello", "assistant: call x + call y", "tool: x ok + y error"]);
    expect(scope).toMatchObject({ last: "results", calls: [] });
  });

  it("H1: results stand in the order of the calls, whichever ended first", () => {
    const scope = asked();
    addAnswer(scope, answer([call("x"), call("y")]), 1);
    endCall(scope, "y", "ok", 2);
    endCall(scope, "x", "ok", 1);
    expect(history(scope.prompt).at(-1)).toBe("tool: x ok + y ok");
  });

  it("H1: an input that comes while calls are open enters after their results", () => {
    const scope = asked();
    addAnswer(scope, answer([call("x")]), 1);
    addInput(scope, input("one"));
    addInput(scope, input("two"));
    expect(history(scope.messages)).toEqual(["user: hello", "assistant: call x"]);
    endCall(scope, "x", "ok", 1);
    expect(history(scope.messages).slice(2)).toEqual(["tool: x ok", "user: one", "user: two"]);
    expect(history(scope.prompt)).toEqual(history(scope.messages));
    expect(scope.last).toBe("input");
  });

  it("S4: a call that started never reads not executed; one that was held back does", () => {
    const scope = asked();
    addAnswer(scope, answer([call("x"), call("y"), call("z")]), 1);
    startCall(scope, startOf("x"));
    startCall(scope, startOf("y"));
    holdCall(scope, "y", "not-executed");
    closeCalls(scope, "synthetic");
    expect(history(scope.prompt).at(-1)).toBe("tool: x unknown + y not-executed + z not-executed");
  });

  it("H3: drop removes a group of which no call started, and keeps its words as a cut answer", () => {
    const scope = asked();
    addAnswer(scope, answer([text("Let me"), call("x")]), 1);
    closeCalls(scope, "drop");
    expect(history(scope.messages)).toEqual(["user: hello", "assistant~user: Let me"]);
    const silent = asked();
    addAnswer(silent, answer([{ type: "reasoning", text: "hm", provider: { name: "p", data: 1 } }, call("x")]), 1);
    closeCalls(silent, "drop");
    expect(history(silent.messages)).toEqual(["user: hello"]);
    expect(silent.last).toBe("input");
    const started = asked();
    addAnswer(started, answer([call("x"), call("y")]), 1);
    startCall(started, startOf("x"));
    closeCalls(started, "drop");
    expect(history(started.prompt).at(-1)).toBe("tool: x unknown + y not-executed");
  });

  it("H3: drop after results goes back to them", () => {
    const scope = asked();
    addAnswer(scope, answer([call("x")]), 1);
    endCall(scope, "x", "ok", 1);
    addAnswer(scope, answer([call("y")], { id: "b" }), 2);
    closeCalls(scope, "drop");
    expect(history(scope.messages)).toEqual(["user: hello", "assistant: call x", "tool: x ok"]);
    expect(scope).toMatchObject({ last: "results", calls: [] });
  });

  it("an unknown call or end changes nothing", () => {
    const scope = asked();
    const before = structuredClone(scope);
    startCall(scope, startOf("x"));
    holdCall(scope, "x", "not-executed");
    endCall(scope, "x", "ok", 1);
    closeCalls(scope, "synthetic");
    expect(scope).toEqual(before);
  });

  it("R2: a continuation becomes one message with the cut one, also with calls after its text", () => {
    const scope = asked();
    addAnswer(scope, answer([text("Let ")], { interrupted: cut }), 1);
    addAnswer(scope, answer([text("me see"), call("x")], { id: "b", continues: "a" }), 1);
    expect(history(scope.messages)).toEqual(["user: hello", "assistant: Let me see + call x"]);
    expect(scope.messages[1]!.id).toBe("a");
    expect(history(scope.prompt)).toEqual(["user: hello"]);
    endCall(scope, "x", "ok", 1);
    expect(history(scope.prompt)).toEqual(["user: hello", "assistant: Let me see + call x", "tool: x ok"]);
  });
});
