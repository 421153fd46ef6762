import { connect as connectSocket } from "node:net";
import { connect } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, memoryStore, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { belayServer, type Login } from "./index.ts";
import { readStream, startServer, type TestServer } from "./testing.ts";

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});

async function factsOf(server: TestServer, threadId = "t") {
  return (await server.get(`/threads/${threadId}/facts?limit=1000`)).body.items as { type: string; kind?: string }[];
}

const count = (facts: readonly { type: string }[], type: string) => facts.filter((fact) => fact.type === type).length;

describe("a POST sent twice with one key", () => {
  const twice = async (server: TestServer, path: string, body: object, key: string) => {
    const headers = { "idempotency-key": key };
    const first = await server.post(path, body, headers);
    const second = await server.post(path, body, headers);
    expect(second.status, JSON.stringify(second.body)).toBeLessThan(300);
    expect(second.body).toEqual(first.body);
    return second.body;
  };

  test("starts one run, on one thread", async () => {
    const model = scriptedModel(["One.", "Two.", "Three.", "Four."]);
    await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
    const { runId } = await twice(server, "/threads/t/runs", { input: "Go." }, "run");
    await expect.poll(async () => (await server.get("/threads/t")).body.state).toBe("completed");
    expect((await server.get("/threads/t")).body.runId).toBe(runId);
    expect(count(await factsOf(server), "run-start")).toBe(1);
    const made = await server.post("/threads", { input: "New." }, { "idempotency-key": "new" });
    const again = await server.post("/threads", { input: "New." }, { "idempotency-key": "new" });
    expect(again.body).toMatchObject({ thread: { threadId: made.body.thread.threadId }, run: made.body.run });
    expect((await server.get("/threads")).body.items).toHaveLength(2);
    const other = await server.post("/threads", { threadId: "t", input: "Mine." }, { "idempotency-key": "other" });
    expect(other.body).toMatchObject({ status: 409, code: "THREAD_EXISTS" });
  });

  test("steers, queues and observes once", async () => {
    const model = scriptedModel([[{ text: "A" }, { stall: true }]]);
    await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
    await server.post("/threads/t/runs", { input: "Go." });
    for (const verb of ["steer", "enqueue", "observe"])
      await twice(server, `/threads/t/${verb}`, { input: verb }, verb);
    expect((await server.get("/threads/t/waiting")).body.items).toHaveLength(3);
    const [{ id }] = (await server.get("/threads/t/waiting")).body.items;
    expect((await server.delete(`/threads/t/waiting/${id}`)).status).toBe(204);
    expect((await server.delete(`/threads/t/waiting/${id}`)).body.code).toBe("INPUT_CONSUMED");
  });

  test("stops once, with one receipt", async () => {
    const model = scriptedModel([[{ text: "A rope," }, { stall: true }], "More."]);
    await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
    await server.post("/threads/t/runs", { input: "Go." });
    await readStream(server, "/threads/t/events", (all) => all.some(({ data }) => data.text === "A rope,"));
    const receipt = await twice(server, "/threads/t/interrupt", { reason: "wait" }, "stop");
    expect(receipt).toMatchObject({ accepted: true, partialText: "A rope," });
    // The run that follows is begun once, and is not hit by the stop before it.
    const { runId, segment } = await twice(server, "/threads/t/resume", { input: "Go on." }, "resume");
    expect({ runId, segment }).toEqual({ runId: (receipt as { runId: string }).runId, segment: 2 });
    await expect.poll(async () => (await server.get("/threads/t")).body.state).toBe("completed");
    const stale = await server.post("/threads/t/terminate", { runId, segment: 1 });
    expect(stale.body).toMatchObject({ status: 409, code: "STALE" });
    const late = await server.post("/threads/t/interrupt", { reason: "wait" }, { "idempotency-key": "stop" });
    expect(late.body).toEqual(receipt);
    expect((await server.get("/threads/t")).body.state).toBe("completed");
  });

  test("answers and forks once", async () => {
    const model = scriptedModel([[{ call: "pay", args: { euros: 9 } }], "Done."]);
    const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
    await using server = await startServer({ runner });
    await server.post("/threads/t/runs", { input: "Pay." }, { prefer: "wait=30" });
    const { id } = (await server.get("/inbox")).body.items[0];
    expect(await twice(server, `/requests/${id}/answer`, { type: "approve" }, "yes")).toMatchObject({ open: 0 });
    await expect.poll(async () => (await server.get("/threads/t")).body.state).toBe("completed");
    expect(count(await factsOf(server), "tool-end")).toBe(1);
    const { threadId } = await twice(server, "/threads/t/fork", { at: 3 }, "fork");
    expect((await server.get("/threads")).body.items).toHaveLength(2);
    expect((await server.get(`/threads/${threadId}`)).body.parent).toMatchObject({ threadId: "t" });
  });
});

