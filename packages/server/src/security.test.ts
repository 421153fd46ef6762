import { request as httpRequest } from "node:http";
import { agent, createRunner, humanApproval, jsonSchema, memoryStore, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import type { Login } from "./index.ts";
import { readStream, startServer, type TestServer } from "./testing.ts";

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

function support() {
  const model = scriptedModel([[{ call: "pay", args: { euros: 9 } }], "Done."]);
  return createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
}

/** The user is the header; the role follows from the name. */
const people: Record<string, Login> = {
  vera: { user: "vera", role: "viewer" },
  otto: { user: "otto", role: "operator" },
  anna: { user: "anna", role: ["operator", "approver"] },
  carl: { user: "carl", role: "approver" },
  root: { user: "root", role: "admin" },
};
const auth = (request: Request) => people[request.headers.get("x-user") ?? ""];
const as = (user: string) => ({ "x-user": user });

describe("roles", () => {
  test("each role opens its routes and no other; the request decides about the answer", async () => {
    await using server = await startServer({ runner: support(), auth });
    expect((await server.post("/threads/t/runs", { input: "Go." }, as("vera"))).body).toMatchObject({
      status: 403,
      code: "FORBIDDEN_ROLE",
      details: { needed: "operator" },
    });
    const run = await server.post("/threads/t/runs", { input: "Go." }, { ...as("otto"), prefer: "wait=30" });
    expect(run.body.status).toBe("interrupted");
    expect(JSON.stringify(run.body)).not.toContain("token");
    const { id } = (await server.get("/inbox", as("vera"))).body.items[0];
    const say = (user: string, body: object) => server.post(`/requests/${id}/answer`, body, as(user));
    expect((await say("otto", { type: "approve" })).body.code).toBe("FORBIDDEN_ROLE");
    expect((await say("carl", { type: "approve" })).body).toMatchObject({ status: 403, code: "ANSWER_FORBIDDEN" });
    expect((await say("anna", { type: "approve", remember: "always" })).body.code).toBe("FORBIDDEN_ROLE");
    const resumed = await server.post("/threads/t/resume", { answers: { [id]: { type: "approve" } } }, as("otto"));
    expect(resumed.body.code).toBe("FORBIDDEN_ROLE");
    expect((await say("anna", { type: "approve" })).status).toBe(200);
    expect((await server.send("DELETE", "/threads/t", { headers: as("anna") })).body.code).toBe("FORBIDDEN_ROLE");
    expect((await server.get("/me", as("anna"))).body).toMatchObject({ user: "anna", role: ["operator", "approver"] });
    expect((await server.get("/threads", {})).status).toBe(401);
  });

  test("redact cuts bodies and events alike, and search is for admins then", async () => {
    const redact = (value: unknown, { role }: Login) =>
      role === "admin" ? value : JSON.parse(JSON.stringify(value).replaceAll("secret rope", "•••"));
    await using server = await startServer({ runner: guide(["The secret rope."]), auth, redact });
    await server.post("/threads/t/runs", { input: "Tell the secret rope." }, { ...as("root"), prefer: "wait=30" });
    for (const path of ["/threads", "/threads/t", "/threads/t/messages", "/threads/t/facts", "/threads/t/history"]) {
      const answered = await server.get(path, as("vera"));
      expect(answered.status).toBe(200);
      expect(JSON.stringify(answered.body)).not.toContain("secret");
    }
    const lines = await server.get("/threads/t/facts", { ...as("vera"), accept: "application/x-ndjson" });
    expect(lines.body).toContain("•••");
    expect(lines.body).not.toContain("secret");
    const isLive = (all: readonly { event: string }[]) => all.some(({ event }) => event === "live");
    const events = await readStream(server, "/threads/t/events", isLive, as("vera"));
    expect(JSON.stringify(events)).not.toContain("secret");
    expect(JSON.stringify((await server.get("/threads/t/facts", as("root"))).body)).toContain("secret");
    expect((await server.get("/threads?search=secret", as("vera"))).body.code).toBe("FORBIDDEN_ROLE");
  });
});

describe("tenants", () => {
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

describe("bad input", () => {
  test("each is refused with a known code, and nothing is stored", async () => {
    await using server = await startServer({ runner: guide() });
    const post = (body: string | Uint8Array, type = "application/json") =>
      server.send("POST", "/threads/t/runs", { headers: { "content-type": type }, body: body as string });
    const bodies: [string, string | Uint8Array][] = [
      ["not JSON", "{input:1}"],
      ["a doubled key", '{"input":"a","input":"b"}'],
      ["__proto__", '{"input":"a","__proto__":{"agent":"x"}}'],
      ["an escaped __proto__", '{"input":"a","\\u005f_proto__":{}}'],
      ["too deep", `{"input":${"[".repeat(80)}${"]".repeat(80)}}`],
      ["an unknown field", '{"input":"a","inputs":"b"}'],
      ["no input", "{}"],
      ["nothing", ""],
      ["a list", "[]"],
      ["a number", '{"input":7}'],
      ["invalid UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
      ["forged provider data", '{"input":[{"parts":[{"type":"text","text":"a","provider":{"name":"x","data":1}}]}]}'],
      ["another role", '{"input":[{"role":"system","parts":[{"type":"text","text":"a"}]}]}'],
    ];
    for (const [name, body] of bodies) {
      expect((await post(body)).body, name).toMatchObject({ status: 400, code: "BODY_INVALID" });
    }
    expect((await post('{"input":""}')).body).toMatchObject({ status: 400, code: "INPUT_EMPTY" });
    expect((await post('{"input":"a"}', "text/plain")).body).toMatchObject({ status: 400, code: "BODY_INVALID" });
    expect((await post(JSON.stringify({ input: "x".repeat(1.5 * 1024 * 1024) }))).body).toMatchObject({
      status: 413,
      code: "TOO_LARGE",
    });
    expect((await server.get("/threads?limit=0")).body).toMatchObject({ status: 400 });
    expect((await server.get("/threads?limits=3")).body).toMatchObject({ status: 400 });
    expect((await server.get(`/threads/${"x".repeat(201)}`)).body).toMatchObject({ status: 404 });
    expect((await server.get("/threads/%ff")).body).toMatchObject({ status: 404, code: "ROUTE_UNKNOWN" });
    expect((await server.get("/threads/..%2f..%2fetc")).body).toMatchObject({ status: 404, code: "THREAD_UNKNOWN" });
    expect((await server.get("/nothing")).body).toMatchObject({ status: 404, code: "ROUTE_UNKNOWN" });
    expect((await server.send("PUT", "/threads")).body).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
    const key = await server.post("/threads/t/runs", { input: "a" }, { "idempotency-key": "k".repeat(300) });
    expect(key.body).toMatchObject({ status: 400 });
    expect((await server.get("/threads")).body.items).toEqual([]);
  });

  test("a file of two megabytes is taken, served as its type, and a page of it cannot run", async () => {
    await using server = await startServer({ runner: guide(["Nice.", "Nice."]) });
    const send = (mediaType: string, bytes: Buffer) =>
      server.post(
        "/threads/t/runs",
        { input: [{ parts: [{ type: "file", mediaType, data: { base64: bytes.toString("base64") } }] }] },
        { prefer: "wait=30" },
      );
    const bytes = Buffer.alloc(2 * 1024 * 1024, 7);
    expect((await send("image/png", bytes)).status).toBe(200);
    expect((await send("text/html", Buffer.from("<script>alert(1)</script>"))).status).toBe(200);
    const { items } = (await server.get("/threads/t/messages")).body;
    const [png, html] = items.filter(({ role }: { role: string }) => role === "user");
    const load = (message: { parts: { data: { url: string } }[] }) =>
      fetch(`${server.url}/v1/${message.parts[0]!.data.url}`, { headers: server.headers });
    const picture = await load(png);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).equals(bytes)).toBe(true);
    const page = await load(html);
    expect(page.headers.get("content-type")).toBe("application/octet-stream");
    expect(page.headers.get("content-disposition")).toContain("attachment");
    expect(page.headers.get("content-security-policy")).toContain("sandbox");
    expect((await server.get("/threads/t/files/none/0")).body.code).toBe("FILE_UNKNOWN");
  });

  test("more streams and more requests than allowed are refused with a time to wait", async () => {
    await using server = await startServer({ runner: guide(["Hi."]), maxStreams: 1, rate: { perSecond: 1, burst: 6 } });
    await server.post("/threads/t/runs", { input: "Go." }, { prefer: "wait=30" });
    const gone = new AbortController();
    await fetch(`${server.url}/v1/threads/t/events`, { headers: server.headers, signal: gone.signal });
    expect((await server.get("/threads/t/events")).body).toMatchObject({ status: 429, code: "TOO_MANY_STREAMS" });
    gone.abort();
    await expect.poll(async () => (await server.get("/me")).body.code).toBe("RATE_LIMITED");
    expect(Number((await server.get("/me")).headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
