// Facts for a thread at rest. Each function makes one append, which takes the lease and returns it.

import { belayError, errorRecord } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { resumePause } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { addUsage } from "../../message.ts";
import { runEnd, samePause, stateFact } from "./facts.ts";
import { expiries } from "./requests.ts";

/** Returns facts for the thread as it is in the store. Throws a refusal. */
export type IdleFacts = (place: FramePlace, state: ThreadState) => readonly Fact[];

/** Lets a worker begin a new run on a thread that has failed: a person has acted. */
export const afterFailure: IdleFacts = (place, state) =>
  state.state === "error" ? [stateFact(place, "initialized")] : [];

/** Rests a thread with no open request that waits for resume(): at a node of a graph, or after pause(). */
export function restsOn(now: number): IdleFacts {
  return (place, state) => {
    const expired = expiries(place, state, now);
    const isAsking = openRequests(state).length > expired.length;
    const pauseType = isAsking ? "tool_interrupt" : (resumePause(state.interrupts) ?? "manual");
    return [...expired, { ...samePause(place, state), pauseType }];
  };
}

/** Sets a thread aside that only crashes. Calls that may run again do so when a person resumes it. */
export const setAside: IdleFacts = (place, state) => {
  const { threadId, crashes } = state;
  const error = errorRecord(belayError("THREAD_SET_ASIDE", { threadId, crashes }));
  const end = runEnd(place, "failed", state.run?.usage ?? addUsage(undefined, undefined), { error });
  return [...callEnds(place, state, "pause"), end, stateFact(place, "error")];
};
