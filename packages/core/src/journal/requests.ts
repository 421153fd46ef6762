// The requests of a thread in the fold: raised, voted on, decided. Each belongs to a call or to the code of an agent.

import type { RequestAnsweredEvent } from "../event.ts";
import type { Decision, RequestState } from "../interrupt/decision.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { leaf, mapLeaves } from "../interrupt/view.ts";
import { findCall } from "./history.ts";
import type { CallState, Scope, ThreadState } from "./state.ts";
import { takeAnswer } from "./taken.ts";

export function raise(state: ThreadState, scope: Scope, raised: Interrupt, seq: number): void {
  const call = raised.callId === undefined ? undefined : findCall(scope, raised.callId);
  // The arguments stand in the message that made the call.
  const missing = raised.args === null && call !== undefined;
  const interrupt = missing ? { ...raised, args: call.part.args } : raised;
  state.requests ??= new Map();
  const { replaces } = interrupt;
  const replaced = replaces !== undefined && state.requests.delete(replaces);
  state.requests.set(interrupt.id, {
    interrupt,
    runPath: scope.path,
    raised: seq,
    votes: [],
    decision: undefined,
    settled: undefined,
  });
  if (replaces !== undefined && state.view !== undefined)
    state.view = mapLeaves(state.view, (each) => (each.id === replaces ? leaf(interrupt) : each));
  if (replaced) rename(call ?? scope, replaces, interrupt.id);
  else if (call !== undefined) attach(call, interrupt);
  else if (interrupt.key !== undefined) {
    const { id: requestId, key, digest } = interrupt;
    scope.steps ??= [];
    scope.steps.push({ key, kind: "ask", requestId, settled: undefined, ...(digest && { digest }) });
  }
}

/** The call or agent that waited for one request waits for the other instead. */
function rename(asker: CallState | Scope, from: string, to: string): void {
  if ("gate" in asker && asker.gate === from) asker.gate = to;
  if ("doubt" in asker && asker.doubt === from) asker.doubt = to;
  if (asker.steps === undefined) return;
  asker.steps = asker.steps.map((step) => (step.requestId === from ? { ...step, requestId: to } : step));
}

function attach(call: CallState, { id, kind, key, digest }: Interrupt): void {
  if (key !== undefined) {
    call.steps ??= [];
    call.steps.push({ key, kind: "ask", requestId: id, settled: undefined, ...(digest && { digest }) });
  } else if (kind === "unknown") {
    call.doubt = id;
    call.doubts = (call.doubts ?? 0) + 1;
  } else {
    call.gate = id;
  }
}

export function settle(state: ThreadState, fact: RequestAnsweredEvent): void {
  takeAnswer(state, fact);
  const request = state.requests?.get(fact.id);
  if (request === undefined || request.decision !== undefined || fact.refused !== undefined) return;
  if (fact.open) {
    const { by, at, digest } = fact;
    request.votes = [...request.votes, { by, at, ...(digest !== undefined && { digest }) }];
    return;
  }
  request.decision = decisionOf(request, fact);
  request.settled = fact.seq;
  if (fact.rule !== undefined && fact.remember === "thread") {
    state.rules ??= [];
    state.rules.push(fact.rule);
  }
  const { callId, key } = request.interrupt;
  const scope = state.scopes.get(request.runPath);
  if (scope === undefined || key === undefined) return;
  if (callId === undefined && fact.answer.type === "withdraw") {
    // The code asks anew when it begins again: this request can no longer be answered.
    scope.steps = scope.steps?.filter(({ requestId }) => requestId !== fact.id);
    return;
  }
  const steps = callId === undefined ? scope.steps : findCall(scope, callId)?.steps;
  const step = steps?.find(({ requestId }) => requestId === fact.id);
  if (step !== undefined) step.settled = fact.seq;
}

/** Returns the decision that an answer makes. */
export function decisionOf(
  { interrupt }: Pick<RequestState, "interrupt">,
  { by, at, answer, digest }: RequestAnsweredEvent,
): Decision {
  switch (answer.type) {
    case "approve": {
      const { note, args } = answer;
      const more = { ...(note !== undefined && { note }), ...(args !== undefined && { args }) };
      return { how: "approved", by, at, ...more, ...(digest !== undefined && { digest }) };
    }
    case "reject":
      return { how: "rejected", by, at, reason: answer.reason };
    case "respond":
      return { how: "responded", by, at, value: answer.value };
    case "expire":
      return { how: "expired", by, at, counts: interrupt.onExpire ?? "reject" };
    case "withdraw":
      return { how: "withdrawn", by, at };
    default:
      return answer satisfies never;
  }
}

/** Returns the requests that wait for a person, the oldest first. */
export function openRequests(state: ThreadState): readonly Interrupt[] {
  if (state.requests === undefined) return none;
  const open: Interrupt[] = [];
  for (const { interrupt, decision } of state.requests.values()) if (decision === undefined) open.push(interrupt);
  return open;
}

const none: readonly never[] = [];