test("many answers stand alone: one refusal stops no other", async () => {
  const model = scriptedModel([
    [
      { call: "pay", args: { euros: 1 } },
      { call: "pay", args: { euros: 2 } },
    ],
    "Done.",
  ]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
  await using server = await startServer({ runner });
  await server.post("/threads/t/runs", { input: "Pay." }, { prefer: "wait=30" });
  const [one, two] = (await server.get("/inbox")).body.items;
  const { body } = await server.post("/requests/answers", {
    answers: [
      { id: one.id, type: "approve" },
      { id: "none", type: "approve" },
      { id: two.id, type: "reject", reason: "too much" },
    ],
  });
  expect(body.results).toMatchObject([
    { id: one.id, ok: true, open: 1 },
    { id: "none", problem: { code: "ANSWER_UNKNOWN" } },
    { id: two.id, ok: true, open: 0 },
  ]);
});

test("with four eyes the person that started a run does not answer for it", async () => {
  const people: Record<string, Login> = {
    anna: { user: "anna", role: ["operator", "approver"] },
    ben: { user: "ben", role: "approver" },
  };
  const model = scriptedModel([[{ call: "pay", args: { euros: 9 } }], "Done."]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
  const auth = (request: Request) => people[request.headers.get("x-user") ?? ""];
  await using server = await startServer({ runner, auth, selfApproval: false });
  await server.post("/threads/t/runs", { input: "Pay." }, { "x-user": "anna", prefer: "wait=30" });
  const { id } = (await server.get("/inbox", { "x-user": "ben" })).body.items[0];
  const say = (user: string) => server.post(`/requests/${id}/answer`, { type: "approve" }, { "x-user": user });
  expect((await say("anna")).body).toMatchObject({ status: 403, code: "ANSWER_FORBIDDEN" });
  expect((await say("ben")).status).toBe(200);
});

test("an answer that comes with a resume is refused if the person saw something else", async () => {
  const model = scriptedModel([[{ call: "pay", args: { euros: 9 } }], "Done."]);
  await using server = await startServer({
    runner: createRunner({ agent: agent({ name: "support", model, tools: [pay] }) }),
  });
  await server.post("/threads/t/runs", { input: "Pay." }, { prefer: "wait=30" });
  const { id, digest } = (await server.get("/inbox")).body.items[0];
  const resume = (seen: string) =>
    server.post("/threads/t/resume", { answers: { [id]: { type: "approve", digest: seen } } }, { prefer: "wait=30" });
  expect((await resume("another")).body).toMatchObject({ status: 422, code: "ANSWER_INVALID" });
  expect((await server.get("/inbox")).body.items).toHaveLength(1);
  expect((await resume(digest)).body).toMatchObject({ status: "completed" });
});

describe("tenants beyond the limit", () => {
  const tenants = (request: Request): Login => ({
    user: "anna",
    role: "admin",
    tenant: request.headers.get("x-tenant") ?? "none",
  });

  test("a store that fails while a runner is released ends neither a request nor the process", async () => {
    const failures: unknown[] = [];
    const make = (tenant: string) => {
      const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }), tenant });
      runner.threads = () => Promise.reject(new Error("The store is away."));
      return runner;
    };
    const log = ({ error }: { error: unknown }) => void failures.push(error);
    await using server = await startServer({ runner: make, auth: tenants, maxTenants: 1, work: false, log });
    for (const tenant of ["a", "b", "c"]) expect((await server.get("/inbox", { "x-tenant": tenant })).status).toBe(200);
    await expect.poll(() => String(failures[0])).toContain("The store is away.");
  });

  test("a runner that is used again while another request lets go of the old one is kept until the end", async () => {
    const made: string[] = [];
    const ended: string[] = [];
    const make = (tenant: string) => {
      const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }), tenant });
      const name = `${tenant}${made.filter((each) => each[0] === tenant).length}`;
      made.push(name);
      const { drain, threads } = runner;
      runner.threads = async (...given) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return threads.apply(runner, given);
      };
      runner.drain = (options) => {
        ended.push(name);
        return drain.call(runner, options);
      };
      return runner;
    };
    const server = await startServer({ runner: make, auth: tenants, maxTenants: 1, work: false, rate: false });
    const all = Array.from({ length: 60 }, (_, i) => server.get("/me", { "x-tenant": "abc"[i % 3]! }));
    await Promise.all(all);
    for (let i = 0; i < 30; i++) await server.get("/me", { "x-tenant": "abc"[i % 3]! });
    await server[Symbol.asyncDispose]();
    expect(ended.sort()).toEqual(made.sort());
  });
});

