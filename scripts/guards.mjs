// Takes the guards of the door out, one by one, and shows that a test fails without each: node scripts/guards.mjs [a part of a name [test files, in place of those in the list]]
// The sources are not touched: a guard is replaced while vitest reads its file. scripts/guards.test.ts holds that each is
// there, and that this program tells a guard that a test misses from one that none misses.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { effortOf } from "./effort.mjs";
import { guards, untried } from "./guards/list.mjs";
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

/**
 * Resolves to a test that fails without the guard, if there is one. A test counts if it fails twice without the guard, and
 * passes with it: another one fails on a busy machine, or always.
 * @param {import("./guards/list.mjs").Guard} guard
 * @returns {Promise<string | undefined>}
 */
async function missing(guard) {
  const mutated = without(guard);
  for (let tries = 0; tries < 3; tries++) {
    const failed = await firstFailed(guard, mutated, guard.tests);
    if (failed === undefined) return undefined;
    const { file, name, isLate } = failed;
    const pattern = `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
    const again = await firstFailed(guard, mutated, [file], pattern);
    const withIt = again && (await firstFailed(guard, undefined, [file], pattern));
    if (again !== undefined && withIt === undefined) return `${file}: ${name}${isLate ? " (waits for ever)" : ""}`;
  }
  return undefined;
}

/**
 * Runs tests with this source in place of that of the guard's file. Resolves to the first one that fails.
 * @param {import("./guards/list.mjs").Guard} guard
 * @param {string | undefined} source
 * @param {string[]} tests
 * @param {string} [testNamePattern]
 */
async function firstFailed(guard, source, tests, testNamePattern) {
  const { startVitest } = await import("vitest/node");
  let isTaken = false;
  const plugin = {
    name: "without-a-guard",
    enforce: /** @type {const} */ ("pre"),
    /** @param {string} id */
    load: (id) => {
      if (relative(root, id.split("?")[0] ?? id) !== guard.file) return null;
      isTaken = true;
      return source ?? null;
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
    testTimeout: 30_000,
    globalSetup: ["scripts/services.mjs"],
    provide: { effort: effortOf({ tier: "test" }) },
    reporters: [{}],
    ...(testNamePattern !== undefined && { testNamePattern }),
  };
  const alias = Object.entries(sources).map(([door, replacement]) => ({ find: new RegExp(`^${door}$`), replacement }));
  const vitest = await startVitest("test", tests, options, { plugins: [plugin], resolve: { alias } });
  const files = vitest.state.getTestModules();
  // A file that does not load has errors and no test. It shows a bad replacement, not a guard that is missed.
  const unread = files.find((file) => file.errors().length > 0 && file.children.size === 0);
  const [failed] = files.flatMap((file) => [...file.children.allTests("failed")]);
  await vitest.close();
  if (files.length === 0) throw new Error(`${guard.name}: no test file is named ${tests.join(", ")}.`);
  if (!isTaken) throw new Error(`${guard.name}: no test reads ${guard.file}.`);
  if (unread !== undefined) throw new Error(`${guard.name}: ${unread.errors()[0]?.message}`);
  if (failed === undefined) return undefined;
  const { errors = [] } = failed.result();
  const isLate = errors.some(({ message }) => message.startsWith("Test timed out"));
  // Names as vitest matches them: of the suites and the test, with one blank between.
  const name = failed.fullName.split(" > ").join(" ");
  return { file: relative(root, failed.module.moduleId), name, isLate };
}

/** How long the tests of one guard may take. Without a guard a loop may never end, and then no test can time out. */
const AT_MOST_MS = 400_000;

/**
 * @typedef {"caught" | "hangs" | "NOT CAUGHT" | "NOT TRIED"} Word
 * @typedef {{ verdict: Word, by?: string }} Verdict With the test that failed, or the reason why none was tried.
 */

/**
 * Does the same in a process group of its own, which is killed if it hangs. Resolves to its verdict.
 * @param {import("./guards/list.mjs").Guard} guard
 * @returns {Promise<Verdict>}
 */
export function verdictOn(guard) {
  const child = spawn(process.execPath, [here, "--one", JSON.stringify(guard)], {
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  return /** @type {Promise<Verdict>} */ (
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve({ verdict: "hangs" }), AT_MOST_MS);
      child.on("message", (verdict) => resolve(/** @type {Verdict} */ (verdict)));
      child.on("exit", () => resolve({ verdict: "NOT TRIED", by: "its process ended early" }));
      child.on("close", () => clearTimeout(timer));
    })
  ).finally(() => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The whole group has ended.
    }
  });
}

/**
 * @param {import("./guards/list.mjs").Guard} guard
 * @returns {Promise<Verdict>}
 */
async function verdictHere(guard) {
  try {
    const by = await missing(guard);
    return by === undefined ? { verdict: "NOT CAUGHT" } : { verdict: "caught", by };
  } catch (error) {
    return { verdict: "NOT TRIED", by: String(error) };
  }
}

const here = fileURLToPath(import.meta.url);

if (process.argv[1] === here) {
  const [first = "", ...others] = process.argv.slice(2);
  if (first === "--one") {
    const verdict = await verdictHere(JSON.parse(others[0] ?? ""));
    process.send?.(verdict, () => process.exit());
  } else {
    /** @type {Map<Word, number>} */
    const counts = new Map();
    const chosen = first === "" ? guards : [...guards, ...untried].filter(({ name }) => name.includes(first));
    for (const guard of chosen) {
      const { verdict, by } = await verdictOn(others.length === 0 ? guard : { ...guard, tests: others });
      console.log(`${verdict}  ${guard.name}${by === undefined ? "" : `\n        ${by}`}`);
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    }
    console.log([...counts].map(([verdict, count]) => `${count} ${verdict}`).join(" · "));
    process.exit(counts.has("NOT CAUGHT") || counts.has("NOT TRIED") ? 1 : 0);
  }
}
