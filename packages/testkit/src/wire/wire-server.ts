// For tests only: a provider on localhost that speaks the real wire formats, so that the real AI SDK packages can be
// driven against it. Which API is spoken follows from the path the client asks for.
//
// const wire = await wireServer(); const model = fromAiSdk(createAnthropic({ baseURL: wire.url, apiKey: "k"
// })("claude-sonnet-4-5")); wire.script(["Hel", { wait: 20 }, "lo"], [{ call: "add", id: "c1", args: { a: 1 } }], { status:
// 429, headers: { "retry-after": "1" } }); … one reply per request, in the order the requests arrive … const request = await
// wire.arrived(1);  // the first request; its `body` is what the provider got await request.ended;                    //
// "closed" when the client went away before the answer was complete await wire.close();

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicWire } from "./anthropic-wire.ts";
import { chatWire } from "./chat-wire.ts";
import { responsesWire } from "./responses-wire.ts";
import type { WireFinish, WireFormat } from "./wire-format.ts";

export type WireStep =
  /** A piece of text. */
  | string
  /** Without a signature the reasoning stays open. */
  | { readonly reasoning: string; readonly signature?: string }
  | { readonly call: string; readonly id: string; readonly args: object | string; readonly unfinished?: boolean }
  | { readonly wait: number }
  /** Continues when the test lets it. */
  | { readonly until: Promise<unknown> }
  /** Sends no more, without an end. */
  | { readonly stall: true }
  /** The connection breaks. */
  | { readonly drop: true }
  /** The connection ends as if all had been said. */
  | { readonly leave: true }
  /** An error said in the stream. */
  | { readonly fail: string }
  /** An event that is no JSON. */
  | { readonly malformed: true };

export type WireReply =
  | readonly WireStep[]
  /** `lingerMs`: the connection's end comes that much after the last word. */
  | { readonly steps: readonly WireStep[]; readonly finish?: WireFinish; readonly lingerMs?: number }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly message?: string }
  /** A page for people, as a proxy sends it; status 200 by default. */
  | { readonly html: string; readonly status?: number }
  /** The connection breaks before the first byte. */
  | { readonly drop: true }
  /** The connection stays open without a byte. */
  | { readonly stall: true }
  | ((request: WireRequest) => WireReply);

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: the client sent the body; tests look into it.
  readonly body: any;
  /** performance.now() of the arrival and, when the client closed the socket early, of that. */
  readonly at: number;
  closedAt: number | undefined;
  /** The client's port: equal for requests over one connection. */
  readonly port: number | undefined;
  readonly ended: Promise<"answered" | "closed" | "dropped">;
}

export interface WireServer {
  /** What `baseURL` of a provider must be. */
  readonly url: string;
  readonly requests: readonly WireRequest[];
  /** Adds replies; each request takes one. */
  script(...replies: WireReply[]): void;
  /** Resolves to the n-th request, from 1, when it has arrived. */
  arrived(n: number): Promise<WireRequest>;
  close(): Promise<void>;
}

export async function wireServer(): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const replies: WireReply[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((message, response) => {
    void receive(message, response).then((request) => {
      requests.push(request);
      for (const wake of waiting.splice(0)) wake();
      const none = { status: 400, message: `No reply was scripted for request ${requests.length}.` };
      return answer(request, replies.shift() ?? none, response, requests.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    script: (...more) => void replies.push(...more),
    async arrived(n) {
      while (requests.length < n) await new Promise<void>((resolve) => waiting.push(resolve));
      return requests[n - 1]!;
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

async function receive(message: IncomingMessage, response: ServerResponse): Promise<WireRequest> {
  const at = performance.now();
  let text = "";
  for await (const piece of message.setEncoding("utf8")) text += piece;
  const request: WireRequest = {
    path: message.url ?? "",
    headers: message.headers,
    body: text === "" ? undefined : JSON.parse(text),
    at,
    closedAt: undefined,
    port: message.socket.remotePort,
    ended: new Promise((resolve) => {
      response.once("close", () => {
        if (response.writableFinished) return resolve("answered");
        if (response.errored?.message === dropped) return resolve("dropped");
        request.closedAt = performance.now();
        resolve("closed");
      });
    }),
  };
  return request;
}

const dropped = "dropped by the script";

async function answer(request: WireRequest, reply: WireReply, response: ServerResponse, n: number): Promise<void> {
  if (typeof reply === "function") return answer(request, reply(request), response, n);
  const format = formatOf(request, n);
  if ("drop" in reply) return void response.destroy(new Error(dropped));
  if ("stall" in reply) return;
  if ("html" in reply) {
    response.writeHead(reply.status ?? 200, { "content-type": "text/html; charset=utf-8" });
    return void response.end(reply.html);
  }
  if ("status" in reply) {
    const { status, headers, message } = reply;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    return void response.end(JSON.stringify(format.refusal(status, message ?? `status ${status}`)));
  }
  const { steps, finish, lingerMs } =
    "steps" in reply ? reply : { steps: reply, finish: undefined, lingerMs: undefined };
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.write(format.begin());
  for (const step of steps) {
    if (typeof step === "object" && "stall" in step) return;
    if (typeof step === "object" && "drop" in step) return breakOff(response);
    if (typeof step === "object" && "leave" in step) return void response.end();
    const pause = pauseOf(step);
    if (pause === undefined) response.write(write(step, format));
    else await Promise.race([pause, request.ended]);
    if (response.destroyed) return;
  }
  const calls = steps.some((step) => typeof step === "object" && "call" in step);
  response.write(format.end(finish ?? (calls ? "tool-calls" : "stop")));
  if (lingerMs === undefined) response.end();
  else setTimeout(() => response.end(), lingerMs);
}

function formatOf({ path, body }: WireRequest, n: number): WireFormat {
  const model = String(body?.model);
  if (path.endsWith("/messages")) return anthropicWire(model);
  return path.endsWith("/responses") ? responsesWire(model, n) : chatWire(model);
}

/** The written bytes reach the client first; then the connection breaks. */
function breakOff(response: ServerResponse): void {
  response.write(": \n\n", () => setTimeout(() => response.destroy(new Error(dropped)), 10));
}

function pauseOf(step: WireStep): Promise<unknown> | undefined {
  if (typeof step === "string") return undefined;
  if ("until" in step) return step.until;
  return "wait" in step ? new Promise((resolve) => setTimeout(resolve, step.wait)) : undefined;
}

function write(step: WireStep, format: WireFormat): string {
  if (typeof step === "string") return format.text(step);
  if ("reasoning" in step) return format.reasoning(step.reasoning, step.signature);
  if ("fail" in step) return format.fail(step.fail);
  if ("malformed" in step) return 'data: {"half": \n\n';
  if (!("call" in step)) return "";
  const args = typeof step.args === "string" ? step.args : JSON.stringify(step.args);
  return format.call({ id: step.id, name: step.call, args, unfinished: step.unfinished ?? false });
}
