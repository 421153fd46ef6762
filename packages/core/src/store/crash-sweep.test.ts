import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fact } from "../event.ts";
import { fold } from "../journal/fold.ts";
import { newThread } from "../journal/state.ts";
import { messageText } from "../message.ts";
import { readFacts } from "../runner/read-facts.ts";
import { factProblems } from "../testing/journal-checks.ts";
import { bundlePrograms } from "../testing/processes/bundle.mjs";
import { type Child, inParallel, startChild } from "../testing/processes/child.ts";
import { type EffectLine, saidByPeople, THREAD } from "../testing/processes/life.ts";
import { type Place, places } from "../testing/processes/places.ts";

// BELAY_CRASH_POINTS=all dies at every point; else at this many, spread evenly: fewer where each takes longer.
const wanted = ({ leaseTtlMs }: Place) => process.env.BELAY_CRASH_POINTS ?? (leaseTtlMs === undefined ? "75" : "40");
const AT_ONCE = 3;
const key = { tenant: "default", threadId: THREAD };

let programs: Awaited<ReturnType<typeof bundlePrograms>>;
let root: string;

beforeAll(async () => {
  programs = await bundlePrograms();
  root = mkdtempSync(join(tmpdir(), "belay-crash-"));
});

afterAll(() => {
  programs.remove();
  rmSync(root, { recursive: true, force: true });
});

/** The processes of a life, one after the other: it waits for people, they answer, it goes on. */
const stages = ["live", "answerLife", "live"] as const;

/** A life in one place. */
interface Lived {
  readonly place: Place;
  readonly folder: string;
  readonly where: string;
}

async function begins(place: Place, name: string): Promise<Lived> {
  const folder = mkdtempSync(join(root, name));
  return { place, folder, where: await place.at(folder) };
}

async function ends({ place, folder, where }: Lived): Promise<void> {
  await place.remove(where);
  rmSync(folder, { recursive: true });
}

function starts(stage: number, { place: { leaseTtlMs }, folder, where }: Lived, killAt: number): Child {
  return startChild(programs.path, stages[stage] ?? "live", { folder, where, leaseTtlMs, killAt });
}

function linesOf(folder: string, file: string): string[] {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").filter(Boolean) : [];
}

const effectsOf = (folder: string) => linesOf(folder, "effects").map((line) => JSON.parse(line) as EffectLine);

interface Journal {
  readonly facts: readonly Fact[];
  readonly texts: readonly string[];
  readonly state: string;
  /** Requests that the store has open. */
  readonly open: number;
}

/** The journal as it is now; the next process finds it as the dead one left it. */
function journalOf({ place, where }: Lived): Promise<Journal> {
  return place.reading(where, async (store) => {
    const facts = await readFacts(store, key, 0);
    const state = newThread(THREAD);
    fold(state, (await store.load(key))?.lines ?? []);
    const [scope] = state.scopes.values();
    const open = (await store.requests(key.tenant)).length;
    return { facts, state: state.state, texts: scope?.messages.map(messageText) ?? [], open };
  });
}

/** Where a dead process keeps its lease, the next one comes when that is over. */
async function leaseIsOver({ place, where }: Lived): Promise<void> {
  if (place.leaseTtlMs === undefined) return;
  await place.reading(where, async (store) => {
    while ((await store.load(key, Number.MAX_SAFE_INTEGER))?.row.lease !== undefined)
      await new Promise((resolve) => setTimeout(resolve, 20));
  });
}

interface Death {
  readonly stage: number;
  readonly at: number;
}

/** Lives on from `stage` to the end, in as many processes as it takes. */
async function toTheEnd(lived: Lived, stage: number): Promise<string[]> {
  for (let tries = 0, next = stage; tries < 8; tries++) {
    const child = starts(next, lived, -1);
    const { code, signal } = await child.exited;
    if (code !== 0) return [`a process of stage ${next} ended with ${code ?? signal}: ${child.lines.join(" ")}`];
    if (child.lines.includes("ends")) return [];
    next = child.lines.includes("waits") ? 1 : 2;
  }
  return ["it waits for people without end"];
}

/** Dies at a point of one of its processes, goes on in others: what of it breaks a promise. */
async function problemsAt(
  place: Place,
  { stage, at }: Death,
): Promise<{ readonly died: boolean; readonly problems: string[] }> {
  const lived = await begins(place, `at-${stage}-${at}-`);
  const { folder } = lived;
  for (let before = 0; before < stage; before++) await starts(before, lived, -1).exited;
  const first = starts(stage, lived, at);
  const { signal } = await first.exited;
  const died = signal === "SIGKILL";
  const before = await journalOf(lived);
  const done = effectsOf(folder);
  const problems = [...effectProblems(before.facts, done), ...seenProblems(folder, first.pid, before.facts)];
  // Whoever was asked may be asked no more, and whoever was not may be by now: the thread says how it goes on.
  await leaseIsOver(lived);
  problems.push(...(await toTheEnd(lived, 0)));
  const after = await journalOf(lived);
  problems.push(...againProblems(before.facts, effectsOf(folder), done.length));
  problems.push(...endProblems(before.facts, after), ...linesOf(folder, "problems"));
  const where = linesOf(folder, "death")[0];
  await ends(lived);
  return { died, problems: problems.map((problem) => `${stages[stage]} died at ${where}: ${problem}`) };
}

