// Format, lint, types and the house, side by side.
import { pathToFileURL } from "node:url";
import { ensureInstalled, runBin } from "./ensure.mjs";

const checks = {
  "format and lint": ["biome", ["check", "--error-on-warnings", "."]],
  types: ["tsc", ["-p", "."]],
  "types of the console": ["tsc", ["-p", "packages/console"]],
};
const house = { house: ["vitest", ["run", "test/house.test.ts"]] };

/** Resolves to the names of the checks that failed. `npm test` leaves out the house: it is one of its tests. */
export async function check({ withHouse = true } = {}) {
  const failed = await Promise.all(
    Object.entries({ ...checks, ...(withHouse ? house : {}) }).map(async ([name, [bin, args]]) => {
      const code = await runBin(bin, args, { quiet: true });
      return code === 0 ? [] : [name];
    }),
  );
  return failed.flat();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await ensureInstalled();
  const failed = await check();
  console.log(failed.length === 0 ? "check passed" : `check failed: ${failed.join(", ")} (npm run fix repairs format)`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
