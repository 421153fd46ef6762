// Everything CI runs. Arguments go to vitest: npm test -- packages/core/src/tool
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
const report = join(folder, "report.json");
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const code = await runBin("vitest", ["run", ...reporters, ...process.argv.slice(2)]);
const { passed, failed } = count(report);
rmSync(folder, { recursive: true, force: true });

// A check that failed counts as a failure, and so does whatever made vitest fail outside of a test.
const failures = Math.max(failed, code === 0 ? 0 : 1) + failedChecks.length;
console.log(`${passed} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : code || 1;

function count(path) {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(path, "utf8"));
    // A file that could not be loaded has no tests to count; it failed all the same.
    const broken = testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
    return { passed: numPassedTests, failed: numFailedTests + broken.length };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
