// The tests that a change has to pass, in minutes: the contract, every store, one pass of each process and terminal test, and
// a few points of each sweep. Arguments go to vitest: npm test -- packages/core/src/tool
import { check } from "./check.mjs";
import { readEffort } from "./effort.mjs";
import { ensureBuilt, ensureInstalled } from "./ensure.mjs";
import { runTier } from "./run-tier.mjs";

const effort = readEffort("test", process.argv.slice(2));
await ensureInstalled();
const failedChecks = await check({ withHouse: false });
console.log(failedChecks.length === 0 ? "check passed" : `check failed: ${failedChecks.join(", ")}`);
// Types that fail would fail the build with the same words.
if (!failedChecks.includes("types")) await ensureBuilt();
process.exitCode = await runTier("test", effort, failedChecks);
