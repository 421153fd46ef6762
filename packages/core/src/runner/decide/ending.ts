// How a segment of a run ends: its facts, its result and its receipt. Data in, data out.

import type { Definition, Ended, MetCall } from "../../agent.ts";
import { builtIn } from "../../built-in.ts";
import { belayError, errorRecord, GENERAL } from "../../error.ts";
import type { Fact, StateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { turnAddress } from "../../interrupt/address.ts";
import { digestOfText } from "../../interrupt/digest.ts";
import { type Handle, type Interrupt, isRequest, resumePause } from "../../interrupt/interrupt.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { type InterruptView, leaf } from "../../interrupt/view.ts";
import { type Cause, callEnds } from "../../journal/call-ends.ts";
import { openRequests } from "../../journal/requests.ts";
import { sketch } from "../../journal/sketch.ts";
import type { ThreadState } from "../../journal/state.ts";
import { type Json, toJson } from "../../json.ts";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import { addUsage, type Message, type Usage } from "../../message.ts";
import type { RunResult } from "../read/run.ts";
import { interruptedFact, runEnd, samePause, stateFact } from "./facts.ts";
import { metCalls } from "./met-calls.ts";
import { nest } from "./nest.ts";

/**
 * The receipt of a stop. Call ids are in `stopped` (cut off), `finished`, `notStarted` (held) and `late` (left behind, still
 * running).
 */
export interface Receipt {
  readonly accepted: boolean;
  readonly runId: string | undefined;
  readonly segment: number | undefined;
  /** The text of the cut answer, as it is kept. */
  readonly partialText: string;
  readonly stopped: readonly string[];
  readonly finished: readonly string[];
  readonly notStarted: readonly string[];
  readonly late: readonly string[];
}

/** The circumstances in which a segment ends, as of the append that records it. */
export interface Circumstances {
  /** The root agent. */
  readonly agent: Definition;
  /** `terminate` ends the run for good, `let-go` records no pause. Without one, `ended` and `asked` decide. */
  readonly intent: "terminate" | "let-go" | undefined;
  /** The person's stop. A stopped run without one was parked by pause(). */
  readonly asked: Stop | undefined;
  /** A stop that keeps requests and found some open: it is recorded as a pause, with its reason and message. */
  readonly kept: Stop | undefined;
  /** The caller of pause(). */
  readonly pausedBy: string | undefined;
  /** The caller of the stop that is in force. */
  readonly by: string;
  /** The stops to put on record with the end. */
  readonly commands: readonly Fact[];
  /** Calls that were left behind and still run. */
  readonly late: readonly string[];
  /** The messages of `onInterrupt` hooks. */
  readonly said: readonly Fact[];
  /** Nodes of graphs that wait for resume(). */
  readonly halts: readonly Interrupt[];
  readonly now: number;
  /** How long the token of a pause is valid. */
  readonly tokenTtlMs: number | undefined;
  /** False if only answered calls ran: the pause that they ran in stays. */
  readonly mayCallModel: boolean;
  /** The head of the thread before the segment. */
  readonly from: number;
}

export interface Pause {
  readonly interrupts: readonly Interrupt[];
  /** The same as the root sees it. */
  readonly view: InterruptView | undefined;
  readonly handle: Handle;
  /** The messages of the root's hooks. */
  readonly said?: readonly Message[];
}

export interface Ending {
  readonly facts: readonly Fact[];
  /** How many of them, at the end, end the segment. Those before belong to its last turn. */
  readonly tail: number;
  readonly pause: Pause | undefined;
}

const nothing: readonly never[] = [];

export function endingOf(ended: Ended, place: FramePlace, state: ThreadState, circumstances: Circumstances): Ending {
  const { intent, asked, commands } = circumstances;
  if (intent !== "let-go" && (asked !== undefined || intent === "terminate")) {
    const unasked = withoutQuestions(ended);
    if (unasked !== ended) return endingOf(unasked, place, state, circumstances);
  }
  const usage = addUsage(state.run?.usage, usageOf(ended.facts));
  const callsEnd = (cause: Cause, by = "runtime") =>
    callEnds(place, state, cause, { ended: ended.facts, from: circumstances.from, by });
  if (intent === "terminate") {
    const isUnderWay = state.state === "paused" || state.state === "running";
    const end = isUnderWay ? [runEnd(place, "terminated", usage)] : nothing;
    return over(ended, [...callsEnd("over", circumstances.by), ...end], commands, stateFact(place, "terminated"));
  }
  if (ended.how === "completed") {
    const { finish, values, outputKey } = ended;
    const shared = { ...(values && { values }), ...(outputKey !== undefined && { outputKey }) };
    const end = runEnd(place, "completed", usage, { finish, ...recordedOutput(ended), ...shared });
    return over(ended, [...callsEnd("over"), end], commands, stateFact(place, "completed"));
  }
  const move = (to: SessionState, more?: Partial<StateEvent>) => [...commands, stateFact(place, to, more)];
  const ends = (...facts: readonly Fact[]): Ending => ({
    facts: [...ended.facts, ...facts],
    tail: facts.length,
    pause: undefined,
  });
  const viewOf = (after: ThreadState, interrupts: readonly Interrupt[]) =>
    nest(circumstances.agent, place.runPath, after, interrupts);
  const reruns = rerunsIn(state, ended.facts);
  /**
   * Pauses for open requests, for nodes of graphs, for code that asks to be run again, or for several of them. `stop` is a
   * pause() beside them.
   */
  const asks = (closed: readonly Fact[], stop?: Interrupt, more?: Partial<StateEvent>): Ending => {
    const facts = [...ended.facts, ...closed];
    const isPlain = reruns.length === 0 && isAlone(circumstances.agent, place, state, facts) && !facts.some(decides);
    const after = isPlain ? state : sketch(state, facts);
    const open = isPlain ? [...openRequests(state), ...raisedIn(facts)] : openRequests(after);
    const interrupts = [...open, ...circumstances.halts, ...reruns, ...(stop === undefined ? [] : [stop])];
    const waiting = open.length > 0 ? undefined : resumePause(interrupts);
    const { handle, token } = newHandle(place, waiting ?? "tool_interrupt", circumstances);
    const { interruptType: pauseType } = handle;
    const paused = move("paused", { pauseType, ...(interrupts.length > 0 && { interrupts }), ...more, ...token });
    // A node of the root graph stands in the view.
    const halts = circumstances.halts
      .map((each) => haltFact(place, each))
      .filter((fact, i) => fact.runPath !== place.runPath || circumstances.halts[i]!.kind !== "node");
    const view = interrupts.length === 0 ? undefined : viewOf(after, interrupts);
    const told = view === undefined ? nothing : [interruptedFact(place, view)];
    return { ...ends(...halts, ...closed, ...told, ...paused), pause: { interrupts, view, handle } };
  };
  switch (ended.how) {
    case "failed": {
      // An exception while paused leaves it paused (S7): the next resume() meets it again.
      if (!circumstances.mayCallModel) return ends(...callsEnd("let-go"));
      const end = runEnd(place, "failed", usage, { error: errorRecord(ended.error) });
      return ends(...callsEnd("pause"), end, ...move("error", { attempt: ended.attempt ?? 1 }));
    }
    case "stopped": {
      if (intent === "let-go") return ends(...callsEnd("let-go"));
      const { attempt } = ended;
      const turn = ended.turn ?? state.scopes.get(place.runPath)?.turn ?? 0;
      const interrupt = interruptOf(place, turn, ended.calls, circumstances);
      // Answered calls ran in a pause, or after a failure. That stays, and other requests stay open.
      const isFailed = state.state === "error";
      if (isFailed || (!circumstances.mayCallModel && circumstances.kept !== undefined)) {
        const same = isFailed ? commands : [...commands, samePause(place, state)];
        return ends(...callsEnd("let-go"), interruptedFact(place, interrupt), ...same);
      }
      // pause() withdraws nothing.
      const closed = asked === undefined ? callsEnd("pause") : callsEnd("stop", interrupt.by);
      if (asked === undefined && isAsked(state, ended.facts)) {
        return asks(closed, interrupt, { attempt });
      }
      const pauseType = asked === undefined ? "manual" : "user_interrupt";
      const { handle, token } = newHandle(place, pauseType, circumstances);
      const paused = move("paused", { pauseType, interrupts: [interrupt], attempt, ...token });
      const view = isAlone(circumstances.agent, place, state, ended.facts)
        ? leaf(interrupt)
        : viewOf(sketch(state, [...ended.facts, ...closed]), [interrupt]);
      const ending = ends(...closed, ...circumstances.said, interruptedFact(place, view), ...paused);
      return { ...ending, pause: { interrupts: [interrupt], view, handle, said: saidIn(circumstances.said, place) } };
    }
    case "asking":
      if (!circumstances.mayCallModel && state.state === "paused" && reruns.length > known(state, reruns)) {
        // An answered call asks to be run again: the pause that it ran in lists it from now on. A failed run stays failed.
        const interrupts = [...state.interrupts.filter(({ kind }) => kind !== "rerun"), ...reruns];
        return ends(...callsEnd("let-go"), ...commands, samePause(place, { ...state, interrupts }));
      }
      if (intent === "let-go" || !circumstances.mayCallModel) return ends(...callsEnd("let-go"));
      return asks(callsEnd("pause"));
    default:
      return ended satisfies never;
  }
}

/** True for a chat agent with no other agent inside: its stop is its whole view. */
function isAlone(agent: Definition, { runPath }: FramePlace, { scopes }: ThreadState, facts: readonly Fact[]): boolean {
  return agent.view === undefined && scopes.size === 1 && facts.every((fact) => fact.runPath === runPath);
}

/** True if the fact decides a request, or raises one in the place of another. */
function decides(fact: Fact): boolean {
  if (fact.type === "action") return fact.action.interrupted?.replaces !== undefined;
  return fact.type === "request-answered";
}

/** Returns the requests that these facts raise. */
function raisedIn(facts: readonly Fact[]): readonly Interrupt[] {
  return facts.flatMap((fact) => (fact.type === "action" && isQuestion(fact) ? (fact.action.interrupted ?? []) : []));
}

/** Drops the requests that the end of a stopped segment would have raised: no reader has seen them. */
function withoutQuestions(ended: Ended): Ended {
  const facts = ended.facts.filter((fact) => !isQuestion(fact));
  if (ended.how !== "asking") return facts.length === ended.facts.length ? ended : { ...ended, facts };
  const { turn, calls } = ended;
  const stopped: Ended = { how: "stopped", facts, calls, partialText: "", attempt: 1 };
  return turn === undefined ? stopped : { turn, ...stopped };
}

/** Returns the code that waits to be run again: on record, or by these facts. */
function rerunsIn({ reruns }: ThreadState, facts: readonly Fact[]): readonly Interrupt[] {
  const all = [...(reruns ?? nothing)];
  for (const fact of facts) {
    const raised = fact.type === "action" ? fact.action.interrupted : undefined;
    if (raised?.kind === "rerun") all.push(raised);
  }
  return all;
}

/** Returns how many of them the present pause lists. */
function known({ interrupts }: ThreadState, reruns: readonly Interrupt[]): number {
  return reruns.filter(({ id }) => interrupts.some((each) => each.id === id)).length;
}

function isQuestion(fact: Fact): boolean {
  return fact.type === "action" && isRequest(fact.action.interrupted);
}

/** True if requests are open, or these facts raise one. */
export function isAsked(state: ThreadState, facts: readonly Fact[]): boolean {
  if (openRequests(state).length > 0) return true;
  return facts.some(isQuestion);
}

/** Returns `ended` for a stop that keeps requests: calls that wait for them do not count as stopped. */
export function leftOpen(ended: Ended, state: ThreadState): Ended {
  if (ended.how !== "stopped" && ended.how !== "asking") return ended;
  const waiting = new Set(openRequests(state).flatMap(({ callId }) => callId ?? []));
  return { ...ended, calls: ended.calls.filter(({ id, how }) => how !== "stopped" || !waiting.has(id)) };
}

/** Returns the fact that a node waits for resume(), in the name of its graph. */
function haltFact(place: FramePlace, interrupt: Interrupt): Fact {
  const { address, by: agentName } = interrupt;
  return interruptedFact({ ...place, agentName, runPath: address.slice(0, address.lastIndexOf("/")) }, interrupt);
}

/** Ends the run. */
function over({ facts }: Ended, ends: readonly Fact[], commands: readonly Fact[], state: Fact): Ending {
  const tail = ends.length + commands.length + 1;
  return { facts: [...facts, ...ends, ...commands, state], tail, pause: undefined };
}

/** Returns a handle on a pause, and the part of its token that is recorded. */
export function newHandle(
  place: FramePlace,
  interruptType: PauseType,
  { now, tokenTtlMs }: Pick<Circumstances, "now" | "tokenTtlMs">,
): { readonly handle: Handle; readonly token: Pick<StateEvent, "tokenHash" | "tokenUntil"> } {
  const { token, tokenHash, tokenUntil } = newToken(now, tokenTtlMs);
  const hashed = tokenUntil === undefined ? { tokenHash } : { tokenHash, tokenUntil };
  return { handle: handleOf(place, interruptType, token), token: hashed };
}

export function handleOf(
  { threadId, runId, segment }: Pick<FramePlace, "threadId" | "runId" | "segment">,
  interruptType: PauseType,
  token: string,
): Handle {
  return { threadId, runId, segment, token, interruptType, restartBlock: interruptType === "user_interrupt" };
}

/** A secret for one pause, and its hash for the record. */
export function newToken(
  now: number,
  tokenTtlMs: number | undefined,
): { readonly token: string; readonly tokenHash: string; readonly tokenUntil?: number } {
  // 244 random bits. Node fetches those of many ids at once, because the call is most of their cost.
  const { randomUUID } = builtIn("node:crypto");
  const token = `${randomUUID()}${randomUUID()}`.replaceAll("-", "");
  const tokenHash = hashToken(token);
  return tokenTtlMs === undefined ? { token, tokenHash } : { token, tokenHash, tokenUntil: now + tokenTtlMs };
}

/** Returns the output if it is not the last text and is valid JSON. Its agent has checked its size. */
function recordedOutput({ output, text, action }: Extract<Ended, { how: "completed" }>): { readonly output?: Json } {
  if (output === text && action === undefined) return {};
  try {
    return { output: toJson(output, "The output of a run") };
  } catch {
    return {};
  }
}

export function interruptOf(
  place: FramePlace,
  turn: number,
  calls: readonly MetCall[],
  circumstances: Pick<Circumstances, "asked" | "late" | "now"> & Partial<Pick<Circumstances, "kept" | "pausedBy">>,
): Interrupt {
  const { runId, segment, runPath } = place;
  const { asked, late, now } = circumstances;
  const stop = asked ?? circumstances.kept;
  return {
    id: `${runId}.${segment}`,
    kind: asked === undefined ? "manual" : "user",
    address: turnAddress(runPath, turn),
    raisedAt: stop?.at ?? now,
    by: stop?.by ?? circumstances.pausedBy ?? "user",
    ...(asked !== undefined && { reason: GENERAL }),
    ...(stop?.reason !== undefined && { reason: stop.reason }),
    ...(stop?.message !== undefined && { message: stop.message }),
    ...(late.length + calls.length > 0 && { calls: metCalls(calls, late) }),
  };
}

/** Returns the result of the run, once its end is on record. */
export function resultOf(
  ended: Ended,
  place: FramePlace,
  state: ThreadState,
  intent: Circumstances["intent"],
  pause: Pause | undefined,
): RunResult<never> {
  const { runId, segment, threadId } = place;
  const usage = state.run?.usage ?? addUsage(undefined, undefined);
  const at = { runId, segment, usage };
  if (intent === "terminate") return { status: "terminated", ...at };
  switch (ended.how) {
    case "completed": {
      // Written out: most runs end here, and a spread costs more than the rest of this function.
      const { output, text, finish } = ended;
      return { runId, segment, usage, status: "completed", output: output as never, text, finish };
    }
    case "failed":
      return { status: "failed", error: ended.error, ...at };
    case "stopped":
    case "asking": {
      if (pause === undefined) return { status: "failed", error: belayError("SESSION_CLOSED", { threadId }), ...at };
      const { handle, interrupts, view: interrupt = leaf(interrupts[0]!) } = pause;
      const { interruptType } = handle;
      const partialText = ended.how === "stopped" ? ended.partialText : "";
      const more = pause.said === undefined || pause.said.length === 0 ? {} : { said: pause.said };
      return { status: "interrupted", interruptType, handle, interrupts, interrupt, partialText, ...at, ...more };
    }
    default:
      return ended satisfies never;
  }
}

function saidIn(facts: readonly Fact[], { runPath }: FramePlace): readonly Message[] {
  return facts.flatMap((fact) => (fact.type === "message" && fact.runPath === runPath ? [fact.message] : []));
}

/** Returns the receipt of a stop. `accepted` is true if the stop ended a segment that waited for requests. */
export function receiptOf(
  ended: Ended | undefined,
  place: FramePlace,
  late: readonly string[],
  accepted = false,
): Receipt {
  const { runId, segment } = place;
  const none = { accepted: false, runId, segment, partialText: "", stopped: [], finished: [], notStarted: [], late };
  if (ended?.how === "asking") return { ...none, ...metCalls(ended.calls, late), accepted };
  if (ended?.how !== "stopped") return none;
  const { partialText, calls } = ended;
  return { ...none, ...metCalls(calls, late), accepted: true, partialText };
}

function usageOf(facts: readonly Fact[]): Usage | undefined {
  let usage: Usage | undefined;
  for (const fact of facts) {
    if (fact.type === "message" && fact.message.usage) usage = addUsage(usage, fact.message.usage);
  }
  return usage;
}

export function hashToken(token: string): string {
  return digestOfText(token);
}
