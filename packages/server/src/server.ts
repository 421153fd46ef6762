// belayServer: the table of routes behind one web-standard fetch. It keeps no state that the store does not have.

import { block } from "./http/block.ts";
import { checkBody, checkQuery } from "./http/check-request.ts";
import { commandId } from "./http/command-id.ts";
import { readBody } from "./http/json-body.ts";
import { outgoingOf, sentTo } from "./http/pump.ts";
import { Rates } from "./http/rate.ts";
import type { AnyRoute, Call, Reply, Site, StreamSources } from "./http/route.ts";
import { Router } from "./http/router.ts";
import { Streams } from "./http/stream.ts";
import {
  checkForgery,
  checkHost,
  checkOrigin,
  corsHeaders,
  type GuardSettings,
  preflight,
  safeHeaders,
} from "./login/guard.ts";
import { type Login, needRole, rolesOf } from "./login/login.ts";
import { loginPage } from "./login/login-page.ts";
import { newToken, TokenLogin } from "./login/token-login.ts";
import { openapiOf } from "./openapi.ts";
import { pageAt } from "./pages.ts";
import { isBelayError, type Problem, problemOf, problemResponse, ServerError } from "./problem.ts";
import { asking } from "./routes/asking.ts";
import { control } from "./routes/control.ts";
import { reading } from "./routes/reading.ts";
import { service } from "./routes/service.ts";
import { Runners } from "./runners.ts";
import { checkLogin, checkOptions, type ServerLogEntry, type ServerOptions } from "./server-options.ts";

/** A server: one function from a request to a response, and its end. */
export interface BelayServer {
  /**
   * Answers a request. It is bound: pass it on as it is. `env` is the second argument of `@hono/node-server`: with it streams
   * are written to the response of Node itself, and take no more memory the longer they are open.
   */
  readonly fetch: (request: Request, env?: unknown) => Promise<Response>;
  /** The token of a server without `auth`. */
  readonly token: string | undefined;
  /** Says `bye` to every stream, waits for requests, lets go of every thread at its next safe point. */
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
  openapi(): object;
}

export const routes: readonly AnyRoute[] = [...reading, ...control, ...asking, ...service];

/**
 * Serves a runner over HTTP.
 *
 * ```ts
 * const server = belayServer({ runner });
 * serve({ fetch: server.fetch, port: 4180, hostname: "127.0.0.1" });
 * ```
 */
export function belayServer(options: ServerOptions): BelayServer {
  return new Server(options);
}

const MiB = 1024 * 1024;

class Server implements BelayServer {
  readonly token: string | undefined;
  readonly fetch: BelayServer["fetch"];
  readonly #options: ServerOptions;
  readonly #basePath: string;
  readonly #guard: GuardSettings;
  readonly #login: TokenLogin | undefined;
  readonly #router = new Router(routes);
  readonly #runners: Runners;
  readonly #streams: Streams;
  readonly #rates: Rates;
  readonly #site: Site;
  readonly #pending = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;
  #document: object | undefined;

