// What people's answers, their silence and their change of mind do to a thread: facts for the thread as it is.

import type { StoppedCalls } from "../../agent.ts";
import type { EventBase, Fact, RequestAnsweredEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { type Groups, isExpired, judgeAnswer } from "../../interrupt/decision.ts";
import { type Interrupt, isRequest } from "../../interrupt/interrupt.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { rememberedRule } from "../../permission/remembered.ts";
import type { Append, Rest } from "../../store/store.ts";

function base(place: FramePlace, runPath: string): EventBase {
  const { threadId, runId, segment, agentName } = place;
  return { seq: 0, at: 0, threadId, runId, segment, attempt: 1, agentName, runPath };
}

/** Who answers what, and how: the fact of it. Throws an ANSWER_ refusal. `key` is the command it came by. */
export function answerFact(
  place: FramePlace,
  state: ThreadState,
  id: string,
  answer: Answer,
  now: number,
  groups: Groups,
  key?: string,
  ref?: string,
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
    ...(key !== undefined && { key }),
    ...(ref !== undefined && { ref }),
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

/** An answer that came by a command and does not count: its sender is told by the journal. */
export function refusedFact(
  place: FramePlace,
  id: string,
  answer: Answer,
  refused: NonNullable<RequestAnsweredEvent["refused"]>,
  key: string,
): RequestAnsweredEvent {
  const by = answer.by ?? "user";
  return { type: "request-answered", id, by, answer, refused, key, ...base(place, place.runPath) };
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
    .map(({ id }) => {
      const { runPath } = state.requests!.get(id)!;
      return { type: "request-answered", id, by: "runtime", answer: { type: "expire" }, ...base(place, runPath) };
    });
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
