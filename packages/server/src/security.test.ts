import { request as httpRequest } from "node:http";
import { agent, createRunner, humanApproval, jsonSchema, memoryStore, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import type { Login } from "./index.ts";
import { startServer, type TestServer } from "./testing.ts";

const quiet = { log: () => {} };

function guide(turns: readonly string[] = []) {
  return createRunner({ agent: agent({ name: "guide", model: scriptedModel([...turns]) }) });
}

/** A request with headers that fetch() would not send. */
function raw(
  { url }: TestServer,
  {
    method = "GET",
    path = "/v1/threads",
    headers = {},
    body,
  }: { method?: string; path?: string; headers?: object; body?: string },
): Promise<{ status: number; body: { code?: string } }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${url}${path}`, { method, headers: headers as Record<string, string> }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = /json/.test(response.headers["content-type"] ?? "");
        resolve({ status: response.statusCode!, body: isJson && text !== "" ? JSON.parse(text) : {} });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

describe("a request from elsewhere", () => {
  test("a foreign host, a foreign origin and a form are refused before the login is read", async () => {
    await using server = await startServer({ runner: guide() });
    const { headers } = server;
    expect(await raw(server, { headers: { ...headers, host: "evil.example" } })).toMatchObject({
      status: 403,
      body: { code: "HOST_NOT_ALLOWED" },
    });
    expect(await raw(server, { headers: { ...headers, origin: "https://evil.example" } })).toMatchObject({
      status: 403,
      body: { code: "ORIGIN_NOT_ALLOWED" },
    });
    expect(await raw(server, { headers: { ...headers, origin: "null" } })).toMatchObject({ status: 403 });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const path = "/v1/threads/t/runs";
    expect(await raw(server, { method: "POST", path, headers: form, body: "input=hi" })).toMatchObject({
      status: 403,
      body: { code: "CSRF" },
    });
    expect(await raw(server, { headers: { ...headers, host: `localhost:${new URL(server.url).port}` } })).toMatchObject(
      {
        status: 200,
      },
    );
  });

  test("no token, a wrong token and a token in the wrong place are refused; a page says how to get in", async () => {
    await using server = await startServer({ runner: guide() });
    for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Basic ${server.server.token}` }]) {
      expect(await raw(server, { headers })).toMatchObject({ status: 401, body: { code: "UNAUTHENTICATED" } });
    }
    expect(await raw(server, { path: `/v1/threads?token=${server.server.token}` })).toMatchObject({ status: 401 });
    const page = await fetch(`${server.url}/v1/threads`, { headers: { accept: "text/html" } });
    expect(page.status).toBe(401);
    expect(await page.text()).toContain("Open the link");
  });

  test("the token becomes a cookie that holds no token, opens only this server, and needs a header to change anything", async () => {
    await using server = await startServer({ runner: guide(["Hi."]) });
    const { token } = server.server;
    const wrong = await server.send("POST", "/session", {
      headers: { authorization: "", "content-type": "application/json" },
      body: JSON.stringify({ token: "x" }),
    });
    expect(wrong).toMatchObject({ status: 401, body: { code: "UNAUTHENTICATED" } });
    const opened = await fetch(`${server.url}/v1/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const set = opened.headers.get("set-cookie")!;
    expect(set).toMatch(/^belay_\d+=\d+\.[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/);
    expect(set).not.toContain(token);
    const cookie = set.split(";")[0]!;
    expect(await raw(server, { headers: { cookie } })).toMatchObject({ status: 200 });
    const [name, value] = cookie.split("=") as [string, string];
    const longer = `${name}=${Number(value.split(".")[0]) + 1}.${value.split(".")[1]}`;
    expect(await raw(server, { headers: { cookie: longer } })).toMatchObject({ status: 401 });
    const change = { method: "POST", path: "/v1/threads/t/runs", body: '{"input":"Go."}' };
    const json = { cookie, "content-type": "application/json" };
    expect(await raw(server, { ...change, headers: json })).toMatchObject({ status: 403, body: { code: "CSRF" } });
    expect(await raw(server, { ...change, headers: { ...json, "sec-fetch-site": "cross-site" } })).toMatchObject({
      status: 403,
    });
    expect(await raw(server, { ...change, headers: { ...json, "sec-fetch-site": "same-origin" } })).toMatchObject({
      status: 202,
    });
    await using other = await startServer({ runner: guide() });
    const port = new URL(other.url).port;
    expect(await raw(other, { headers: { cookie: `belay_${port}=${value}` } })).toMatchObject({ status: 401 });
  });

  test("pages of publicUrl are our own, also behind a proxy that gives another host", async () => {
    await using server = await startServer({ runner: guide(["Hi."]), publicUrl: "https://agents.example/belay" });
    const headers = { ...server.headers, "content-type": "application/json", origin: "https://agents.example" };
    const change = { method: "POST", path: "/v1/threads/t/runs", body: '{"input":"Go."}' };
    expect(await raw(server, { ...change, headers })).toMatchObject({ status: 202 });
    expect((await server.get("/threads", { origin: headers.origin })).headers.get("access-control-allow-origin")).toBe(
      null,
    );
    const { token } = server.server;
    const session = { method: "POST", headers, body: JSON.stringify({ token }) };
    const opened = await fetch(`${server.url}/v1/session`, session);
    expect(opened.headers.get("set-cookie")).toMatch(/; Secure$/);
    for (const origin of ["http://agents.example", "https://evil.example", "null"]) {
      const refused = await raw(server, { ...change, headers: { ...headers, origin } });
      expect(refused).toMatchObject({ status: 403, body: { code: "ORIGIN_NOT_ALLOWED" } });
    }
  });

  test("an allowed origin may read answers; every answer forbids frames, sniffing and referrers", async () => {
    const allowedOrigins = ["https://app.example"];
    await using server = await startServer({ runner: guide(), allowedOrigins, allowedHosts: ["agents.example"] });
    const answered = await server.get("/threads", { origin: "https://app.example" });
    expect(answered.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(answered.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(answered.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answered.headers.get("referrer-policy")).toBe("no-referrer");
    const before = await server.send("OPTIONS", "/threads", { headers: { origin: "https://app.example" } });
    expect(before.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect((await server.get("/threads")).headers.get("access-control-allow-origin")).toBeNull();
    expect(await raw(server, { headers: { ...server.headers, host: "agents.example" } })).toMatchObject({
      status: 200,
    });
  });
});

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`, { approvers: ["anna", "ben"] }),
  execute: ({ euros }) => `${euros} paid`,
});