  constructor(options: ServerOptions) {
    checkOptions(options);
    const { publicUrl, auth, allowedHosts = [], allowedOrigins = [], redact, work = { concurrency: 8 } } = options;
    this.#options = options;
    this.#basePath = `/${(options.basePath ?? "/").replace(/^\/+|\/+$/g, "")}`;
    const ours = publicUrl === undefined ? undefined : new URL(publicUrl);
    this.#guard = {
      allowedHosts: [...allowedHosts, ...(ours === undefined ? [] : [ours.host])],
      allowedOrigins,
      publicOrigin: ours?.origin,
    };
    this.token = auth === undefined ? (options.token ?? newToken()) : undefined;
    this.#login = this.token === undefined ? undefined : this.#tokenLogin(this.token);
    const onError = (error: unknown) => this.#log(error, "");
    this.#runners = new Runners({ runner: options.runner, work, maxTenants: options.maxTenants ?? 100, onError });
    const { maxStreams: most = 1000 } = options;
    // Without `auth` all streams are of one login.
    const { maxStreamsPerUser = auth === undefined ? most : Math.ceil(most / 4) } = options;
    this.#streams = new Streams({ most, mostOfUser: maxStreamsPerUser });
    this.#rates = new Rates(options.rate ?? { perSecond: 100, burst: 400 });
    this.#site = {
      selfApproval: options.selfApproval ?? true,
      redacts: redact !== undefined,
      redact: redact ?? ((value) => value),
      openapi: () => this.openapi(),
      newId: () => crypto.randomUUID(),
      stream: (call, sources) => this.#stream(call, sources),
      logOut: (request) => this.#logOut(request),
      storeAnswers: (withinMs) => this.#runners.answers(withinMs),
      ...(this.#login && { session: this.#login }),
      isDraining: () => this.#closing !== undefined,
    };
    this.fetch = async (request, ...more: readonly unknown[]) => {
      const response = await this.#track(this.#answer(request));
      const outgoing = isStream(response) ? outgoingOf(more) : undefined;
      return outgoing === undefined ? response : sentTo(outgoing, response);
    };
  }

  #tokenLogin(token: string): TokenLogin {
    return new TokenLogin({ token, user: this.#options.user ?? "user", basePath: this.#basePath });
  }

  openapi(): object {
    this.#document ??= openapiOf(routes, this.#options.publicUrl ?? this.#basePath);
    return this.#document;
  }

  close({ timeoutMs = 10_000 } = {}): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.resolve();
      this.#streams.drain();
      await settled(this.#pending, timeoutMs);
      await this.#runners.close(timeoutMs);
    })();
    return this.#closing;
  }

  #track<T>(promise: Promise<T>): Promise<T> {
    this.#pending.add(promise);
    const over = () => this.#pending.delete(promise);
    promise.then(over, over);
    return promise;
  }

  #log(error: unknown, requestId: string): void {
    const { log = ({ error: what }: ServerLogEntry) => console.error(what) } = this.#options;
    log({ level: "error", requestId, error });
  }

  /** Never rejects: each failure is a problem. */
  async #answer(request: Request): Promise<Response> {
    const requestId = crypto.randomUUID();
    const known: { origin?: string | undefined; login?: Login } = {};
    try {
      checkHost(request, this.#guard);
      known.origin = checkOrigin(request, this.#guard);
      if (request.method === "OPTIONS") return preflight(known.origin);
      const response = await this.#route(request, (login) => (known.login = login));
      return this.#finish(forMethod(request, response), requestId, known.origin);
    } catch (error) {
      const isOurs = error instanceof ServerError || isBelayError(error);
      const response = problemResponse(problemOf(error, requestId), (problem) => this.#redacted(problem, known.login));
      if (!isOurs || response.status === 500) this.#log(error, requestId);
      const page = response.status === 401 && (request.headers.get("accept") ?? "").includes("text/html");
      return this.#finish(page ? loginPage() : response, requestId, known.origin);
    }
  }

  /** Returns the part of a problem that the login may see. Its words may quote a thread. */
  #redacted(problem: Problem, login: Login | undefined): unknown {
    if (login === undefined || login === NOBODY) return problem;
    const { type, title, status, code, requestId } = problem;
    const bare = { type, title, status, detail: title, code, hint: "", details: {}, requestId };
    try {
      return this.#site.redact(problem, login) ?? bare;
    } catch (error) {
      this.#log(error, requestId);
      return bare;
    }
  }

  #finish(response: Response, requestId: string, origin: string | undefined): Response {
    const more = { ...safeHeaders, "x-request-id": requestId, ...(origin !== undefined && corsHeaders(origin)) };
    for (const [name, value] of Object.entries(more)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    return response;
  }

  async #route(request: Request, admitted: (login: Login) => void): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const path = this.#pathOf(pathname);
    if (!path.startsWith("/v1/")) return this.#page(path, request);
    const { route, params } = this.#router.match(request.method, path.slice("/v1".length));
    if (this.#closing !== undefined && !isProbe(route)) throw closing();
    checkForgery(request);
    const login = route.role === "none" ? NOBODY : await this.#authenticate(request);
    if (login instanceof Response) return login;
    admitted(login);
    // Requests without a login count by route: those that try tokens must not take their turns from probes.
    this.#rates.take(login === NOBODY ? JSON.stringify([route.name]) : userOf(login));
    if (route.role !== "none" && route.role !== "any") needRole(login, route.role);
    const query = checkQuery(route, searchParams);
    const takesBody = route.method !== "GET";
    const { maxBodyBytes = MiB, maxFileBytes = Math.max(maxBodyBytes, 10 * MiB) } = this.#options;
    const body = takesBody ? await readBody(request, { maxBodyBytes, maxFileBytes }) : undefined;
    if (takesBody) checkBody(route, body);
    const tenant = this.#runners.tenantOf(login.tenant);
    const id = await commandId(request.headers.get("idempotency-key"), tenant, login.user);
    return this.#runners.with(tenant, async (runner, hold) => {
      const call = {
        request,
        params,
        query,
        body,
        runner,
        login,
        id,
        waitMs: readWait(request),
        site: this.#site,
        hold,
      };
      const reply = await route.handle(call as never);
      return reply instanceof Response ? reply : this.#json(reply, login, request.method);
    });
  }

  /** The path below the base. A mount may have removed the base already. */
  #pathOf(pathname: string): string {
    if (this.#basePath === "/") return pathname;
    if (pathname === this.#basePath) return "/";
    return pathname.startsWith(`${this.#basePath}/`) ? pathname.slice(this.#basePath.length) : pathname;
  }

  #page(path: string, request: Request): Promise<Response> {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (isRead && (this.#options.console ?? true)) return pageAt(path.slice(1), this.#basePath, request);
    throw new ServerError("ROUTE_UNKNOWN", `There is no route ${path}.`);
  }

  async #authenticate(request: Request): Promise<Login | Response> {
    const found = await (this.#options.auth?.(request) ?? this.#login?.login(request));
    // The headers of a redirect, and of a response of fetch, cannot be changed.
    if (found instanceof Response) return new Response(found.body, found);
    if (found !== undefined && found !== null) {
      checkLogin(found);
      return found;
    }
    throw new ServerError("UNAUTHENTICATED", "This needs a login, and the request has none that counts.");
  }

  #json({ status, body, headers }: Reply, login: Login, method: string): Response {
    const none = status === 204 || status === 304 || method === "HEAD";
    const sent = none ? null : JSON.stringify(login === NOBODY ? body : this.#site.redact(body, login));
    return new Response(sent ?? null, {
      status,
      headers: { ...(!none && { "content-type": "application/json" }), "cache-control": "no-store", ...headers },
    });
  }

  /** The runner is kept while the stream is open. */
  #stream(call: Call, sources: StreamSources): Response {
    if (this.#closing !== undefined) throw closing();
    const { request, login } = call;
    const release = call.hold();
    try {
      return this.#streams.open(request, sources, {
        user: userOf(login),
        session: this.#login?.sessionOf(request),
        isWelcome: async () => {
          const now = await this.#authenticate(request);
          return !(now instanceof Response) && isSame(now, login);
        },
        onError: (error) => {
          const requestId = crypto.randomUUID();
          if (!isBelayError(error)) this.#log(error, requestId);
          return block("error", this.#redacted(problemOf(error, requestId), login));
        },
        onEnd: release,
      });
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Ends the streams of the browser's session in this process. Returns the header that removes its cookie. */
  #logOut(request: Request): string | undefined {
    const session = this.#login?.sessionOf(request);
    if (session !== undefined) this.#streams.drain(session);
    return this.#login?.close(request);
  }
}

