// Makes the programs of this folder one file that a plain Node starts at once: tests that kill processes start hundreds.
import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { sources } from "../../../../scripts/sources.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Writes the bundle below node_modules, where it finds its packages. Returns its path, and how to remove it. */
export async function bundlePrograms() {
  const folder = here(`../../../../node_modules/.cache/belay-programs-${process.pid}-${Date.now()}`);
  mkdirSync(folder, { recursive: true });
  const outfile = `${folder}/main.mjs`;
  await build({
    entryPoints: [here("main.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    alias: sources,
    logLevel: "warning",
  });
  return { path: outfile, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
