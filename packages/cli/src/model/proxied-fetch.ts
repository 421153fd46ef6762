// fetch through the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY): Node's own does not look
// there. An abort closes the connection at any point, as Node's own does.

import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { connect as tlsConnect } from "node:tls";

type Env = Readonly<Record<string, string | undefined>>;

export function proxiedFetch(env: Env): typeof fetch {
  return async (input, init) => {
    const asked = new Request(input, init);
    const url = new URL(asked.url);
    const proxy = proxyFor(url, env);
    if (proxy === undefined) return fetch(input, init);
    asked.signal.throwIfAborted();
    const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
    const headers: Record<string, string> = Object.fromEntries(asked.headers);
    if (body !== undefined) headers["content-length"] = String(body.length);
    const options: RequestOptions = { method: asked.method, headers };
    return url.protocol === "https:"
      ? send(httpsRequest, url, { ...options, ...(await tunnel(proxy, url, asked.signal)) }, body, asked.signal)
      : send(httpRequest, proxy, { ...options, ...plainly(proxy, url, headers) }, body, asked.signal);
  };
}

/** The proxy for an address; undefined if it is to be reached directly. */
export function proxyFor(url: URL, env: Env): URL | undefined {
  const read = (name: string) => (env[name.toLowerCase()] || env[name.toUpperCase()])?.trim() || undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const direct = (read("no_proxy") ?? "").split(/[\s,]+/).filter(Boolean);
  if (direct.some((rule) => rule === "*" || matches(rule, host, url.port))) return undefined;
  const given = read(url.protocol === "https:" ? "https_proxy" : "http_proxy") ?? read("all_proxy");
  if (given === undefined || isLoopback(host)) return undefined;
  return new URL(given.includes("://") ? given : `http://${given}`);
}

/** "example.com" and ".example.com" stand for the host and all below it; a port narrows it. */
function matches(rule: string, host: string, port: string): boolean {
  const [name = "", wanted] = rule.replace(/^\*?\./, "").split(":");
  if (wanted !== undefined && wanted !== port) return false;
  return host === name || host.endsWith(`.${name}`);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

function credentials({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const words = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(words).toString("base64")}` };
}

/** A plain request names the whole address to the proxy. */
function plainly(proxy: URL, url: URL, headers: Record<string, string>): RequestOptions {
  return { path: url.href, headers: { ...headers, host: url.host, ...credentials(proxy) } };
}

/** A connection to the server through the proxy: only the two ends can read it. */
async function tunnel(proxy: URL, url: URL, signal: AbortSignal): Promise<RequestOptions> {
  const port = url.port || "443";
  const host = url.hostname;
  const socket = await new Promise<Socket>((resolve, reject) => {
    const make = proxy.protocol === "https:" ? httpsRequest : httpRequest;
    const asked = make(proxy, { method: "CONNECT", path: `${host}:${port}`, headers: credentials(proxy), signal });
    asked.once("connect", (answer: IncomingMessage, connected: Socket) => {
      if (answer.statusCode === 200) return resolve(connected);
      connected.destroy();
      const words = `the proxy ${proxy.host} refused to connect to ${host}:${port} (status ${answer.statusCode})`;
      reject(Object.assign(new Error(words), { isRetryable: (answer.statusCode ?? 0) >= 500 }));
    });
    asked.once("error", reject);
    asked.end();
  });
  const secured = tlsConnect({ socket, servername: host, ALPNProtocols: ["http/1.1"] });
  return { createConnection: () => secured };
}

function send(
  make: typeof httpRequest,
  address: URL,
  options: RequestOptions,
  body: Buffer | undefined,
  signal: AbortSignal,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const asked = make(address, { ...options, signal }, (answer) => {
      const headers = new Headers();
      for (const [name, value] of Object.entries(answer.headers))
        for (const each of [value ?? []].flat()) headers.append(name, each);
      const status = answer.statusCode ?? 502;
      const empty = status === 204 || status === 304;
      answer.on("error", () => {});
      const stream = empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
      resolve(new Response(stream, { status, statusText: answer.statusMessage ?? "", headers }));
    });
    asked.once("error", reject);
    asked.end(body);
  });
}