describe("readers", () => {
  test("a stream ends when its request is aborted, also for a reader in the same process", async () => {
    const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }) });
    const server = belayServer({ runner, work: false });
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${server.token}` };
    const { body } = await server.fetch(new Request("http://localhost/v1/changes", { headers, signal: gone.signal }));
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain("retry");
    gone.abort();
    while (!(await reader.read()).done);
    await server.close();
  });

  test("a hundred readers that leave in mid-answer stop nothing", async () => {
    const pieces = Array.from({ length: 400 }, (_, i) => `${i} `);
    const model = scriptedModel([[{ text: pieces }]], { delayMs: 5 });
    const runner = createRunner({ agent: agent({ name: "guide", model }) });
    await using server = await startServer({ runner, rate: false });
    await server.post("/threads/t/runs", { input: "Count." });
    const leaving = Array.from({ length: 100 }, (_, i) =>
      readStream(
        server,
        "/threads/t/events",
        (all) => all.filter(({ event }) => event === "text-delta").length > i % 10,
      ),
    );
    await Promise.all(leaving);
    await expect.poll(async () => (await server.get("/threads/t")).body.state).toBe("completed");
    const { items } = (await server.get("/threads/t/messages")).body;
    expect(items.at(-1).parts[0].text).toBe(pieces.join(""));
    expect(items.at(-1).interrupted).toBeUndefined();
  });

  test("HEAD on a stream ends at once, and takes no place among the streams", async () => {
    const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(["Hi."]) }) });
    await using server = await startServer({ runner, maxStreams: 1 });
    await server.post("/threads/t/runs", { input: "Go." }, { prefer: "wait=30" });
    for (const path of ["/threads/t/events", "/changes", "/threads/t/facts"]) {
      const request = new Request(`http://127.0.0.1/v1${path}`, { method: "HEAD", headers: server.headers });
      const { status, body } = await server.server.fetch(request);
      expect([status, body], path).toEqual([200, null]);
    }
    const live = await readStream(server, "/threads/t/events", (all) => all.some(({ event }) => event === "live"));
    expect(live.at(-1)).toMatchObject({ event: "live" });
  });

  test("a reader that never reads slows neither the run nor the others", async () => {
    const pieces = Array.from({ length: 4000 }, () => "word ".repeat(20));
    const model = scriptedModel([[{ text: pieces }]]);
    await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
    const thread = connect({ url: server.url, token: server.server.token }).open("t");
    const run = await thread.run("Much.");
    const socket = connectSocket(Number(new URL(server.url).port), "127.0.0.1");
    socket.pause();
    socket.write(
      `GET /v1/threads/t/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.server.token}\r\n\r\n`,
    );
    const other = readStream(server, "/threads/t/events", (all) => all.some(({ event }) => event === "run-end"));
    expect(await run.result).toMatchObject({ status: "completed" });
    await other;
    expect((await server.get("/threads/t")).body.state).toBe("completed");
    socket.destroy();
  });

  test("a draining server says bye, refuses new work, and its threads continue elsewhere", async () => {
    const store = memoryStore();
    const model = scriptedModel([[{ text: "A" }, { wait: 100 }, { text: "B" }], "Again."]);
    const make = () => createRunner({ agent: agent({ name: "guide", model }), store });
    const server = await startServer({ runner: make() });
    await server.post("/threads/t/runs", { input: "Go." });
    let isOpen = false;
    const stream = readStream(server, "/threads/t/events", () => {
      isOpen = true;
      return false;
    });
    await expect.poll(() => isOpen && model.requests.length).toBe(1);
    const closing = server.server.close({ timeoutMs: 3000 });
    expect((await stream).at(-1)).toMatchObject({ event: "bye" });
    expect((await server.get("/readyz")).status).toBe(503);
    expect((await server.get("/healthz")).status).toBe(200);
    expect((await server.post("/threads/t/steer", { input: "x" })).body).toMatchObject({
      status: 503,
      code: "DRAINING",
    });
    await closing;
    await server[Symbol.asyncDispose]();
    await using next = await startServer({ runner: make() });
    // The worker of the next server moves the threads that the first released.
    await expect.poll(async () => (await next.get("/threads/t")).body.state, { timeout: 10_000 }).toBe("completed");
  });
});
