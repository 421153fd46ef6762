// A vitest reporter that says nothing: it leaves the numbers in the file named by BELAY_TEST_COUNT, for scripts/test.mjs.
import { writeFileSync } from "node:fs";

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state) => states.filter((each) => each === state).length;
    // What went wrong outside of any test (a file that does not load, a rejection nobody owns) failed all the same.
    const failed = count("failed") + modules.flatMap((module) => module.errors()).length + unhandledErrors.length;
    writeFileSync(process.env.BELAY_TEST_COUNT, JSON.stringify({ passed: count("passed"), failed }));
  }
}
