import { faultyStore, type Kit, openKit, until } from "@belay/testkit";
import { expect, onTestFinished, test } from "vitest";
import { jsonSchema, memoryStore, type Store, tool } from "../../index.ts";
import type { ScriptedTurn } from "../../testing/index.ts";

const input = jsonSchema<object>({ type: "object" });
const threads = ["a", "b"];
const rowsOf = (store: Store) =>
  Promise.all(threads.map(async (threadId) => (await store.load({ tenant: "default", threadId }))?.row));

/** A process with a store that fails from the moment that both threads have begun their calls. */
async function killed(store: Store, begin: (process: Kit) => void, turns: ScriptedTurn[]) {
  const side = faultyStore(store);
  let begun = 0;
  const execute = () => {
    begun += 1;
    return new Promise(() => {});
  };
  const slow = tool({ name: "slow", description: "", input, repeatable: true, execute });
  const more = { store: side, threadId: "w", tools: [slow], leaseTtlMs: 30, runner: { log() {} } };
  begin(await openKit(turns, more));
  await until(() => begun === threads.length);
  side.kill();
  await until(async () => (await rowsOf(store)).every((row) => row?.lease === undefined));
}

test("C5, L1: of two on their last try the second continues when the first has made a step, however long that one takes", async () => {
  const store = memoryStore();
  const call = [{ call: "slow" }];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const run = async ({ runner }: Kit) => {
    for (const id of threads) (await runner.open(id)).run("go");
  };
  await killed(store, (kit) => void run(kit), [call, call]);
  for (const _ of [1, 2]) {
    const life = new AbortController();
    await killed(store, ({ runner }) => void runner.work({ pollMs: 5, signal: life.signal }), []);
    life.abort();
  }
  let [atOnce, most] = [0, 0];
  const execute = async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await new Promise((resolve) => setTimeout(resolve, 30));
    atOnce -= 1;
  };
  const quick = tool({ name: "slow", description: "", input, repeatable: true, execute });
  const { runner } = await openKit([[{ stall: true }], "well"], { store, threadId: "w", tools: [quick] });
  void runner.work({ pollMs: 5, signal: stop.signal });
  await until(async () => (await rowsOf(store)).some((row) => row?.state === "completed"));
  expect(most).toBe(1);
  await runner.close();
}, 10_000);
