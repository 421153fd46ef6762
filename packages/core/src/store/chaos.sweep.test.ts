import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factProblems, factsOf } from "@belay/testkit";
import {
  bundlePrograms,
  type Child,
  type EngineSettings,
  inParallel,
  ORPHAN,
  openDispatcher,
  openStore,
  type Place,
  places,
  postgresServer,
  sqliteFiles,
  startChild,
  type WorkerEffect,
  workingAgent,
} from "@belay/testkit/processes";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { startEngine } from "../../../../scripts/services/engines.mjs";
import type { Dispatcher } from "../dispatch.ts";
import { approve, createRunner, messageText, type Runner } from "../index.ts";
import type { Store } from "./store.ts";

// The seed chooses which worker is killed, and when.
const { chaosSeconds, everyVariant, seed, engine, tenants } = inject("effort");
const ms = chaosSeconds * 1_000;

interface Chaos {
  readonly place: Place;
  readonly ms: number;
  /** How long, at most, until the next worker is killed. */
  readonly everyMs: number;
  readonly threads: number;
}

const chaoses = places
  .filter((place) => (engine === "loop" ? everyVariant || place === sqliteFiles : place === postgresServer))
  .map((place): Chaos => {
    const isFile = place === sqliteFiles;
    // Each tenant has a thread.
    return { place, ms, everyMs: isFile ? 400 : 1_000, threads: Math.max(tenants, isFile ? 100 : 200) };
  });

const WORKERS = 4;
const LEASE_MS = 1_000;
/** So many inputs for each thread that there is work to the end. */
const inputsOf = ({ ms }: Chaos) => [
  "wire 0",
  "expire 0",
  ...Array.from({ length: Math.max(1, Math.round(ms / 15_000)) }, (_, i) => `question ${i}`),
];
const idsOf = ({ threads }: Chaos) => Array.from({ length: threads }, (_, i) => `thread-${i}`);
const tenantNames = Array.from({ length: tenants }, (_, i) => `tenant-${i}`);
/** Threads are dealt out to the tenants in turn. */
const tenantOf = (threadId: string) => tenantNames[Number(threadId.split("-")[1]) % tenants]!;

let programs: string;
let folder: string;

beforeAll(async () => {
  programs = await bundlePrograms();
});

function random(): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Front processes start nothing: each tenant's sends inputs and answers, and wakes threads by the engine. */
function frontsOn(store: Store, dispatcher: Dispatcher): ReadonlyMap<string, Runner> {
  return new Map(
    [...tenantNames, ORPHAN].map((tenant) => [tenant, createRunner({ store, tenant, dispatcher, start: "worker" })]),
  );
}

/** Threads that have said hello, and have their questions waiting. */
async function begin(store: Store, fronts: ReadonlyMap<string, Runner>, chaos: Chaos): Promise<void> {
  const agent = workingAgent(folder, 0);
  const make = async (tenant: string, threadId: string, inputs: readonly string[]) => {
    const runner = createRunner({ agent, store, tenant });
    await (await runner.open(threadId)).run("hello").result;
    await runner.close();
    for (const text of inputs) await fronts.get(tenant)!.enqueue(threadId, text, { id: text });
  };
  await inParallel(idsOf(chaos), 8, (threadId) => make(tenantOf(threadId), threadId, inputsOf(chaos)));
  await make(ORPHAN, "thread-0", ["question 0"]);
}

/** A person in another process, that approves every request without a deadline. */
async function approveAll(fronts: ReadonlyMap<string, Runner>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const front of fronts.values()) {
      const { items } = await front.inbox();
      for (const { id, expiresAt } of items)
        if (expiresAt === undefined && !signal.aborted) await front.answer(id, approve({ by: "ann" })).catch(refused);
    }
    await sleep(100);
  }
}

/** Another process was asked the same at the same moment, or is about to write: the person looks again. */
function refused(error: { readonly code?: string }): void {
  if (!/^(ANSWER_|THREAD_BUSY|STALE)/.test(error.code ?? "")) throw error;
}

/** The engine without the workers: undefined for the loop, whose engine is the store. */
type OwnEngine = Awaited<ReturnType<typeof startEngine>> | undefined;

/** Kills the engine, starts it again after a while, and later deletes all that it has. */
async function disturbEngine(own: OwnEngine, ms: number): Promise<void> {
  if (own === undefined) return;
  await sleep(ms / 3);
  await own.halt("SIGKILL");
  await sleep(Math.min(3_000, ms / 10));
  await own.again();
  await sleep(ms / 3);
  await own.wipe();
}

/**
 * Kills workers, or has each fifth stand still for longer than its lease, and starts others, until the time is over or the signal
 * fires. `children` has those that run.
 */
