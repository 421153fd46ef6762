// Streams of a thread that is deleted while they are open.

import { connect } from "@belay/client";
import { agent, createRunner, memoryStore, type Store } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { readStream, type StreamEvent, startServer } from "./testing.ts";

const runnerOn = (store: Store) =>
  createRunner({ agent: agent({ name: "guide", model: scriptedModel(() => "A rope.") }), store });

test.each([
  ["its own server", true],
  ["another process", false],
])("a stream says `reset` and ends when %s deletes the thread", async (_name, here) => {
  const store = memoryStore();
  const other = runnerOn(store);
  await using server = await startServer({ runner: runnerOn(store) });
  await (await other.start("t", "What is a belay?")).result;
  const { head } = (await other.look("t"))!;
  await other.close();
  let deleted: Promise<unknown> | undefined;
  const events = await readStream(server, "/threads/t/events", (all: readonly StreamEvent[]) => {
    if (all.at(-1)?.event === "live") deleted ??= here ? server.delete("/threads/t") : runnerOn(store).delete("t");
    return all.at(-1)?.event === "bye";
  });
  await deleted;
  expect(events.slice(head)).toMatchObject([
    { event: "live" },
    { event: "reset", data: { head: 0 } },
    { event: "bye" },
  ]);
});

test("a client's stream of a deleted thread is reset, and closed with the reason", async () => {
  const store = memoryStore();
  const runner = runnerOn(store);
  await using server = await startServer({ runner });
  await (await runner.start("t", "What is a belay?")).result;
  const said: unknown[] = [];
  for await (const event of connect({ url: server.url, token: server.server.token }).open("t").events({ tail: 1 })) {
    if (event.type === "live") void server.delete("/threads/t");
    if (event.type === "reset") said.push("reset");
    if (event.type === "connection" && event.state === "closed") said.push(event.error?.code);
  }
  expect(said).toEqual(["reset", "THREAD_UNKNOWN"]);
});

test("a stream of a runner that is closed is not reset", async () => {
  const runner = runnerOn(memoryStore());
  await using server = await startServer({ runner });
  await (await runner.start("t", "What is a belay?")).result;
  const events = await readStream(server, "/threads/t/events?tail=1", (all) => {
    if (all.at(-1)?.event === "live") void runner.close();
    return all.at(-1)?.event === "bye";
  });
  expect(events.map(({ event }) => event)).toEqual(["state", "live", "bye"]);
});
