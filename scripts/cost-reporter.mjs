// A vitest reporter that prints nothing: it leaves the numbers of the run in the file named by BELAY_TEST_COSTS, for
// scripts/run-tier.mjs.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";

const seconds = (/** @type {number} */ ms) => Math.round(ms / 10) / 100;

/** From the start of its worker to the end of its last test. */
function secondsOf(/** @type {import("vitest/node").TestModule} */ module) {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
  return seconds(environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration);
}

export default class CostReporter {
  /** @type {import("vitest/node").Vitest | undefined} */
  #vitest;

  onInit(/** @type {import("vitest/node").Vitest} */ vitest) {
    this.#vitest = vitest;
  }

  onTestRunEnd(
    /** @type {readonly import("vitest/node").TestModule[]} */ modules,
    /** @type {readonly unknown[]} */ unhandledErrors,
  ) {
    const root = this.#vitest?.config.root ?? process.cwd();
    const files = modules.map((module) => {
      const cases = [...module.children.allTests()].map((test) => ({
        name: test.fullName,
        state: test.result().state,
        seconds: seconds(test.diagnostic()?.duration ?? 0),
      }));
      return { file: relative(root, module.moduleId), seconds: secondsOf(module), cases };
    });
    files.sort((a, b) => b.seconds - a.seconds);
    const count = (/** @type {string} */ state) =>
      files.flatMap(({ cases }) => cases).filter((each) => each.state === state).length;
    // A failure outside of any test, for instance a file that does not load or an unhandled rejection, is a failure too.
    const failed = count("failed") + modules.flatMap((module) => module.errors()).length + unhandledErrors.length;
    const numbers = { passed: count("passed"), failed, skipped: count("skipped"), files };
    writeFileSync(/** @type {string} */ (process.env.BELAY_TEST_COSTS), JSON.stringify(numbers, null, 1));
  }
}
