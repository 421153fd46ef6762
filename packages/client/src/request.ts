// Requests to a server: one function for all routes. A write carries an idempotency key and is repeated with it if the line
// breaks or the server is away, so that a lost answer is not a second run.

import { given } from "./given.ts";

/** Options of `connect`. */
export interface ConnectOptions {
  /** The address of the server, without `/v1`. */
  readonly url: string | URL;
  /** The token, or a function that returns the present one. Left out: the browser's cookie. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  readonly fetch?: typeof fetch | undefined;
}

/** A refusal by the server, in the shape of a BelayError. */
export class RequestError extends Error {
  override readonly name = "BelayError";
  readonly code: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** The HTTP status; 0 if no answer arrived. */
  readonly status: number;
  readonly requestId: string | undefined;

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? `The server answered with status ${status}.`);
    this.status = status;
    this.code = problem.code ?? "CONNECTION_FAILED";
    this.hint = problem.hint ?? "Check the address of the server and the way to it.";
    this.details = problem.details ?? {};
    this.requestId = problem.requestId;
  }
}

interface Problem {
  readonly detail: string;
  readonly code: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
}

export interface Asked {
  readonly body?: unknown;
  readonly query?: object | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Record<string, string> | undefined;
  /** The idempotency key of a write; random if left out. */
  readonly key?: string | undefined;
}

const TRIES = 6;

/** Returns a random key. Only pages with TLS or on loopback have crypto.randomUUID. */
export function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/** The line to a server. */
export class Line {
  readonly #options: ConnectOptions;
  readonly #base: string;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#base = `${String(options.url).replace(/\/+$/, "")}/v1`;
  }

  /** Sends one request once. Rejects if no answer arrives. */
  async fetch(method: string, path: string, { body, query = {}, signal, headers }: Asked = {}): Promise<Response> {
    const { token, fetch: send = fetch } = this.#options;
    const bearer = typeof token === "function" ? await token() : token;
    const search = String(new URLSearchParams(given(query) as Record<string, string>));
    return send(`${this.#base}${path}${search && `?${search}`}`, {
      method,
      headers: {
        "x-belay": "1",
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...given({ body: JSON.stringify(body), signal }),
      credentials: "same-origin",
    });
  }

  /** Reads until an answer arrives, and returns its body. Throws RequestError. */
  async get<T>(path: string, query?: object, signal?: AbortSignal): Promise<T> {
    return (await this.ask<T>("GET", path, { query, signal })).body;
  }

  /** Sends a request until an answer arrives, and returns its status and body. Throws RequestError. */
  async ask<T>(
    method: string,
    path: string,
    asked: Asked = {},
  ): Promise<{ readonly status: number; readonly body: T }> {
    const key = asked.key ?? newKey();
    const headers = { ...asked.headers, ...(method === "POST" && { "idempotency-key": key }) };
    for (let tries = 1; ; tries++) {
      // The answer has arrived with the last byte of its body.
      const answered = await this.fetch(method, path, { ...asked, headers })
        .then(async (response) => ({ response, text: await response.text() }))
        .catch((error) => {
          if (asked.signal?.aborted) throw error;
          if (tries >= TRIES) throw new RequestError(0, { detail: `No answer from ${this.#base}: ${error.message}` });
        });
      const response = answered?.response;
      if (answered !== undefined && response !== undefined && (response.status !== 503 || tries >= TRIES)) {
        const { status, ok } = response;
        if (ok) return { status, body: (answered.text === "" ? undefined : JSON.parse(answered.text)) as T };
        // The first try has deleted it, and its answer was lost.
        if (method === "DELETE" && status === 404 && tries > 1) return { status: 204, body: undefined as T };
        throw problemIn(status, answered.text);
      }
      const wait = Number(response?.headers.get("retry-after") ?? 0) * 1000;
      await sleep(Math.max(wait, 250 * 2 ** (tries - 1)), asked.signal);
    }
  }
}

export async function errorOf(response: Response): Promise<RequestError> {
  return problemIn(response.status, await response.text().catch(() => ""));
}

function problemIn(status: number, text: string): RequestError {
  try {
    return new RequestError(status, (JSON.parse(text) ?? {}) as Partial<Problem>);
  } catch {
    return new RequestError(status, {});
  }
}

type Target = Pick<EventTarget, "addEventListener" | "removeEventListener">;

/** Listens until the returned function is called. Programs outside of browsers have fewer targets. */
export function on(target: Partial<Target> | undefined, type: string, listener: () => void): () => void {
  target?.addEventListener?.(type, listener);
  return () => target?.removeEventListener?.(type, listener);
}

/** Resolves after a time, when the signal fires, or when `wake` calls back. */
export function sleep(ms: number, signal?: AbortSignal, wake?: (resume: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      deaf();
      unwake?.();
      resolve();
    };
    const timer = setTimeout(over, ms);
    const unwake = wake?.(over);
    const deaf = on(signal, "abort", over);
    if (signal?.aborted) over();
  });
}
