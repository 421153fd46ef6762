// Answers to requests, and requests that expire: facts for the thread in its present state.

import type { MetCall } from "../../agent.ts";
import type { Fact, RequestAnsweredEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Answer } from "../../interrupt/answer.ts";
import {
  type Decision,
  type Groups,
  isExpired,
  judgeAnswer,
  type RequestState,
  type Vote,
} from "../../interrupt/decision.ts";
import { type Interrupt, isRequest, resumePause } from "../../interrupt/interrupt.ts";
import { decisionOf, openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { rememberedRule } from "../../permission/remembered.ts";
import type { Append, RaisedRequest, Rest, RuleRow } from "../../store/store.ts";
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
  return {
    type: "request-answered",
    ...base({ ...place, runPath: request!.runPath }),
    id,
    by,
    answer,
    ...(digest !== undefined && { digest }),
    ...(open ? { open } : remembering(request!.interrupt, answer, by, now)),
  };
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
export function waitingCalls(state: ThreadState): readonly MetCall[] {
  const ids = new Set(openRequests(state).flatMap(({ callId }) => callId ?? []));
  const calls = [...state.scopes.values()].flatMap((scope) => scope.calls);
  return calls.flatMap(({ part: { id }, address, status }): readonly MetCall[] => {
    if (status === "held") return [{ id, address, how: "notStarted" }];
    return status === "started" && ids.has(id) ? [{ id, address, how: "stopped" }] : [];
  });
}

/** Returns the rows that an append of these facts changes: requests, rules, and how the thread rests. */
export function asked(
  state: ThreadState,
  facts: readonly Fact[],
  paused: boolean,
): Pick<Append, "raise" | "close" | "amend" | "decided" | "remember" | "rest"> {
  const raise: RaisedRequest[] = [];
  const close: string[] = [];
  const amend: RaisedRequest[] = [];
  const decided: RaisedRequest[] = [];
  const remember: RuleRow[] = [];
  for (const fact of facts) {
    if (fact.type === "action") {
      const { interrupted } = fact.action;
      if (isRequest(interrupted)) raise.push(rowOf(fact.runId, interrupted));
    } else if (fact.type === "request-answered") {
      const { id, runId, by, at, digest, rule } = fact;
      const request = requestIn(state, facts, id);
      if (fact.open) {
        const vote = { by, at, ...(digest !== undefined && { digest }) };
        if (request !== undefined) amend.push(rowOf(runId, request.interrupt, [...request.votes, vote]));
        continue;
      }
      close.push(id);
      if (request !== undefined)
        decided.push(rowOf(runId, request.interrupt, request.votes, decisionOf(request, fact)));
      if (fact.remember === "always" && rule !== undefined)
        remember.push({ id: rule.id!, at, body: JSON.stringify(rule) });
    }
  }
  return {
    raise: some(raise),
    close: some(close),
    amend: some(amend),
    decided: some(decided),
    remember: some(remember),
    rest: paused ? restAfter(state, facts, raise, close) : undefined,
  };
}

/** Most appends change no rows of a kind: the store is not asked to. */
function some<T>(rows: readonly T[]): readonly T[] | undefined {
  return rows.length > 0 ? rows : undefined;
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
): RaisedRequest {
  const { id, expiresAt } = interrupt;
  const body = JSON.stringify({ runId, interrupt, approvals: approvals.length > 0 ? approvals : undefined, decision });
  return expiresAt === undefined ? { id, body } : { id, body, expiresAt };
}

/** Returns a request of the thread, or one that the same facts raise. */
function requestIn(
  state: ThreadState,
  facts: readonly Fact[],
  id: string,
): Pick<RequestState, "interrupt" | "votes"> | undefined {
  const known = state.requests?.get(id);
  if (known !== undefined) return known;
  for (const fact of facts) {
    const interrupt = fact.type === "action" ? fact.action.interrupted : undefined;
    if (interrupt?.id === id && isRequest(interrupt)) return { interrupt, votes: none };
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
  raise: readonly RaisedRequest[],
  close: readonly string[],
): Rest | undefined {
  const { pauseType, interrupts = none } = facts.findLast((fact) => fact.type === "state") ?? state;
  if (pauseType !== "tool_interrupt") return undefined;
  // A call that these facts begin is in the line after the head.
  let from = state.head + 1;
  for (const { calls, callsSeq } of state.scopes.values()) if (calls.length > 0) from = Math.min(from, callsSeq);
  const open: { readonly expiresAt?: number }[] = [...raise];
  for (const { interrupt, decision, raised } of state.requests?.values() ?? none) {
    if (decision !== undefined) continue;
    // The code of a custom agent raises requests without a call.
    from = Math.min(from, raised);
    if (!close.includes(interrupt.id)) open.push(interrupt);
  }
  // An answered call may read the shared values, which any line may set.
  if (state.values !== undefined || facts.some(setsValues)) from = 1;
  // Code that asks to be run again waits for resume() by a person, not by a worker.
  if (open.length === 0) return resumePause(interrupts) === "tool_interrupt" ? { from } : { from, dueAt: 0 };
  const dueAt = Math.min(...open.map(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt));
  return Number.isFinite(dueAt) ? { from, dueAt } : { from };
}
