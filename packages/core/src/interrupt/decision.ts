// The state of a request, and whether an answer to it counts. Pure: the sender asks before it sends an answer, and the
// owner asks again when it records it.

import { type BelayError, belayError } from "../error.ts";
import type { Json } from "../json.ts";
import { jsonSchema, type Validated, validate } from "../schema/schema.ts";
import type { Answer } from "./answer.ts";
import { callDigest, digestOf } from "./digest.ts";
import type { Interrupt, OnExpire } from "./interrupt.ts";
import type { Approval } from "./request.ts";

export interface RequestState {
  readonly interrupt: Interrupt;
  readonly runPath: string;
  /** The seq of the fact that raised it. */
  readonly raised: number;
  /** The approvals so far, while more are needed. */
  votes: readonly Vote[];
  decision: Decision | undefined;
  /** The seq of the fact that decided it. */
  settled: number | undefined;
  /** The parent thread, if the request was decided before this fork began. */
  decidedIn?: string;
}

/** One approval of a request that needs several. Approvals count together if they have the same digest. */
export interface Vote {
  readonly by: string;
  readonly at: number;
  readonly digest?: string;
}

export type Decision = { readonly by: string; readonly at: number } & (
  | { readonly how: "approved"; readonly note?: string; readonly args?: Json; readonly digest?: string }
  | { readonly how: "rejected"; readonly reason: string }
  | { readonly how: "responded"; readonly value: Json }
  | { readonly how: "expired"; readonly counts: OnExpire }
  | { readonly how: "withdrawn" }
);

/** Returns the decision as code reads it; undefined if there is none yet. */
export function approvalOf(decision: Decision | undefined): Approval | undefined {
  if (decision === undefined) return undefined;
  const { by, at } = decision;
  switch (decision.how) {
    case "approved": {
      const { note, args } = decision;
      return { approved: true, by, at, ...(note !== undefined && { note }), ...(args !== undefined && { args }) };
    }
    case "rejected":
      return { approved: false, by, at, note: decision.reason };
    case "expired":
      return { approved: decision.counts === "approve", by, at, note: "nobody answered in time" };
    case "responded":
    case "withdrawn":
      return undefined;
    default:
      return decision satisfies never;
  }
}

/** Members of groups, by group. */
export type Groups = Readonly<Record<string, readonly string[]>>;

/** An answer that counts, and its sender. */
export interface Counted {
  readonly by: string;
  readonly digest?: string;
  /** True if more approvals are needed. */
  readonly open: boolean;
}

/** Returns how `answer` counts now. Throws ANSWER_UNKNOWN, _TAKEN, _WITHDRAWN, _EXPIRED, _FORBIDDEN or _INVALID. */
export function judgeAnswer(
  threadId: string,
  id: string,
  request: RequestState | undefined,
  answer: Answer,
  now: number,
  groups: Groups,
): Counted {
  if (request === undefined) throw belayError("ANSWER_UNKNOWN", { id });
  const { interrupt, decision, votes } = request;
  if (decision !== undefined) throw refusal(id, decision);
  if (isExpired(interrupt, now)) throw belayError("ANSWER_EXPIRED", { id, expiredAt: iso(interrupt.expiresAt!) });
  const by = answer.by ?? "user";
  if (!mayAnswer(interrupt, answer.by, groups, answer.groups)) {
    throw belayError("ANSWER_FORBIDDEN", { id, by, approvers: interrupt.approvers!.join(", ") });
  }
  const problem = misfit(interrupt, answer);
  if (problem !== undefined) throw belayError("ANSWER_INVALID", { id, problem });
  if (answer.type === "reject") return { by, open: false };
  const digest =
    answer.type === "approve"
      ? approvedDigest(threadId, interrupt, answer.args)
      : respondedDigest(interrupt, answer.value);
  const same = votes.filter((vote) => vote.digest === digest);
  if (same.some((vote) => vote.by === by)) {
    const how = answer.type === "approve" ? "approved" : "answered";
    throw belayError("ANSWER_TAKEN", { id, by, at: iso(now), how });
  }
  const open = same.length + 1 < (interrupt.quorum ?? 1);
  return { by, open, ...(digest !== undefined && { digest }) };
}

