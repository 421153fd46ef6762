import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { messageText } from "../message.ts";
import { readFacts } from "../runner/read-facts.ts";
import { createRunner } from "../runner/runner.ts";
import { factProblems } from "../testing/journal-checks.ts";
import { bundlePrograms } from "../testing/processes/bundle.mjs";
import { type Child, inParallel, startChild } from "../testing/processes/child.ts";
import { openStore } from "../testing/processes/open-store.ts";
import { places, postgresServer } from "../testing/processes/places.ts";
import { type WorkerEffect, workingAgent } from "../testing/processes/worker.ts";
import type { Store } from "./store.ts";

// BELAY_CHAOS_MS is how long workers are killed, in every place that several machines may share; BELAY_CHAOS_SEED which.
const given = process.env.BELAY_CHAOS_MS;
const chaosMs = Number(given ?? 12_000);
const seed = Number(process.env.BELAY_CHAOS_SEED ?? Date.now() % 1_000_000);
const shared = given === undefined ? [postgresServer] : places.filter(({ leaseTtlMs }) => leaseTtlMs !== undefined);

const WORKERS = 4;
const THREADS = 200;
const LEASE_MS = 1_000;
/** So many inputs for each thread that there is work to the end. */
const inputs = Array.from({ length: Math.max(1, Math.round(chaosMs / 15_000)) }, (_, i) => `question ${i}`);
const ids = Array.from({ length: THREADS }, (_, i) => `thread-${i}`);
const keyOf = (threadId: string) => ({ tenant: "default", threadId });

let programs: Awaited<ReturnType<typeof bundlePrograms>>;
let folder: string;

beforeAll(async () => {
  programs = await bundlePrograms();
});
afterAll(() => programs.remove());

function random(): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Threads that have said hello, and have their questions waiting. */
async function begin(store: Store): Promise<void> {
  const runner = createRunner({ agent: workingAgent(folder, 0), store });
  await inParallel(ids, 8, async (threadId) => {
    await (await runner.open(threadId)).run("hello").result;
    for (const [at, text] of inputs.entries()) {
      const body = JSON.stringify({ messages: [{ parts: [{ type: "text", text }] }] });
      await store.send(keyOf(threadId), { key: text, kind: "input", body, at });
    }
  });
  await runner.close();
}

/** Kills workers, or has them stand still for longer than their lease, and starts others. */
async function chaos(start: () => Child): Promise<{ readonly kills: number; readonly children: Child[] }> {
  const next = random();
  const children = Array.from({ length: WORKERS }, start);
  const end = Date.now() + chaosMs;
  let kills = 0;
  while (Date.now() < end) {
    await sleep(200 + next() * 800);
    const which = Math.floor(next() * WORKERS);
    const child = children[which]!;
    if (next() < 0.2) {
      child.signal("SIGSTOP");
      setTimeout(() => child.signal("SIGCONT"), 1.5 * LEASE_MS);
      continue;
    }
    child.signal("SIGKILL");
    kills += 1;
    children[which] = start();
  }
  return { kills, children };
}

/** Waits until nothing can move any more; what was set aside because it crashed too often, a person resumes. */
async function settled(store: Store): Promise<void> {
  const runner = createRunner({ agent: workingAgent(folder, 0), store });
  for (;;) {
    const open = (await store.threads("default")).filter(({ state, queued, lease }) => {
      return state !== "completed" || queued || lease !== undefined;
    });
    if (open.length === 0) break;
    for (const { threadId, state, lease } of open) {
      if (state !== "error" || lease !== undefined) continue;
      await (await runner.open(threadId)).resume().result.catch(() => {});
    }
    await sleep(200);
  }
  await runner.close();
}

function linesOf(file: string): string[] {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").filter(Boolean) : [];
}

async function problemsOf(store: Store, threadId: string, effects: readonly WorkerEffect[]): Promise<string[]> {
  const facts = await readFacts(store, keyOf(threadId), 0);
  const problems = factProblems(facts);
  const said = facts.flatMap((fact) => (fact.type === "message" ? [fact.message] : []));
  for (const text of inputs) {
    const times = said.filter((message) => message.role === "user" && messageText(message) === text).length;
    const answers = said.filter((message) => messageText(message) === `answered ${text}`).length;
    if (times !== 1 || answers !== 1) problems.push(`${text} was asked ${times} times and answered ${answers} times`);
  }
  const place = ({ runId, address }: { readonly runId: string; readonly address: string }) => `${runId} ${address}`;
  const started = new Set(facts.flatMap((fact) => (fact.type === "tool-start" ? [place(fact)] : [])));
  const mine = effects.filter((effect) => effect.threadId === threadId);
  for (const effect of mine) {
    if (!started.has(place(effect))) problems.push(`${place(effect)} ran without a recorded intent`);
    const times = mine.filter((other) => place(other) === place(effect)).length;
    if (effect.tool === "pay" && times > 1) problems.push(`${place(effect)} paid ${times} times`);
  }
  return problems.map((problem) => `${threadId}: ${problem}`);
}

describe.each(shared)("four workers and two hundred threads in $name", (place) => {
  test("L1, P1, P2, P5: whichever of them is killed or stands still, every thread reaches its end, and nothing is lost or done twice", {
    timeout: 10 * chaosMs + 240_000,
  }, async () => {
    folder = mkdtempSync(join(tmpdir(), "belay-workers-"));
    const where = await place.at(folder);
    const { store, close } = await openStore(where);
    const options = { where, folder, leaseTtlMs: LEASE_MS, modelMs: 200 };
    const start = () => startChild(programs.path, "worker", options, chaosMs + 200_000);
    let children: Child[] = [];
    try {
      await begin(store);
      const done = await chaos(start);
      children = done.children;
      await settled(store);
      // Told to end, a worker ends in order. The last one may have been started a moment ago.
      await Promise.all(children.map((child) => child.said("works")));
      for (const child of children) child.signal("SIGTERM");
      const codes = await Promise.all(children.map(async (child) => (await child.exited).code));
      expect(codes).toEqual(children.map(() => 0));
      const effects = linesOf("effects").map((line) => JSON.parse(line) as WorkerEffect);
      const problems = await inParallel(ids, 8, (threadId) => problemsOf(store, threadId, effects));
      expect({ seed, problems: problems.flat() }).toEqual({ seed, problems: [] });
      expect(linesOf("problems")).toEqual([]);
      expect(done.kills).toBeGreaterThan(5);
      console.log(`seed ${seed}: ${done.kills} kills, ${effects.length} effects in ${THREADS} threads`);
    } finally {
      for (const child of children) child.signal("SIGKILL");
      await close();
      await place.remove(where);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
