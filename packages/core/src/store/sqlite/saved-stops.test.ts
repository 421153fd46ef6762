import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf, openDatabase, wrapStore } from "@belay/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  agent,
  createRunner,
  jsonSchema,
  type Model,
  type ModelEvent,
  type Session,
  type Store,
  tool,
} from "../../index.ts";
import { sqliteStore } from "./sqlite.ts";

const STOPS = 1_000;
const modes = ["now", "after-model", "now", "after-tools"] as const;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belay-stops-"));
  file = join(folder, "threads.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

/** Words and three calls, then words: it waits for no timer, so that each tick is another place to stop at. */
const model: Model = {
  id: "ticking",
  async *stream({ messages }): AsyncGenerator<ModelEvent> {
    const late = messages.some(({ role }) => role === "tool");
    for (const text of ["some ", "words"]) {
      await ticks(3);
      yield { type: "text", text };
    }
    if (!late) for (const name of ["quick", "slow", "alone"]) yield { type: "call", id: name, tool: name, args: {} };
    yield { type: "finish", finish: late ? "stop" : "tool-calls" };
  },
};

const input = jsonSchema<object>({ type: "object" });
const takes = (name: string, count: number, more: object = {}) =>
  tool({ name, description: "", input, execute: () => ticks(count), ...more });
const definition = agent({
  name: "helper",
  model,
  tools: [takes("quick", 0), takes("slow", 12), takes("alone", 4, { serial: true })],
});

/** Returns the stop that a new reader sees: through a handle, a store and a runner of its own. */
async function readAnew(threadId: string) {
  const db = await openDatabase(file);
  const store = sqliteStore(db);
  const runner = createRunner({ agent: definition, store });
  const { state, pauseType, interrupts } = await runner.open(threadId);
  const facts = await factsOf(store, threadId);
  const last = facts.findLast((fact) => fact.type === "state");
  const stops = facts.flatMap((fact) =>
    fact.type === "command" && fact.runId === last?.runId && fact.segment === last.segment ? [fact.key] : [],
  );
  await runner.close();
  db.close();
  const [stop] = interrupts;
  const record = { runId: last?.runId, segment: last?.segment, stops };
  return { state, pauseType, count: interrupts.length, id: stop?.id, reason: stop?.reason, ...record };
}

/**
 * Stops threads, each segment one tick later than the one before, until a stop comes after the end; then the next thread begins at
 * its first tick. Returns the accepted stops that the file did not have.
 */
async function stopAndRead(most: number, change: (store: Store) => Store = (store) => store) {
  const db = await openDatabase(file);
  const runner = createRunner({ agent: definition, store: change(sqliteStore(db)) });
  const problems: string[] = [];
  const segments = new Set<number>();
  let accepted = 0;
  let tooLate = 0;
  let session: Session | undefined;
  for (let asked = 0, after = 0; accepted < most; asked++) {
    session ??= await runner.open(`thread-${asked}`);
    const run = session.state === "paused" ? session.resume() : session.run("go");
    await ticks(after);
    const [id, reason] = [`stop-${asked}`, `for reason ${asked}`];
    const receipt = await session.interrupt({ id, reason, mode: modes[asked % modes.length]! });
    const found = await readAnew(session.threadId);
    if (receipt.accepted) {
      accepted += 1;
      after += 1;
      const { runId, segment } = receipt;
      segments.add(segment!);
      const paused = { state: "paused", pauseType: "user_interrupt", count: 1, id: `${runId}.${segment}`, reason };
      const expected = { ...paused, runId, segment, stops: [`stop:${id}`] };
      if (JSON.stringify(found) !== JSON.stringify(expected))
        problems.push(
          `stop ${asked} after ${after} ticks: told ${JSON.stringify(expected)}, read ${JSON.stringify(found)}`,
        );
    } else {
      tooLate += 1;
      after = 0;
      if (found.state !== "completed") problems.push(`stop ${asked} was not accepted, and it reads ${found.state}`);
    }
    const { status } = await run.result;
    // The rest of a thread that was stopped a few times is short: a new one has every tick again.
    if (status !== "interrupted" || receipt.segment! >= 4) {
      await session.close();
      session = undefined;
    }
  }
  await runner.close();
  db.close();
  return { accepted, tooLate, segments: segments.size, problems };
}

test("X3, F1, S2: each of 1,000 accepted stops is in the file when its receipt comes; a reader that opens the file anew reads that very stop", async () => {
  const { accepted, tooLate, segments, problems } = await stopAndRead(STOPS);
  expect(problems).toEqual([]);
  expect([accepted, segments]).toEqual([STOPS, 4]);
  console.log(`${accepted} stops were accepted, ${tooLate} came after the end`);
  expect(tooLate).toBeGreaterThan(0);
});

test("the test can fail: a store that says it has the pause, and has not, is caught by the first stop", async () => {
  const forgets = (store: Store) =>
    wrapStore(store, {
      async append(key, append) {
        if (append.state !== "paused" || !("fence" in append.writer)) return store.append(key, append);
        const { fence } = append.writer;
        await store.release(key, fence);
        return { ok: true, fence, mail: false };
      },
    });
  const { problems } = await stopAndRead(1, forgets);
  expect(problems.join()).toMatch(/"user_interrupt".*, read .*"pauseType":"crash"/);
});
