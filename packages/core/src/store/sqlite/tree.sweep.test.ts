import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factProblems, factsOf, mixedRepeatable } from "@belay/testkit";
import {
  bundlePrograms,
  type Child,
  inParallel,
  sqliteFiles,
  startChild,
  type TreeEffect,
} from "@belay/testkit/processes";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Fact } from "../../index.ts";

const { crashPoints, seed } = inject("effort");
const AT_ONCE = 2;
const END = 'ends "the end of [\\"outer heard: payer heard: paid\\",\\"the desk is done for ann\\"]"';

let programs: string;
let root: string;

beforeAll(async () => {
  programs = await bundlePrograms();
  root = mkdtempSync(join(tmpdir(), "belay-tree-"));
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const lives = (folder: string, killAt: number): Child => startChild(programs, "liveTree", { folder, killAt });

function linesOf(folder: string, file: string): string[] {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").filter(Boolean) : [];
}

interface Journal {
  readonly facts: readonly Fact[];
  /** Requests that the store has open. */
  readonly open: number;
}

const journalOf = (folder: string): Promise<Journal> =>
  sqliteFiles.reading(join(folder, "threads.db"), async (store) => ({
    facts: await factsOf(store),
    open: (await store.requests("default")).length,
  }));

/** Dies at point `at`, continues in a second process, and returns the broken promises. */
async function problemsAt(at: number): Promise<{ readonly died: boolean; readonly problems: readonly string[] }> {
  const folder = mkdtempSync(join(root, `at-${at}-`));
  const { signal } = await lives(folder, at).exited;
  const before = await journalOf(folder);
  const second = lives(folder, -1);
  const { code } = await second.exited;
  const after = await journalOf(folder);
  const problems = [...factProblems(after.facts), ...linesOf(folder, "problems")];
  if (code !== 0 || second.lines[0] !== END)
    problems.push(`the second process ended ${code}: ${second.lines.join(" ")}`);
  const kept = JSON.stringify(after.facts.slice(0, before.facts.length));
  if (kept !== JSON.stringify(before.facts)) problems.push("what was recorded before is not what is recorded now");
  if (after.open > 0) problems.push(`${after.open} requests are open at the end`);
  const ended = new Set(
    before.facts.flatMap((fact) =>
      fact.type === "step" || (fact.type === "tool-end" && !fact.held) ? [fact.address] : [],
    ),
  );
  const effects = linesOf(folder, "effects").map((line) => JSON.parse(line) as TreeEffect);
  for (const { address, pid } of effects) {
    if (pid === second.pid && ended.has(address)) problems.push(`${address} has a result and ran again`);
    const times = effects.filter((effect) => effect.address === address).length;
    if (times > 1 && !mixedRepeatable(address)) problems.push(`${address} ran ${times} times`);
  }
  const runs = after.facts.flatMap((fact) =>
    fact.type === "run-end" && fact.status === "completed" ? [fact.runPath] : [],
  );
  if (new Set(runs).size !== runs.length) problems.push("an agent has ended twice");
  const place = linesOf(folder, "death")[0];
  rmSync(folder, { recursive: true });
  return { died: signal === "SIGKILL", problems: problems.map((problem) => `died at ${place}: ${problem}`) };
}

test("C2, W4, F4: killed with SIGKILL at any point of a tree of agents, the next process continues in place: no agent that ended runs again, nothing is paid twice, the end is the same", async () => {
  const whole = mkdtempSync(join(root, "whole-"));
  const counted = lives(whole, 0);
  const points = Number((await counted.said("points ")).split(" ")[1]);
  await counted.exited;
  expect(counted.lines[0]).toBe(END);
  expect(points).toBeGreaterThan(200);
  const count = Math.min(points, crashPoints);
  const first = (seed % 1_000) / 1_000;
  const places = Array.from({ length: count }, (_, i) => 1 + Math.floor(((i + first) * points) / count));
  const started = Date.now();
  const passes = await inParallel(places, AT_ONCE, problemsAt);
  expect({ seed, problems: passes.flatMap(({ problems }) => problems) }).toEqual({ seed, problems: [] });
  const died = passes.filter((pass) => pass.died).length;
  // Hints that come once instead of twice: the last points may not come in every life.
  expect(died).toBeGreaterThanOrEqual(count - Math.min(10, Math.ceil(count / 4)));
  console.log(`seed ${seed}: ${died} deaths at ${points} points, ${Math.round((Date.now() - started) / 1000)} s`);
});
