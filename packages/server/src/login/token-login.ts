// The login of a server without `auth`: one token, in a header or exchanged for a cookie. The cookie is signed and holds no
// token; nothing is stored for it. Its key is derived from the token, so another server's cookie does not open this one.

import { hostOf } from "./guard.ts";
import type { Login, SessionDoor } from "./login.ts";

const HOURS_12 = 12 * 3600;
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const encoder = new TextEncoder();

export interface TokenLoginOptions {
  readonly token: string;
  readonly user: string;
  readonly basePath: string;
}

export class TokenLogin implements SessionDoor {
  readonly #options: TokenLoginOptions;
  readonly #key: Promise<Key>;

  constructor(options: TokenLoginOptions) {
    this.#options = options;
    this.#key = keyOf(`belay cookie ${options.token}`);
    // Reported by the request that needs it.
    this.#key.catch(() => {});
  }

  async login(request: Request): Promise<Login | undefined> {
    const { user } = this.#options;
    const [scheme, token] = (request.headers.get("authorization") ?? "").split(" ");
    if (scheme !== "") {
      const right = scheme!.toLowerCase() === "bearer" && (await this.#isToken(token ?? ""));
      return right ? { user, role: "admin" } : undefined;
    }
    const cookie = this.sessionOf(request);
    return cookie !== undefined && (await this.#isCookie(cookie)) ? { user, role: "admin" } : undefined;
  }

  async open(request: Request, token: string): Promise<string | undefined> {
    if (!(await this.#isToken(token))) return undefined;
    const until = String(Math.floor(Date.now() / 1000) + HOURS_12);
    const signature = await crypto.subtle.sign("HMAC", await this.#key, encoder.encode(until));
    return this.#cookie(request, `${until}.${base64url(new Uint8Array(signature))}`, HOURS_12);
  }

  close(request: Request): string {
    return this.#cookie(request, "", 0);
  }

  /** Returns the cookie of the request, whether or not it counts. */
  sessionOf(request: Request): string | undefined {
    return cookieOf(request, nameFor(request));
  }

  #cookie(request: Request, value: string, seconds: number): string {
    // Behind a proxy that ends TLS, only the browser knows: a page names its origin with every change.
    const page = request.headers.get("origin") ?? request.url;
    const secure = page.startsWith("https:") ? "; Secure" : "";
    const { basePath } = this.#options;
    return `${nameFor(request)}=${value}; HttpOnly; SameSite=Strict; Path=${basePath}; Max-Age=${seconds}${secure}`;
  }

  /** Compares under a key: the time that it takes says nothing about the token. */
  async #isToken(given: string): Promise<boolean> {
    const key = await this.#key;
    const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(this.#options.token));
    return crypto.subtle.verify("HMAC", key, signature, encoder.encode(given));
  }

  async #isCookie(cookie: string): Promise<boolean> {
    const [until = "", signature = ""] = cookie.split(".");
    const bytes = fromBase64url(signature);
    if (!/^\d{1,12}$/.test(until) || bytes === undefined || Number(until) * 1000 < Date.now()) return false;
    return crypto.subtle.verify("HMAC", await this.#key, bytes, encoder.encode(until));
  }
}

/** 32 random bytes. */
export function newToken(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function keyOf(words: string): Promise<Key> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", encoder.encode(words), algorithm, false, ["sign", "verify"]);
}

/** Cookies know no ports: two servers of one machine need two names. */
function nameFor(request: Request): string {
  return `belay_${/:(\d+)$/.exec(hostOf(request))?.[1] ?? "0"}`;
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
