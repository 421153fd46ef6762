// Takes the guards of the door out, one by one, and shows that a test fails without each: node scripts/guards.mjs [a part of a name [test files, in place of those in the list]]
// The sources are not touched: a guard is replaced while vitest reads its file. scripts/guards.test.ts holds that each is
// there, and that this program tells a guard that a test misses from one that none misses.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { effortOf } from "./effort.mjs";
import { guards } from "./guards/list.mjs";
import { sources } from "./sources.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * Returns the source of a guard's file without the guard. Throws if the file has the guard not exactly once.
 * @param {import("./guards/list.mjs").Guard} guard
 */
export function without({ name, file, guard, instead }) {
  const source = readFileSync(join(root, file), "utf8");
  const parts = source.split(guard);
  if (parts.length !== 2) throw new Error(`${name}: ${file} has its guard ${parts.length - 1} times, not once.`);
  return parts.join(instead);
}

/** How long the tests of one guard may take. Without a guard a loop may never end, and then no test can time out. */
const AT_MOST_MS = 180_000;

/**
 * Runs the tests of a guard without it. Resolves to true if one of them fails.
 * @param {import("./guards/list.mjs").Guard} guard
 */
async function isMissed(guard) {
  const { startVitest } = await import("vitest/node");
  const mutated = without(guard);
  let isTaken = false;
  const plugin = {
    name: "without-a-guard",
    enforce: /** @type {const} */ ("pre"),
    /** @param {string} id */
    load: (id) => {
      if (relative(root, id.split("?")[0] ?? id) !== guard.file) return null;
      isTaken = true;
      return mutated;
    },
  };
  const options = {
    // The projects of vitest.config.ts would not have the plugin.
    config: /** @type {const} */ (false),
    root,
    run: true,
    watch: false,
    bail: 1,
    include: ["packages/core/src/**/*.test.ts"],
    exclude: ["**/*.sweep.test.ts"],
    isolate: false,
    testTimeout: 15_000,
    globalSetup: ["scripts/services.mjs"],
    provide: { effort: effortOf({ tier: "test" }) },
    reporters: [{}],
  };
  const alias = Object.entries(sources).map(([door, replacement]) => ({ find: new RegExp(`^${door}$`), replacement }));
  const vitest = await startVitest("test", guard.tests, options, { plugins: [plugin], resolve: { alias } });
  const files = vitest.state.getFiles();
  const failed = vitest.state.getCountOfFailedTests() + files.filter(({ result }) => result?.state === "fail").length;
  await vitest.close();
  if (files.length === 0) throw new Error(`${guard.name}: no test file is named ${guard.tests.join(", ")}.`);
  if (!isTaken) throw new Error(`${guard.name}: no test reads ${guard.file}.`);
  return failed > 0;
}

/**
 * Does the same in a process group of its own, which is killed if it hangs. Resolves to its verdict.
 * @param {import("./guards/list.mjs").Guard} guard
 * @returns {Promise<"caught" | "hangs" | "NOT CAUGHT" | "NOT TRIED">}
 */
export function verdictOn(guard) {
  const child = spawn(process.execPath, [here, "--one", JSON.stringify(guard)], { detached: true, stdio: "ignore" });
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve("hangs"), AT_MOST_MS);
    child.on("exit", (code) => {
      clearTimeout(timer);
      resolve(code === CAUGHT ? "caught" : code === MISSED ? "NOT CAUGHT" : "NOT TRIED");
    });
  }).finally(() => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The whole group has ended.
    }
  });
}

const CAUGHT = 10;
const MISSED = 11;
const here = fileURLToPath(import.meta.url);

if (process.argv[1] === here) {
  const [first = "", ...others] = process.argv.slice(2);
  if (first === "--one") process.exit((await isMissed(JSON.parse(others[0] ?? ""))) ? CAUGHT : MISSED);
  let uncaught = 0;
  for (const guard of guards.filter(({ name }) => name.includes(first))) {
    const verdict = await verdictOn(others.length === 0 ? guard : { ...guard, tests: others });
    console.log(`${verdict}  ${guard.name}`);
    if (verdict === "NOT CAUGHT" || verdict === "NOT TRIED") uncaught += 1;
  }
  process.exit(uncaught === 0 ? 0 : 1);
}
