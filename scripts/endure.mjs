// The sweeps: processes killed at a spread of points, workers in chaos, random lives, damaged files, broken wires.
//
//   npm run endure                         a spread of each
//   npm run endure -- --all                every point; takes hours
//   npm run endure -- chaos --seconds 60   one area, longer; other arguments go to vitest
//   npm run endure -- chaos --engine loop --tenants 1000   workers dispatched by an engine, over so many tenants
import { readEffort } from "./effort.mjs";
import { ensureBuilt, ensureInstalled } from "./ensure.mjs";
import { runTier } from "./run-tier.mjs";

const effort = readEffort("endure", process.argv.slice(2));
await ensureInstalled();
await ensureBuilt();
process.exitCode = await runTier("endure", effort);
