// Interrupts: stops with their receipts, and requests with everything that is said to them.

import type { Interrupt } from "@belay/core";
import { given } from "./given.ts";
import { changeAgent, changeCall, type FactOf, type NextView } from "./next-view.ts";
import type { Decision, RequestView } from "./thread-view.ts";

export function act(next: NextView, fact: FactOf<"action">): void {
  const { runPath, runId, segment, seq, at } = fact;
  const { interrupted, transferToAgent } = fact.action;
  if (transferToAgent !== undefined) {
    changeAgent(next, fact, (agent) => ({ ...agent, agentName: transferToAgent.name }));
  }
  if (interrupted === undefined) return;
  const { kind, id, by, reason, message, raisedAt, calls } = interrupted;
  if (kind === "user" || kind === "manual") {
    const none = { stopped: [], finished: [], notStarted: [], late: [] };
    const partialText = next.runs.at(-1)?.segments.at(-1)?.kept ?? "";
    const words = given({ reason, message });
    const times = { askedAt: raisedAt, recordedAt: at };
    next.stops = [
      ...next.stops.filter((each) => each.id !== id),
      { id, seq, kind, runId, segment, by, ...words, ...times, partialText, ...none, ...calls },
    ];
  } else if (isRequest(interrupted)) {
    raise(next, interrupted, runPath);
  }
}

/** The view of a whole pause, which has `data`, repeats requests that were raised. */
function isRequest(interrupt: Interrupt): boolean {
  return !("data" in interrupt) && !["user", "manual", "node", "rerun"].includes(interrupt.kind);
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
    change({ approvals: [...request.approvals, { by, at, ...given({ digest }) }] });
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

const hows: Readonly<Record<FactOf<"request-answered">["answer"]["type"], Decision["how"]>> = {
  approve: "approved",
  reject: "rejected",
  respond: "responded",
  expire: "expired",
  withdraw: "withdrawn",
};

function decisionIn({ by, at, answer, digest, rule }: FactOf<"request-answered">): Decision {
  const { note, args, reason, value } = answer as Partial<Decision>;
  return { how: hows[answer.type], by, at, ...given({ digest, rule, note, args, reason, value }) };
}

/** Returns the interrupts of the pause, then the open requests. */
export function listInterrupts(next: NextView, pause: readonly Interrupt[] = next.interrupts): void {
  const own = pause.filter((each) => !isRequest(each)).map((each) => ({ ...each, approvals: [] }));
  const open = next.requests.flatMap(({ runPath: _path, decision, refused: _refused, ...interrupt }) =>
    decision === undefined ? [interrupt] : [],
  );
  next.interrupts = [...own, ...open];
}
