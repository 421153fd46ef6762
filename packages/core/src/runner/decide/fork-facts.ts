// The first facts of a fork: they make the state of the parent at the point one that the fork can continue from.
//
// 1. Calls that ran at the point are cut, as by a crash: their outcome is unknown here (C1).
// 2. No answer to the parent starts a call of the fork. Open requests, and approvals of calls that had not started, are
//    asked anew, under another id.
// 3. The fork rests until a person acts: no worker takes it.

import type { Clock } from "../../clock.ts";
import type { Fact, StateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { RequestState } from "../../interrupt/decision.ts";
import { callDigest } from "../../interrupt/digest.ts";
import { type Interrupt, resumePause, waitsForResume } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { findCall } from "../../journal/history.ts";
import type { CallState, ThreadState } from "../../journal/state.ts";
import type { Parent } from "../../store/store.ts";
import { interruptedFact, stateFact } from "./facts.ts";

/** Returns the facts for `state`, which is folded up to the point. `place` is that of the fork. */
export function forkFacts(place: FramePlace, state: ThreadState, forked: Parent, clock: Clock): readonly Fact[] {
  const requests = [...(state.requests?.values() ?? [])];
  const asked = requests.filter((request) => isAskedAnew(state, request));
  const dead = requests.filter((request) => request.decision === undefined && !asked.includes(request));
  const raised = asked.map(({ interrupt, runPath }) =>
    interruptedFact({ ...place, agentName: interrupt.by, runPath }, anew(place, state, interrupt, runPath, clock)),
  );
  const interrupts = raised.flatMap(({ action }) => action.interrupted ?? []);
  return [
    ...callEnds(place, state, "fork", { which: dead.map(({ interrupt }) => interrupt) }),
    ...raised,
    resting(place, state, forked, interrupts, clock),
  ];
}

function isAskedAnew(state: ThreadState, { interrupt, runPath, decision }: RequestState): boolean {
  const call = callOf(state, interrupt, runPath);
  if (decision === undefined) {
    // The point is inside the append that ended the asking agent or call.
    const { ended } = state.scopes.get(runPath) ?? { ended: null };
    return interrupt.callId === undefined ? ended === undefined : call !== undefined && call.status !== "ended";
  }
  const allowed = decision.how === "approved" || (decision.how === "expired" && decision.counts === "approve");
  if (call === undefined || !allowed) return false;
  if (call.doubt === interrupt.id) return true;
  return call.gate === interrupt.id && call.status === "held" && !call.cut && !call.resumes;
}

function callOf(state: ThreadState, { callId }: Interrupt, runPath: string): CallState | undefined {
  const scope = state.scopes.get(runPath);
  return scope === undefined || callId === undefined ? undefined : findCall(scope, callId);
}

/** Returns the request with another id. It expires after as long a time as the original. */
function anew(place: FramePlace, state: ThreadState, interrupt: Interrupt, runPath: string, clock: Clock): Interrupt {
  const { id: replaces, raisedAt: before, expiresAt, key, tool, version, args } = interrupt;
  const raisedAt = clock.now();
  const call = callOf(state, interrupt, runPath);
  const isGate = call?.gate === replaces && key === undefined && tool !== undefined && version !== undefined;
  const digest = isGate && callDigest(tool, version, args ?? null, place.threadId, call.address);
  return {
    ...interrupt,
    id: clock.id(),
    raisedAt,
    ...(expiresAt !== undefined && { expiresAt: raisedAt + (expiresAt - before) }),
    ...(digest && { digest }),
    replaces,
  };
}

function resting(
  place: FramePlace,
  state: ThreadState,
  forked: Parent,
  raised: readonly Interrupt[],
  clock: Clock,
): StateEvent {
  const at = (now: StateEvent["state"], more: Partial<StateEvent> = {}) => stateFact(place, now, { ...more, forked });
  switch (state.state) {
    case "created":
    case "initialized":
    case "terminated":
      return at("initialized");
    case "completed":
    case "error":
      return at(state.state);
    case "running":
      return isWithoutInput(state) ? at("initialized") : at("paused", pause(place, state, raised, clock));
    case "paused":
      return at("paused", pause(place, state, raised, clock));
    default:
      return state.state satisfies never;
  }
}

/** A run that was cut before it had any input has not begun. */
function isWithoutInput({ run, scopes }: ThreadState): boolean {
  return run === undefined || (!run.underway && [...scopes.values()].every(({ given }) => given.length === 0));
}

/** Returns the pause of the parent. If it had none, or waited only for resume(), it is one as by pause(). */
function pause(
  { runPath }: FramePlace,
  { pauseType, interrupts: before }: ThreadState,
  raised: readonly Interrupt[],
  clock: Clock,
): Partial<StateEvent> {
  const waiting = before.filter(waitsForResume);
  if (raised.length > 0 && pauseType !== "user_interrupt")
    return { pauseType: "tool_interrupt", interrupts: [...raised, ...waiting] };
  if (pauseType === "user_interrupt" || pauseType === "node_interrupt") return { pauseType, interrupts: before };
  const resting = resumePause(waiting);
  if (resting !== undefined) return { pauseType: resting, interrupts: waiting };
  const raisedAt = clock.now();
  const manual: Interrupt = { id: clock.id(), kind: "manual", address: runPath, raisedAt, by: "user", reason: "fork" };
  return { pauseType: "manual", interrupts: [manual] };
}
