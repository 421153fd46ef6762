import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlePrograms, openStore, postgresServer, sqliteFiles, startChild } from "@belay/testkit/processes";
import { beforeAll, describe, expect, test } from "vitest";
import { memoryStore } from "../index.ts";
import type { DueThread } from "../store/store.ts";
import { dispatcherSuite, storeRecord } from "../testing/index.ts";
import { pollingDispatcher } from "./polling-dispatcher.ts";

let programs: string;
beforeAll(async () => {
  programs = await bundlePrograms();
});

const traits = { latenessMs: 100, redeliveryMs: 2_000, kills: true, backlog: 100 } as const;

describe.each([sqliteFiles, postgresServer])("the loop without an engine, in $name", (place) => {
  const make = async () => {
    const folder = mkdtempSync(join(tmpdir(), "belay-loop-"));
    const where = await place.at(folder);
    const { store, close } = await openStore(where);
    return {
      open: () => pollingDispatcher(store, { pollMs: 20 }),
      record: storeRecord(store),
      start: (plan: object) => startChild(programs, "serveLoop", { where, plan }),
      close: async () => {
        await close();
        await place.remove(where);
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
  for (const { name, run, skip } of dispatcherSuite(make, traits)) test.skipIf(skip !== undefined)(name, run);
});

/** Due threads in memory, in order. A thread is due until it is taken. */
function waitingThreads(count: number) {
  const rows = new Map<string, DueThread>();
  for (let i = 0; i < count; i++) rows.set(`t${i}`, { tenant: "acme", threadId: `t${i}`, head: 1, fence: 1, since: i });
  const limits: number[] = [];
  const due = async (limit: number) => {
    limits.push(limit);
    await sleep(1);
    return [...rows.values()].slice(0, limit);
  };
  return { rows, limits, due };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Serves until no thread is due. Returns how many moves there were. */
async function serveAll(workers: number, { rows, due }: ReturnType<typeof waitingThreads>, takesMs: number) {
  const ending = new AbortController();
  let moves = 0;
  const move = async ({ threadId }: { readonly threadId: string }) => {
    moves += 1;
    // A worker reads a thread, takes it, and then runs it.
    await sleep(takesMs);
    if (!rows.delete(threadId)) return {};
    await sleep(takesMs);
    if (rows.size === 0) ending.abort();
    return {};
  };
  const loops = Array.from({ length: workers }, () => pollingDispatcher({ due }, { pollMs: 60_000 }));
  await Promise.all(loops.map((loop) => loop.serve(move, { concurrency: 8, signal: ending.signal })));
  return moves;
}

describe("the loop without an engine", () => {
  test("a look reads few rows, however many threads were moved before; free slots are filled without a pause", async () => {
    const threads = waitingThreads(500);
    expect(await serveAll(1, threads, 2)).toBe(500);
    expect(Math.max(...threads.limits)).toBeLessThanOrEqual(64);
  });

  test("eight workers with many threads to choose from seldom move the same one", async () => {
    expect(await serveAll(8, waitingThreads(1_500), 20)).toBeLessThan(1.5 * 1_500);
  });

  test("reports how many threads wait, and since when", async () => {
    const store = memoryStore();
    const record = storeRecord(store);
    const dispatcher = pollingDispatcher(store);
    expect(await dispatcher.depth!()).toEqual({ waiting: 0 });
    const began = Date.now();
    for (const threadId of ["a", "b"]) await record.wake({ tenant: "acme", threadId });
    const { waiting, oldestAt } = await dispatcher.depth!();
    expect(waiting).toBe(2);
    expect(oldestAt).toBeGreaterThanOrEqual(began);
  });

  test("a wake is looked at at once, however long the poll", async () => {
    const store = memoryStore();
    const record = storeRecord(store);
    const dispatcher = pollingDispatcher(store, { pollMs: 60_000 });
    const ending = new AbortController();
    let moved = () => {};
    const once = new Promise<void>((resolve) => (moved = resolve));
    const move = async () => {
      moved();
      return {};
    };
    const served = dispatcher.serve(move, { concurrency: 1, signal: ending.signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await record.wake({ tenant: "acme", threadId: "a" });
    await dispatcher.wake({ tenant: "acme", threadId: "a" });
    await once;
    ending.abort();
    await served;
  });
});
