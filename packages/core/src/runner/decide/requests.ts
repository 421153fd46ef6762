// What people's answers, their silence and their change of mind do to a thread: facts for the thread as it is.

import type { StoppedCalls } from "../../agent.ts";
import type { EventBase, Fact, RequestAnsweredEvent, ToolEndEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { type Groups, isExpired, judgeAnswer } from "../../interrupt/decision.ts";
import { type Interrupt, isRequest } from "../../interrupt/interrupt.ts";
import { isWithin } from "../../journal/reduce.ts";
import { hasAgent, isParked, openRequests } from "../../journal/requests.ts";
import type { CallState, Scope, ThreadState } from "../../journal/state.ts";
import type { Outcome } from "../../message.ts";
import { rememberedRule } from "../../permission/remembered.ts";
import type { Append, Rest } from "../../store/store.ts";
import { endsOf } from "./facts.ts";

function base(place: FramePlace, runPath: string): EventBase {
  const { threadId, runId, segment, agentName } = place;
  return { seq: 0, at: 0, threadId, runId, segment, attempt: 1, agentName, runPath };
}

/** Returns the fact of an answer. Throws an ANSWER_ refusal. */
export function answerFact(
  place: FramePlace,
  state: ThreadState,
  id: string,
  answer: Answer,
  now: number,
  groups: Groups,
): RequestAnsweredEvent {
  const request = state.requests?.get(id);
  const { by, digest, open } = judgeAnswer(state.threadId, id, request, answer, now, groups);
  const fact: RequestAnsweredEvent = {
    type: "request-answered",
    ...base(place, request!.runPath),
    id,
    by,
    answer,
    ...(digest !== undefined && { digest }),
    ...(open && { open }),
  };
  const rule = open ? undefined : remembering(request!.interrupt, answer, by, now);
  return rule === undefined ? fact : { ...rule, ...fact };
}

/** The rule that an approval leaves behind. */
function remembering({ id, tool, args }: Interrupt, answer: Answer, by: string, now: number) {
  if (answer.type !== "approve" || answer.remember === undefined || tool === undefined) return undefined;
  const { remember } = answer;
  const scope = typeof remember === "string" ? remember : remember.scope;
  return { rule: rememberedRule(`rule.${id}`, tool, answer.args ?? args ?? {}, remember, by, now), remember: scope };
}

/** Requests whose time is over count as their `onExpire` says, from now on; but for those in `answered`. */
export function expiries(
  place: FramePlace,
  state: ThreadState,
  now: number,
  answered: { has(id: string): boolean },
): RequestAnsweredEvent[] {
  return openRequests(state)
    .filter((interrupt) => isExpired(interrupt, now) && !answered.has(interrupt.id))
    .map((interrupt) => over(place, state, interrupt, { type: "expire" }, "runtime"));
}

/** The person wants something else: these are dead for ever. */
export function withdrawals(
  place: FramePlace,
  state: ThreadState,
  by: string,
  which: readonly Interrupt[] = openRequests(state),
): Fact[] {
  return which.map((interrupt) => over(place, state, interrupt, { type: "withdraw" }, by));
}

function over(
  place: FramePlace,
  state: ThreadState,
  { id }: Interrupt,
  answer: RequestAnsweredEvent["answer"],
  by: string,
): RequestAnsweredEvent {
  const { runPath } = state.requests!.get(id)!;
  return { type: "request-answered", id, by, answer, ...base(place, runPath) };
}

const none: ReadonlySet<string> = new Set();

/**
 * Ends of the calls that wait for one of `which`, or hang in the air since a crash: each gets its result with the stop
 * (S9), but for those in `ended`, which have theirs. What a person wants to run again does so on continue; so do calls to
 * agents, unless it is `forGood`: then all agents below `place` have their end as well.
 */
export function waitingEnds(
  place: FramePlace,
  state: ThreadState,
  ended = none,
  which: readonly Interrupt[] = openRequests(state),
  forGood = false,
): Fact[] {
  const ids = new Set(which.flatMap(({ callId }) => callId ?? []));
  const endOf = (scope: Scope, call: CallState): ToolEndEvent | undefined => {
    const { id: callId, tool } = call.part;
    const waits = ids.has(callId);
    if (call.status === "ended" || ended.has(callId) || (!waits && call.status === "held")) return undefined;
    const { address } = call;
    const parked = isParked(state, call);
    const agent = call.status === "started" && hasAgent(state, call);
    if (agent && !forGood) return undefined;
    if (!waits && parked) return undefined;
    const outcome: Outcome =
      parked || agent || call.resumes
        ? "interrupted"
        : call.status === "held" && !call.cut
          ? "not-executed"
          : "unknown";
    const again = call.doubt !== undefined && state.requests?.get(call.doubt)?.decision?.how === "approved";
    const fact = {
      type: "tool-end",
      callId,
      tool,
      address,
      outcome,
      output: null,
      ...base(place, scope.path),
    } as const;
    return again ? { held: true, ...fact } : fact;
  };
  return endsOf(place, state, [...state.scopes.values()], endOf, ended, forGood);
}

/**
 * An agent has ended, and nobody waits any more for what was asked inside it: what asked has its end, and `forGood` all that
 * has begun in it, calls and agents, but for those in `ended`, which have theirs. One that may be tried again goes on with the
 * rest, such as a call that was answered and has not heard of it.
 */
export function closedBelow(
  place: FramePlace,
  state: ThreadState,
  forGood: boolean,
  ended: ReadonlySet<string> = none,
): Fact[] {
  const within = [place.runPath];
  const scopes = new Map([...state.scopes].filter(([path]) => isWithin(path, within)));
  const which = openRequests(state).filter(({ id }) => scopes.has(state.requests!.get(id)!.runPath));
  const ends = waitingEnds(place, { ...state, scopes }, ended, which, forGood);
  const asked = ends.filter(
    (fact) => forGood || which.some(({ callId }) => "callId" in fact && fact.callId === callId),
  );
  return [...asked, ...withdrawals(place, state, "runtime", which)];
}

/**
 * Calls whose own question was answered after `from`, and that have not gone on since: held, they do so with that answer
 * on continue. But for those in `ended`.
 */
export function answeredCalls(place: FramePlace, state: ThreadState, from: number, ended = none): Fact[] {
  const facts: Fact[] = [];
  for (const scope of state.scopes.values()) {
    for (const call of scope.calls) {
      const { id: callId, tool } = call.part;
      if (call.status !== "started" || ended.has(callId) || isParked(state, call)) continue;
      if (!call.steps?.some(({ kind, settled = 0 }) => kind === "ask" && settled > from)) continue;
      const { address } = call;
      facts.push({
        type: "tool-end",
        callId,
        tool,
        address,
        outcome: "interrupted",
        output: null,
        held: true,
        ...base(place, scope.path),
      });
    }
  }
  return facts;
}

/** The calls that wait for people, and those that wait behind them, as a stop meets them. */
export function waitingCalls(state: ThreadState): StoppedCalls {
  const stopped: string[] = [];
  const notStarted: string[] = [];
  const ids = new Set(openRequests(state).flatMap(({ callId }) => callId ?? []));
  for (const scope of state.scopes.values()) {
    for (const { part, status } of scope.calls) {
      if (status === "held") notStarted.push(part.id);
      else if (status === "started" && ids.has(part.id)) stopped.push(part.id);
    }
  }
  return { stopped, notStarted, finished: [] };
}

/** What the store is told of the requests and rules in these facts, and of how the thread rests after them. */
export function asked(
  state: ThreadState,
  facts: readonly Fact[],
  paused: boolean,
): Pick<Append, "raise" | "close" | "remember" | "rest"> {
  let raise: NonNullable<Append["raise"]>[number][] | undefined;
  let close: string[] | undefined;
  let remember: NonNullable<Append["remember"]>[number][] | undefined;
  for (const fact of facts) {
    if (fact.type === "action" && isRequest(fact.action.interrupted)) {
      raise ??= [];
      raise.push(rowOf(fact.runId, fact.action.interrupted));
    } else if (fact.type === "request-answered" && fact.open === undefined && fact.refused === undefined) {
      close ??= [];
      close.push(fact.id);
      if (fact.remember !== "always" || fact.rule === undefined) continue;
      remember ??= [];
      remember.push({ id: fact.rule.id!, at: fact.at, body: JSON.stringify(fact.rule) });
    }
  }
  const rest = paused ? restAfter(state, facts, raise, close) : undefined;
  return { raise, close, remember, rest };
}

function rowOf(runId: string, interrupt: Interrupt): NonNullable<Append["raise"]>[number] {
  const { id, expiresAt } = interrupt;
  return { id, body: JSON.stringify({ runId, interrupt }), ...(expiresAt !== undefined && { expiresAt }) };
}

/** From where on what is open can be folded, and when it can move by itself: when all is answered, or when one expires. */
function restAfter(
  state: ThreadState,
  facts: readonly Fact[],
  raise: Append["raise"],
  close: Append["close"],
): Rest | undefined {
  let pauseType = state.pauseType;
  let last = Number.POSITIVE_INFINITY;
  for (const fact of facts) {
    if (fact.type === "state") pauseType = fact.pauseType;
    const calls = fact.type === "message" && fact.message.parts.some((part) => part.type === "call");
    if (calls || (fact.type === "action" && isRequest(fact.action.interrupted))) last = Math.min(last, fact.seq);
  }
  if (pauseType !== "tool_interrupt") return undefined;
  let from = last;
  for (const scope of state.scopes.values()) {
    if (scope.calls.length > 0) from = Math.min(from, scope.callsSeq);
  }
  // Code of a custom agent asks without a call.
  for (const { decision, raised } of state.requests?.values() ?? []) {
    if (decision === undefined) from = Math.min(from, raised);
  }
  // All is answered and done: what is left is to go on.
  if (!Number.isFinite(from)) from = state.head + 1;
  const open = openRequests(state).filter(({ id }) => !close?.includes(id));
  const times = [...open, ...(raise ?? [])].map(({ expiresAt }) => expiresAt);
  const dueAt = times.length === 0 ? 0 : Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(dueAt) ? { from, dueAt } : { from };
}
