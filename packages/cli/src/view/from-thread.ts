// The thread on the screen. foldThread() folds each event; the state, the running calls and the open requests follow from the
// view that it returns. A part that the fold left as it was keeps what the session last reported of it.

import { type DraftAnswer, foldThread, shownState, type ThreadView } from "@belay/client";
import type { BelayEvent, Interrupt } from "@belay/core";
import { outputText } from "../output-text.ts";
import { callLabel } from "./call-label.ts";
import type { RunningCall, View } from "./view.ts";

/** The kept output of a running call. */
const MOST_TAIL = 4_000;

/** Returns the view after the fold of `event`: the same view if the event adds nothing. */
export function withEvent(view: View, event: BelayEvent): View {
  const was = view.thread;
  const thread = foldThread(was, event);
  if (thread === was) return view;
  let next: View = { ...view, thread };
  // The run that begins here is not that of the owner that was lost.
  const isLost = thread.draft.ownerLost !== undefined && was.draft.ownerLost === undefined && !view.starting;
  if (isLost || thread.since !== was.since) next = { ...next, ...shownState(thread) };
  // A second start without an end between them: the first owner is gone, with its calls.
  const isAgain = thread.since !== was.since && was.state === "running" && thread.state === "running";
  if (isLost || isAgain) next = withoutCalls(next);
  if (event.type === "tool-start") next = { ...next, cut: next.cut.filter((id) => id !== event.callId) };
  if (thread.calls !== was.calls) next = { ...next, calls: runningCalls(next) };
  if (thread.interrupts !== was.interrupts) next = { ...next, requests: openRequests(next) };
  return next;
}

/** The calls that run are those of a process that is gone. */
export function withoutCalls(view: View): View {
  return { ...view, calls: [], cut: [...view.cut, ...view.calls.map(({ id }) => id)] };
}

function runningCalls({ thread, cut }: View): readonly RunningCall[] {
  return thread.calls.flatMap(({ id, tool, phase, startedAt = 0 }) =>
    phase === "running" && !cut.includes(id) ? [{ id, tool, label: labelOf(thread, id, tool), startedAt }] : [],
  );
}

function openRequests({ thread, state, pauseType, now }: View): readonly Interrupt[] {
  if (state !== "running" && (state !== "paused" || pauseType === "crash")) return [];
  return thread.interrupts.filter(
    ({ kind, expiresAt = Number.POSITIVE_INFINITY }) =>
      kind !== "user" && kind !== "manual" && kind !== "node" && kind !== "rerun" && expiresAt > now,
  );
}

/** Returns the label of a call; `tool` if the thread does not have it. */
export function labelOf({ calls }: ThreadView, callId: string, tool: string): string {
  const call = calls.findLast(({ id }) => id === callId);
  return call === undefined ? callLabel(tool, undefined) : callLabel(call.tool, call.ranArgs ?? call.args);
}

/** Returns the end of what a running call has said so far. */
export function tailOf({ draft }: ThreadView, callId: string): string {
  const said = draft.progress.find((each) => each.callId === callId)?.data ?? [];
  return said.map(outputText).join("").slice(-MOST_TAIL);
}

/** Returns the answer that streams now, of the agent that the person talks to. */
export function ownAnswer({ draft }: ThreadView): DraftAnswer | undefined {
  return draft.answers.find(({ runPath }) => !runPath.includes("/"));
}
