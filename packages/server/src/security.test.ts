import { request as httpRequest } from "node:http";
import {
  agent,
  createRunner,
  humanApproval,
  humanInput,
  jsonSchema,
  type Model,
  memoryStore,
  type ToolContext,
  tool,
} from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import type { Login } from "./index.ts";
import { belayServer } from "./server.ts";
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

  test("pages of publicUrl are our own, also behind a proxy that gives another host", async () => {
    await using server = await startServer({ runner: guide(["Hi."]), publicUrl: "https://agents.example/belay" });
    const headers = { ...server.headers, "content-type": "application/json", origin: "https://agents.example" };
    const change = { method: "POST", path: "/v1/threads/t/runs", body: '{"input":"Go."}' };
    expect(await raw(server, { ...change, headers })).toMatchObject({ status: 202 });
    expect((await server.get("/threads", { origin: headers.origin })).headers.get("access-control-allow-origin")).toBe(
      null,
    );
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

  test("an input answers a question only for logins that may answer it", async () => {
    const ask = (onNewInput: "answer" | "withdraw") => {
      const execute = async (_: object, ctx: ToolContext) => ctx.ask(humanInput("Which floor?", { onNewInput }));
      const input = jsonSchema<object>({ type: "object" });
      const asking = tool({ name: "ask", description: "Asks.", input, execute });
      const model = scriptedModel([[{ call: "ask" }], "Done.", "Again."]);
      return createRunner({ agent: agent({ name: "support", model, tools: [asking] }) });
    };
    const send = async (server: TestServer, user: string, more: object = {}) => {
      const { status, body } = await server.post("/threads/t/send", { input: "The third.", ...more }, as(user));
      return body.how ?? `${status} ${body.code}`;
    };
    for (const selfApproval of [true, false]) {
      const one = await startServer({ runner: ask("withdraw"), auth, selfApproval, work: false });
      await one.post("/threads/t/runs", { input: "Go." }, { ...as("anna"), prefer: "wait=30" });
      const answers = { whenAsked: "answer" };
      expect(await send(one, "otto", answers)).toBe("403 FORBIDDEN_ROLE");
      if (!selfApproval) expect(await send(one, "anna", answers)).toBe("403 ANSWER_FORBIDDEN");
      expect(await send(one, selfApproval ? "anna" : "root", answers)).toBe("answer");
      await one[Symbol.asyncDispose]();
      const two = await startServer({ runner: ask("answer"), auth, selfApproval, work: false });
      await two.post("/threads/t/runs", { input: "Go." }, { ...as("otto"), prefer: "wait=30" });
      expect(await send(two, "otto")).toBe(selfApproval ? "answer" : "403 ANSWER_FORBIDDEN");
      await two[Symbol.asyncDispose]();
    }
  });

  test("with redact, text that streams is for admins: a word that is cut out may come in two pieces", async () => {
    const redact = (value: unknown, { role }: Login) =>
      role === "admin" ? value : JSON.parse(JSON.stringify(value).replaceAll("secret rope", "•••"));
    let finish = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const model: Model = {
      id: "pieces",
      async *stream() {
        yield { type: "text", text: "The sec" };
        await finished;
        yield { type: "text", text: "ret rope." };
        yield { type: "finish", finish: "stop" };
      },
    };
    const runner = createRunner({ agent: agent({ name: "guide", model }) });
    await using server = await startServer({ runner, auth, redact });
    await server.post("/threads/t/runs", { input: "Go." }, as("root"));
    let isLive = false;
    const vera = readStream(
      server,
      "/threads/t/events",
      (all) => {
        isLive ||= all.some(({ event }) => event === "live");
        return all.some(({ event }) => event === "run-end");
      },
      as("vera"),
    );
    await expect.poll(() => isLive).toBe(true);
    const root = readStream(server, "/threads/t/events", (all) => all.some(({ data }) => data.text), as("root"));
    expect((await root).at(-1)!.data.text).toBe("The sec");
    finish();
    const events = JSON.stringify(await vera);
    expect(events).toContain("The •••.");
    expect(events).not.toContain("sec");
  });

  test("groups of the login count for requests that name a group, in the inbox and in answers", async () => {
    const model = scriptedModel([[{ call: "move", args: {} }], "Done."]);
    const move = tool({
      name: "move",
      description: "Moves.",
      input: jsonSchema<object>({ type: "object" }),
      needsApproval: () => humanApproval("Move?", { approvers: ["group:leads"], quorum: 2 }),
      execute: () => "moved",
    });
    const runner = createRunner({ agent: agent({ name: "ops", model, tools: [move] }) });
    const logins = (request: Request): Login => {
      const [user, group] = request.headers.get("x-user")!.split("/") as [string, string];
      return { user, groups: [group], role: "admin" };
    };
    await using server = await startServer({ runner, auth: logins });
    await server.post("/threads/t/runs", { input: "Go." }, { ...as("anna/leads"), prefer: "wait=30" });
    const mine = async (user: string) => (await server.get("/inbox?mine=1", as(user))).body;
    expect(await mine("carl/sales")).toMatchObject({ items: [], counts: { open: 1, mine: 0 } });
    const { items, counts } = await mine("anna/leads");
    expect(counts).toEqual({ open: 1, mine: 1 });
    const say = (user: string) => server.post(`/requests/${items[0].id}/answer`, { type: "approve" }, as(user));
    expect((await say("carl/sales")).body).toMatchObject({ status: 403, code: "ANSWER_FORBIDDEN" });
    expect((await say("anna/leads")).body).toEqual({ open: 1, resumed: false });
    expect((await say("ben/leads")).body).toEqual({ open: 0, resumed: true });
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

describe("the login of the application", () => {
  const answerTo = async (found: unknown, method = "GET") => {
    const server = belayServer({ runner: guide(), auth: () => found as never, work: false, ...quiet });
    return server.fetch(new Request("http://localhost/v1/threads", { method }));
  };

  test("null is no login; a login with an unknown role, or without a name, opens nothing", async () => {
    expect((await answerTo(null)).status).toBe(401);
    const role = "viewer";
    const slips = [{ user: "a", role: "guest" }, { user: "a", role: ["viewer", ""] }, { user: "a" }, { role }, {}];
    for (const login of [...slips, { user: "", role }, { user: 7, role }, { user: "a", role, tenant: 7 }, Object]) {
      expect((await answerTo(login)).status, JSON.stringify(login)).toBe(500);
    }
    expect((await answerTo({ user: "a", role })).status).toBe(200);
    expect((await answerTo({ user: "a", role: [] })).status).toBe(403);
  });

  test("it may answer with a redirect, and set cookies", async () => {
    const redirect = await answerTo(Response.redirect("https://login.example/", 302));
    expect([redirect.status, redirect.headers.get("location")]).toEqual([302, "https://login.example/"]);
    expect(redirect.headers.get("x-content-type-options")).toBe("nosniff");
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    expect((await answerTo(new Response("Hi", { headers }))).headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });
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
