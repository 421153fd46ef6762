// npm run bench:peers: installs bench/peers, a package of its own, and runs Belay beside its peers. Writes docs/comparison.md.
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./ensure.mjs";

const peers = join(root, "bench/peers");
await ensureInstalled();
await ensureBuilt();
await ensureInstalled(peers);
process.exitCode = await run(process.execPath, [join(peers, "run.mjs")], { cwd: peers });
