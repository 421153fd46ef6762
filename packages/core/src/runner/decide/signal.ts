// stop, pause and terminate of a thread at rest, as facts. A stop withdraws the requests that are open, a termination ends the
// thread, and a pause changes nothing. Invariants:
// 1. A segment ends in one way, whether or not it runs when the stop comes: `endingOf` makes the facts.
// 2. A stop that meets nothing is refused. With an id, the refusal is put on record: the same id again meets nothing either (V2).

import { belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { move } from "../../lifecycle.ts";
import { aimedAt, type SignalCommand, verbOf } from "./command.ts";
import { type Circumstances, endingOf, interruptOf } from "./ending.ts";
import { commandFact, samePause } from "./facts.ts";
import { waitingCalls } from "./requests.ts";
import { isStale, presentIn, refuseIfStale } from "./stale.ts";

/** The stops that the append records, merged, and the circumstances of the thread. */
export type AtRest = Pick<
  Circumstances,
  "agent" | "intent" | "asked" | "by" | "commands" | "late" | "said" | "now" | "tokenTtlMs"
> & { readonly place: FramePlace };

/** Returns the facts to append. Throws a refusal. */
export function signalFacts(state: ThreadState, given: SignalCommand, at: AtRest): readonly Fact[] {
  const { place } = at;
  const command = aimedAt(given, place);
  // A stop that a termination has joined, and a termination that joins another one, may find the thread over.
  const isOver = state.state === "terminated" && (command.do !== "terminate" || command.joins);
  if (at.intent === "terminate" && !isOver) judgeEnd(state, command);
  else if (stopAtRest(state, command, at) === undefined) return metNothing(state, command, place);
  const waiting = { how: "stopped", facts: [], calls: waitingCalls(state), partialText: "", attempt: 1 } as const;
  const rest = { kept: undefined, pausedBy: undefined, halts: [], mayCallModel: true, from: Number.POSITIVE_INFINITY };
  return endingOf(waiting, place, state, { ...at, ...rest }).facts;
}

/** Returns the interrupt of a stop that withdraws open requests (S9); undefined if it has nothing to stop. */
export function stopAtRest(
  state: ThreadState,
  { options }: SignalCommand,
  at: Pick<AtRest, "place" | "asked" | "late" | "now">,
): Interrupt | undefined {
  const { place, asked } = at;
  // A thread at rest with the state `running` has crashed.
  const waits = (state.state === "paused" || state.state === "running") && openRequests(state).length > 0;
  if (!waits || asked === undefined || asked.keepsRequests || isStale(options, place)) return undefined;
  const turn = state.scopes.get(place.runPath)?.turn ?? 0;
  return interruptOf(place, turn, waitingCalls(state), at);
}

function judgeEnd(thread: ThreadState, { do: verb, options }: SignalCommand): void {
  const { threadId, state } = thread;
  if (verb === "terminate") refuseIfStale(threadId, options, presentIn(thread));
  // A thread at rest with the state `running` has crashed.
  move(state === "running" ? "paused" : state, "terminated");
}

/** A stop with an id, or of another process, is recorded also if it has nothing to stop. */
function metNothing(state: ThreadState, command: SignalCommand, place: FramePlace): readonly Fact[] {
  const refusal = belayError("INVALID_STATE", {
    threadId: state.threadId,
    state: state.state,
    action: verbOf(command),
  });
  if ((command.id === undefined && !command.joins) || state.head === 0) throw refusal;
  const isJoined = command.joins && !isStale(command.options, place);
  const fact = commandFact(place, command, isJoined ? undefined : refusal);
  return state.state === "paused" ? [fact, samePause(place, state)] : [fact];
}
