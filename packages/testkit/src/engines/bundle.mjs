// Makes the program of this folder one file that a plain Node starts at once.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { cachedBundle } from "../../../../scripts/cached-bundle.mjs";
import { sources } from "../../../../scripts/sources.mjs";

/** Returns the path of the bundle. */
export async function bundleServer() {
  const folder = await cachedBundle("engines", (outdir) =>
    build({
      entryPoints: [fileURLToPath(new URL("main.ts", import.meta.url))],
      outdir,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      // Each engine is a chunk: a process loads its own.
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      packages: "external",
      alias: sources,
      logLevel: "warning",
    }),
  );
  return `${folder}/main.mjs`;
}