test("each way past the door has its refusal, and none has an effect", async () => {
  const logins: Record<string, Login> = {
    "Bearer a": { tenant: "a", user: "anna", role: "admin" },
    "Bearer b": { tenant: "b", user: "ben", role: "admin" },
    "Bearer v": { tenant: "a", user: "vera", role: "viewer" },
  };
  const store = memoryStore();
  const runner = (tenant: string) =>
    createRunner({ agent: agent({ name: "guide", model: scriptedModel(["Hi."]) }), store, tenant });
  const byToken = (request: Request) => logins[request.headers.get("authorization") ?? ""];
  await using server = await startServer({ runner, auth: byToken });
  const anna = { authorization: "Bearer a" };
  await server.post("/threads/t/runs", { input: "Go." }, { ...anna, prefer: "wait=30" });
  const facts = async () => (await server.get("/threads/t/facts", anna)).body.items;
  const before = await facts();
  const json = { "content-type": "application/json" };
  const attempts: [name: string, status: number, headers: Record<string, string>][] = [
    ["a foreign host", 403, { ...json, ...anna, host: "evil.example" }],
    ["a foreign origin", 403, { ...json, ...anna, origin: "https://evil.example" }],
    ["a form", 403, { "content-type": "application/x-www-form-urlencoded", cookie: "session=1" }],
    ["no token", 401, json],
    ["a wrong token", 401, { ...json, authorization: "Bearer x" }],
    ["another tenant", 404, { ...json, authorization: "Bearer b" }],
    ["a role too low", 403, { ...json, authorization: "Bearer v" }],
  ];
  for (const verb of ["steer", "observe", "enqueue", "interrupt", "terminate", "resume"]) {
    const body = ["steer", "observe", "enqueue"].includes(verb) ? '{"input":"x"}' : "{}";
    for (const [name, status, headers] of attempts) {
      const refused = await raw(server, { method: "POST", path: `/v1/threads/t/${verb}`, headers, body });
      expect(refused, `${name} at ${verb}`).toMatchObject({ status, body: { code: expect.any(String) } });
    }
  }
  for (const [name, status, headers] of attempts) {
    const refused = await raw(server, { method: "DELETE", path: "/v1/threads/t", headers });
    expect(refused.status, name).toBe(status);
  }
  expect(await facts()).toEqual(before);
  expect((await server.get("/threads/t/waiting", anna)).body.items).toEqual([]);
  expect((await server.get("/threads", { authorization: "Bearer b" })).body.items).toEqual([]);
});

