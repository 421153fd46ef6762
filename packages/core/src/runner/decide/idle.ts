// Facts for a thread at rest. Each function makes one append, which takes the lease and returns it.

import type { Definition } from "../../agent.ts";
import { belayError, errorRecord } from "../../error.ts";
import type { Fact, StateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { type Interrupt, resumePause } from "../../interrupt/interrupt.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { openRequests } from "../../journal/requests.ts";
import { sketch } from "../../journal/sketch.ts";
import type { ThreadState } from "../../journal/state.ts";
import { move } from "../../lifecycle.ts";
import { addUsage } from "../../message.ts";
import { commandFact, interruptedFact, runEnd, samePause, stateFact } from "./facts.ts";
import { nest } from "./nest.ts";
import { expiries } from "./requests.ts";

/** Returns facts for the thread as it is in the store. Throws a refusal. */
export type IdleFacts = (place: FramePlace, state: ThreadState) => readonly Fact[];

/** Puts a new thread on record, before the first command is sent to it. */
export const initialized: IdleFacts = (place, state) => {
  move(state.state, "initialized");
  return [stateFact(place, "initialized")];
};

/** Rests a thread whose requests are all answered and that waits for resume(): at a node of a graph, or after pause(). */
export function restsOn(now: number): IdleFacts {
  return (place, state) => {
    const expired = expiries(place, state, now, new Set());
    const isAsking = openRequests(state).length > expired.length;
    const pauseType = isAsking ? "tool_interrupt" : (resumePause(state.interrupts) ?? "manual");
    return [...expired, { ...samePause(place, state), pauseType }];
  };
}

/** Ends the thread for good. `commands` are put on record with that. */
export function terminated(by: string, commands: (place: FramePlace) => readonly Fact[]): IdleFacts {
  return (place, state) => {
    const paused = state.state === "paused" || state.state === "running";
    move(paused ? "paused" : state.state, "terminated");
    const end = paused ? [runEnd(place, "terminated", usageOf(state))] : [];
    // A run that has failed may have open calls and requests, too.
    const closed = callEnds(place, state, "over", { by });
    return [...closed, ...end, ...commands(place), stateFact(place, "terminated")];
  };
}

/** Stops a thread that rests with open requests: it withdraws them and waits for the person (S9). */
export function stopWaiting(
  agent: Definition,
  stop: Stop,
  commands: (place: FramePlace) => readonly Fact[],
  said: readonly Fact[],
  pause: Pausing<Handed>,
): IdleFacts {
  return (place, state) => {
    const open = openRequests(state);
    // A thread at rest whose state is running has crashed.
    if ((state.state !== "paused" && state.state !== "running") || open.length === 0) {
      throw belayError("INVALID_STATE", { threadId: place.threadId, state: state.state, action: "interrupt()" });
    }
    const closed = callEnds(place, state, "stop", { by: stop.by });
    const { interrupt, fact } = pause(place, state);
    const view = nest(agent, place.runPath, sketch(state, closed), [interrupt]);
    // The hooks were called for an earlier segment: all facts of an append are of one segment.
    const { runId, segment } = place;
    const words = said.map((each) => ({ ...each, runId, segment }));
    return [...closed, ...words, interruptedFact(place, view), ...commands(place), fact];
  };
}

/** Puts one more stop on record that led to the present pause. */
export function alsoStopped(
  command: { readonly key: string; readonly by: string },
  of: { readonly runId: string | undefined; readonly segment: number | undefined },
): IdleFacts {
  return (place, state) => {
    const { threadId, runId, segment } = place;
    const isSame = state.state === "paused" && runId === of.runId && segment === of.segment;
    if (!isSame || state.taken?.has(command.key)) {
      throw belayError("INVALID_STATE", { threadId, state: state.state, action: "interrupt()" });
    }
    return [commandFact(place, command)];
  };
}

type Pausing<T> = (place: FramePlace, state: ThreadState) => T;

interface Handed {
  readonly interrupt: Interrupt;
  readonly fact: StateEvent;
}

/** Sets a thread aside that only crashes. Calls that may run again do so when a person resumes it. */
export const setAside: IdleFacts = (place, state) => {
  const { threadId, crashes } = state;
  const error = errorRecord(belayError("THREAD_SET_ASIDE", { threadId, crashes }));
  const end = runEnd(place, "failed", usageOf(state), { error });
  return [...callEnds(place, state, "pause"), end, stateFact(place, "error")];
};

function usageOf(state: ThreadState) {
  return state.run?.usage ?? addUsage(undefined, undefined);
}
