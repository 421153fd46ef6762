// Streams and the login that opened them: its end, its change, its share of the server.

import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { belayServer, type Login, type ServerOptions } from "./index.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

async function serving(options: Partial<ServerOptions> = {}) {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(() => "A rope.") }) });
  await (await runner.start("t", "What is a belay?")).result;
  const server = belayServer({ runner, work: false, ...options });
  const send = (path: string, init: RequestInit = {}) => server.fetch(new Request(`http://localhost/v1${path}`, init));
  /** Resolves to all of the stream once it has ended. */
  const follow = async (init?: RequestInit) => {
    const response = await send("/threads/t/events?tail=1", init);
    return { status: response.status, whole: response.text() };
  };
  return { server, send, follow };
}

const minute = () => vi.advanceTimersByTimeAsync(60_000);

test("a stream ends within a minute after `auth` no longer returns its login, or returns another one", async () => {
  const logins = new Map<string, Login>([
    ["anna", { user: "anna", role: ["viewer", "operator"] }],
    ["ben", { user: "ben", role: "viewer" }],
    ["cleo", { user: "cleo", role: "viewer" }],
  ]);
  const auth = ({ headers }: Request) => structuredClone(logins.get(headers.get("x-user") ?? ""));
  const { server, follow } = await serving({ auth });
  const as = (user: string) => ({ headers: { "x-user": user } });
  const ended: string[] = [];
  const streams = ["anna", "ben", "cleo"].map(async (user) => {
    expect(await (await follow(as(user))).whole).toMatch(/event: bye\ndata: {}\n\n$/);
    ended.push(user);
  });
  await minute();
  expect(ended).toEqual([]);
  logins.delete("ben");
  await minute();
  await expect.poll(() => ended).toEqual(["ben"]);
  expect((await follow(as("ben"))).status).toBe(401);
  logins.set("anna", { user: "anna", role: "viewer" });
  await minute();
  await expect.poll(() => ended).toEqual(["ben", "anna"]);
  await server.close();
  await Promise.all(streams);
});

test("a browser that logs out ends the streams of its session, and no other", async () => {
  const { server, send, follow } = await serving();
  const login = async () => {
    const headers = { "content-type": "application/json" };
    const opened = await send("/session", { method: "POST", headers, body: JSON.stringify({ token: server.token }) });
    return { cookie: opened.headers.get("set-cookie")!.split(";")[0]! };
  };
  const first = await login();
  const other = { authorization: `Bearer ${server.token}` };
  const ended: string[] = [];
  const streams = [
    (await follow({ headers: first })).whole.then(() => ended.push("session")),
    (await follow({ headers: other })).whole.then(() => ended.push("token")),
  ];
  const left = await send("/session", { method: "DELETE", headers: { ...first, "x-belay": "1" } });
  expect([left.status, left.headers.get("set-cookie")]).toMatchObject([204, expect.stringContaining("Max-Age=0")]);
  await expect.poll(() => ended).toEqual(["session"]);
  await server.close();
  await Promise.all(streams);
});

test("one login takes a quarter of the streams at most, and the rest stays for others", async () => {
  const auth = ({ headers }: Request): Login => ({ user: headers.get("x-user") ?? "anna", role: "viewer" });
  const { server, follow, send } = await serving({ auth, maxStreams: 8 });
  const open = async (user: string) => {
    const response = await send("/changes", { headers: { "x-user": user } });
    return response.status === 200 ? "open" : ((await response.json()) as { code: string }).code;
  };
  expect([await open("anna"), await open("anna"), await open("anna")]).toEqual(["open", "open", "TOO_MANY_STREAMS"]);
  expect(await open("ben")).toBe("open");
  const one = await serving({ maxStreams: 3 });
  const headers = { authorization: `Bearer ${one.server.token}` };
  for (let i = 0; i < 3; i++) expect((await one.follow({ headers })).status).toBe(200);
  expect((await one.follow({ headers })).status).toBe(429);
  expect((await follow({ headers: { "x-user": "cleo" } })).status).toBe(200);
  await server.close();
  await one.server.close();
});

test("with `redact`, a problem shows the login no more than a body does", async () => {
  const auth = ({ headers }: Request): Login => ({
    user: "anna",
    role: (headers.get("x-role") ?? "viewer") as "viewer",
  });
  const cut = (value: unknown, { role }: Login) =>
    role === "admin" ? value : JSON.parse(JSON.stringify(value).replaceAll("secret", "•••"));
  const failing = vi.fn();
  const ask = async (redact: (value: unknown, login: Login) => unknown, role: string) => {
    const { server, send } = await serving({ auth, redact, log: failing });
    const response = await send("/threads/secret", { headers: { "x-role": role } });
    await server.close();
    expect(response.status).toBe(404);
    return response.json();
  };
  expect(await ask(cut, "admin")).toMatchObject({ detail: expect.stringContaining("secret") });
  expect(JSON.stringify(await ask(cut, "viewer"))).not.toContain("secret");
  const bare = { status: 404, code: "THREAD_UNKNOWN", detail: "Thread unknown", hint: "", details: {} };
  expect(await ask(() => undefined, "viewer")).toMatchObject(bare);
  const slip = new Error("redact fails");
  expect(
    await ask(() => {
      throw slip;
    }, "viewer"),
  ).toMatchObject(bare);
  expect(failing).toHaveBeenCalledWith(expect.objectContaining({ error: slip }));
});
