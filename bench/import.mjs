// How much longer does a Node process take that imports the package than one that does nothing?

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answer, inTurns, least, median } from "./measure.mjs";

// Below bench/, so that the package is found.
const folder = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), ".import-"));
try {
  writeFileSync(join(folder, "empty.mjs"), "");
  writeFileSync(join(folder, "belay.mjs"), 'await import("@belay/core");');
  const start = (file) => () => {
    const started = performance.now();
    const { status, stderr } = spawnSync(process.execPath, [join(folder, file)], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return performance.now() - started;
  };
  const { belay, floor } = await inTurns({ belay: start("belay.mjs"), floor: start("empty.mjs") }, { rounds: 40 });
  answer({
    name: `import("@belay/core"), median of 40 (difference of the least: ${(least(belay) - least(floor)).toFixed(1)} ms)`,
    unit: "ms",
    measured: median(belay),
    floor: median(floor),
    target: 30,
    judged: "over",
  });
} finally {
  rmSync(folder, { recursive: true });
}