function userOf({ tenant, user }: Login): string {
  return JSON.stringify([tenant, user]);
}

/** True if both may see the same. */
function isSame(a: Login, b: Login): boolean {
  const rights = ({ tenant, user, groups = [], role }: Login) =>
    JSON.stringify([tenant, user, groups, rolesOf({ role })]);
  return rights(a) === rights(b);
}

/** Waits until all have settled, at most this long. No timer is left behind: it would keep the process alive. */
async function settled(promises: Iterable<Promise<unknown>>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs)));
  await Promise.race([Promise.allSettled(promises), late]).finally(() => clearTimeout(timer));
}

function isStream({ headers, body }: Response): boolean {
  return body !== null && (headers.get("content-type") ?? "").startsWith("text/event-stream");
}

/** The answer to HEAD has no body, and a stream that no reader ends would keep its connection. */
function forMethod({ method }: Request, response: Response): Response {
  if (method !== "HEAD" || response.body === null) return response;
  void response.body.cancel();
  return new Response(null, response);
}

/** For routes without a login. */
const NOBODY: Login = { user: "nobody", role: [] };

function isProbe({ role, method }: AnyRoute): boolean {
  return role === "none" && method === "GET";
}

function closing(): ServerError {
  return new ServerError("DRAINING", "The server is being closed.");
}

const MOST_WAIT_MS = 600_000;

/** Returns the milliseconds of `prefer: wait=30`. */
function readWait(request: Request): number | undefined {
  const wait = /(?:^|[\s,;])wait=(\d{1,6})(?:$|[\s,;])/.exec(request.headers.get("prefer") ?? "")?.[1];
  return wait === undefined ? undefined : Math.min(Number(wait) * 1000, MOST_WAIT_MS);
}
