import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { amounts, effortOf, readEffort } from "./effort.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("the effort of the sweeps", () => {
  test("npm run endure does no less of anything than npm test, and --all no less than that", () => {
    for (const [name, { test, endure, all }] of Object.entries(amounts)) {
      // Each n-th: a smaller number is more.
      const [few, spread, every] = name === "eachMoment" ? [-test, -endure, -all] : [test, endure, all].map(Number);
      expect([name, few! <= spread!, spread! <= every!]).toEqual([name, true, true]);
    }
  });

  test("npm test has the same seed each time; npm run endure draws one; a seed that is asked for counts in both", () => {
    expect([effortOf({}).seed, effortOf({ tier: "endure", drawn: 77 }).seed]).toEqual([1, 77]);
    expect(effortOf({ tier: "endure", drawn: 77 }).firstSeed).toBe(1);
    expect(effortOf({ tier: "endure", seed: 5, drawn: 77 })).toMatchObject({ seed: 5, firstSeed: 5 });
  });

  test("--seconds is for the chaos and --runs for everything random; the other amounts stay as they are", () => {
    const usual = effortOf({ tier: "endure", seed: 1 });
    const random = { trees: 9, lives: 9, interleavings: 9, forkedLives: 9, damages: 9 };
    expect(effortOf({ tier: "endure", seed: 1, seconds: 60, runs: 9 })).toEqual({
      ...usual,
      ...random,
      chaosSeconds: 60,
    });
  });

  test("flags of the sweeps are taken out of the arguments, and the rest is for vitest", () => {
    const args = ["chaos", "--seconds", "60", "--all", "--seed=7", "-t", "P9", "--runs", "3"];
    expect(readEffort("endure", args)).toEqual({
      asked: { tier: "all", seconds: 60, seed: 7, runs: 3 },
      rest: ["chaos", "-t", "P9"],
    });
    expect(readEffort("test", ["verbs"])).toEqual({ asked: { tier: "test" }, rest: ["verbs"] });
  });

  test.each([
    ["endure", ["--seconds"], "--seconds needs a whole number from 1 to 2147483647, not nothing."],
    ["endure", ["--seconds", "0"], "--seconds needs a whole number from 1 to 2147483647, not 0."],
    ["endure", ["--runs", "many"], "--runs needs a whole number from 1 to 2147483647, not many."],
    ["endure", ["--seed=-1"], "--seed needs a whole number from 0 to 2147483647, not -1."],
    ["test", ["--all"], "--all is for npm run endure: npm test does a few points of each sweep."],
  ])("npm run %s %j is refused before anything runs", (command, args, why) => {
    const script = join(root, `scripts/${command}.mjs`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
    expect([status, stdout, stderr]).toEqual([2, "", `${why}\n`]);
  });

  test("a test that reads its effort is called sweep, and each sweep reads it", () => {
    const files = ["packages", "examples", "scripts", "test"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((path) => /\.test\.tsx?$/.test(path) && !/(?:^|\/)(?:node_modules|dist)/.test(path))
        .map((path) => join(root, folder, path)),
    );
    const reads = files.filter((file) => /\binject\("effort"\)/.test(readFileSync(file, "utf8")));
    const sweeps = files.filter((file) => /\.sweep\.test\.tsx?$/.test(file));
    expect(sweeps.length).toBeGreaterThan(10);
    expect(reads.filter((file) => file !== fileURLToPath(import.meta.url))).toEqual(sweeps);
  });
});

test("the numbers of a run have each case with its seconds, and failures outside of any test", () => {
  // Inside the repository, so that vitest is found.
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "belay-costs-test-"));
  const costs = join(mkdtempSync(join(tmpdir(), "belay-costs-")), "costs.json");
  onTestFinished(() => {
    for (const path of [folder, join(costs, "..")]) rmSync(path, { recursive: true, force: true });
  });
  const imports = 'import { expect, test } from "vitest";\n';
  writeFileSync(join(folder, "broken.test.ts"), 'throw new Error("does not load");');
  writeFileSync(
    join(folder, "slow.test.ts"),
    `${imports}test("waits", () => new Promise((resolve) => setTimeout(resolve, 1_500)));
    test("fails", () => expect(1).toBe(2)); test.skip("is left out", () => {});`,
  );
  const reporter = join(root, "scripts/cost-reporter.mjs");
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  writeFileSync(join(folder, "vitest.config.mjs"), 'export default { test: { include: ["*.test.ts"] } };');
  const args = [vitest, "run", "--root", folder, `--reporter=${reporter}`];
  const { status } = spawnSync(process.execPath, args, { env: { ...process.env, BELAY_TEST_COSTS: costs } });
  const { files, ...numbers } = JSON.parse(readFileSync(costs, "utf8"));
  expect([status, numbers]).toEqual([1, { passed: 1, failed: 2, skipped: 1 }]);
  expect(files.map(({ file }: { file: string }) => file)).toEqual(["slow.test.ts", "broken.test.ts"]);
  expect(files[0].seconds).toBeGreaterThanOrEqual(1.5);
  expect(files[0].cases).toEqual([
    { name: "waits", state: "passed", seconds: expect.any(Number) },
    { name: "fails", state: "failed", seconds: expect.any(Number) },
    { name: "is left out", state: "skipped", seconds: 0 },
  ]);
});