function approvedDigest(threadId: string, interrupt: Interrupt, args: Json | undefined): string | undefined {
  const { tool, version, digest = "", callId, key, node } = interrupt;
  if (node !== undefined) return args === undefined ? digest : digestOf([digest, args]);
  const edited = args !== undefined && tool !== undefined && callId !== undefined && key === undefined;
  return edited ? callDigest(tool, version ?? "1", args, threadId, callAddressOf(interrupt)) : interrupt.digest;
}

/** Returns the digest of a supplied result. As many people must agree on it as must approve the call. */
function respondedDigest({ quorum = 1 }: Interrupt, value: Json): string | undefined {
  return quorum > 1 ? digestOf(["respond", value]) : undefined;
}

/** Returns the address of the call that a request before it is about. */
export function callAddressOf({ address }: Pick<Interrupt, "address">): string {
  return address.slice(0, address.lastIndexOf("/"));
}

function misfit(interrupt: Interrupt, answer: Answer): string | undefined {
  const { kind, schema, key } = interrupt;
  if (answer.type === "approve" && answer.remember !== undefined && (kind !== "approval" || key !== undefined)) {
    return "only the approval of a call can be remembered";
  }
  switch (kind) {
    case "approval":
      // Inside a tool a response could not stand for a result.
      if (answer.type === "respond" && key !== undefined) return "an approval takes approve() or reject()";
      return undefined;
    case "unknown":
      return answer.type === "approve" && answer.args !== undefined ? "a call runs again as it was" : undefined;
    case "input":
    case "custom":
      if (answer.type === "approve") return "a question takes respond() or reject()";
      if (answer.type === "reject") return undefined;
      if (schema !== undefined) return schemaProblem(schema, answer.value);
      return kind === "input" && typeof answer.value !== "string" ? "the answer must be text" : undefined;
    case "user":
    case "manual":
    case "node":
    case "rerun":
      return "it is no request";
    default:
      return kind satisfies never;
  }
}

/**
 * Refuses edited arguments by the JSON Schema that is stored with the request, for a process that does not have the tool. The
 * process that runs the call asks the tool's own schema.
 */
export function refuseMisfitArgs({ id, argsSchema }: Interrupt, answer: Answer): void {
  if (answer.type !== "approve" || answer.args === undefined || argsSchema === undefined) return;
  const problem = schemaProblem(argsSchema, answer.args);
  if (problem !== undefined) throw belayError("ANSWER_INVALID", { id, problem });
}

function schemaProblem(schema: Json, value: Json): string | undefined {
  // A check made from JSON Schema is synchronous.
  const checked = validate(jsonSchema(schema as object), value) as Validated<Json>;
  return checked.ok ? undefined : checked.problem;
}

/** Returns whether the person may answer. `known` are groups of the person besides those that `groups` lists. */
export function mayAnswer(
  { approvers }: Interrupt,
  by: string | undefined,
  groups: Groups,
  known: readonly string[] = [],
): boolean {
  if (approvers === undefined) return true;
  if (by === undefined) return false;
  return approvers.some((approver) => {
    if (!approver.startsWith(GROUP)) return approver === by;
    // The id of a person may look like a group: it is not one.
    const group = approver.slice(GROUP.length);
    return known.includes(group) || (Object.hasOwn(groups, group) && groups[group]!.includes(by));
  });
}

const GROUP = "group:";

export function isExpired({ expiresAt }: Interrupt, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** Returns the error for an answer to a request that is already decided. */
export function refusal(id: string, decision: Decision): BelayError {
  const { how, by, at } = decision;
  switch (how) {
    case "withdrawn":
      return belayError("ANSWER_WITHDRAWN", { id, at: iso(at) });
    case "expired":
      return belayError("ANSWER_EXPIRED", { id, expiredAt: iso(at) });
    case "approved":
    case "rejected":
    case "responded":
      return belayError("ANSWER_TAKEN", { id, by, at: iso(at), how: how === "responded" ? "answered" : how });
    default:
      return how satisfies never;
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
