// One route as data. The router, the checks of queries and bodies, the roles, the idempotency keys and the OpenAPI document
// all read this table; no other file lists the routes.

import type { Runner } from "@belay/core";
import type { Login, Role, SessionDoor } from "../login/login.ts";
import type { Delta } from "./joined-text.ts";

/** JSON Schema, written out. One with a `title` becomes a component of the OpenAPI document. */
export type Schema = { readonly [keyword: string]: unknown };

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The parsed parts of one request, as its handler gets them. */
export interface Call<Body = unknown, Query = unknown> {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly runner: Runner;
  readonly login: Login;
  /** The kernel's id for a command, made of the idempotency key; undefined without a key. */
  readonly id: string | undefined;
  /** Milliseconds of `Prefer: wait=`; undefined if the header is missing. */
  readonly waitMs: number | undefined;
  readonly site: Site;
  /** Keeps the runner from being released until the returned function is called. */
  hold(): () => void;
}

/** The settings and the doors of the server that handlers need. */
export interface Site {
  readonly selfApproval: boolean;
  isDraining(): boolean;
  /** True if `redact` is set. */
  readonly redacts: boolean;
  redact(value: unknown, login: Login): unknown;
  openapi(): object;
  /** Opens a stream of server-sent events. Throws TOO_MANY_STREAMS. */
  stream(call: Call, sources: StreamSources): Response;
  newId(): string;
  /** Ends the session of a browser. Returns the header that removes its cookie; undefined without a login by token. */
  logOut(request: Request): string | undefined;
  /** Resolves to false if the store does not answer in time. */
  storeAnswers(withinMs: number): Promise<boolean>;
  session?: SessionDoor;
}

/** The end of a stream that its feeds write to. */
export interface Outlet {
  /** Fires once the reader is gone, or the stream has ended. */
  readonly signal: AbortSignal;
  /** Writes ready blocks. Returns a promise if the stream is full, which resolves once it has room. */
  write(words: string): Promise<void> | undefined;
  /** Writes a piece of text. Pieces of one text that follow each other closely become one block. */
  writeText(delta: Delta): Promise<void> | undefined;
  /** Sends what is written, without waiting for more. */
  flush(): void;
}

/** Sources of one stream. Each writes until the outlet's signal fires, and waits while the stream is full. */
export interface StreamSources {
  readonly headers?: Readonly<Record<string, string>>;
  readonly feeds: readonly ((outlet: Outlet) => Promise<void>)[];
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route<Body = never, Query = never> {
  readonly method: Method;
  /** Segments that begin with a colon are parameters. */
  readonly path: string;
  /** The operation's name in the OpenAPI document. */
  readonly name: string;
  readonly summary: string;
  /** `"any"`: any login. `"none"`: no login. */
  readonly role: Role | "any" | "none";
  /** The schema of each parameter of the query. */
  readonly query?: Readonly<Record<string, Schema>>;
  readonly body?: Schema;
  /** True if the body may be left out. */
  readonly bodyOptional?: true;
  /** The schema of the body by status; null for none. */
  readonly answers: Readonly<Record<number, Schema | null>>;
  /** The media type of a stream, if the route gives one. */
  readonly streams?: string;
  handle(call: Call<Body, Query>): Promise<Reply | Response>;
}

/** A route in the table, with any body and query: the table's schemas have checked both. */
export type AnyRoute = Route<never, never>;

/** Types the handler of a route by its body and query. */
export function route<Body = undefined, Query = Record<string, never>>(given: Route<Body, Query>): AnyRoute {
  return given as unknown as AnyRoute;
}