/** P1, P8: no effect without a recorded intent. */
function effectProblems(facts: readonly Fact[], effects: readonly EffectLine[]): string[] {
  const intended = new Set(facts.flatMap((fact) => (fact.type === "tool-start" ? [fact.address] : [])));
  const call = (address: string) => address.split("/s:")[0]!;
  return effects
    .filter(({ address }) => !intended.has(call(address)))
    .map(({ address }) => `${address} began unrecorded`);
}

/** F1: what a reader saw is in the journal. */
function seenProblems(folder: string, pid: number, facts: readonly Fact[]): string[] {
  return linesOf(folder, `seen-${pid}`).filter((line) => {
    const [seq, type] = line.split(" ");
    return facts[Number(seq) - 1]?.type !== type;
  });
}

/** P1, C1, Q2: nothing that has an end runs again; what was cut off only where that does no harm. `done` happened before the death. */
function againProblems(before: readonly Fact[], effects: readonly EffectLine[], done: number): string[] {
  const ended = new Set(
    before.flatMap((fact) => (fact.type === "step" || (fact.type === "tool-end" && !fact.held) ? [fact.address] : [])),
  );
  const problems: string[] = [];
  for (const [i, { address, tool }] of effects.entries()) {
    if (i >= done && ended.has(address)) problems.push(`${address} has a result and ran again`);
    const times = effects.filter((effect) => effect.address === address).length;
    if (times > 1 && tool !== "look" && tool !== "count") problems.push(`${tool} ${address} ran ${times} times`);
  }
  return problems;
}

/** C2, P2: the journal goes on where it was, everything said is in it once, and the end is reached. */
function endProblems(before: readonly Fact[], after: Journal): string[] {
  const problems = factProblems(after.facts);
  const kept = JSON.stringify(after.facts.slice(0, before.length));
  if (kept !== JSON.stringify(before)) problems.push("what was recorded before the crash is not what is recorded now");
  for (const text of saidByPeople) {
    const times = after.texts.filter((each) => each === text).length;
    if (times !== 1) problems.push(`${JSON.stringify(text)} is ${times} times in the history`);
  }
  if (after.open > 0) problems.push(`${after.open} requests are open at the end`);
  const ids = after.facts.flatMap((fact) => (fact.type === "message" ? [fact.message.id] : []));
  if (new Set(ids).size !== ids.length) problems.push("a message is there twice");
  if (after.state !== "completed" || after.texts.at(-1) !== "answered")
    problems.push(`it ended ${after.state}, with ${JSON.stringify(after.texts.at(-1))}`);
  return problems;
}

describe.each(places)("a process killed with SIGKILL, its store in $name", (place) => {
  test("C2, P1, P2, P3: at any point of its life, nothing finished runs again, nothing said is lost or doubled, and the next process reaches the end", {
    timeout: process.env.BELAY_CRASH_POINTS === "all" ? 3_600_000 : 600_000,
  }, async () => {
    const whole = await begins(place, "whole-");
    const points: number[] = [];
    for (let stage = 0; stage < stages.length; stage++) {
      const counted = starts(stage, whole, 0);
      points.push(Number((await counted.said("points ")).split(" ")[1]));
      await counted.exited;
    }
    const journal = await journalOf(whole);
    expect(endProblems([], journal)).toEqual([]);
    await ends(whole);
    expect(journal.facts.filter((fact) => fact.type === "request-answered")).toHaveLength(2);
    const all = points.flatMap((count, stage) =>
      Array.from({ length: count }, (_, i): Death => ({ stage, at: i + 1 })),
    );
    expect(all.length).toBeGreaterThan(200);
    const count = wanted(place) === "all" ? all.length : Math.min(all.length, Number(wanted(place)));
    const deaths = Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)]!);
    const started = Date.now();
    const passes = await inParallel(deaths, AT_ONCE, (death) => problemsAt(place, death));
    expect(passes.flatMap(({ problems }) => problems)).toEqual([]);
    const died = passes.filter((pass) => pass.died).length;
    // The last points may not come in every life: events that merge, hints that come once instead of twice.
    expect(died).toBeGreaterThan(count - 10);
    console.log(`${died} deaths at ${points.join(" + ")} points, ${Math.round((Date.now() - started) / 1000)} s`);
  });
});
