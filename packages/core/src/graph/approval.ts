// Nodes that a person approves before they run (O3). The request belongs to the graph: its key names the visit, and the
// decision is read from the record, so a graph that begins again finds it.

import { belayError } from "../error.ts";
import type { Frame } from "../frame.ts";
import type { RequestState } from "../interrupt/decision.ts";
import { digestOf } from "../interrupt/digest.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { type Approval, humanApproval, type Request, readRequest } from "../interrupt/request.ts";
import type { Scope } from "../journal/state.ts";
import type { Json } from "../json.ts";
import { type State, saidBy, type Visit } from "./flow.ts";

/** How a node is approved: the request, and the node that a rejection leads to. */
export interface ApprovalPoint {
  readonly request: Request<Approval> | ((input: Json, state: State) => Request<Approval>) | undefined;
  readonly onReject: string | undefined;
}

export type ApprovalPoints = ReadonlyMap<string, ApprovalPoint>;

/** Returns the request before a visit, if one is on record and was not withdrawn. */
export function requestBefore(
  { steps }: Pick<Scope, "steps">,
  visit: string,
  request: (id: string) => RequestState | undefined,
): RequestState | undefined {
  const id = steps?.find(({ key }) => key === keyOf(visit))?.requestId;
  return id === undefined ? undefined : request(id);
}

/** Unique in the graph's scope: no step of user code is recorded there. */
function keyOf(visit: string): string {
  return `approval:${visit}`;
}

/** Returns the interrupt that asks for a visit. Throws if the graph's own function does. */
export function approvalBefore(
  frame: Frame,
  graph: string,
  address: string,
  { id: visit, key: node, input }: Visit,
  { request }: ApprovalPoint,
  state: State,
): Interrupt {
  const { place, clock, desk } = frame;
  const make = () =>
    typeof request === "function" ? request(structuredClone(input), structuredClone(state)) : request;
  const asked = saidBy(graph, `the request of node ${node}`, make) ?? humanApproval(`Run node ${node} of ${graph}?`);
  const read = readRequest(asked, desk.maxBytes);
  if (read.kind !== "approval") throw belayError("REQUEST_INVALID", { problem: `node ${node} needs an approval` });
  return {
    id: clock.id(),
    address: `${address}/approval`,
    raisedAt: clock.now(),
    by: place.agentName,
    key: keyOf(visit),
    node,
    args: input,
    digest: digestOfVisit(graph, node, input),
    ...read,
  };
}

export function digestOfVisit(graph: string, node: string, input: Json): string {
  return digestOf([graph, node, input]);
}

/** Returns the error of a run with a node that was not approved. */
export function notApproved({ interrupt: { id, expiresAt = 0 }, decision }: RequestState) {
  const expiredAt = new Date(expiresAt).toISOString();
  if (decision?.how === "expired" && decision.counts === "fail") return belayError("ANSWER_EXPIRED", { id, expiredAt });
  const reason = decision?.how === "rejected" ? decision.reason : `nobody answered before ${expiredAt}`;
  return belayError("REQUEST_REJECTED", { id, by: decision?.by ?? "runtime", reason });
}
