// The facts that begin and end a segment of a run.

import { type BelayError, errorRecord } from "../../error.ts";
import type {
  ActionEvent,
  Breakpoint,
  BreakpointEvent,
  CommandEvent,
  DriftEvent,
  EventBase,
  LabelEvent,
  MessageEvent,
  RuleRemovedEvent,
  RunEndEvent,
  RunStartEvent,
  StateEvent,
  TurnEndEvent,
} from "../../event.ts";
import type { DriftReport, Fingerprint } from "../../fingerprint.ts";
import type { FramePlace } from "../../frame.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { Message, Part, Usage } from "../../message.ts";
import type { Labelling } from "../given/label.ts";

/** Returns the fields that every fact has. The append sets its seq and its time. */
export function base(place: FramePlace): EventBase {
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

/** Puts a command on record under its key; with `refusal`, one that had no effect. */
export function commandFact(
  place: FramePlace,
  { key, by = "user" }: { readonly key: string; readonly by?: string | undefined },
  refusal?: BelayError,
): CommandEvent {
  return { type: "command", key, by, ...base(place), ...(refusal !== undefined && { refused: errorRecord(refusal) }) };
}

export function breakpointFact(place: FramePlace, breakpoint: Breakpoint): BreakpointEvent {
  return { type: "breakpoint", breakpoint, ...base(place) };
}

export function labelFact(place: FramePlace, { title, labels }: Labelling, by: string): LabelEvent {
  const named = { ...(title !== undefined && { title }), ...(labels !== undefined && { labels }) };
  return { type: "label", ...named, by, ...base(place) };
}

export function ruleRemoved(place: FramePlace, id: string, by: string): RuleRemovedEvent {
  return { type: "rule-removed", id, by, ...base(place) };
}

export function stateFact(place: FramePlace, state: StateEvent["state"], more?: Partial<StateEvent>): StateEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  const attempt = more?.attempt ?? 1;
  // The varying properties come last: V8 is slow to add to an object after a spread.
  return { type: "state", seq: 0, at: 0, threadId, runId, segment, attempt, agentName, runPath, state, ...more };
}

/** Returns everything that a paused thread waits for. */
function waitsFor(state: ThreadState): readonly Interrupt[] {
  return [...openRequests(state), ...state.interrupts];
}

/** Repeats the pause that the thread is in: the last line of a thread must have its state at rest. */
export function samePause(place: FramePlace, state: ThreadState): StateEvent {
  const { pauseType, tokenHash, tokenUntil } = state;
  const interrupts = waitsFor(state);
  // A plain key comes first: V8 takes a microsecond for an object of spreads alone.
  return stateFact(place, "paused", {
    attempt: 1,
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
  more: Pick<RunEndEvent, "finish" | "output" | "error" | "values" | "outputKey"> = {},
): RunEndEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  const { finish, output, error, values, outputKey } = more;
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
  if (values !== undefined) fact.values = values;
  if (outputKey !== undefined) fact.outputKey = outputKey;
  return fact;
}

export function turnEnd(place: FramePlace, turn: number, at: number): TurnEndEvent {
  const { threadId, runId, segment, agentName, runPath } = place;
  return { type: "turn-end", seq: 0, at, threadId, runId, segment, attempt: 1, agentName, runPath, turn };
}

export function messageFact(place: FramePlace, message: Message): MessageEvent {
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
}

/** Returns the messages of a person. One without an id gets that of its place in the list. */
export function inputFacts(
  place: FramePlace,
  inputs: readonly { readonly id?: string; readonly parts: readonly Part[] }[],
  at: number,
  by: string | undefined,
  idAt = (i: number) => `${place.runId}.i${place.segment}.${i}`,
): MessageEvent[] {
  return inputs.map(({ id, parts }, i) =>
    messageFact(place, {
      id: id ?? idAt(i),
      role: "user",
      parts,
      at,
      origin: "person",
      ...(by !== undefined && { by }),
    }),
  );
}
