// A server on the web that is started anew, or dies in the middle of an answer: a real one, over HTTP.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { McpServer } from "./server.ts";

let web: Server;
let address: string;
/** The sessions of the server; a new one has none. */
let sessions: Set<string>;
/** With which status it refuses a session that it does not know. */
let refusal: number;
/** How it answers the next call, if not well. */
let fault: "dies" | "ends" | undefined;
let calls: number;
let server: McpServer;

beforeEach(async () => {
  [sessions, refusal, fault, calls] = [new Set(), 404, undefined, 0];
  web = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`;
  server = new McpServer("web", { kind: "http", url: address, headers: {} }, { folder: "/" });
});
afterEach(async () => {
  await server.close();
  web.closeAllConnections();
  web.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, method } = JSON.parse(await text(request));
  const say = (result: object, headers: Record<string, string> = {}) => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...result }));
  };
  if (method === "server/discover") return say({ error: { code: -32601, message: "unknown" } });
  if (method === "initialize") {
    const session = `session-${Math.random()}`;
    sessions.add(session);
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "w", version: "1" },
    };
    return say({ result }, { "mcp-session-id": session });
  }
  if (!sessions.has(String(request.headers["mcp-session-id"]))) return void response.writeHead(refusal).end("who?");
  if (id === undefined) return void response.writeHead(202).end();
  if (fault !== undefined) {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": soon\n\n");
    return void setTimeout(() => (fault === "dies" ? response.destroy() : response.end()), 20);
  }
  calls += 1;
  say({ result: { content: [{ type: "text", text: "done" }] } });
}

const call = () =>
  server.call(
    "work",
    {},
    { elicit: async () => ({ action: "cancel" }) },
    { signal: new AbortController().signal, onprogress() {} },
  );
const done = { content: [{ type: "text", text: "done" }] };

test.each([404, 400])(
  "one that was started anew, and refuses us by %i, is met anew; each call is made once",
  async (status) => {
    refusal = status;
    expect(await call()).toMatchObject(done);
    sessions.clear();
    expect(await Promise.all([call(), call(), call()])).toMatchObject([done, done, done]);
    expect([calls, sessions.size]).toEqual([4, 1]);
  },
);

test.each(["dies", "ends"] as const)(
  "an answer that %s halfway ends the call, which may have taken effect",
  async (how) => {
    await call();
    fault = how;
    await expect(call()).rejects.toMatchObject({
      code: "MCP_LOST",
      message: expect.stringContaining("the connection ended before the answer. It may have taken effect."),
    });
    fault = undefined;
    expect(await call()).toMatchObject(done);
  },
);

test("the error of an unreachable server says so, with the reason, and does not ask for other arguments", async () => {
  await call();
  const { port } = web.address() as AddressInfo;
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  await call().catch(() => {});
  await expect(call()).rejects.toMatchObject({ code: "MCP_DOWN", message: expect.stringContaining("ECONNREFUSED") });
  sessions.clear();
  await new Promise<void>((resolve) => web.listen(port, "127.0.0.1", resolve));
  expect(await call()).toMatchObject(done);
});
