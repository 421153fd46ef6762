import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { type Effort, effortOf } from "./scripts/effort.mjs";
import { sources } from "./scripts/sources.mjs";

declare module "vitest" {
  interface ProvidedContext {
    effort: Effort;
  }
}

const effort = effortOf(JSON.parse(process.env.BELAY_EFFORT ?? "{}"));

const ending = effort.tier === "test" ? "test" : "sweep.test";
const testsIn = (folders: readonly string[]) => folders.map((folder) => `${folder}/**/*.${ending}.{ts,tsx}`);

const all = testsIn(["packages/*/src", "examples", "scripts", "test"]);
/** Some tests of the console need a page around them, which is there for a whole process. */
const apart = testsIn(["packages/console/src"]);

/** Files that take long. */
const long = /\.sweep\.test\.|processes\.test\.|^test\/examples\.test\.|^packages\/console\//;

/** Begins with the long files: one that began last would be alone at the end. vitest knows by itself only files that it has run. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ project, moduleId }: TestSpecification) =>
      long.test(relative(project.vitest.config.root, moduleId));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  resolve: {
    // Tests read the sources: nothing has to be built first.
    alias: Object.entries(sources).map(([door, replacement]) => ({ find: new RegExp(`^${door}$`), replacement })),
  },
  test: {
    projects: [
      { extends: true, test: { name: "apart", include: apart } },
      // Tests change nothing of their process, so that their files may share one and the modules that it has loaded.
      { extends: true, test: { name: "together", include: all, exclude: apart, isolate: effort.tier !== "test" } },
    ],
    sequence: { sequencer: LongFirst },
    provide: { effort },
    // Starts nothing by itself: a test that needs a server asks for it.
    globalSetup: ["scripts/services.mjs"],
    // Many files wait for a process or a server: as many workers as cores would leave a small machine idle.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    // No test is about time: what takes long on a busy machine has not failed.
    testTimeout: effort.tier === "test" ? 180_000 : 3_600_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // In CI a test gets a second try: some drive a real terminal, whose time is real. Sweeps get none: an intermittent failure
    // is what they look for.
    retry: process.env.CI !== undefined && effort.tier === "test" ? 1 : 0,
  },
});
