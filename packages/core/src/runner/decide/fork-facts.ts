// What makes a thread of another one's past: facts for its state at the point, so that it can go on from there.
//
// 1. What ran there is cut off, as by a crash: nobody here knows what became of it (C1).
// 2. Nothing that a person said to the other thread lets anything begin here: what waited for them, or for a start that
//    they had allowed, is asked for anew, under another id.
// 3. It rests until somebody acts: no worker takes it on by itself.

import type { Clock } from "../../clock.ts";
import type { Fact, StateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { RequestState } from "../../interrupt/decision.ts";
import { callDigest } from "../../interrupt/digest.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { findCall } from "../../journal/history.ts";
import type { CallState, ThreadState } from "../../journal/state.ts";
import type { Parent } from "../../store/store.ts";
import { interruptedFact, stateFact } from "./facts.ts";

/** `state` is folded up to the point; `place` is of the fork. */
export function forkFacts(place: FramePlace, state: ThreadState, forked: Parent, clock: Clock): readonly Fact[] {
  const requests = [...(state.requests?.values() ?? [])];
  const asked = requests.filter((request) => isAskedAnew(state, request));
  const dead = requests.filter((request) => request.decision === undefined && !asked.includes(request));
  const raised = asked.map(({ interrupt, runPath }) =>
    interruptedFact({ ...place, agentName: interrupt.by, runPath }, anew(place, state, interrupt, runPath, clock)),
  );
  return [
    ...callEnds(place, state, "fork", { which: dead.map(({ interrupt }) => interrupt) }),
    ...raised,
    resting(place, state, forked, raised.length > 0, clock),
  ];
}

function isAskedAnew(state: ThreadState, { interrupt, runPath, decision }: RequestState): boolean {
  const call = callOf(state, interrupt, runPath);
  if (decision === undefined) {
    // Cut from the line that ended whoever asked: nobody waits for it.
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

/** It lasts as long as the other did. */
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

function resting(place: FramePlace, state: ThreadState, forked: Parent, isAsking: boolean, clock: Clock): StateEvent {
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
      return isWithoutInput(state) ? at("initialized") : at("paused", pause(place, undefined, [], isAsking, clock));
    case "paused":
      return at("paused", pause(place, state.pauseType, state.interrupts, isAsking, clock));
    default:
      return state.state satisfies never;
  }
}

/** A run that was cut before it was told what to do has not begun. */
function isWithoutInput({ run, scopes }: ThreadState): boolean {
  return run === undefined || (!run.underway && [...scopes.values()].every(({ given }) => given.length === 0));
}

/** The pause of the other thread, or, where it had none, or waited for nothing but to be resumed, one as by pause(). */
function pause(
  { runPath }: FramePlace,
  pauseType: StateEvent["pauseType"],
  before: readonly Interrupt[],
  isAsking: boolean,
  clock: Clock,
): Partial<StateEvent> {
  const nodes = before.filter(({ kind }) => kind === "node");
  if (isAsking && pauseType !== "user_interrupt")
    return { pauseType: "tool_interrupt", ...(nodes.length > 0 && { interrupts: nodes }) };
  if (pauseType === "user_interrupt" || pauseType === "node_interrupt") return { pauseType, interrupts: before };
  if (nodes.length > 0) return { pauseType: "node_interrupt", interrupts: nodes };
  const raisedAt = clock.now();
  const manual: Interrupt = { id: clock.id(), kind: "manual", address: runPath, raisedAt, by: "user", reason: "fork" };
  return { pauseType: "manual", interrupts: [manual] };
}
