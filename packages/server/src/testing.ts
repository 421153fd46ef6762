// A server on a real port, and a client that reads it byte by byte. For tests of this package only.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { type BelayServer, belayServer } from "./server.ts";
import type { ServerOptions } from "./server-options.ts";

export { routes } from "./server.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of every route; the tests state their shapes
type Body = any;

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly server: BelayServer;
  /** The headers of a login. */
  readonly headers: Readonly<Record<string, string>>;
  get(path: string, headers?: Record<string, string>): Promise<Answered>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  delete(path: string): Promise<Answered>;
  send(method: string, path: string, init?: RequestInit): Promise<Answered>;
}

export async function startServer(options: ServerOptions): Promise<TestServer> {
  const server = belayServer(options);
  const http = createAdaptorServer({ fetch: server.fetch, overrideGlobalObjects: false });
  // A test that computes for longer than the usual 5 s would meet a connection that is being closed.
  (http as Server).keepAliveTimeout = 120_000;
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const login: Record<string, string> = server.token === undefined ? {} : { authorization: `Bearer ${server.token}` };
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answered> => {
    const response = await fetch(`${url}/v1${path}`, { ...init, method, headers: { ...login, ...init.headers } });
    const text = await response.text();
    const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "") && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  const json = (body: unknown, headers: Record<string, string> = {}) => ({
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body ?? {}),
  });
  return {
    url,
    server,
    headers: login,
    send,
    get: (path, headers = {}) => send("GET", path, { headers }),
    post: (path, body, headers) => send("POST", path, json(body, headers)),
    delete: (path) => send("DELETE", path),
    async [Symbol.asyncDispose]() {
      await server.close({ timeoutMs: 1000 });
      http.close();
      (http as { closeAllConnections?(): void }).closeAllConnections?.();
    },
  };
}

export interface StreamEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: Body;
}

/** Reads a stream until `enough`, or to its end. */
export async function readStream(
  { url, headers }: Pick<TestServer, "url" | "headers">,
  path: string,
  enough: (events: readonly StreamEvent[]) => boolean,
  more: Record<string, string> = {},
): Promise<readonly StreamEvent[]> {
  const events: StreamEvent[] = [];
  const gone = new AbortController();
  const response = await fetch(`${url}/v1${path}`, { headers: { ...headers, ...more }, signal: gone.signal });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.event !== undefined) events.push({ ...fields, data: JSON.parse(fields.data) } as StreamEvent);
    }
    if (enough(events)) {
      gone.abort();
      break;
    }
  }
  return events;
}
