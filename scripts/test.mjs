// Everything CI runs. Arguments go to vitest: npm test -- packages/core/src/tool
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check } from "./check.mjs";
import { ensureBuilt, ensureInstalled, runBin } from "./ensure.mjs";

await ensureInstalled();
const failedChecks = await check({ withHouse: false });
console.log(failedChecks.length === 0 ? "check passed" : `check failed: ${failedChecks.join(", ")}`);
// Types that fail would fail the build with the same words.
if (!failedChecks.includes("types")) await ensureBuilt();

const folder = mkdtempSync(join(tmpdir(), "belay-test-"));
const counted = join(folder, "count.json");
const reporters = ["--reporter=default", "--reporter=./scripts/count-reporter.mjs"];
const env = { ...process.env, BELAY_TEST_COUNT: counted };
const code = await runBin("vitest", ["run", ...reporters, ...process.argv.slice(2)], { env });
// No numbers: vitest ended before it could tell.
const { passed, failed } = existsSync(counted) ? JSON.parse(readFileSync(counted, "utf8")) : { passed: 0, failed: 1 };
rmSync(folder, { recursive: true, force: true });

// A check that failed counts as a failure, and so does a vitest that failed for a reason of its own.
const failures = Math.max(failed, code === 0 ? 0 : 1) + failedChecks.length;
console.log(`${passed} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : code || 1;
