import { ensureInstalled, runBin } from "./ensure.mjs";

await ensureInstalled();
process.exitCode = await runBin("biome", [
  "check",
  "--write",
  ...(process.argv.length > 2 ? process.argv.slice(2) : ["."]),
]);
