// Runs the tests of one tier by vitest, then prints the cost of each file and the number of cases that passed.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { draw } from "./effort.mjs";
import { root, runBin } from "./ensure.mjs";

const SHOWN = 15;

/**
 * Resolves to the exit code. `failedChecks` count as failures.
 * @param {"test" | "endure"} command
 * @param {{ asked: import("./effort.mjs").Asked, rest: string[] }} effort
 * @param {readonly string[]} [failedChecks]
 */
export async function runTier(command, { asked, rest }, failedChecks = []) {
  const drawn = draw(asked.tier);
  const seed = asked.seed ?? drawn;
  const folder = join(root, "node_modules/.cache/belay-costs");
  mkdirSync(folder, { recursive: true });
  const costs = join(folder, `${command}.json`);
  rmSync(costs, { force: true });
  const env = { ...process.env, BELAY_TEST_COSTS: costs, BELAY_EFFORT: JSON.stringify({ ...asked, drawn }) };
  const reporters = ["--reporter=default", "--reporter=./scripts/cost-reporter.mjs"];
  const code = await runBin("vitest", ["run", ...reporters, ...rest], { env });
  const numbers = read(costs);
  printCosts(numbers.files, costs);
  console.log(`random choices came from seed ${seed}: repeat them with --seed ${seed}`);
  // A check that failed counts as a failure, and so does a vitest that failed for a reason of its own.
  const failures = Math.max(numbers.failed, code === 0 ? 0 : 1) + failedChecks.length;
  if (numbers.skipped > 0) console.log(`${numbers.skipped} skipped`);
  console.log(`${numbers.passed} passed, ${failures} failed`);
  return failures === 0 ? 0 : code || 1;
}

/** @typedef {{ file: string, seconds: number, cases: readonly { name: string, state: string, seconds: number }[] }} Cost */

/** @returns {{ passed: number, failed: number, skipped: number, files: Cost[] }} */
function read(/** @type {string} */ path) {
  // No numbers: vitest ended before it could write them.
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0, files: [] };
  return JSON.parse(readFileSync(path, "utf8"));
}

function printCosts(/** @type {readonly Cost[]} */ files, /** @type {string} */ path) {
  if (files.length === 0) return;
  const sum = files.reduce((total, { seconds }) => total + seconds, 0);
  console.log(
    `\nseconds  cases  file (${files.length} files, ${sum.toFixed(0)} s in all; each in ${relative(root, path)})`,
  );
  for (const { file, seconds, cases } of files.slice(0, SHOWN))
    console.log(`${seconds.toFixed(1).padStart(7)}  ${String(cases.length).padStart(5)}  ${file}`);
  console.log();
}
