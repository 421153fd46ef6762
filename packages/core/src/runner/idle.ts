// What is written to a thread that nobody runs: each is one append, which takes the lease and gives it back.

import { belayError, errorRecord } from "../error.ts";
import type { Fact } from "../event.ts";
import type { FramePlace } from "../frame.ts";
import type { ThreadState } from "../journal/state.ts";
import { move } from "../lifecycle.ts";
import { addUsage } from "../message.ts";
import type { ThreadKey } from "../store/store.ts";
import { Drive, type DriveSetup } from "./drive.ts";
import { busy } from "./execution.ts";
import { lostCalls, runEnd, stateFact } from "./facts.ts";
import type { Feed } from "./feed.ts";
import type { Recall } from "./recall.ts";

/** Facts for the thread as the store has it, or a refusal (thrown). */
export type IdleFacts = (place: FramePlace, state: ThreadState) => readonly Fact[];

export async function appendIdle(
  setup: DriveSetup,
  key: ThreadKey,
  place: FramePlace,
  recall: Recall,
  feed: Feed,
  make: IdleFacts,
): Promise<void> {
  const { threadId } = key;
  const state = await recall.readAll();
  const drive = new Drive(setup, key, place.agentName, state, feed, () => {});
  const refusal = await drive.open(make(place, state), () => recall.settleOn(state), true);
  if (refusal?.why === "busy") throw busy(threadId, refusal.owner, refusal.until);
  if (refusal?.why === "conflict") {
    throw belayError("STORE_CONFLICT", { threadId, expected: state.head, found: refusal.head });
  }
}

/** A new thread is on record before anything can wait for it. */
export const initialized: IdleFacts = (place, state) => {
  move(state.state, "initialized");
  return [stateFact(place, "initialized")];
};

export const terminated: IdleFacts = (place, state) => {
  const paused = state.state === "paused" || state.state === "running";
  move(paused ? "paused" : state.state, "terminated");
  const end = paused ? [...lostCalls(place, state), runEnd(place, "terminated", usageOf(state))] : [];
  return [...end, stateFact(place, "terminated")];
};

/** A thread that only crashes. Calls that may run again do so when a person resumes it. */
export const setAside: IdleFacts = (place, state) => {
  const { threadId, crashes } = state;
  const error = errorRecord(belayError("THREAD_SET_ASIDE", { threadId, crashes }));
  const end = runEnd(place, "failed", usageOf(state), { error });
  return [...lostCalls(place, state, true), end, stateFact(place, "error")];
};

function usageOf(state: ThreadState) {
  return state.run?.usage ?? addUsage(undefined, undefined);
}
