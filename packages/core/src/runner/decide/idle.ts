// What is written to a thread that nobody runs: each is one append, which takes the lease and gives it back.

import { belayError, errorRecord } from "../../error.ts";
import type { Breakpoint, Fact, StateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { move } from "../../lifecycle.ts";
import { addUsage } from "../../message.ts";
import { breakpointFact, interruptedFact, runEnd, samePause, stateFact } from "./facts.ts";
import { expiries } from "./requests.ts";

/** Facts for the thread as the store has it, or a refusal (thrown). */
export type IdleFacts = (place: FramePlace, state: ThreadState) => readonly Fact[];

/** A new thread is on record before anything can wait for it. */
export const initialized: IdleFacts = (place, state) => {
  move(state.state, "initialized");
  return [stateFact(place, "initialized")];
};

/** The pause, where it is in one, is written once more: the last line of a thread tells how it rests. */
export function breakpointSet(breakpoint: Breakpoint): IdleFacts {
  return (place, state) => {
    if (state.state === "terminated") {
      throw belayError("INVALID_STATE", { threadId: place.threadId, state: state.state, action: "setBreakpoint()" });
    }
    const fact = breakpointFact(place, breakpoint);
    if (state.state === "created") return [stateFact(place, "initialized"), fact];
    return state.state === "paused" ? [fact, samePause(place, state)] : [fact];
  };
}

/** All is answered, and somebody has to go on: past nodes of graphs, or because of pause(). */
export function restsOn(now: number): IdleFacts {
  return (place, state) => {
    const expired = expiries(place, state, now, new Set());
    const other = state.interrupts.some(({ kind }) => kind === "node") ? "node_interrupt" : "manual";
    const pauseType = openRequests(state).length > expired.length ? "tool_interrupt" : other;
    return [...expired, { ...samePause(place, state), pauseType }];
  };
}

export const terminated: IdleFacts = (place, state) => {
  const paused = state.state === "paused" || state.state === "running";
  move(paused ? "paused" : state.state, "terminated");
  const end = paused ? [runEnd(place, "terminated", usageOf(state))] : [];
  // A run that has failed may have open calls and requests, too.
  return [...callEnds(place, state, "over", { by: "user" }), ...end, stateFact(place, "terminated")];
};

/** A stop while the thread only waits for people: what it asked for is dead, and the person has the word (S9). */
export function stopWaiting(
  stop: Stop,
  stops: ReadonlySet<string>,
  said: readonly Fact[],
  pause: Pausing<Handed>,
): IdleFacts {
  return (place, state) => {
    const open = openRequests(state);
    // Running, and nobody has it: a crash cut it off.
    if ((state.state !== "paused" && state.state !== "running") || open.length === 0) {
      throw belayError("INVALID_STATE", { threadId: place.threadId, state: state.state, action: "interrupt()" });
    }
    const { interrupt, fact } = pause(place, state);
    // They spoke of the stretch that they knew: all facts of an append are of one.
    const { runId, segment } = place;
    const words = said.map((each) => ({ ...each, runId, segment }));
    return [
      ...callEnds(place, state, "stop", { by: stop.by }),
      ...words,
      interruptedFact(place, interrupt),
      stops.size === 0 ? fact : { ...fact, stops: [...stops] },
    ];
  };
}

/** The same pause, which one more stop has led to. */
export function alsoStopped(
  id: string,
  of: { readonly runId: string | undefined; readonly segment: number | undefined },
): IdleFacts {
  return (place, state) => {
    const { threadId, runId, segment } = place;
    const isSame = state.state === "paused" && runId === of.runId && segment === of.segment;
    if (!isSame || state.stops?.has(id)) {
      throw belayError("INVALID_STATE", { threadId, state: state.state, action: "interrupt()" });
    }
    return [{ ...samePause(place, state), stops: [id] }];
  };
}

/** The same pause with another token: the old one is void. */
export function newToken(pause: Pausing<StateEvent>): IdleFacts {
  return (place, state) => {
    if (state.state !== "paused") {
      throw belayError("INVALID_STATE", { threadId: place.threadId, state: state.state, action: "handle()" });
    }
    return [pause(place, state)];
  };
}

type Pausing<T> = (place: FramePlace, state: ThreadState) => T;

interface Handed {
  readonly interrupt: Interrupt;
  readonly fact: StateEvent;
}

/** A thread that only crashes. Calls that may run again do so when a person resumes it. */
export const setAside: IdleFacts = (place, state) => {
  const { threadId, crashes } = state;
  const error = errorRecord(belayError("THREAD_SET_ASIDE", { threadId, crashes }));
  const end = runEnd(place, "failed", usageOf(state), { error });
  return [...callEnds(place, state, "pause"), end, stateFact(place, "error")];
};

function usageOf(state: ThreadState) {
  return state.run?.usage ?? addUsage(undefined, undefined);
}
