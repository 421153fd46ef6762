import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factProblems, factsOf } from "@belay/testkit";
import {
  bundlePrograms,
  type Child,
  type EffectLine,
  inParallel,
  type Place,
  places,
  saidByPeople,
  startChild,
  THREAD,
} from "@belay/testkit/processes";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Fact, messageText } from "../index.ts";
import { fold } from "../journal/fold.ts";
import { newThread } from "../journal/state.ts";

// The points are spread evenly. The seed chooses the first, so that later runs meet others.
const { crashPoints, crashPointsOnServers, seed } = inject("effort");
const wanted = ({ leaseTtlMs }: Place) => (leaseTtlMs === undefined ? crashPoints : crashPointsOnServers);
const AT_ONCE = 3;
const key = { tenant: "default", threadId: THREAD };

let programs: string;
let root: string;

beforeAll(async () => {
  programs = await bundlePrograms();
  // The system has all writes of a killed process: memory keeps them as a disk does, without a wait for a sync.
  root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "belay-crash-"));
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** The processes of a life, one after the other: it waits for people, they answer, it continues. */
const stages = ["live", "answerLife", "live"] as const;

/** A life in one place. */
interface Lived {
  readonly place: Place;
  readonly folder: string;
  readonly where: string;
}

async function begins(place: Place, name: string, from?: string): Promise<Lived> {
  const folder = mkdtempSync(join(root, name));
  if (from !== undefined) cpSync(from, folder, { recursive: true });
  return { place, folder, where: await place.at(folder) };
}

async function ends({ place, folder, where }: Lived): Promise<void> {
  await place.remove(where);
  rmSync(folder, { recursive: true });
}

function starts(program: string, { place: { leaseTtlMs }, folder, where }: Lived, killAt: number): Child {
  return startChild(programs, program, { folder, where, leaseTtlMs, killAt });
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
  /** Late results that wait to be consumed. */
  readonly late: readonly string[];
}

/** The journal as it is now; the next process finds it as the dead one left it. */
function journalOf({ place, where }: Lived): Promise<Journal> {
  return place.reading(where, async (store) => {
    const facts = await factsOf(store, THREAD);
    const state = newThread(THREAD);
    const loaded = await store.load(key);
    fold(state, loaded?.lines ?? []);
    const [scope] = state.scopes.values();
    const open = (await store.requests(key.tenant)).length;
    const late = loaded?.commands.flatMap((command) => (command.kind === "late" ? [command.key] : [])) ?? [];
    return { facts, state: state.state, texts: scope?.messages.map(messageText) ?? [], open, late };
  });
}

/** If a dead process keeps its lease, the next one comes when that is over. */
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

/** The next process lives on to the end. */
async function toTheEnd(lived: Lived): Promise<string[]> {
  const child = starts("liveToTheEnd", lived, -1);
  const { code, signal } = await child.exited;
  if (code !== 0) return [`the process after it ended with ${code ?? signal}: ${child.lines.join(" ")}`];
  return child.lines.includes("ends") ? [] : ["it waits for people without end"];
}

/** Returns a place in which the stages before `stage` have been lived: a copy of their store, if there is one. */
async function livedUntil(place: Place, { stage, at }: Death, left: readonly string[]): Promise<Lived> {
  const name = `at-${stage}-${at}-`;
  if (left[stage] !== undefined) return begins(place, name, left[stage]);
  const lived = await begins(place, name);
  for (const before of stages.slice(0, stage)) await starts(before, lived, -1).exited;
  return lived;
}

/** Dies at a point of one of its processes, continues in another, and returns the broken promises. */
async function problemsAt(
  place: Place,
  death: Death,
  left: readonly string[],
): Promise<{ readonly died: boolean; readonly problems: string[] }> {
  const lived = await livedUntil(place, death, left);
  const { folder } = lived;
  const stage = stages[death.stage]!;
  const first = starts(stage, lived, death.at);
  const { signal } = await first.exited;
  const died = signal === "SIGKILL";
  const before = await journalOf(lived);
  const done = effectsOf(folder);
  const problems = [...effectProblems(before.facts, done), ...seenProblems(folder, first.pid, before.facts)];
  problems.push(...receiptProblems(folder, before.facts));
  // Old requests may be gone, and new ones may be open by now: the state of the thread decides the next step.
  await leaseIsOver(lived);
  problems.push(...(await toTheEnd(lived)));
  const after = await journalOf(lived);
  problems.push(...againProblems(before.facts, effectsOf(folder), done.length), ...lateProblems(before, after));
  problems.push(...endProblems(before.facts, after), ...receiptProblems(folder, after.facts));
  problems.push(...linesOf(folder, "problems"));
  const where = linesOf(folder, "death")[0];
  await ends(lived);
  return { died, problems: problems.map((problem) => `${stage} died at ${where}: ${problem}`) };
}

