// stop, pause and terminate of a thread at rest, as facts. A stop withdraws the requests that are open, a termination ends the
// run, and a pause changes nothing. Invariants:
// 1. No facts mean that there is nothing to stop. With an id, that is put on record: the same id again meets nothing either (V2).
// 2. The command stands after the interrupt that it caused: its receipt is a fold of the facts up to it.

import type { Definition } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { openRequests } from "../../journal/requests.ts";
import { sketch } from "../../journal/sketch.ts";
import type { ThreadState } from "../../journal/state.ts";
import { move } from "../../lifecycle.ts";
import { addUsage } from "../../message.ts";
import { isKept, type SignalCommand, verbOf } from "./command.ts";
import { interruptOf, newHandle } from "./ending.ts";
import { commandFact, interruptedFact, runEnd, stateFact } from "./facts.ts";
import { nest } from "./nest.ts";
import { waitingCalls } from "./requests.ts";
import { isStale, refuseIfStale } from "./stale.ts";

/** The circumstances of a thread at rest. */
export interface AtRest {
  readonly place: FramePlace;
  readonly now: number;
  readonly agent: Definition;
  readonly tokenTtlMs: number | undefined;
  /** Calls that were left behind and still run in this process. */
  readonly late: readonly string[];
  /** The messages of `onInterrupt` hooks, in the segment that the stop is for. */
  readonly said: readonly Fact[];
}

/** Returns the facts to append. Throws the refusal of a termination. */
export function signalFacts(state: ThreadState, command: SignalCommand, at: AtRest): readonly Fact[] {
  if (command.do === "terminate") return terminated(state, command, at.place);
  const { place } = at;
  const interrupt = stopAtRest(state, command, at);
  if (interrupt === undefined) return metNothing(state, command, place);
  const closed = callEnds(place, state, "stop", { by: command.by });
  const view = nest(at.agent, place.runPath, sketch(state, closed), [interrupt]);
  const { token } = newHandle(place, "user_interrupt", at);
  const paused = stateFact(place, "paused", { pauseType: "user_interrupt", interrupts: [interrupt], ...token });
  return [...closed, ...at.said, interruptedFact(place, view), ...recorded(place, command), paused];
}

/** Returns the interrupt of a stop that withdraws open requests (S9); undefined if it has nothing to stop. */
export function stopAtRest(
  state: ThreadState,
  { do: verb, stop, options }: SignalCommand,
  { place, late, now }: Pick<AtRest, "place" | "late" | "now">,
): Interrupt | undefined {
  // A thread at rest with the state `running` has crashed.
  const waits = state.state === "paused" || state.state === "running";
  if (verb !== "stop" || stop.keepsRequests || !waits || openRequests(state).length === 0) return undefined;
  if (isStale(options, place)) return undefined;
  const turn = state.scopes.get(place.runPath)?.turn ?? 0;
  return interruptOf(place, turn, waitingCalls(state), { asked: stop, late, now });
}

/** Ends the thread for good. */
function terminated(state: ThreadState, command: SignalCommand, place: FramePlace): readonly Fact[] {
  const { threadId, run } = state;
  refuseIfStale(threadId, command.options, { runId: run?.id, segment: run?.segment ?? 0, state: state.state });
  const paused = state.state === "paused" || state.state === "running";
  move(paused ? "paused" : state.state, "terminated");
  const end = paused ? [runEnd(place, "terminated", run?.usage ?? addUsage(undefined, undefined))] : [];
  // A run that has failed may have open calls and requests, too.
  const closed = callEnds(place, state, "over", { by: command.by });
  return [...closed, ...end, ...recorded(place, command), stateFact(place, "terminated")];
}

/** Returns the facts for one more stop that led to the present pause; none if the thread has moved on. */
export function joinedFacts(state: ThreadState, command: SignalCommand, place: FramePlace): readonly Fact[] {
  const isSame = state.state === "paused" && !isStale(command.options, place) && !state.taken?.has(command.key);
  return isSame ? [commandFact(place, command)] : [];
}

function metNothing({ head, threadId, state }: ThreadState, command: SignalCommand, place: FramePlace) {
  if (command.id === undefined || head === 0) return [];
  return [commandFact(place, command, belayError("INVALID_STATE", { threadId, state, action: verbOf(command) }))];
}

function recorded(place: FramePlace, command: SignalCommand): readonly Fact[] {
  return isKept(command) ? [commandFact(place, command)] : [];
}
