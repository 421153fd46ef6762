// npm run bench: bench/ is a package of its own, so that the compared libraries are not installed with us.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./ensure.mjs";

const bench = join(root, "bench");
const program = join(bench, "run.mjs");
if (!existsSync(program)) {
  console.error("There is nothing to measure: bench/run.mjs does not exist.");
  process.exit(1);
}
await ensureInstalled();
await ensureBuilt();
if (existsSync(join(bench, "package-lock.json"))) await ensureInstalled(bench);
process.exitCode = await run(process.execPath, [program, ...process.argv.slice(2)], { cwd: bench });