/** P1, P8: no effect without a recorded intent. */
function effectProblems(facts: readonly Fact[], effects: readonly EffectLine[]): string[] {
  const intended = new Set(facts.flatMap((fact) => (fact.type === "tool-start" ? [fact.address] : [])));
  const call = (address: string) => address.split("/s:")[0]!;
  return effects
    .filter(({ address }) => !intended.has(call(address)))
    .map(({ address }) => `${address} began unrecorded`);
}

/** F1: facts that a reader saw are in the journal. */
function seenProblems(folder: string, pid: number, facts: readonly Fact[]): string[] {
  return linesOf(folder, `seen-${pid}`).filter((line) => {
    const [seq, type] = line.split(" ");
    return facts[Number(seq) - 1]?.type !== type;
  });
}

const stopsIn = (facts: readonly Fact[]) =>
  facts.flatMap((fact) =>
    fact.type === "state" && fact.pauseType === "user_interrupt" ? [`${fact.runId} ${fact.segment}`] : [],
  );

/** X3, S2: the receipt of a stop is on record, once for any number of calls. */
function receiptProblems(folder: string, facts: readonly Fact[]): string[] {
  const stops = stopsIn(facts);
  const lost = linesOf(folder, "receipts").filter((told) => !stops.includes(told));
  const again = stops.filter((stop, i) => stops.indexOf(stop) !== i);
  return [...lost.map((stop) => `${stop} was told as stopped`), ...again.map((stop) => `${stop} has stopped twice`)];
}

/** S5: the late result of a tool that was left behind is recorded, although its process is dead. */
function lateProblems(before: Journal, after: Journal): string[] {
  const told = after.facts.flatMap((fact) => (fact.type === "tool-late" ? [fact.id] : []));
  return before.late.filter((id) => !told.includes(id)).map((id) => `${id} came, and is not told`);
}

/** P1, C1, Q2: no ended call runs again, and a cut one only if a second run does no harm. `done` happened before the death. */
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

/** C2, P2: the journal continues at its head, each input is in it once, and the run ends. */
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
  test("C2, P1, P2, P3: at any point of its life, nothing finished runs again, nothing said is lost or doubled, and the next process reaches the end", async () => {
    const whole = await begins(place, "whole-");
    const points: number[] = [];
    const left: string[] = [];
    for (const [stage, program] of stages.entries()) {
      if (place.isInFolder) {
        left.push(join(root, `left-${stage}`));
        cpSync(whole.folder, left[stage]!, { recursive: true });
      }
      const counted = starts(program, whole, 0);
      points.push(Number((await counted.said("points ")).split(" ")[1]));
      await counted.exited;
    }
    const journal = await journalOf(whole);
    expect([...endProblems([], journal), ...receiptProblems(whole.folder, journal.facts)]).toEqual([]);
    const told = new Set(linesOf(whole.folder, "receipts"));
    await ends(whole);
    const count = (type: Fact["type"]) => journal.facts.filter((fact) => fact.type === type).length;
    // In mid-text, after the model, and in a tool that ends late.
    expect([told.size, stopsIn(journal.facts).length, count("tool-late"), count("request-answered")]).toEqual([
      3, 3, 1, 2,
    ]);
    const all = points.flatMap((most, stage) => Array.from({ length: most }, (_, i): Death => ({ stage, at: i + 1 })));
    expect(all.length).toBeGreaterThan(300);
    const most = Math.min(all.length, wanted(place));
    const first = (seed % 1_000) / 1_000;
    const deaths = Array.from({ length: most }, (_, i) => all[Math.floor(((i + first) * all.length) / most)]!);
    const started = Date.now();
    const passes = await inParallel(deaths, AT_ONCE, (death) => problemsAt(place, death, left));
    expect({ seed, problems: passes.flatMap(({ problems }) => problems) }).toEqual({ seed, problems: [] });
    const died = passes.filter((pass) => pass.died).length;
    const took = Math.round((Date.now() - started) / 1000);
    console.log(`seed ${seed}: ${died} deaths at ${points.join(" + ")} points, ${took} s`);
    // The last points may not come in every life: events that merge, hints that come once instead of twice.
    expect(died).toBeGreaterThanOrEqual(most - Math.min(10, Math.ceil(most / 4)));
  });
});
