// Readers that join at any fact, and readers behind a proxy that cuts at any byte: each has the view of one that stayed.

import { once, setMaxListeners } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { connect, emptyThread, foldThread, isThreadEvent, type ThreadView } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { readStream, type StreamEvent, startServer, type TestServer } from "./testing.ts";

const { cutStreams, seed } = inject("effort");
const AT_ONCE = 50;

/** A browser says so when its network is back, and a client that waits connects at once. */
const network = new EventTarget();
setMaxListeners(AT_ONCE + 1, network);
Object.assign(globalThis, {
  addEventListener: network.addEventListener.bind(network),
  removeEventListener: network.removeEventListener.bind(network),
});
const online = () => setImmediate(() => network.dispatchEvent(new Event("online")));

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});

interface Story extends AsyncDisposable {
  readonly server: TestServer;
  /** The thread, and its fork. */
  readonly threads: readonly string[];
}

/** A server with a thread that has asked, was answered, was stopped in a call that ended late, and was forked. */
async function told(): Promise<Story> {
  let end = (_: string) => {};
  const ends = new Promise<string>((resolve) => (end = resolve));
  const deaf = tool({
    name: "deaf",
    description: "Does not hear its signal.",
    input: jsonSchema<object>({ type: "object" }),
    execute: () => ends,
  });
  const model = scriptedModel([
    [{ call: "pay", args: { euros: 9 } }],
    "Paid, with a rope: 🧗‍♀️ ".repeat(20),
    [{ text: "I listen." }, { call: "deaf", args: {} }],
    "And more.",
    "Instead.",
  ]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay, deaf] }) });
  const server = await startServer({ runner, rate: false });
  const until = (type: string, times = 1) =>
    readStream(server, "/threads/t/events", (all) => all.filter(({ event }) => event === type).length === times);
  await server.post("/threads/t/runs", { input: "Pay." }, { prefer: "wait=30" });
  const { id } = (await server.get("/inbox")).body.items[0];
  await server.post(`/requests/${id}/answer`, { type: "approve" });
  await until("run-end");
  await server.post("/threads/t/runs", { input: "Listen." });
  await until("tool-start", 2);
  const stopped = await server.post("/threads/t/interrupt", { graceMs: 10 });
  expect(stopped.body.late).toHaveLength(1);
  end("heard");
  await server.post("/threads/t/resume", { input: "More?" }, { prefer: "wait=30" });
  await until("tool-late");
  const { body: fork } = await server.post("/threads/t/fork", { before: await firstOf(server, "Listen.") });
  await server.post(`/threads/${fork.threadId}/runs`, { input: "Instead?" }, { prefer: "wait=30" });
  return { server, threads: ["t", fork.threadId], [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function firstOf(server: TestServer, text: string): Promise<string> {
  const { items } = (await server.get("/threads/t/messages")).body;
  return items.find(({ parts }: { parts: { text?: string }[] }) => parts[0]?.text === text).id;
}

const isLive = (all: readonly StreamEvent[]) => all.some(({ event }) => event === "live");

async function viewFrom(server: TestServer, threadId: string, after: number, view: ThreadView): Promise<ThreadView> {
  const events = await readStream(server, `/threads/${threadId}/events?after=${after}`, isLive);
  const facts = events.filter(({ id }) => id !== undefined);
  expect(facts.map(({ data }) => data.seq)).toEqual(facts.map((_, i) => after + 1 + i));
  return events.filter(({ data }) => "seq" in data).reduce((now, { data }) => foldThread(now, data), view);
}

test("a reader that connects again at any fact has the view of one that stayed", async () => {
  await using story = await told();
  const { server } = story;
  for (const threadId of story.threads) {
    const { head } = (await server.get(`/threads/${threadId}`)).body;
    const whole = await viewFrom(server, threadId, 0, emptyThread);
    expect(whole.state).toBe("completed");
    const { items } = (await server.get(`/threads/${threadId}/facts?limit=1000`)).body;
    for (let at = 1; at <= head; at++) {
      const seen = items.slice(0, at).reduce(foldThread, emptyThread);
      expect(await viewFrom(server, threadId, at, seen), `${threadId} after ${at}`).toEqual(whole);
    }
  }
  const { head } = (await server.get("/threads/t")).body;
  const beyond = await readStream(server, `/threads/t/events?after=${head + 5}`, (all) => all.length > head);
  expect(beyond[0]).toMatchObject({ event: "reset" });
  expect(beyond[1]).toMatchObject({ id: "1" });
  const tail = await readStream(server, "/threads/t/events?tail=3", isLive);
  expect(tail.map(({ id }) => id)).toEqual([head - 2, head - 1, head].map(String).concat([undefined as never]));
});

/** A proxy whose n-th connection ends after `cuts[n]` bytes of the server's answer; later ones are whole. */
async function cuttingProxy(url: string, cuts: readonly number[]): Promise<{ url: string } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const proxy = createServer((near) => {
    const far = connectSocket(Number(new URL(url).port), "127.0.0.1");
    let left = cuts[connections++] ?? Number.POSITIVE_INFINITY;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) sockets.add(socket.on("error", end).on("close", end));
    near.pipe(far);
    far.on("data", (bytes) => {
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) near.end(end);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

test("a line that a proxy cuts at any byte loses and doubles no fact", async () => {
  await using story = await told();
  const { server } = story;
  const wholes = new Map<string, ThreadView>();
  for (const threadId of story.threads) wholes.set(threadId, await viewFrom(server, threadId, 0, emptyThread));
  const { items } = (await server.get("/threads/t/facts?limit=1000")).body;
  const bytes = items.reduce((sum: number, each: object) => sum + JSON.stringify(each).length + 40, 800);

  const follow = async (threadId: string, cuts: readonly number[]) => {
    await using proxy = await cuttingProxy(server.url, cuts);
    const thread = connect({ url: proxy.url, token: server.server.token }).open(threadId);
    const gone = new AbortController();
    const seqs: number[] = [];
    let view = emptyThread;
    for await (const event of thread.events({ signal: gone.signal })) {
      if (isThreadEvent(event)) view = foldThread(view, event);
      if (isThreadEvent(event)) seqs.push(event.seq);
      if (event.type === "connection" && event.state === "lost") online();
      if (event.type === "live") gone.abort();
    }
    const whole = wholes.get(threadId)!;
    expect(seqs).toEqual(Array.from({ length: whole.head }, (_, i) => i + 1));
    expect(view).toEqual(whole);
  };
  const cuts = fc.array(fc.integer({ min: 1, max: bytes }), { minLength: 1, maxLength: 2 });
  const line = fc.tuple(fc.constantFrom(...story.threads), cuts);
  const atOnce = Math.min(AT_ONCE, cutStreams);
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: atOnce, maxLength: atOnce }), async (lines) => {
      await Promise.all(lines.map(([threadId, at]) => follow(threadId, at)));
    }),
    { numRuns: Math.ceil(cutStreams / atOnce), seed, endOnFailure: true },
  );
});
