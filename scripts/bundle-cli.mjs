// The terminal program as one file and the chunks that it opens late: providers, MCP and the app itself are read only when they
// are needed, and the prompt appears in a fraction of a second.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

/** Ink's layout is a WebAssembly in the file itself: to fetch it from there would load all of Node's HTTP client first. */
const yogaWithoutFetch = {
  name: "yoga-without-fetch",
  setup({ onLoad }) {
    onLoad({ filter: /yoga-wasm-base64-esm\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      return { contents: source.replaceAll('"function"!=typeof fetch', "true") };
    });
  },
};

/**
 * Writes the program and its door to `outdir`, and `more` by name. The core must have been built, unless `alias` says where
 * else it is.
 */
export async function bundleCli(dir, outdir, alias = {}, more = {}) {
  await build({
    entryPoints: { belay: join(dir, "src/belay.ts"), index: join(dir, "src/index.ts"), ...more },
    outdir,
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    platform: "node",
    target: "node20",
    jsx: "automatic",
    minifySyntax: true,
    minifyWhitespace: true,
    define: { "process.env.NODE_ENV": '"production"' },
    // Native; and what Ink opens in development only.
    external: ["@photostructure/sqlite", "react-devtools-core"],
    // Ink draws nothing if it believes to be in CI; we decide whether there is a terminal.
    alias: {
      "is-in-ci": join(dir, "src/app/not-in-ci.ts"),
      "string-width": join(dir, "src/app/string-width.ts"),
      ...alias,
    },
    plugins: [yogaWithoutFetch],
    // Packages of the older module system look for Node's own by require.
    banner: {
      js: 'import { createRequire as belayRequire } from "node:module"; const require = belayRequire(import.meta.url);',
    },
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
}
