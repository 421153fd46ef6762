// A thread that is opened: its past, and how it stands.

import type { BelayEvent, Interrupt } from "@belay/core";
import { expect, test } from "vitest";
import { en } from "../texts/en.ts";
import { update } from "./update.ts";
import { firstView, type Happening } from "./view.ts";

let seq = 0;
// biome-ignore lint/suspicious/noExplicitAny: tests write events by hand, and only what matters of them.
const event = (type: BelayEvent["type"], more: any = {}): Happening => ({
  type: "event",
  event: {
    seq: ++seq,
    at: 5,
    threadId: "t",
    runId: "r",
    agentName: "belay",
    runPath: "belay",
    type,
    ...more,
  } as BelayEvent,
});
const running = event("state", { state: "running" });
const request = (id: string, callId: string) =>
  ({ id, kind: "approval", tool: "shell", args: {}, callId }) as Interrupt;
const caughtUp = (pauseType: "crash" | "tool_interrupt", requests: readonly Interrupt[] = []): Happening => ({
  type: "caught-up",
  state: "paused",
  pauseType,
  requests,
  now: 9,
});

/** The view of a thread with this past. */
const opened = (...past: Happening[]) =>
  [{ type: "opened", threadId: "t" } as const, ...past].reduce(
    (view, happening) => update(view, happening, en).view,
    firstView({ columns: 80, rows: 24 }, 0),
  );

test("the past of a long thread is drawn by its end, and its state comes from the thread", () => {
  const said = Array.from({ length: 100 }, (_, at) => {
    const message = { id: `${at}`, role: "user", origin: "person", parts: [{ type: "text", text: `said ${at}` }] };
    return event("message", { message });
  });
  const view = opened(...said, running, caughtUp("crash"));
  const blocks = view.transcript.slice(0);
  expect(blocks[0]).toMatchObject({ kind: "note", text: en.app.earlier(60) });
  expect(blocks.at(-2)).toEqual({ kind: "person", text: "said 99" });
  expect(blocks.at(-1)).toEqual({ kind: "note", text: en.stop.crashed, tone: "stop" });
  expect(view.history.length).toBe(100);
});

test("C1: it says which calls were cut off, also those that were approved in a pause; one that asks was not", () => {
  const start = (callId: string) => event("tool-start", { callId, tool: "shell", args: { command: callId } });
  const end = (callId: string) => event("tool-end", { callId, tool: "shell", outcome: "ok", output: "" });
  const last = (...past: Happening[]) =>
    opened(running, ...past)
      .transcript.slice(0)
      .at(-1);
  const approved = [
    event("action", { action: { interrupted: request("q", "a") } }),
    event("state", { state: "paused", pauseType: "tool_interrupt" }),
    event("request-answered", { id: "q", by: "user", answer: { type: "approve" } }),
  ];
  const told = { kind: "note", text: `${en.stop.crashed} ${en.stop.cutOff("shell a")}`, tone: "stop" };
  expect(last(...approved, start("a"), caughtUp("tool_interrupt"))).toEqual(told);
  expect(last(start("b"), start("a"), end("b"), caughtUp("crash"))).toEqual(told);
  expect(last(...approved, start("a"), end("a"), caughtUp("tool_interrupt"))).toMatchObject({ kind: "call" });
  expect(last(...approved, start("a"), caughtUp("tool_interrupt", [request("p", "a")]))).not.toEqual(told);
});
