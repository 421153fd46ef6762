// Which failures of a model call are worth another try, and after how long.

import { BelayError, errorText } from "../error.ts";

/** How often a model call that failed for a passing reason is tried again, and after how long. */
export interface RetrySettings {
  /** Tries in all. */
  readonly attempts: number;
  /** The wait before the second try; it doubles from there, with a random part. */
  readonly delayMs: number;
  readonly maxDelayMs: number;
}

export const defaultRetry: RetrySettings = { attempts: 4, delayMs: 500, maxDelayMs: 30_000 };

interface ErrorFields {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly responseHeaders?: unknown;
  readonly headers?: unknown;
  readonly data?: unknown;
  readonly responseBody?: unknown;
  readonly url?: unknown;
}

const CONNECTION_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** True for a busy or broken server, and for a connection that dropped. */
export function isWorthRetrying(error: unknown): boolean {
  if (error instanceof BelayError) return error.code === "MODEL_TIMEOUT";
  for (const e of chain(error)) {
    const status = statusOf(e);
    // A status below 400 is that of an answer which broke after its headers: its cause says how.
    if (status !== undefined && status >= 400)
      return status === 408 || status === 409 || status === 429 || status >= 500;
    if (status === undefined && typeof e.isRetryable === "boolean") return e.isRetryable;
    if (typeof e.code === "string" && CONNECTION_CODES.has(e.code)) return true;
    if (e instanceof TypeError && /fetch failed|terminated|network/i.test(e.message)) return true;
    if (e instanceof Error && /socket hang up|other side closed|premature close/i.test(e.message)) return true;
  }
  return false;
}

/** In the words of Anthropic, OpenAI, Google, xAI, Amazon, Groq, and of servers on the person's own machine. */
const TOO_LONG =
  /context[ _](length|window|limit|size)|(prompt|input) is too long|maximum prompt length|reduce the length of the messages|too many (input )?tokens|input token count.*exceeds/i;

/** True when the provider says that the request is longer than the model's context. */
export function isOverflow(error: unknown): boolean {
  for (const e of chain(error)) {
    const status = statusOf(e);
    if (status !== undefined && status !== 400 && status !== 413 && status !== 422) continue;
    if (e.code === "context_length_exceeded" || codeIn(e.data) === "context_length_exceeded") return true;
    if (TOO_LONG.test(errorText(e))) return true;
  }
  return false;
}

/** Says that an error answer of the server is a page for people, as a proxy sends it; undefined for any other error. */
export function pageWords(error: unknown): string | undefined {
  for (const e of chain(error)) {
    const { responseBody: body } = e;
    if (typeof body !== "string" || !/^\s*<(!doctype html|html)\b/i.test(body)) continue;
    const title = /<title[^>]*>([^<]{1,200})/i.exec(body)?.[1]?.trim().replace(/\s+/g, " ");
    const status = statusOf(e);
    const words = `an HTML page${title ? ` ("${title}")` : ""} from a proxy or another server, not an answer of the model`;
    return status === undefined ? words : `status ${status}: ${words}`;
  }
  return undefined;
}

/** The HTTP status by which the server refused. */
export function statusIn(error: unknown): number | undefined {
  for (const e of chain(error)) {
    const status = statusOf(e);
    if (status !== undefined && status >= 400) return status;
  }
  return undefined;
}

/** The status by which the server refused, and for a 404 the address, which may be the mistake: words to put after a reason. */
export function statusWords(error: unknown): string {
  const status = statusIn(error);
  if (status === undefined) return "";
  const url = [...chain(error)].map((e) => e.url).find((each) => typeof each === "string");
  // The query may contain a key.
  return status === 404 && typeof url === "string" ? ` (status 404 at ${url.split("?")[0]})` : ` (status ${status})`;
}

/** True for an answer that broke after its headers: its cause says how. */
export function brokeOff(error: unknown): boolean {
  const [first] = chain(error);
  const status = first === undefined ? undefined : statusOf(first);
  return status !== undefined && status < 400;
}

/** Returns the wait that the provider asks for (retry-after), else doubling with a random part from `random` (0 to 1). */
export function retryDelay(
  settings: RetrySettings,
  tries: number,
  error: unknown,
  now: number,
  random: number,
): number {
  const asked = retryAfter(error, now);
  if (asked !== undefined) return Math.min(asked, Math.max(settings.maxDelayMs, 60_000));
  const full = Math.min(settings.delayMs * 2 ** (tries - 1), settings.maxDelayMs);
  return full / 2 + (full / 2) * random;
}

function retryAfter(error: unknown, now: number): number | undefined {
  for (const e of chain(error)) {
    const ms = Number(header(e, "retry-after-ms") ?? Number.NaN);
    if (Number.isFinite(ms) && ms >= 0) return ms;
    const value = header(e, "retry-after");
    if (value === undefined) continue;
    const seconds = Number(value);
    if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
    const date = Date.parse(value);
    if (!Number.isNaN(date)) return Math.max(0, date - now);
  }
  return undefined;
}

function header(error: ErrorFields, name: string): string | undefined {
  for (const headers of [error.responseHeaders, error.headers]) {
    if (headers instanceof Headers) return headers.get(name) ?? undefined;
    if (typeof headers === "object" && headers !== null && Object.hasOwn(headers, name)) {
      return String((headers as Record<string, unknown>)[name]);
    }
  }
  return undefined;
}

/** The code in the body of an answer, as many providers write it: `{ error: { code } }`. */
function codeIn(body: unknown): unknown {
  return (body as { readonly error?: { readonly code?: unknown } } | null | undefined)?.error?.code;
}

function statusOf(error: ErrorFields): number | undefined {
  const status = error.statusCode ?? error.status;
  return typeof status === "number" ? status : undefined;
}

/** The error and its causes. */
function* chain(error: unknown): Generator<ErrorFields & Partial<Error>> {
  let current = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    yield current as ErrorFields & Partial<Error>;
    current = (current as ErrorFields).cause;
  }
}
