// The options of a server, and their check when it is made. An option under a wrong name has no effect, which may be
// dangerous: `selfAproval: false` would let a person approve a run of their own.

import { BelayError } from "@belay/core";
import type { RateLimit } from "./http/rate.ts";
import type { Login, Role } from "./login/login.ts";
import type { AnyRunner, RunnerOf } from "./runners.ts";

/** Options of `belayServer`. */
export interface ServerOptions {
  /** The runner, or one for each tenant. The server works for it, and drains it on close(). */
  readonly runner: AnyRunner | RunnerOf;
  /**
   * Returns the login of a request; undefined for none; a Response to send instead. Left out: the token. It is called again once a
   * minute with the request of each open stream.
   */
  readonly auth?: ((request: Request) => Auth | Promise<Auth>) | undefined;
  /** The token of a server without `auth`, of 16 characters or more; 32 random bytes if left out. */
  readonly token?: string | undefined;
  /** The name of the person with the token; `"user"` by default. */
  readonly user?: string | undefined;
  /** The path under which the server is mounted. */
  readonly basePath?: string | undefined;
  /** False: the API alone, without pages. */
  readonly console?: boolean | undefined;
  /** Threads that this server moves for others: `{ concurrency: 8 }` by default. */
  readonly work?: { readonly concurrency?: number | undefined } | false | undefined;
  readonly publicUrl?: string | undefined;
  /** Hosts beside loopback and the one of `publicUrl`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins whose pages may use the server; none but our own by default. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Returns the part of a body, an event or a problem that this login may see. */
  readonly redact?: ((value: unknown, login: Login) => unknown) | undefined;
  /** False: a person cannot answer requests of a run that they started. */
  readonly selfApproval?: boolean | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly maxFileBytes?: number | undefined;
  readonly maxStreams?: number | undefined;
  /** The most streams of one login: a quarter of `maxStreams` by default; all of them without `auth`. */
  readonly maxStreamsPerUser?: number | undefined;
  readonly maxTenants?: number | undefined;
  /** Requests of one user; `{ perSecond: 100, burst: 400 }` by default. */
  readonly rate?: RateLimit | false | undefined;
  readonly log?: ((entry: ServerLogEntry) => void) | undefined;
}

export type Auth = Login | Response | undefined;

/** A failure that a client sees only as "That went wrong." */
export interface ServerLogEntry {
  readonly level: "error";
  readonly requestId: string;
  readonly error: unknown;
}

const known: Readonly<Record<keyof ServerOptions, true>> = {
  runner: true,
  auth: true,
  token: true,
  user: true,
  basePath: true,
  console: true,
  work: true,
  publicUrl: true,
  allowedHosts: true,
  allowedOrigins: true,
  redact: true,
  selfApproval: true,
  maxBodyBytes: true,
  maxFileBytes: true,
  maxStreams: true,
  maxStreamsPerUser: true,
  maxTenants: true,
  rate: true,
  log: true,
};

const LEAST_TOKEN = 16;

/** Throws OPTION_UNKNOWN or OPTION_INVALID. */
export function checkOptions(options: ServerOptions): void {
  for (const [option, value] of Object.entries(options)) {
    if (value !== undefined && !Object.hasOwn(known, option)) throw unknown(option);
  }
  const { runner, auth, token, publicUrl, allowedHosts = [], allowedOrigins = [], rate = false } = options;
  if (typeof runner !== "function" && typeof runner?.look !== "function") {
    throw invalid("runner", runner, "a runner, or a function from a tenant to its runner");
  }
  if (token !== undefined && auth !== undefined) throw invalid("token", "set", "left out beside `auth`");
  if (token !== undefined && token.length < LEAST_TOKEN) {
    throw invalid("token", `${token.length} characters long`, `${LEAST_TOKEN} characters or longer`);
  }
  if (publicUrl !== undefined && !URL.canParse(publicUrl)) throw invalid("publicUrl", publicUrl, "an address");
  for (const host of allowedHosts) {
    if (host === "" || /[/*\s]/.test(host)) throw invalid("allowedHosts", host, "host names, such as agents.example");
  }
  for (const origin of allowedOrigins) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin && origin !== "null";
    if (!isOrigin) throw invalid("allowedOrigins", origin, "origins without a path, such as https://app.example");
  }
  for (const option of ["maxBodyBytes", "maxFileBytes", "maxStreams", "maxStreamsPerUser", "maxTenants"] as const) {
    const value = options[option];
    if (value !== undefined && !(value >= 1)) throw invalid(option, value, "a number of 1 or more");
  }
  if (rate !== false && !(rate.perSecond > 0 && rate.burst >= 1)) {
    throw invalid("rate", rate, "{ perSecond, burst } with numbers above 0, or false");
  }
}

const roles: Readonly<Record<Role, true>> = { viewer: true, operator: true, approver: true, admin: true };

/** Throws if `auth` returned a login that means nothing: a role that does not exist would read everything. */
export function checkLogin(login: Login): void {
  const { user, tenant, role } = login;
  if (typeof user !== "string" || user === "") throw new TypeError("auth() returned a login without a user.");
  if (tenant !== undefined && typeof tenant !== "string") throw new TypeError(`The tenant of ${user} is no text.`);
  for (const each of Array.isArray(role) ? role : [role]) {
    if (typeof each === "string" && Object.hasOwn(roles, each)) continue;
    const all = Object.keys(roles).join(", ");
    throw new TypeError(`auth() returned the role ${JSON.stringify(each)} for ${user}; the roles are ${all}.`);
  }
}

function unknown(option: string): BelayError {
  const names = Object.keys(known).join(", ");
  const words = `There is no option ${JSON.stringify(option)} in belayServer().`;
  return new BelayError("OPTION_UNKNOWN", words, `The options are ${names}.`, { option, where: "belayServer()" });
}

function invalid(option: string, value: unknown, needed: string): BelayError {
  const shown = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  const words = `Option ${option} of belayServer() is ${shown}; it must be ${needed}.`;
  return new BelayError("OPTION_INVALID", words, "Correct the option.", { option, value: shown, needed });
}
