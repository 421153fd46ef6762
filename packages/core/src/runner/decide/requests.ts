// Answers to requests, and requests that expire: facts for the thread in its present state.

import type { StoppedCalls } from "../../agent.ts";
import type { Fact, RequestAnsweredEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { type Decision, type Groups, isExpired, judgeAnswer, type Vote } from "../../interrupt/decision.ts";
import { type Interrupt, isRequest, resumePause } from "../../interrupt/interrupt.ts";
import { decisionOf, openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { rememberedRule } from "../../permission/remembered.ts";
import type { Append, Rest } from "../../store/store.ts";
import { base } from "./facts.ts";

/** Returns the fact that records an answer. Throws an ANSWER_ refusal. */
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
    ...base({ ...place, runPath: request!.runPath }),
    id,
    by,
    answer,
    ...(digest !== undefined && { digest }),
    ...(open && { open }),
  };
  const rule = open ? undefined : remembering(request!.interrupt, answer, by, now);
  return rule === undefined ? fact : { ...rule, ...fact };
}

/** Returns the permission rule that an approval with `remember` adds. */
function remembering({ id, tool, args }: Interrupt, answer: Answer, by: string, now: number) {
  if (answer.type !== "approve" || answer.remember === undefined || tool === undefined) return undefined;
  const { remember } = answer;
  const scope = typeof remember === "string" ? remember : remember.scope;
  return { rule: rememberedRule(`rule.${id}`, tool, answer.args ?? args ?? {}, remember, by, now), remember: scope };
}

/** Expires the requests past their deadline: an answer to one of them is refused. `onExpire` decides how they count. */
export function expiries(place: FramePlace, state: ThreadState, now: number): RequestAnsweredEvent[] {
  return openRequests(state)
    .filter((interrupt) => isExpired(interrupt, now))
    .map(({ id }) => {
      const { runPath } = state.requests!.get(id)!;
      return {
        type: "request-answered",
        id,
        by: "runtime",
        answer: { type: "expire" },
        ...base({ ...place, runPath }),
      };
    });
}

/** Returns the calls that a stop at rest meets: those with an open request, and the held ones. */
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

/** Returns the rows that an append of these facts changes: requests, rules, and how the thread rests. */
export function asked(
  state: ThreadState,
  facts: readonly Fact[],
  paused: boolean,
): Pick<Append, "raise" | "close" | "amend" | "decided" | "remember" | "rest"> {
  let raise: NonNullable<Append["raise"]>[number][] | undefined;
  let close: string[] | undefined;
  let amend: NonNullable<Append["amend"]>[number][] | undefined;
  let decided: NonNullable<Append["decided"]>[number][] | undefined;
  let remember: NonNullable<Append["remember"]>[number][] | undefined;
  for (const fact of facts) {
    if (fact.type === "action" && isRequest(fact.action.interrupted)) {
      raise ??= [];
      raise.push(rowOf(fact.runId, fact.action.interrupted));
    } else if (fact.type === "request-answered" && fact.refused === undefined) {
      const request = requestIn(state, facts, fact.id);
      const { by, at, digest } = fact;
      if (fact.open) {
        if (request === undefined) continue;
        const approvals = [...request.approvals, { by, at, ...(digest !== undefined && { digest }) }];
        amend = [...(amend?.filter(({ id }) => id !== fact.id) ?? []), rowOf(fact.runId, request.interrupt, approvals)];
        continue;
      }
      close ??= [];
      close.push(fact.id);
      if (request !== undefined) {
        decided ??= [];
        decided.push(rowOf(fact.runId, request.interrupt, request.approvals, decisionOf(request, fact)));
      }
      if (fact.remember !== "always" || fact.rule === undefined) continue;
      remember ??= [];
      remember.push({ id: fact.rule.id!, at: fact.at, body: JSON.stringify(fact.rule) });
    }
  }
  const rest = paused ? restAfter(state, facts, raise, close) : undefined;
  return { raise, close, amend, decided, remember, rest };
}

/** The content of the row of a request. */
export interface RequestBody {
  readonly runId: string;
  readonly interrupt: Interrupt;
  /** The approvals so far, or those before the decision. */
  readonly approvals?: readonly Vote[];
  readonly decision?: Decision;
}

const none: readonly never[] = [];

function setsValues(fact: Fact): boolean {
  return ("values" in fact && fact.values !== undefined) || ("outputKey" in fact && fact.outputKey !== undefined);
}

function rowOf(
  runId: string,
  interrupt: Interrupt,
  approvals: readonly Vote[] = none,
  decision?: Decision,
): NonNullable<Append["raise"]>[number] {
  const { id, expiresAt } = interrupt;
  const body = JSON.stringify({ runId, interrupt, approvals: approvals.length > 0 ? approvals : undefined, decision });
  return expiresAt === undefined ? { id, body } : { id, body, expiresAt };
}

/** Returns a request of the thread, or one that the same facts raise. */
function requestIn(
  state: ThreadState,
  facts: readonly Fact[],
  id: string,
): { readonly interrupt: Interrupt; readonly approvals: readonly Vote[] } | undefined {
  const known = state.requests?.get(id);
  if (known !== undefined) return { interrupt: known.interrupt, approvals: known.votes };
  for (const fact of facts) {
    if (fact.type === "action" && isRequest(fact.action.interrupted) && fact.action.interrupted.id === id)
      return { interrupt: fact.action.interrupted, approvals: [] };
  }
  return undefined;
}

/**
 * Returns the seq from which the open calls can be folded, and when the thread can move by itself: at once if all requests
 * are answered, else when the first one expires.
 */
function restAfter(
  state: ThreadState,
  facts: readonly Fact[],
  raise: Append["raise"],
  close: Append["close"],
): Rest | undefined {
  let { pauseType, interrupts } = state;
  let last = Number.POSITIVE_INFINITY;
  for (const fact of facts) {
    if (fact.type === "state") ({ pauseType, interrupts = none } = fact);
    const calls = fact.type === "message" && fact.message.parts.some((part) => part.type === "call");
    if (calls || (fact.type === "action" && isRequest(fact.action.interrupted))) last = Math.min(last, fact.seq);
  }
  if (pauseType !== "tool_interrupt") return undefined;
  let from = last;
  for (const scope of state.scopes.values()) {
    if (scope.calls.length > 0) from = Math.min(from, scope.callsSeq);
  }
  // The code of a custom agent raises requests without a call.
  for (const { decision, raised } of state.requests?.values() ?? []) {
    if (decision === undefined) from = Math.min(from, raised);
  }
  // An answered call may read the shared values, which any line may set.
  if (state.values !== undefined || facts.some(setsValues)) from = 1;
  // All requests are answered and all calls have ended: only resume() is left.
  if (!Number.isFinite(from)) from = state.head + 1;
  const open = openRequests(state).filter(({ id }) => !close?.includes(id));
  const times = [...open, ...(raise ?? [])].map(({ expiresAt }) => expiresAt);
  // Code that asks to be run again waits for resume() by a person, not by a worker.
  if (times.length === 0 && resumePause(interrupts) === "tool_interrupt") return { from };
  const dueAt = times.length === 0 ? 0 : Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(dueAt) ? { from, dueAt } : { from };
}
