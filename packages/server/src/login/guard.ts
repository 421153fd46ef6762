// Checks of a request before its login: the host, the origin, and requests that a foreign page makes a
// browser send.

import { ServerError } from "../problem.ts";

export interface GuardSettings {
  /** Hosts beside loopback, with or without a port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The origin of our own pages behind a proxy, which may give us another host than the browser's. */
  readonly publicOrigin?: string | undefined;
}

/** The host that the client named. */
export function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.toLowerCase());
}

/** Refuses names that lead here without being ours: a page can make its own name point at this machine. */
export function checkHost(request: Request, { allowedHosts }: GuardSettings): void {
  const host = hostOf(request);
  const name = host.replace(/:\d+$/, "");
  if (isLoopback(host) || allowedHosts.some((each) => each.toLowerCase() === host || each.toLowerCase() === name))
    return;
  throw new ServerError("HOST_NOT_ALLOWED", `The host ${JSON.stringify(host)} is not one of this server.`, { host });
}

/** Returns the foreign origin that may read the answer; undefined for our own pages and for programs. Throws otherwise. */
export function checkOrigin(request: Request, { allowedOrigins, publicOrigin }: GuardSettings): string | undefined {
  const origin = request.headers.get("origin");
  if (origin === null || origin === publicOrigin) return undefined;
  if (allowedOrigins.includes(origin)) return origin;
  if (URL.canParse(origin) && new URL(origin).host === hostOf(request)) return undefined;
  throw new ServerError("ORIGIN_NOT_ALLOWED", `The origin ${JSON.stringify(origin)} may not use this server.`, {
    origin,
  });
}

/** Refuses changes that a browser may have been made to send: it adds cookies by itself, but neither header nor JSON. */
export function checkForgery(request: Request): void {
  const { headers, method } = request;
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return;
  if (headers.has("authorization")) return;
  const type = headers.get("content-type");
  if (type !== null && !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new ServerError("CSRF", `A change by cookie is sent as JSON, not as ${type}.`);
  }
  if (!headers.has("cookie")) return;
  if (headers.get("sec-fetch-site") === "same-origin" || headers.get("x-belay") === "1") return;
  throw new ServerError("CSRF", "A change by cookie needs the header `x-belay: 1`.");
}

export function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "etag, retry-after, x-belay-head, x-request-id",
    vary: "origin",
  };
}

export function preflight(origin: string | undefined): Response {
  if (origin === undefined) return new Response(null, { status: 204 });
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders(origin),
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers":
        "authorization, content-type, idempotency-key, if-none-match, last-event-id, prefer, x-belay",
      "access-control-max-age": "600",
    },
  });
}

/** For every answer of the server. */
export const safeHeaders = {
  "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};
