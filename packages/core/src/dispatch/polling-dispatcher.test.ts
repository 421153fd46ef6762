import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlePrograms, openStore, postgresServer, sqliteFiles, startChild } from "@belay/testkit/processes";
import { beforeAll, describe, expect, test } from "vitest";
import { memoryStore } from "../index.ts";
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

describe("the loop without an engine", () => {
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
