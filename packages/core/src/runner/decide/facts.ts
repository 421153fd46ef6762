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
  ToolEndEvent,
  TurnEndEvent,
} from "../../event.ts";
import type { DriftReport, Fingerprint } from "../../fingerprint.ts";
import type { FramePlace } from "../../frame.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { isWithin } from "../../journal/reduce.ts";
import { hasAgent, isParked } from "../../journal/requests.ts";
import type { CallState, Scope, ThreadState } from "../../journal/state.ts";
import { addUsage, type Message, type Outcome, type Part, type Usage } from "../../message.ts";

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

/** The pause that it is in, written once more: the last line of a thread tells how it rests. */
export function samePause(place: FramePlace, state: ThreadState): StateEvent {
  const { pauseType, interrupts, tokenHash, tokenUntil } = state;
  return stateFact(place, "paused", {
    ...(pauseType !== undefined && { pauseType }),
    ...(interrupts.length > 0 && { interrupts }),
    ...(tokenHash !== undefined && { tokenHash }),
    ...(tokenUntil !== undefined && { tokenUntil }),
  });
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

/** Ends, for the record, of calls that a crash cut off, and of the agents inside calls: every start has its end. They will not run again; `forGood` no agent will. */
export function lostCalls(
  place: FramePlace,
  state: ThreadState,
  within?: readonly string[],
  forGood = false,
): readonly Fact[] {
  const scopes = [...state.scopes.values()].filter(({ path }) => within === undefined || isWithin(path, within));
  const endOf = ({ path }: Scope, call: CallState) => {
    if (call.status !== "started") return undefined;
    // One that waited for a person was cut by whoever closes it, not by the crash.
    const waited = isParked(state, call) || hasAgent(state, call);
    return callEnd(place, path, call, waited ? "interrupted" : "unknown");
  };
  return endsOf(place, state, scopes, endOf, undefined, forGood);
}

/** The same of calls that may run again, by what is said of their tools. Those that wait for people, or for agents inside them, go on in their place; those in `ended` have their end. */
export function cutCalls(place: FramePlace, state: ThreadState, ended?: ReadonlySet<string>): readonly ToolEndEvent[] {
  const facts: ToolEndEvent[] = [];
  for (const { path, calls } of state.scopes.values()) {
    for (const call of calls) {
      if (call.status !== "started" || ended?.has(call.part.id) || isParked(state, call) || hasAgent(state, call))
        continue;
      facts.push({ ...callEnd(place, path, call, "unknown"), held: true });
    }
  }
  return facts;
}

function callEnd(place: FramePlace, runPath: string, { part, address }: CallState, outcome: Outcome): ToolEndEvent {
  const { id: callId, tool } = part;
  return { type: "tool-end", callId, tool, address, outcome, output: null, ...base(place), runPath };
}

/** Calls, by id, and agents, by path, that end in these facts. */
export function endedIn(facts: readonly Fact[]): ReadonlySet<string> {
  return new Set(
    facts.flatMap((fact) => (fact.type === "tool-end" ? [fact.callId] : fact.type === "run-end" ? [fact.runPath] : [])),
  );
}

/**
 * What ends in these scopes, for the record: calls by what `endOf` says of each, and with a call the agents that have begun
 * inside it; `forGood` all agents below `place`, but for those in `ended`, which have their end. Those inside come first:
 * the end of what is around them is theirs, too.
 */
export function endsOf(
  place: FramePlace,
  { run }: ThreadState,
  scopes: readonly Scope[],
  endOf: (scope: Scope, call: CallState) => ToolEndEvent | undefined,
  ended?: ReadonlySet<string>,
  forGood = false,
): Fact[] {
  const calls = scopes.map((scope) => scope.calls.flatMap((call) => endOf(scope, call) ?? []));
  const around = calls.flat().flatMap(({ held, address }) => (held ? [] : [`${address}/`]));
  const facts: Fact[] = [];
  for (let i = scopes.length - 1; i >= 0; i--) {
    facts.push(...calls[i]!);
    const { path, runId, settled } = scopes[i]!;
    if (runId === undefined || runId !== run?.id || settled !== undefined) continue;
    if (path === place.runPath || !path.includes("/") || ended?.has(path)) continue;
    if (!forGood && !around.some((address) => path.startsWith(address))) continue;
    const agentName = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf(":")) + 1);
    facts.push(runEnd({ ...place, agentName, runPath: path }, "terminated", addUsage(undefined, undefined)));
  }
  return facts;
}
