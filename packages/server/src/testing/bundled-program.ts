// Programs of this folder as one file each, for tests that start them as processes.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { cachedBundle } from "../../../../scripts/cached-bundle.mjs";
import { sources } from "../../../../scripts/sources.mjs";

/** Returns the path of the bundle. It is made once for each state of the sources. */
export async function bundledProgram(name: "serving" | "speaking"): Promise<string> {
  const entry = fileURLToPath(new URL(`./${name}-program.ts`, import.meta.url));
  const folder = await cachedBundle(name, (outdir) =>
    build({
      entryPoints: [entry],
      outfile: `${outdir}/${name}.mjs`,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
      packages: "external",
      alias: sources,
      logLevel: "warning",
    }),
  );
  return `${folder}/${name}.mjs`;
}