async function disturb(
  { ms, everyMs }: Chaos,
  start: (place: number) => Child,
  children: Child[],
  signal: AbortSignal,
) {
  const next = random();
  for (let place = 0; place < WORKERS; place++) children.push(start(place));
  const end = Date.now() + ms;
  let kills = 0;
  let stills = 0;
  while (Date.now() < end) {
    await sleep(everyMs * (0.2 + 0.8 * next()));
    if (signal.aborted) break;
    const which = Math.floor(next() * WORKERS);
    const child = children[which]!;
    if ((kills + stills) % 5 === 2) {
      child.signal("SIGSTOP");
      setTimeout(() => child.signal("SIGCONT"), 1.5 * LEASE_MS);
      stills += 1;
      continue;
    }
    child.signal("SIGKILL");
    kills += 1;
    children[which] = start(which);
  }
  return { kills, stills };
}

/** Waits until no thread can move; a person resumes threads that were set aside after too many crashes. */
async function settled(store: Store): Promise<void> {
  const agent = workingAgent(folder, 0);
  for (const tenant of tenantNames) {
    const runner = createRunner({ agent, store, tenant });
    for (;;) {
      const open = (await store.threads(tenant)).filter(({ state, queued, lease }) => {
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
}

function linesOf(file: string): string[] {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").filter(Boolean) : [];
}

async function problemsOf(
  store: Store,
  threadId: string,
  inputs: readonly string[],
  effects: readonly WorkerEffect[],
): Promise<string[]> {
  const facts = await factsOf(store, threadId, tenantOf(threadId));
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
    if (effect.tool === "expire") problems.push(`${place(effect)} ran without an approval`);
    if (effect.tool !== "look" && times > 1) problems.push(`${place(effect)} paid ${times} times`);
  }
  return problems.map((problem) => `${threadId}: ${problem}`);
}

describe.each(chaoses)("four workers and $threads threads in $place.name", (chaos) => {
  test("L1, P1, P2, P5: whichever of them is killed or stands still, every thread reaches its end, and nothing is lost or done twice", {
    timeout: 10 * chaos.ms + 240_000,
  }, async () => {
    const { place, ms, threads } = chaos;
    folder = mkdtempSync(join(tmpdir(), "belay-workers-"));
    const where = await place.at(folder);
    const { store, close } = await openStore(where);
    const own = engine === "loop" ? undefined : await startEngine(engine, WORKERS);
    const settings = (place?: number) => (own?.settings(place) ?? { engine: "loop" }) as EngineSettings;
    const dispatcher = await openDispatcher(settings(), store);
    const fronts = frontsOn(store, dispatcher);
    const options = { where, folder, leaseTtlMs: LEASE_MS, modelMs: 200 };
    let started = 0;
    // The clock of each fourth worker is an hour ahead, and two builds of it run side by side.
    const start = (place: number) => {
      const [aheadMs, build] = [started % 4 === 3 ? 3_600_000 : 0, 1 + (started % 2)];
      started += 1;
      return startChild(programs, "worker", { ...options, engine: settings(place), aheadMs, build }, ms + 400_000);
    };
    const children: Child[] = [];
    const leaves = new AbortController();
    try {
      await begin(store, fronts, chaos);
      const approving = approveAll(fronts, leaves.signal);
      const [done] = await Promise.all([disturb(chaos, start, children, leaves.signal), disturbEngine(own, ms)]);
      await Promise.race([settled(store), approving]);
      leaves.abort();
      await approving;
      // After SIGTERM a worker ends in order. The last one may have been started a moment ago.
      await Promise.all(children.map((child) => child.said("works")));
      for (const child of children) child.signal("SIGTERM");
      const codes = await Promise.all(children.map(async (child) => (await child.exited).code));
      expect(codes).toEqual(children.map(() => 0));
      const effects = linesOf("effects").map((line) => JSON.parse(line) as WorkerEffect);
      const inputs = inputsOf(chaos);
      const problems = await inParallel(idsOf(chaos), 8, (id) => problemsOf(store, id, inputs, effects));
      expect({ seed, problems: problems.flat() }).toEqual({ seed, problems: [] });
      expect(linesOf("problems")).toEqual([]);
      // A tenant without a runner keeps its input, and has kept no other from its turn.
      expect(await store.load({ tenant: ORPHAN, threadId: "thread-0" })).toMatchObject({ row: { queued: true } });
      const { kills, stills } = done;
      // A worker is disturbed after `everyMs` at the latest; a busy machine may take twice as long.
      expect(kills + stills).toBeGreaterThanOrEqual(Math.floor(ms / chaos.everyMs / 2));
      expect(stills > 0 || kills < 3).toBe(true);
      console.log(
        `${engine}, seed ${seed}: ${kills} kills, ${stills} stood still, ${effects.length} effects in ${threads} threads`,
      );
    } finally {
      leaves.abort();
      for (const child of children) child.signal("SIGKILL");
      await dispatcher.close();
      await own?.stop();
      await close();
      await place.remove(where);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
