// Readers whose line breaks at any byte, and readers that join at any fact: each sees every fact once, in order.

import { connect, emptyThread, foldThread, isThreadEvent, type ThreadView } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { readStream, startServer, type TestServer } from "./testing.ts";

const { cutStreams, seed } = inject("effort");

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});

/** A server with a thread that has asked, was answered, and has ended. */
async function started(): Promise<TestServer> {
  const model = scriptedModel([
    [{ call: "pay", args: { euros: 9 } }],
    "Paid, with a rope: 🧗‍♀️ ".repeat(20),
    "And more.",
  ]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
  const server = await startServer({ runner, rate: false });
  await server.post("/threads/t/runs", { input: "Pay." }, { prefer: "wait=30" });
  const { id } = (await server.get("/inbox")).body.items[0];
  await server.post(`/requests/${id}/answer`, { type: "approve" });
  await readStream(server, "/threads/t/events", (all) => all.some(({ event }) => event === "run-end"));
  await server.post("/threads/t/runs", { input: "More?" }, { prefer: "wait=30" });
  return server;
}

async function viewFrom(server: TestServer, after: number, view: ThreadView): Promise<ThreadView> {
  const isLive = (all: readonly { event: string }[]) => all.some(({ event }) => event === "live");
  const path = after === 0 ? "/threads/t/events" : `/threads/t/events?after=${after}`;
  const events = await readStream(server, path, isLive);
  const facts = events.filter(({ id }) => id !== undefined);
  expect(facts.map(({ data }) => data.seq)).toEqual(facts.map((_, i) => after + 1 + i));
  return events.filter(({ data }) => "seq" in data).reduce((now, { data }) => foldThread(now, data), view);
}

test("a reader that connects again at any fact has the view of one that stayed", async () => {
  await using server = await started();
  const { head } = (await server.get("/threads/t")).body;
  const whole = await viewFrom(server, 0, emptyThread);
  const { items } = (await server.get("/threads/t/facts?limit=1000")).body;
  for (let at = 1; at <= head; at++) {
    const seen = items.slice(0, at).reduce(foldThread, emptyThread);
    expect(await viewFrom(server, at, seen), `after ${at}`).toEqual(whole);
  }
  const beyond = await readStream(server, `/threads/t/events?after=${head + 5}`, (all) => all.length > head);
  expect(beyond[0]).toMatchObject({ event: "reset" });
  expect(beyond[1]).toMatchObject({ id: "1" });
  const tail = await readStream(server, "/threads/t/events?tail=3", (all) => all.some(({ event }) => event === "live"));
  expect(tail.map(({ id }) => id)).toEqual([head - 2, head - 1, head].map(String).concat([undefined as never]));
});

test("a line that is cut at any byte loses and doubles no fact", async () => {
  await using server = await started();
  const { head } = (await server.get("/threads/t")).body;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 2 }), async (cuts) => {
      let lines = 0;
      const cutting: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        let left = cuts[lines++] ?? Number.POSITIVE_INFINITY;
        const cut = new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            if (chunk.length <= left) controller.enqueue(chunk);
            else {
              controller.enqueue(chunk.slice(0, left));
              controller.error(new Error("cut"));
            }
            left -= chunk.length;
          },
        });
        return new Response(response.body!.pipeThrough(cut), response);
      };
      const thread = connect({ url: server.url, token: server.server.token, fetch: cutting }).open("t");
      const gone = new AbortController();
      const seqs: number[] = [];
      for await (const event of thread.events({ signal: gone.signal, drafts: false })) {
        if (isThreadEvent(event)) seqs.push(event.seq);
        if (event.type === "live") gone.abort();
      }
      expect(seqs).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    }),
    { numRuns: cutStreams, seed },
  );
});
