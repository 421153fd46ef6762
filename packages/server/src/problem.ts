// Errors over HTTP: every code of the core has a status, and the server adds a few codes of its own. A new code of the core
// does not compile here without a status.

import type { BelayError, ErrorCode } from "@belay/core";

/** `"run"`: the code ends a run and is read in its `run-end` fact. Met by a request all the same, it is a 500. */
export const statuses = {
  AGENT_FAILED: "run",
  AGENT_INVALID: "run",
  AGENT_MISMATCH: 409,
  AGENT_UNKNOWN: 404,
  ALREADY_RUNNING: 409,
  ANSWER_AMBIGUOUS: 409,
  ANSWER_EXPIRED: 410,
  ANSWER_FORBIDDEN: 403,
  ANSWER_INVALID: 422,
  ANSWER_TAKEN: 409,
  ANSWER_UNKNOWN: 404,
  ANSWER_WITHDRAWN: 410,
  ASK_DETACHED: "run",
  CONTEXT_INVALID: "run",
  CONTEXT_OVERFLOW: "run",
  CURSOR_INVALID: 400,
  DRIFT_REFUSED: 409,
  FENCED: 409,
  FORK_POINT: 400,
  GRAPH_INVALID: "run",
  GRAPH_STEPS: "run",
  HANDLE_INVALID: 400,
  HOOK_FAILED: "run",
  INPUT_EMPTY: 400,
  INPUT_INVALID: 400,
  INPUT_TOO_LARGE: 413,
  INPUT_WITHDRAWN: 409,
  INVALID_PAUSE_TYPE: 409,
  INVALID_STATE: 409,
  INVALID_STATE_TRANSITION: 409,
  JOURNAL_CORRUPT: 500,
  JOURNAL_VERSION: 500,
  KEY_REQUIRED: "run",
  KEY_REUSED: "run",
  LABELS_INVALID: 422,
  LATE_LOST: "run",
  MAX_TOKENS: "run",
  MAX_TURNS: "run",
  MODEL_FAILED: "run",
  MODEL_TIMEOUT: "run",
  NEED_RESUME: 409,
  NOT_SERIALIZABLE: 400,
  OPTION_INVALID: 400,
  OPTION_UNKNOWN: 400,
  OUTPUT_INVALID: "run",
  PERMISSION_INVALID: "run",
  RELAY_UNAVAILABLE: "run",
  REPLAY_DIVERGED: 409,
  REQUEST_DROPPED: "run",
  REQUEST_INVALID: 400,
  REQUEST_REJECTED: "run",
  RERUN_OUTSIDE: "run",
  RUNNER_CLOSED: 503,
  SCHEMA_UNSUPPORTED: 400,
  SESSION_CLOSED: 503,
  STALE: 409,
  STORE_CONFLICT: 409,
  STORE_CORRUPT: 500,
  ENGINE_AWAY: 503,
  TENANT_UNKNOWN: 500,
  STORE_FAILED: 503,
  STORE_FOREIGN: 500,
  STORE_FULL: 507,
  STORE_UNSUITABLE: 500,
  STORE_VERSION: 500,
  THREAD_BUSY: 409,
  THREAD_EXISTS: 409,
  THREAD_SET_ASIDE: 409,
  THREAD_SOUND: 409,
  THREAD_UNKNOWN: 404,
  TOKEN_EXPIRED: 410,
  TOKEN_SPENT: 410,
  TOKEN_UNKNOWN: 410,
  TOOL_DUPLICATE: "run",
  TOOL_INVALID: "run",
  TOOL_TIMEOUT: "run",
  TOO_LARGE: 413,
  USER_INTERRUPT: 409,
} as const satisfies Record<ErrorCode, number | "run">;

