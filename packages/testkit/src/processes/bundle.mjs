// Makes the programs of this folder one file that a plain Node starts at once: tests that kill processes start hundreds.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { cachedBundle } from "../../../../scripts/cached-bundle.mjs";
import { sources } from "../../../../scripts/sources.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Returns the path of the bundle. */
export async function bundlePrograms() {
  const folder = await cachedBundle("programs", (outdir) =>
    build({
      entryPoints: [here("main.ts")],
      outdir,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      // Each engine is a chunk: a process loads its own.
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      // The drivers of the stores are in it: their own files take longer to load than all of it.
      external: ["@photostructure/sqlite", "bullmq", "@dbos-inc/*", "@restatedev/*", "pg-native", "pg-cloudflare"],
      banner: {
        js: 'import { createRequire as requireIn } from "node:module"; const require = requireIn(import.meta.url);',
      },
      alias: sources,
      logLevel: "warning",
    }),
  );
  return `${folder}/main.mjs`;
}