test("a login outlives the server that gave it", async () => {
  const token = "the-same-token-for-both";
  const first = await startServer({ runner: guide(), token });
  const { host } = new URL(first.url);
  const opened = await fetch(`${first.url}/v1/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  const cookie = opened.headers.get("set-cookie")!.split(";")[0]!;
  await first[Symbol.asyncDispose]();
  await using second = await startServer({ runner: guide(), token });
  // The same port in earnest; here the browser says so.
  expect(await raw(second, { headers: { cookie, host } })).toMatchObject({ status: 200 });
  await using other = await startServer({ runner: guide(), token: "another-token-of-another" });
  expect(await raw(other, { headers: { cookie, host } })).toMatchObject({ status: 401 });
});

describe("tenants", () => {
  test("one runner serves its own tenant and no other", async () => {
    const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }), tenant: "a" });
    const auth = (request: Request): Login => ({
      user: "anna",
      role: "admin",
      tenant: request.headers.get("x-tenant") ?? undefined,
    });
    await using server = await startServer({ runner, auth, ...quiet });
    expect((await server.get("/threads")).status).toBe(200);
    expect((await server.get("/threads", { "x-tenant": "a" })).status).toBe(200);
    expect((await server.get("/threads", { "x-tenant": "b" })).status).toBe(500);
  });

  test("the ids of another tenant do not exist, in any route", async () => {
    const store = memoryStore();
    const made: string[] = [];
    const runner = (tenant: string) => {
      made.push(tenant);
      const model = scriptedModel([[{ call: "pay", args: { euros: 9 } }], "Done."]);
      return createRunner({ agent: agent({ name: "support", model, tools: [pay] }), store, tenant });
    };
    const tenants = (request: Request): Login => ({
      user: "anna",
      role: "admin",
      tenant: request.headers.get("x-tenant") ?? "none",
    });
    await using server = await startServer({ runner, auth: tenants, maxTenants: 1, ...quiet });
    const [a, b] = [{ "x-tenant": "a" }, { "x-tenant": "b" }];
    await server.post("/threads/t/runs", { input: "Go." }, { ...a, prefer: "wait=30" });
    const { id } = (await server.get("/inbox", a)).body.items[0];
    expect((await server.get("/threads", b)).body.items).toEqual([]);
    expect((await server.get("/inbox", b)).body.items).toEqual([]);
    const reads = [
      "",
      "/messages",
      "/facts",
      "/events",
      "/history",
      "/effects?after=0",
      "/checkpoint",
      "/waiting",
      "/rules",
    ];
    for (const path of reads) {
      expect((await server.get(`/threads/t${path}`, b)).body, path).toMatchObject({
        status: 404,
        code: "THREAD_UNKNOWN",
      });
    }
    for (const verb of ["resume", "interrupt", "pause", "terminate"]) {
      expect((await server.post(`/threads/t/${verb}`, {}, b)).body, verb).toMatchObject({ status: 404 });
    }
    for (const verb of ["steer", "enqueue", "observe"]) {
      expect((await server.post(`/threads/t/${verb}`, { input: "x" }, b)).body, verb).toMatchObject({ status: 404 });
    }
    expect((await server.get(`/requests/${id}`, b)).body).toMatchObject({ status: 404, code: "ANSWER_UNKNOWN" });
    expect((await server.post(`/requests/${id}/answer`, { type: "approve" }, b)).body.status).toBe(404);
    expect((await server.get(`/requests/${id}`, a)).status).toBe(200);
    expect(made.length).toBeGreaterThan(2);
  });
});
