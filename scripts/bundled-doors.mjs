// The doors of the packages, each as one file made of the sources, for programs that tsx runs: it takes half a second to
// load hundreds of sources, and tests run dozens of such programs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { cachedBundle } from "./cached-bundle.mjs";
import { sources } from "./sources.mjs";

const doors = Object.entries(sources).filter(([door]) => !/^@belay\/(cli|console|testkit)\b/.test(door));

/** Returns what the environment of a program needs so that tsx resolves our packages to these files. */
export async function bundledDoors() {
  const folder = await cachedBundle("doors", async (outdir) => {
    await build({
      entryPoints: Object.fromEntries(doors.map(([door, source]) => [door, source])),
      outdir,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      packages: "external",
      alias: sources,
      logLevel: "warning",
    });
    const paths = Object.fromEntries(doors.map(([door]) => [door, [`./${door}.mjs`]]));
    writeFileSync(join(outdir, "tsconfig.json"), JSON.stringify({ compilerOptions: { paths } }));
  });
  return { TSX_TSCONFIG_PATH: join(folder, "tsconfig.json") };
}
