// The answers to a request. Plain JSON, read strictly: an unknown key or type is refused.

import { BelayError, belayError, shown } from "../error.ts";
import { type Json, toJson } from "../json.ts";
import { isLongName, NAME_BYTES } from "../read-name.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";

/** A person's answer to a request, made by `approve()`, `reject()` or `respond()`. */
export type Answer = ApproveAnswer | RejectAnswer | RespondAnswer;

/** Approves a request. */
export interface ApproveAnswer {
  readonly type: "approve";
  /** The arguments to run with instead. They must fit the tool's schema. */
  readonly args?: Json;
  readonly note?: string;
  /** Allows the same call from now on: in this thread, or always. */
  readonly remember?: Remember;
  readonly by?: string;
  /** The groups of the person, as the receiving process found them. Set by the runner. */
  readonly groups?: readonly string[];
}

/** Rejects a request. */
export interface RejectAnswer {
  readonly type: "reject";
  readonly reason: string;
  readonly by?: string;
  /** The groups of the person, as the receiving process found them. Set by the runner. */
  readonly groups?: readonly string[];
}

/** Answers a question, or supplies the result of a call that then does not run. */
export interface RespondAnswer {
  readonly type: "respond";
  readonly value: Json;
  readonly by?: string;
  /** The groups of the person, as the receiving process found them. Set by the runner. */
  readonly groups?: readonly string[];
}

export type Remember = "thread" | "always" | RememberPattern;

/** Remembers more than the exact arguments: patterns as in permission rules. */
export interface RememberPattern {
  readonly scope: "thread" | "always";
  readonly args?: { readonly [path: string]: Json };
}

const APPROVE: KnownOptions<Omit<ApproveAnswer, "type" | "groups">> = {
  args: true,
  note: true,
  remember: true,
  by: true,
};

const BY: KnownOptions<Pick<RejectAnswer, "by">> = { by: true };

/** An option that is undefined counts as absent. */
type Maybe<Options> = { readonly [Name in keyof Options]: Options[Name] | undefined };

/**
 * Approves a request. With `args` the call runs with those arguments instead. With `remember` the same call is allowed
 * from now on.
 */
export function approve(options: Maybe<Omit<ApproveAnswer, "type" | "groups">> = {}): ApproveAnswer {
  refuseUnknown("approve()", options, APPROVE);
  return { ...(options as Omit<ApproveAnswer, "type">), type: "approve" };
}

/** Rejects a request. The model, or the code that asked, gets the reason. */
export function reject(reason: string, options: Maybe<Pick<RejectAnswer, "by">> = {}): RejectAnswer {
  refuseUnknown("reject()", options, BY);
  return { ...(options as Pick<RejectAnswer, "by">), type: "reject", reason };
}

/** Answers a question with a value, or supplies the result of a call, which then does not run. */
export function respond(value: unknown, options: Maybe<Pick<RespondAnswer, "by">> = {}): RespondAnswer {
  refuseUnknown("respond()", options, BY);
  return { ...(options as Pick<RespondAnswer, "by">), type: "respond", value: toJson(value, "The answer") };
}

const fields: Readonly<Record<Answer["type"], readonly string[]>> = {
  approve: ["type", "args", "note", "remember", "by"],
  reject: ["type", "reason", "by"],
  respond: ["type", "value", "by"],
};

/**
 * Returns a checked copy of the answer, of `most` bytes at most. Throws `ANSWER_INVALID`, or `OPTION_INVALID` if `id`
 * is not an id.
 */
export function readAnswer(id: string, given: unknown, most: number): Answer {
  const refuse = (problem: string) => belayError("ANSWER_INVALID", { id, problem });
  if (typeof id !== "string") {
    const value = shown(id);
    throw belayError("OPTION_INVALID", { option: "id", value, needed: "a request's id" });
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw refuse("it is no answer at all");
  const own = plain(given, most, refuse);
  const type = Object.hasOwn(own, "type") ? own.type : undefined;
  if (typeof type !== "string" || !Object.hasOwn(fields, type)) {
    throw refuse("it was not made by approve(), reject() or respond()");
  }
  const known = fields[type as Answer["type"]];
  for (const field of Object.keys(own)) {
    if (!known.includes(field)) throw refuse(`${type} has no field ${JSON.stringify(field)}`);
  }
  for (const field of ["note", "by", "reason"]) {
    if (Object.hasOwn(own, field) && typeof own[field] !== "string") throw refuse(`its ${field} is not text`);
  }
  if (type === "reject" && !Object.hasOwn(own, "reason")) throw refuse("a rejection needs a reason");
  if (type === "respond" && !Object.hasOwn(own, "value")) throw refuse("a response needs a value");
  if (own.by === "") throw refuse("its by is empty");
  if (isLongName((own.by ?? "") as string)) throw refuse(`its by takes more than ${NAME_BYTES} bytes`);
  if (Object.hasOwn(own, "remember")) {
    const nothing = undefinedPattern((given as { readonly remember?: { readonly args?: unknown } }).remember?.args);
    if (nothing !== undefined) throw refuse(`remember.args has undefined at ${JSON.stringify(nothing)}`);
    checkRemember(own.remember!, refuse);
  }
  return own as unknown as Answer;
}

function plain(given: object, most: number, refuse: (problem: string) => Error): { readonly [key: string]: Json } {
  try {
    return toJson(given, "The answer", most) as { readonly [key: string]: Json };
  } catch (error) {
    if (!(error instanceof BelayError)) throw error;
    if (error.code === "TOO_LARGE")
      throw refuse(`it takes ${error.details.bytes} bytes, and at most ${most} are taken`);
    const { found, path } = error.details as { readonly found?: string; readonly path?: string };
    throw refuse(`there is ${found} at ${path}`);
  }
}

/**
 * Returns the path of a pattern that is undefined. Leaving it out would make the rule match more calls than intended.
 */
export function undefinedPattern(args: unknown): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  return Object.entries(args).find(([, pattern]) => pattern === undefined)?.[0];
}

function checkRemember(remember: Json, refuse: (problem: string) => Error): void {
  if (remember === "thread" || remember === "always") return;
  const { scope, args, ...rest } = (typeof remember === "object" ? (remember ?? {}) : {}) as Record<string, Json>;
  const known = (scope === "thread" || scope === "always") && Object.keys(rest).length === 0;
  if (!known) throw refuse('remember is neither "thread" nor "always" nor { scope, args }');
  if (args !== undefined && (typeof args !== "object" || args === null || Array.isArray(args))) {
    throw refuse("remember.args is not an object of patterns");
  }
}
