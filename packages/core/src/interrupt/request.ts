// Requests to a person, made by `humanApproval`, `humanInput` and `customInterrupt`. They are checked here, so that a
// request without a possible answer fails in the code that makes it.

import { belayError } from "../error.ts";
import { fitting, type Json, toJson } from "../json.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { type InferOutput, isSchema, type StandardSchema, toJsonSchema } from "../schema/schema.ts";
import type { Interrupt, OnExpire, OnNewInput, RequestKind } from "./interrupt.ts";

/** The options that every request takes. */
export interface RequestOptions {
  /** The facts that a person needs to decide; plain JSON. */
  readonly context?: unknown | undefined;
  /** A name for the asker's own use, to match the answer. */
  readonly stateKey?: string | undefined;
  /** Data for the program that shows the request. */
  readonly extra?: unknown | undefined;
  /** Milliseconds since 1970, or a Date. */
  readonly expiresAt?: number | Date | undefined;
  /** The outcome after that time; by default a rejection. */
  readonly onExpire?: OnExpire | undefined;
  /** The ids that may answer, or group:name by the runner's `groups`. */
  readonly approvers?: readonly string[] | undefined;
  /** How many different people must approve. */
  readonly quorum?: number | undefined;
  /** The effect of a new input: by default the request is withdrawn. */
  readonly onNewInput?: OnNewInput | undefined;
}

/** A request to a person. `T` is the value that `ctx.ask` returns for it. */
export interface Request<T = unknown> {
  readonly kind: Exclude<RequestKind, "unknown">;
  readonly reason: string;
  /** The schema of an answer. */
  readonly schema?: StandardSchema | undefined;
  readonly options: RequestOptions;
  readonly types?: { readonly answer: T };
}

/** The decision about an approval, as code reads it. */
export interface Approval {
  readonly approved: boolean;
  /** The person that approved or rejected it. */
  readonly by: string;
  /** When it was decided, in milliseconds since 1970. */
  readonly at: number;
  /** The note of the approver, or the reason of a rejection. */
  readonly note?: string;
  /** The arguments that the approver gave instead. */
  readonly args?: Json;
}

const OPTIONS: KnownOptions<RequestOptions> = {
  context: true,
  stateKey: true,
  extra: true,
  expiresAt: true,
  onExpire: true,
  approvers: true,
  quorum: true,
  onNewInput: true,
};

const QUESTION = { ...OPTIONS, schema: true } as const;

/** Makes a request for approval. */
export function humanApproval(reason: string, options: RequestOptions = {}): Request<Approval> {
  refuseUnknown("humanApproval()", options, OPTIONS);
  return request("approval", reason, undefined, options);
}

/** Makes a question. Without a schema any text answers it. */
export function humanInput<S extends StandardSchema = StandardSchema<string>>(
  question: string,
  options: RequestOptions & { readonly schema?: S | undefined } = {},
): Request<InferOutput<S>> {
  refuseUnknown("humanInput()", options, QUESTION);
  const { schema, ...rest } = options;
  return request("input", question, schema, rest);
}

/** Makes a request for anything else from outside. It is answered with `respond(value)`. */
export function customInterrupt<S extends StandardSchema = StandardSchema<Json>>(
  reason: string,
  options: RequestOptions & { readonly schema?: S | undefined } = {},
): Request<InferOutput<S>> {
  refuseUnknown("customInterrupt()", options, QUESTION);
  const { schema, ...rest } = options;
  return request("custom", reason, schema, rest);
}

type Asked = Partial<Interrupt> & Pick<Interrupt, "kind" | "reason">;

function request<T>(
  kind: Request["kind"],
  reason: string,
  schema: StandardSchema | undefined,
  options: RequestOptions,
): Request<T> {
  const made: Request<T> = { kind, reason, schema, options };
  readRequest(made);
  return made;
}

/**
 * Returns the asker's part of the interrupt. Throws `REQUEST_INVALID`, or `TOO_LARGE` if it takes more than `most`
 * bytes.
 */
export function readRequest(given: Request, most = Number.POSITIVE_INFINITY): Asked {
  const refuse = (problem: string) => belayError("REQUEST_INVALID", { problem });
  if (typeof given !== "object" || given === null || !["approval", "input", "custom"].includes(given.kind)) {
    throw refuse("it was not made by humanApproval(), humanInput() or customInterrupt()");
  }
  const { kind, reason, schema, options } = given;
  if (typeof reason !== "string" || reason.trim() === "") throw refuse("it says no reason");
  if (schema !== undefined && !isSchema(schema)) throw refuse("its schema is not a Standard Schema");
  const { context, stateKey, extra, onExpire, approvers, quorum, onNewInput } = options;
  if (stateKey !== undefined && typeof stateKey !== "string") throw refuse("its stateKey is not text");
  oneOf(refuse, "onExpire", onExpire, ["reject", "approve", "fail"]);
  oneOf(refuse, "onNewInput", onNewInput, ["withdraw", "keep", "answer"]);
  if (onNewInput === "answer" && kind !== "input") throw refuse('onNewInput "answer" is for questions only');
  if (onExpire === "approve" && kind !== "approval") throw refuse('onExpire "approve" is for approvals only');
  if (approvers !== undefined && !isTexts(approvers)) throw refuse("its approvers are not a list of ids");
  if (quorum !== undefined && !(Number.isInteger(quorum) && quorum >= 1)) throw refuse(`its quorum is ${quorum}`);
  if (quorum !== undefined && quorum > 1 && kind !== "approval") throw refuse("a quorum is for approvals only");
  if (quorum !== undefined && quorum > mostApprovers(approvers)) {
    throw refuse(`its quorum is ${quorum}, and only ${approvers!.join(", ")} may approve`);
  }
  const expiresAt = readTime(options.expiresAt, refuse);
  const asked: Asked = {
    kind,
    reason,
    ...(schema !== undefined && { schema: toJsonSchema(schema, `the request ${JSON.stringify(reason)}`) }),
    ...(context !== undefined && { context: toJson(context, "The context of a request") }),
    ...(extra !== undefined && { extra: toJson(extra, "The extra of a request") }),
    ...(stateKey !== undefined && { stateKey }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(onExpire !== undefined && { onExpire }),
    ...(approvers !== undefined && { approvers: [...approvers] }),
    ...(quorum !== undefined && { quorum }),
    ...(onNewInput !== undefined && { onNewInput }),
  };
  return fitting(asked, "The request", most);
}

function readTime(time: number | Date | undefined, refuse: (problem: string) => Error): number | undefined {
  if (time === undefined) return undefined;
  const ms = time instanceof Date ? time.getTime() : time;
  if (typeof ms !== "number" || !Number.isFinite(ms)) throw refuse(`its expiresAt is ${String(time)}`);
  if (ms < YEAR_2000) throw refuse(`its expiresAt is ${ms}, which is long ago: write Date.now() + ${ms} for a while`);
  return ms;
}

/** An earlier time is a duration to which the caller forgot to add the present time. */
const YEAR_2000 = Date.UTC(2000);

/** Returns how many people can approve. A group may have any number of members. */
function mostApprovers(approvers: readonly string[] | undefined): number {
  const open = approvers === undefined || approvers.some((approver) => approver.startsWith("group:"));
  return open ? Number.POSITIVE_INFINITY : new Set(approvers).size;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string" && item !== "");
}

function oneOf(refuse: (problem: string) => Error, option: string, value: string | undefined, allowed: string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  throw refuse(`its ${option} is ${JSON.stringify(value)}, not one of ${allowed.join(", ")}`);
}
