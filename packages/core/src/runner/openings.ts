// How a stretch of a run begins. Each opening looks at the thread as the store has it at that moment: what this
// session knew may be old.

import { belayError } from "../error.ts";
import type { Fact } from "../event.ts";
import type { FramePlace } from "../frame.ts";
import type { ThreadState } from "../journal/state.ts";
import type { Opening } from "./execution.ts";
import { inputFacts, lostCalls, runStart, stateFact } from "./facts.ts";
import type { readInput } from "./input.ts";

type Inputs = ReturnType<typeof readInput>;

export function newRun(
  place: FramePlace,
  repair: Going["repair"],
  inputs: (at: number) => readonly Fact[],
  now: () => number,
  id?: string,
): Opening {
  return (state) => {
    refuseIfAsked(state, id);
    refuseUnless(state, ["created", "initialized", "completed", "error"], "a new run");
    const facts: Fact[] = [];
    if (state.state !== "initialized") facts.push(stateFact(place, "initialized"));
    facts.push(runStart(place), ...lostCalls(place, state));
    const closing = hasOpenCalls(state) ? ({ mode: "rethink", repair } as const) : undefined;
    facts.push(stateFact(place, "running", id === undefined ? closing : { ...closing, id }));
    facts.push(...inputs(now()));
    return facts;
  };
}

export interface Going {
  readonly mode: "continue" | "rethink";
  readonly repair: "synthetic" | "drop";
  readonly inputs: Inputs;
  /** The caller's id of the run() that asked for it. */
  readonly id?: string | undefined;
}

export function goOn(place: FramePlace, going: Going, now: () => number): Opening {
  return (state) => {
    refuseIfAsked(state, going.id);
    // First: who lost a race learns that, not what the winner made of the thread.
    if (state.run?.id !== place.runId || state.run.segment !== place.segment - 1) {
      throw belayError("TOKEN_SPENT", { threadId: place.threadId, segment: place.segment - 1 });
    }
    refuseUnless(state, ["paused", "running", "error"], "resume");
    const { mode, repair, inputs, id } = going;
    const asked = id === undefined ? {} : { id };
    const facts: Fact[] = [];
    if (state.state === "error") facts.push(stateFact(place, "initialized"), runStart(place));
    if (mode === "rethink") facts.push(...lostCalls(place, state));
    facts.push(stateFact(place, "running", mode === "rethink" ? { mode, repair, ...asked } : { mode, ...asked }));
    facts.push(...inputFacts(place, inputs, now()));
    return facts;
  };
}

function refuseIfAsked({ threadId, asked }: ThreadState, id: string | undefined): void {
  const known = id === undefined ? undefined : asked?.get(id);
  if (known !== undefined) throw belayError("RUN_KNOWN", { threadId, id: id!, runId: known.runId });
}

function hasOpenCalls(state: ThreadState): boolean {
  for (const scope of state.scopes.values()) if (scope.calls.length > 0) return true;
  return false;
}

function refuseUnless(state: ThreadState, allowed: readonly string[], action: string): void {
  const { threadId, state: now } = state;
  if (allowed.includes(now)) return;
  if (now === "paused") throw belayError("NEED_RESUME", { threadId, pauseType: state.pauseType ?? "a pause" });
  throw belayError("INVALID_STATE", { threadId, state: now, action });
}
