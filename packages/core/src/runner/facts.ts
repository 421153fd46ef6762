// The facts that begin and end a stretch of a run.

import type {
  ActionEvent,
  Breakpoint,
  BreakpointEvent,
  DriftEvent,
  EventBase,
  Fact,
  MessageEvent,
  RuleRemovedEvent,
  RunEndEvent,
  RunStartEvent,
  StateEvent,
  TurnEndEvent,
} from "../event.ts";
import type { DriftReport, Fingerprint } from "../fingerprint.ts";
import type { FramePlace } from "../frame.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { isWithin } from "../journal/reduce.ts";
import { hasAgent, isParked } from "../journal/requests.ts";
import type { ThreadState } from "../journal/state.ts";
import type { Message, Part, Usage } from "../message.ts";

function base(place: FramePlace): EventBase {
  const { threadId, runId, segment, agentName, runPath } = place;
  return { seq: 0, at: 0, threadId, runId, segment, attempt: 1, agentName, runPath };
}

export function runStart(place: FramePlace, fingerprint?: Fingerprint): RunStartEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  const fact = { type: "run-start" as const, seq: 0, at: 0, threadId, runId, segment, attempt: 1, agentName, runPath };
  return fingerprint === undefined ? fact : { fingerprint, ...fact };
}

export function driftFact(place: FramePlace, report: DriftReport, fingerprint: Fingerprint): DriftEvent {
  return { type: "drift", report, fingerprint, ...base(place) };
}

export function breakpointFact(place: FramePlace, breakpoint: Breakpoint): BreakpointEvent {
  return { type: "breakpoint", breakpoint, ...base(place) };
}

export function ruleRemoved(place: FramePlace, id: string, by: string): RuleRemovedEvent {
  return { type: "rule-removed", id, by, ...base(place) };
}

export function stateFact(place: FramePlace, state: StateEvent["state"], more?: Partial<StateEvent>): StateEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  const attempt = more?.attempt ?? 1;
  // What differs comes last: V8 is slow to add to an object after a spread.
  return { type: "state", seq: 0, at: 0, threadId, runId, segment, attempt, agentName, runPath, state, ...more };
}

export function interruptedFact(place: FramePlace, interrupted: Interrupt): ActionEvent {
  return { type: "action", action: { interrupted }, ...base(place) };
}

export function runEnd(
  place: FramePlace,
  status: RunEndEvent["status"],
  usage: Usage,
  more: Pick<RunEndEvent, "finish" | "output" | "error"> = {},
): RunEndEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  const { finish, output, error } = more;
  const fact: { -readonly [K in keyof RunEndEvent]: RunEndEvent[K] } = {
    type: "run-end",
    seq: 0,
    at: 0,
    threadId,
    runId,
    segment,
    attempt: 1,
    agentName,
    runPath,
    status,
    usage,
  };
  if (finish !== undefined) fact.finish = finish;
  if (output !== undefined) fact.output = output;
  if (error !== undefined) fact.error = error;
  return fact;
}

export function turnEnd(place: FramePlace, turn: number, at: number): TurnEndEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  return { type: "turn-end", seq: 0, at, threadId, runId, segment, attempt: 1, agentName, runPath, turn };
}

export function inputFacts(
  place: FramePlace,
  inputs: readonly { readonly id?: string; readonly parts: readonly Part[] }[],
  at: number,
): MessageEvent[] {
  return inputs.map(({ id, parts }, i) => {
    const own = id ?? `${place.runId}.i${place.segment}.${i}`;
    const message: Message = { id: own, role: "user", parts, at, origin: "person" };
    const { threadId, runId, segment, agentName, runPath } = place;
    return {
      type: "message",
      seq: 0,
      at: 0,
      threadId,
      runId,
      segment,
      attempt: 1,
      agentName,
      runPath,
      turn: 0,
      message,
    };
  });
}

/** Ends, for the record, of calls that a crash cut off: every start has its end. They will not run again, unless they are `held`. */
export function lostCalls(place: FramePlace, state: ThreadState, held = false, within?: readonly string[]): Fact[] {
  const facts: Fact[] = [];
  // Those inside a call first: its end is theirs, too.
  for (const scope of [...state.scopes.values()].reverse()) {
    if (within !== undefined && !isWithin(scope.path, within)) continue;
    for (const call of scope.calls) {
      if (call.status !== "started") continue;
      const { id: callId, tool } = call.part;
      const at = { ...base(place), runPath: scope.path };
      const end = { type: "tool-end", callId, tool, address: call.address, ...at } as const;
      // One that waited for a person was cut by whoever closes it, not by the crash.
      const parked = isParked(state, call) || hasAgent(state, call);
      if (parked && held) continue;
      facts.push({ outcome: parked ? "interrupted" : "unknown", output: null, ...end, ...(held && { held }) });
    }
  }
  return facts;
}
