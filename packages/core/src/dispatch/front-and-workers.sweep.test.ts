// A front and four workers, each a process, on the engine that --engine names.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf } from "@belay/testkit";
import {
  bundlePrograms,
  type Child,
  type EngineSettings,
  openDispatcher,
  openStore,
  postgresServer,
  STEPS,
  startChild,
} from "@belay/testkit/processes";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { startEngine } from "../../../../scripts/services/engines.mjs";
import { createRunner, type Runner } from "../index.ts";
import type { Store } from "../store/store.ts";

const { engine, everyVariant } = inject("effort");
const WORKERS = 4;
const LEASE_MS = 2_000;
/** A busy machine adds so much; `npm run bench -- workers` has the figures. */
const BUSY_MS = 4_000;

describe(`a front and four workers, by ${engine}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-front-"));
  const ends: (() => unknown)[] = [];
  const workers: Child[] = [];
  let start: (place: number) => Child;
  let store: Store;
  let front: Runner;

  beforeAll(async () => {
    const programs = await bundlePrograms();
    const where = await postgresServer.at(folder);
    const opened = await openStore(where);
    store = opened.store;
    const own = engine === "loop" ? undefined : await startEngine(engine, WORKERS);
    const settings = (place?: number) => (own?.settings(place) ?? { engine: "loop" }) as EngineSettings;
    const dispatcher = await openDispatcher(settings(), store);
    start = (place) => {
      const options = { where, engine: settings(place), leaseTtlMs: LEASE_MS };
      const worker = startChild(programs, "talkingWorker", options, 600_000);
      workers[place] = worker;
      return worker;
    };
    front = createRunner({ store, dispatcher, start: "worker" });
    for (let place = 0; place < WORKERS; place++) start(place);
    await Promise.all(workers.map((worker) => worker.said("works")));
    ends.push(
      () => front.close(),
      () => dispatcher.close(),
      () => opened.close(),
      () => own?.stop(),
      () => postgresServer.remove(where),
    );
  });
  afterAll(async () => {
    for (const worker of workers) worker.signal("SIGKILL");
    for (const end of ends) await end();
    rmSync(folder, { recursive: true, force: true });
  });

  const ownerOf = async (threadId: string) => Number((await front.look(threadId))?.owner?.name.split("/")[1]);

  /** Resolves when the thread streams text; gives the number of its first word's process. */
  async function talks(threadId: string): Promise<void> {
    for await (const event of front.events(threadId)) if (event.type === "text-delta") return;
  }

  test("L1, V4: text of any worker streams to the front, and a stop from there reaches it", async () => {
    const took: number[] = [];
    const owners = new Set<number>();
    for (let i = 0; i < (everyVariant ? 60 : 12); i++) {
      const threadId = `talk-${i}`;
      await front.send(threadId, "talk", { agent: "talker" });
      await talks(threadId);
      owners.add(await ownerOf(threadId));
      const asked = performance.now();
      const receipt = await front.interrupt(threadId);
      took.push(performance.now() - asked);
      expect(receipt).toMatchObject({ accepted: true });
      expect(receipt.partialText).toMatch(/^word /);
    }
    took.sort((a, b) => a - b);
    const shown = (q: number) => took[Math.floor(took.length * q)]!.toFixed(1);
    console.log(`${engine}: stops took ${shown(0.5)} ms (median), ${shown(0.99)} ms (p99); ${owners.size} workers`);
    expect(owners.size).toBeGreaterThan(1);
    expect(took.at(-1)).toBeLessThan(BUSY_MS);
  });

  test("P1: another worker continues a thread within its lease and two seconds after its worker was killed", async () => {
    await front.send("taken", "talk", { agent: "talker" });
    await talks("taken");
    const pid = await ownerOf("taken");
    const place = workers.findIndex((worker) => worker.pid === pid);
    workers[place]!.signal("SIGKILL");
    const killedAt = Date.now();
    let next = pid;
    while (!(next > 0 && next !== pid)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      next = await ownerOf("taken");
    }
    const tookMs = Date.now() - killedAt;
    console.log(`${engine}: taken over after ${tookMs} ms, with a lease of ${LEASE_MS} ms`);
    expect(tookMs).toBeLessThan(LEASE_MS + 2_000 + BUSY_MS);
    expect(await front.interrupt("taken")).toMatchObject({ accepted: true });
    await start(place).said("works");
  });

  test("a worker that gets SIGTERM hands its threads over: no step is lost or repeated, and none waits for long", async () => {
    const ids = Array.from({ length: 8 }, (_, i) => `steps-${i}`);
    for (const threadId of ids) await front.send(threadId, "steps", { agent: "talker" });
    await until(async () =>
      (await Promise.all(ids.map((id) => stepsOf(store, id)))).every((steps) => steps.length > 3),
    );
    // Two of four, so that at least one of them has a thread.
    const leaving = workers.slice(0, 2);
    const toldAt = Date.now();
    for (const worker of leaving) worker.signal("SIGTERM");
    // A thread that a person has stopped is left alone.
    const talked = (await store.threads("default")).filter(({ threadId }) => !threadId.startsWith("steps"));
    expect(talked.filter(({ state }) => state !== "paused")).toEqual([]);
    expect(await Promise.all(leaving.map(async ({ exited }) => (await exited).code))).toEqual([0, 0]);
    const leftAfterMs = Date.now() - toldAt;
    await until(async () => {
      const rows = await Promise.all(ids.map((id) => front.look(id)));
      return rows.every((row) => row?.state === "completed");
    });
    const gaps: number[] = [];
    for (const id of ids) {
      const steps = await stepsOf(store, id);
      expect(steps.length).toBe(STEPS);
      gaps.push(...steps.slice(1).map((at, i) => at - steps[i]!));
    }
    console.log(
      `${engine}: workers left after ${leftAfterMs} ms; the longest pause of a thread was ${Math.max(...gaps)} ms`,
    );
    expect(Math.max(...gaps)).toBeLessThan(1_000 + BUSY_MS);
  });
});

/** The times at which a thread's calls began. */
async function stepsOf(store: Store, threadId: string): Promise<number[]> {
  const found = await store.load({ tenant: "default", threadId }, Number.MAX_SAFE_INTEGER);
  if (found === undefined) return [];
  const facts = await factsOf(store, threadId);
  return facts.flatMap((fact) => (fact.type === "tool-start" ? [fact.at] : []));
}

async function until(is: () => Promise<boolean>): Promise<void> {
  while (!(await is())) await new Promise((resolve) => setTimeout(resolve, 50));
}
