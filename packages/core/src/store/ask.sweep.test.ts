import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factProblems, factsOf, ORDERED, stepsOf, toolResult } from "@belay/testkit";
import {
  type Asking,
  type AskingEffect,
  bundlePrograms,
  inParallel,
  type Place,
  places,
  startChild,
} from "@belay/testkit/processes";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Fact } from "../index.ts";

const { crashPoints, crashPointsOnServers, seed } = inject("effort");
// There are few points in this life: a third of those of a long one is as dense.
const wanted = ({ leaseTtlMs }: Place) =>
  Math.ceil((leaseTtlMs === undefined ? crashPoints : crashPointsOnServers) / 3);
const AT_ONCE = 2;

let programs: string;
let root: string;

beforeAll(async () => {
  programs = await bundlePrograms();
  root = mkdtempSync(join(tmpdir(), "belay-ask-"));
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const lives = (options: Asking) => startChild(programs, "liveAsking", options);

async function begins(
  { at, leaseTtlMs }: Place,
  name: string,
): Promise<Pick<Asking, "folder" | "leaseTtlMs"> & { where: string }> {
  const folder = mkdtempSync(join(root, name));
  return { folder, where: await at(folder), ...(leaseTtlMs !== undefined && { leaseTtlMs }) };
}

function effectsOf(folder: string): AskingEffect[] {
  const path = join(folder, "effects");
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** If a dead process keeps its lease, the next one comes when that is over. */
async function leaseIsOver(place: Place, where: string): Promise<void> {
  if (place.leaseTtlMs === undefined) return;
  await place.reading(where, async (store) => {
    while ((await store.threads("default")).some(({ lease }) => lease !== undefined))
      await new Promise((resolve) => setTimeout(resolve, 20));
  });
}

/** Keys of asks that a person has answered. */
function answered(facts: readonly Fact[]): string[] {
  const ids = facts.flatMap((fact) => (fact.type === "request-answered" ? [fact.id] : []));
  const asked = facts.flatMap((fact) => (fact.type === "action" ? (fact.action.interrupted ?? []) : []));
  return asked.flatMap(({ id, key }) => (key !== undefined && ids.includes(id) ? [key] : []));
}

/** Dies at point `at`, continues in a second process, and returns the broken promises. */
async function problemsAt(place: Place, by: Asking["by"], at: number): Promise<string[]> {
  const life = await begins(place, `${by}-${at}-`);
  const { folder, where } = life;
  await lives({ ...life, killAt: at, by }).exited;
  const before = await place.reading(where, factsOf);
  await leaseIsOver(place, where);
  const first = effectsOf(folder);
  const second = lives({ ...life, killAt: -1, by });
  const end = await second.exited;
  const after = await place.reading(where, factsOf);
  const effects = effectsOf(folder);
  const problems = factProblems(after);
  if (end.code !== 0) problems.push(`the second process ended with ${end.code}: ${second.lines.join(" ")}`);
  for (const { what, key } of first) {
    if (what === "past" && !answered(before).includes(key)) problems.push(`went past ${key} without an answer`);
  }
  for (const key of stepsOf(before)) {
    const again = effects.some(({ what, key: did, pid }) => what === "did" && did === key && pid === second.pid);
    if (again) problems.push(`${key} is on record, and was computed again`);
  }
  for (const { what, key } of effects) if (what === "caught") problems.push(`caught ${key}`);
  if (stepsOf(after).join() !== "one,two") problems.push(`steps on record: ${stepsOf(after).join()}`);
  if (toolResult(after, "o") !== ORDERED) problems.push(`it gave ${JSON.stringify(toolResult(after, "o"))}`);
  await place.remove(where);
  rmSync(folder, { recursive: true });
  return problems.map((problem) => `${by}, point ${at}: ${problem}`);
}

describe.each(places)("code inside a call, in processes of its own, the store in $name", (place) => {
  test.each(["answer", "resume"] as const)(
    "Q1, Q2, C1: killed with SIGKILL at any point, each recorded step is computed once, nothing runs past an ask without its answer, and the result is the same (by %s)",
    async (by) => {
      const whole = await begins(place, `whole-${by}-`);
      const counted = lives({ ...whole, killAt: 0, by });
      const points = Number((await counted.said("points ")).split(" ")[1]);
      await counted.exited;
      expect(toolResult(await place.reading(whole.where, factsOf), "o")).toBe(ORDERED);
      await place.remove(whole.where);
      expect(points).toBeGreaterThan(40);
      const count = Math.min(points, wanted(place));
      const first = (seed % 1_000) / 1_000;
      const deaths = Array.from({ length: count }, (_, i) => 1 + Math.floor(((i + first) * points) / count));
      const problems = await inParallel(deaths, AT_ONCE, (at) => problemsAt(place, by, at));
      expect({ seed, problems: problems.flat() }).toEqual({ seed, problems: [] });
    },
  );
});

describe("code that waits", () => {
  test("Q1: code that waits for a person in memory keeps no process alive", async () => {
    const folder = mkdtempSync(join(root, "waiting-"));
    const child = startChild(programs, "leaveWaiting", { folder });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.lines).toEqual(["result interrupted"]);
  });
});
