// Interrupts: stops with their receipts, and requests with everything that is said to them.

import type { Interrupt } from "@belay/core";
import { changeAgent, changeCall, type FactOf, type NextView } from "./next-view.ts";
import type { Decision, RequestView } from "./thread-view.ts";

export function act(next: NextView, { action, runPath, agentName, runId, segment, seq, at }: FactOf<"action">): void {
  const { interrupted, transferToAgent } = action;
  if (transferToAgent !== undefined) {
    changeAgent(next, runPath, agentName, at, (agent) => ({ ...agent, agentName: transferToAgent.name }));
  }
  if (interrupted === undefined) return;
  const { kind, id, by, reason, message, raisedAt, calls } = interrupted;
  if (kind === "user" || kind === "manual") {
    const none = { stopped: [], finished: [], notStarted: [], late: [] };
    const partialText = next.runs.at(-1)?.segments.at(-1)?.kept ?? "";
    const words = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
    const times = { askedAt: raisedAt, recordedAt: at };
    next.stops = [
      ...next.stops.filter((each) => each.id !== id),
      { id, seq, kind, runId, segment, by, ...words, ...times, partialText, ...none, ...calls },
    ];
  } else if (isRequest(interrupted) && !("data" in interrupted)) {
    // With `data` it is the view of a whole pause, which repeats the requests.
    raise(next, interrupted, runPath);
  }
}

/** The view of a whole pause, which has `data`, repeats requests that were raised. */
function isRequest(interrupt: Interrupt): boolean {
  const { kind } = interrupt;
  return !("data" in interrupt) && !["user", "manual", "node", "rerun"].includes(kind) && kind !== "rerun";
}

function raise(next: NextView, raised: Interrupt, runPath: string): void {
  const { id, callId, replaces } = raised;
  const call =
    callId === undefined
      ? undefined
      : changeCall(next, callId, (known) => ({
          ...known,
          requests: [...known.requests.filter((each) => each !== replaces), id],
          open: [...known.open.filter((each) => each !== replaces), id],
        }));
  // The arguments stand in the message that made the call.
  const args = raised.args === null && call !== undefined ? { args: call.args } : {};
  const request: RequestView = { ...raised, ...args, runPath, approvals: [], refused: [] };
  next.requests = [...next.requests.filter((each) => each.id !== replaces), request];
  listInterrupts(next);
}

export function decide(next: NextView, fact: FactOf<"request-answered">): void {
  const { id, by, at, digest, open, refused, rule, remember } = fact;
  const index = next.requests.findLastIndex((each) => each.id === id);
  const request = next.requests[index];
  if (request === undefined || request.decision !== undefined) return;
  const change = (more: Partial<RequestView>) => {
    next.requests = next.requests.with(index, { ...request, ...more });
  };
  if (refused !== undefined) return change({ refused: [...request.refused, { by, at, error: refused }] });
  if (open) {
    change({ approvals: [...request.approvals, { by, at, ...(digest !== undefined && { digest }) }] });
    return listInterrupts(next);
  }
  const decision = decisionIn(fact);
  change({ decision });
  if (rule !== undefined && remember === "thread") next.rules = [...next.rules, rule];
  if (request.callId !== undefined) {
    changeCall(next, request.callId, (call) => ({
      ...call,
      open: call.open.filter((each) => each !== id),
      // A question of the call's own code decides nothing about the call.
      ...(request.key === undefined && { decision }),
    }));
  }
  listInterrupts(next);
}

function decisionIn({ by, at, answer, digest, rule }: FactOf<"request-answered">): Decision {
  const more = { by, at, ...(digest !== undefined && { digest }), ...(rule !== undefined && { rule }) };
  switch (answer.type) {
    case "approve": {
      const { note, args } = answer;
      return { how: "approved", ...more, ...(note !== undefined && { note }), ...(args !== undefined && { args }) };
    }
    case "reject":
      return { how: "rejected", ...more, reason: answer.reason };
    case "respond":
      return { how: "responded", ...more, value: answer.value };
    case "expire":
      return { how: "expired", ...more };
    case "withdraw":
      return { how: "withdrawn", ...more };
    default:
      return answer satisfies never;
  }
}

/** Returns the interrupts of the pause, then the open requests. */
export function listInterrupts(next: NextView, pause: readonly Interrupt[] = next.interrupts): void {
  const own = pause.filter((each) => !isRequest(each)).map((each) => ({ ...each, approvals: [] }));
  const open = next.requests.flatMap(({ runPath: _path, decision, refused: _refused, ...interrupt }) =>
    decision === undefined ? [interrupt] : [],
  );
  next.interrupts = [...own, ...open];
}
