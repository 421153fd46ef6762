// One way to the server: JSON in, JSON out. Each write carries a key, and a write that nothing answered is sent again
// under the same key, so that a lost answer is not a second run.

import type { Json } from "@belay/core";
import { basePath } from "./base.ts";
import { Problem } from "./problem.ts";

const TRIES = 3;

export interface Ask {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** The name of a write. The same key again returns the first outcome. */
  readonly key?: string;
  /** Seconds that the server may wait for the outcome. */
  readonly wait?: number;
}

/** Returns a random key. Only pages with TLS or on loopback have crypto.randomUUID. */
export function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/** Resolves to the body, or undefined if there is none. Throws `Problem`. */
export async function request<T>(path: string, ask: Ask = {}): Promise<T> {
  const { method = ask.body === undefined ? "GET" : "POST" } = ask;
  const key = method === "GET" ? undefined : (ask.key ?? newKey());
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once<T>(path, method, key, ask);
    } catch (error) {
      const again = error instanceof Problem && (error.isOffline || error.status === 503);
      if (!again || method === "GET" || attempt === TRIES || ask.signal?.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 300 * attempt));
    }
  }
}

async function once<T>(path: string, method: string, key: string | undefined, ask: Ask): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json", "x-belay": "1" };
  if (ask.body !== undefined) headers["content-type"] = "application/json";
  if (key !== undefined) headers["idempotency-key"] = key;
  if (ask.wait !== undefined) headers.prefer = `wait=${ask.wait}`;
  const response = await fetch(`${basePath}/v1${path}`, {
    method,
    headers,
    body: ask.body === undefined ? null : JSON.stringify(ask.body),
    signal: ask.signal ?? null,
    credentials: "same-origin",
    // A small write outlives its page: a decision that was made is not lost with the tab.
    keepalive: method !== "GET" && JSON.stringify(ask.body ?? null).length < 60_000,
  }).catch((error: unknown) => {
    if (ask.signal?.aborted) throw error;
    throw new Problem(0, { detail: "The server did not answer." });
  });
  const text = await response.text();
  const body = text === "" ? undefined : parse(text);
  if (!response.ok) throw new Problem(response.status, (body ?? {}) as Record<string, Json>);
  return body as T;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 300) };
  }
}

/** A query string of the values that are given. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}

export const threadPath = (threadId: string, rest = "") => `/threads/${encodeURIComponent(threadId)}${rest}`;
