// npm run bench: bench/ is a package of its own, so that what we are measured against is not installed with us.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./ensure.mjs";

const bench = join(root, "bench");
await ensureInstalled();
await ensureBuilt();
if (existsSync(join(bench, "package-lock.json"))) await ensureInstalled(bench);
process.exitCode = await run(process.execPath, [join(bench, "run.mjs"), ...process.argv.slice(2)], { cwd: bench });
