// The cost of a request about a long thread.

import { agent, createRunner, memoryStore, type Store } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { readStream, startServer } from "./testing.ts";

/** A store that keeps the number of lines that each load has read. */
function countedStore(): { readonly store: Store; readonly loads: number[] } {
  const store = memoryStore();
  const loads: number[] = [];
  const load = store.load.bind(store);
  store.load = async (key, after) => {
    const loaded = await load(key, after);
    loads.push(loaded?.lines.length ?? 0);
    return loaded;
  };
  return { store, loads };
}

test("the tail of a thread is read without the facts before it", async () => {
  const { store, loads } = countedStore();
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(() => "A rope.") }), store });
  await using server = await startServer({ runner });
  for (let i = 0; i < 40; i++) await (await runner.start("t", "What is a belay?")).result;
  loads.length = 0;
  const events = await readStream(server, "/threads/t/events?tail=3", (all) => all.at(-1)?.event === "live");
  expect(events.map(({ event }) => event)).toEqual(["message", "run-end", "state", "live"]);
  expect(Math.max(...loads)).toBeLessThanOrEqual(1);
});
