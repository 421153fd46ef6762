// Takes the guards of the door out, one by one, and shows that a test fails without each: node scripts/guards.mjs [a part of a name [test files, in place of those in the list]]
// The sources are not touched: a guard is replaced while vitest reads its file. scripts/guards.test.ts holds that each is there.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { guards } from "./guards/list.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * Returns the source of a guard's file without the guard. Throws if the guard is not there, or is there twice.
 * @param {import("./guards/list.mjs").Guard} guard
 */
export function without({ name, file, guard, instead }) {
  const source = readFileSync(join(root, file), "utf8");
  const parts = source.split(guard);
  if (parts.length !== 2) throw new Error(`${name}: ${file} has its guard ${parts.length - 1} times, not once.`);
  return parts.join(instead);
}

/**
 * Runs the tests of a guard without it. Resolves to true if one of them fails.
 * @param {import("./guards/list.mjs").Guard} guard
 */
async function isCaught(guard) {
  const { startVitest } = await import("vitest/node");
  const mutated = without(guard);
  const plugin = {
    name: "without-a-guard",
    enforce: /** @type {const} */ ("pre"),
    /** @param {string} id */
    load: (id) => (relative(root, id.split("?")[0] ?? id) === guard.file ? mutated : null),
  };
  const options = { run: true, watch: false, bail: 1, testTimeout: 15_000, reporters: [{}], root };
  const vitest = await startVitest("test", guard.tests, options, { plugins: [plugin] });
  const failed = vitest.state.getCountOfFailedTests();
  const files = vitest.state.getFiles();
  await vitest.close();
  if (files.length === 0) throw new Error(`${guard.name}: no test file is named ${guard.tests.join(", ")}.`);
  return failed > 0 || files.some(({ result }) => result?.state === "fail");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [part = "", ...tests] = process.argv.slice(2);
  const uncaught = [];
  for (const guard of guards.filter(({ name }) => name.includes(part))) {
    const caught = await isCaught(tests.length === 0 ? guard : { ...guard, tests });
    console.log(`${caught ? "caught" : "NOT CAUGHT"}  ${guard.name}`);
    if (!caught) uncaught.push(guard.name);
  }
  process.exit(uncaught.length === 0 ? 0 : 1);
}
