// npm start: the first thing a newcomer runs, against the package as it is published.
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./ensure.mjs";

await ensureInstalled();
await ensureBuilt();
process.exitCode = await run(process.execPath, [join(root, "packages/cli/dist/belay.js"), ...process.argv.slice(2)]);