/** The codes of the server itself: the status of each and the way out of it. */
export const serverErrors = {
  BODY_INVALID: [400, "Send one JSON object with the fields of this route; /v1/openapi.json lists them."],
  BY_NOT_ALLOWED: [400, "Leave `by` out: the server takes it from the login."],
  UNAUTHENTICATED: [401, "Send the token as `authorization: Bearer …`, or open the link that the server printed."],
  FORBIDDEN_ROLE: [403, "Ask an administrator for the role."],
  HOST_NOT_ALLOWED: [403, "Add the host to `allowedHosts`, or set `publicUrl`."],
  ORIGIN_NOT_ALLOWED: [403, "Add the origin to `allowedOrigins`."],
  CSRF: [403, "Send JSON with the header `x-belay: 1`, or authenticate by token instead of a cookie."],
  ROUTE_UNKNOWN: [404, "/v1/openapi.json lists the routes."],
  FILE_UNKNOWN: [404, "The message may have no such part, or the part is an address that the browser can load itself."],
  RULE_UNKNOWN: [404, "List the remembered rules first; somebody may have removed this one."],
  METHOD_NOT_ALLOWED: [405, "/v1/openapi.json lists the methods of each path."],
  INPUT_CONSUMED: [409, "The thread has read it by now. Steer or stop the run instead."],
  RATE_LIMITED: [429, "Wait as long as `retry-after` says."],
  TOO_MANY_STREAMS: [429, "Close streams that no page reads, or raise `maxStreams` and `maxStreamsPerUser`."],
  DRAINING: [503, "Connect again in a moment, with the same idempotency key."],
  INTERNAL: [500, "The server's log has the reason, under this request id."],
} as const satisfies Record<string, readonly [number, string]>;

export type ServerCode = keyof typeof serverErrors;

/** The body of every refusal: RFC 9457. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
}

/** A refusal by the server itself. */
export class ServerError extends Error {
  readonly code: ServerCode;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ServerCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.hint = serverErrors[code][1];
    this.details = details;
  }
}

const UNKNOWN = {
  code: "INTERNAL",
  status: 500,
  detail: "That went wrong.",
  hint: serverErrors.INTERNAL[1],
  details: {},
};

/** Returns the problem for anything that was thrown. The words of unknown errors stay on the server. */
export function problemOf(error: unknown, requestId: string): Problem {
  const { code, status, detail, hint, details } = read(error);
  const words = code.toLowerCase().replaceAll("_", " ");
  const title = words[0]!.toUpperCase() + words.slice(1);
  return { type: `urn:belay:error:${code}`, title, status, detail, code, hint, details, requestId };
}

function read(error: unknown): Pick<Problem, "code" | "status" | "detail" | "hint" | "details"> {
  if (error instanceof ServerError) {
    const { code, message, hint, details } = error;
    return { code, status: serverErrors[code][0], detail: message, hint, details };
  }
  if (!isBelayError(error)) return UNKNOWN;
  const status = statuses[error.code];
  const { code, message, hint, details } = error;
  return { code, status: status === "run" ? 500 : status, detail: message, hint, details: plain(details) };
}

/** True for an error of the core, also of another installed copy of it. */
export function isBelayError(error: unknown): error is BelayError {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  return (
    error instanceof Error &&
    (name === "BelayError" || name === "UserInterrupt") &&
    typeof code === "string" &&
    Object.hasOwn(statuses, code)
  );
}

function plain(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(JSON.stringify(details));
  } catch {
    return {};
  }
}

/** `redacted` returns the part of the problem that is sent. */
export function problemResponse(problem: Problem, redacted: (problem: Problem) => unknown): Response {
  const wait = retryAfter(problem);
  return new Response(JSON.stringify(redacted(problem)), {
    status: problem.status,
    headers: { "content-type": "application/problem+json", ...(wait !== undefined && { "retry-after": wait }) },
  });
}

function retryAfter({ status, code, details }: Problem): string | undefined {
  if (code === "THREAD_BUSY") {
    const until = Date.parse(String(details.until));
    return String(Math.max(1, Math.ceil(((Number.isNaN(until) ? 0 : until) - Date.now()) / 1000)));
  }
  if (status === 429 || status === 503) return String(details.retryAfter ?? 1);
  return undefined;
}
