// Every POST of the table, sent twice with one key, and once more after its line was cut before the answer: one effect.

import { connect as connectSocket } from "node:net";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";
import { openDatabase } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { type Answered, routes, startServer, type TestServer } from "./testing.ts";

type Fact = { readonly type: string; readonly state?: string; readonly action?: { readonly interrupted?: object } };

const facts = async (server: TestServer, threadId = "t") =>
  (await server.get(`/threads/${threadId}/facts?limit=1000`)).body.items as Fact[];
const count = async (server: TestServer, is: (fact: Fact) => boolean) => (await facts(server)).filter(is).length;
const waits = async (server: TestServer) => (await server.get("/threads/t/waiting")).body.items.length;
const threads = async (server: TestServer) => (await server.get("/threads")).body.items.length;
const comesTo = (server: TestServer, state: string) =>
  expect.poll(async () => (await server.get("/threads/t")).body.state).toBe(state);
const requestId = async (server: TestServer): Promise<string> => (await server.get("/inbox")).body.items[0].id;

interface Case {
  /** The turns of the model, and the acts on thread t before the request. */
  readonly turns: Parameters<typeof scriptedModel>[0];
  readonly before?: (server: TestServer) => Promise<unknown>;
  readonly path: string | ((server: TestServer) => Promise<string>);
  readonly body: object | ((server: TestServer) => Promise<object>);
  /** The part of the answer that stays the same while the run moves on; all of it by default. */
  readonly same?: (body: Answered["body"]) => unknown;
  /** Counts the effects. */
  readonly effects: (server: TestServer) => Promise<number>;
  readonly expected: number;
  readonly damage?: true;
}

const stalls = [[{ text: "A rope," }, { stall: true as const }], "More."] as const;
const asks = [[{ call: "pay", args: { euros: 9 } }], "Done."] as const;
const starts = (server: TestServer) => server.post("/threads/t/runs", { input: "Go." });
const runs = (server: TestServer) => server.post("/threads/t/runs", { input: "Go." }, { prefer: "wait=30" });
const waiting = { turns: [...stalls], before: starts, body: { input: "More." }, effects: waits, expected: 1 };
const paid = async (server: TestServer) => {
  await comesTo(server, "completed");
  return count(server, ({ type }) => type === "tool-end");
};

/** By the name of the route. */
const cases: Readonly<Record<string, Case>> = {
  createThread: {
    turns: ["Hi.", "Hi."],
    path: "/threads",
    body: { input: "Go." },
    same: ({ thread, run }: { thread: { threadId: string }; run: object }) => [thread.threadId, run],
    effects: threads,
    expected: 1,
  },
  run: {
    turns: ["Hi.", "Hi."],
    path: "/threads/t/runs",
    body: { input: "Go." },
    async effects(server) {
      await comesTo(server, "completed");
      return count(server, ({ type }) => type === "run-start");
    },
    expected: 1,
  },
  send: { ...waiting, path: "/threads/t/send", same: ({ how, id }: { how: string; id: string }) => [how, id] },
  steer: { ...waiting, path: "/threads/t/steer" },
  enqueue: { ...waiting, path: "/threads/t/enqueue" },
  observe: { ...waiting, path: "/threads/t/observe" },
  resume: {
    turns: [...stalls, "Again."],
    async before(server) {
      await starts(server);
      await server.post("/threads/t/interrupt");
    },
    path: "/threads/t/resume",
    body: { input: "On." },
    async effects(server) {
      await comesTo(server, "completed");
      return count(server, ({ type, state }) => type === "state" && state === "running");
    },
    expected: 2,
  },
  interrupt: {
    turns: [...stalls],
    before: starts,
    path: "/threads/t/interrupt",
    body: { reason: "wait" },
    effects: (server) => count(server, ({ action }) => action?.interrupted !== undefined),
    expected: 1,
  },
  pause: {
    // It parks after any of them: a busy machine has seconds to ask for it.
    turns: Array.from({ length: 40 }, () => [{ text: "A" }, { wait: 100 }, { call: "note" }]),
    before: starts,
    path: "/threads/t/pause",
    body: {},
    async effects(server) {
      await comesTo(server, "paused");
      return count(server, ({ state }) => state === "paused");
    },
    expected: 1,
  },
  terminate: {
    turns: [...stalls],
    before: starts,
    path: "/threads/t/terminate",
    body: {},
    effects: (server) => count(server, ({ state }) => state === "terminated"),
    expected: 1,
  },
  fork: {
    turns: ["Hi."],
    before: runs,
    path: "/threads/t/fork",
    body: { at: 3 },
    effects: threads,
    expected: 2,
  },
  repair: {
    turns: ["Hi."],
    before: runs,
    damage: true,
    path: "/threads/t/repair",
    body: {},
    effects: threads,
    expected: 2,
  },
  answer: {
    turns: [...asks],
    before: runs,
    path: async (server) => `/requests/${await requestId(server)}/answer`,
    body: { type: "approve" },
    effects: paid,
    expected: 1,
  },
  answerMany: {
    turns: [...asks],
    before: runs,
    path: "/requests/answers",
    body: async (server) => ({ answers: [{ id: await requestId(server), type: "approve" }] }),
    effects: paid,
    expected: 1,
  },
  askPermission: {
    turns: ["Hi."],
    before: runs,
    path: "/threads/t/permission",
    body: { tool: "pay", args: { euros: 1 } },
    effects: (server) => count(server, ({ type }) => type === "tool-start"),
    expected: 0,
  },
  openSession: {
    turns: [],
    path: "/session",
    body: async ({ server }) => ({ token: server.token }),
    effects: threads,
    expected: 0,
  },
};

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});
const note = tool({
  name: "note",
  description: "Notes.",
  input: jsonSchema<object>({ type: "object" }),
  execute: () => "noted",
});

/** Sends a request, and cuts the line once the server has it and before its answer can be read. */
async function sendAndCut({ url, headers }: TestServer, path: string, body: object, key: string): Promise<void> {
  const text = JSON.stringify(body);
  const lines = [
    `POST /v1${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
    `idempotency-key: ${key}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
  await new Promise<void>((resolve) => socket.write(`${lines.join("\r\n")}\r\n\r\n${text}`, () => resolve()));
  await new Promise((resolve) => setTimeout(resolve, 30));
  socket.destroy();
}

const posts = routes.filter(({ method }) => method === "POST").map(({ name }) => name);

describe.each([
  ["twice", false],
  ["once more after its line was cut before the answer", true],
])("a POST sent %s with one key has one effect", (_, cuts) => {
  test.each(posts)("%s", async (name) => {
    const { turns, before, path: given, body: said, effects, expected, damage, same } = cases[name]!;
    const db = await openDatabase(":memory:");
    const model = scriptedModel(turns);
    const runner = createRunner({ agent: agent({ name: "guide", model, tools: [pay, note] }), store: sqliteStore(db) });
    await using server = await startServer({ runner, work: false });
    await before?.(server);
    if (damage) db.exec("UPDATE thread SET updated_at = updated_at + 1");
    const path = typeof given === "string" ? given : await given(server);
    const body = typeof said === "function" ? await said(server) : said;
    const headers = { "idempotency-key": "once" };
    const first = cuts ? await sendAndCut(server, path, body, "once") : await server.post(path, body, headers);
    const second = await server.post(path, body, headers);
    expect(second.status, JSON.stringify(second.body)).toBeLessThan(300);
    const kept = same ?? ((whole: unknown) => whole);
    if (first !== undefined) expect([second.status, kept(second.body)]).toEqual([first.status, kept(first.body)]);
    expect(await effects(server)).toBe(expected);
  });
});
