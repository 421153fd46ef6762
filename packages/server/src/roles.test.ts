import {
  agent,
  createRunner,
  humanApproval,
  humanInput,
  jsonSchema,
  type Model,
  type ToolContext,
  tool,
} from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { belayServer, type Login } from "./index.ts";
import { readStream, startServer, type TestServer } from "./testing.ts";

const quiet = { log: () => {} };

function guide(turns: readonly string[] = []) {
  return createRunner({ agent: agent({ name: "guide", model: scriptedModel([...turns]) }) });
}

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

  test("groups of the login count for answers in a resume, and for an input that answers", async () => {
    const question = humanInput("Which room?", { approvers: ["group:leads"] });
    const ask = tool({
      name: "ask",
      description: "Asks.",
      input: jsonSchema<object>({ type: "object" }),
      execute: (_args, ctx) => ctx.ask(question),
    });
    const turns = [[{ call: "ask", args: {} }], "Done."];
    const model = scriptedModel([...turns, ...turns]);
    const runner = createRunner({ agent: agent({ name: "ops", model, tools: [ask] }) });
    const logins = (request: Request): Login => {
      const [user, group] = request.headers.get("x-user")!.split("/") as [string, string];
      return { user, groups: [group], role: "admin" };
    };
    await using server = await startServer({ runner, auth: logins });
    for (const [thread, path, body] of [
      ["resumed", "resume", (id: string) => ({ answers: { [id]: { type: "respond", value: "12" } } })],
      ["sent", "send", () => ({ input: "12", whenAsked: "answer" })],
    ] as const) {
      await server.post(`/threads/${thread}/runs`, { input: "Go." }, { ...as("anna/leads"), prefer: "wait=30" });
      const { items } = (await server.get(`/inbox?threadId=${thread}`, as("anna/leads"))).body;
      const say = (user: string) =>
        server.post(`/threads/${thread}/${path}`, body(items[0].id), { ...as(user), prefer: "wait=30" });
      expect((await say("carl/sales")).body).toMatchObject({ status: 403, code: "ANSWER_FORBIDDEN" });
      expect([200, 202]).toContain((await say("ben/leads")).status);
    }
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
