// npm run console: the console with a seeded tour, without a key. Builds what is old, then serves on loopback.
//
//   npm run console              opens it in the browser
//   npm run console -- --no-open prints the address only
//   npm run console -- --check   takes pictures of each page instead, into packages/console/shots
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { ensureConsole } from "./build-console.mjs";
import { cachedBundle } from "./cached-bundle.mjs";
import { ensureInstalled, root, run, runBin } from "./ensure.mjs";
import { sources } from "./sources.mjs";

/** Returns the file with the program of the demo. */
export async function demoProgram() {
  await ensureConsole();
  const folder = await cachedBundle("console-demo", (outdir) =>
    build({
      entryPoints: { main: join(root, "packages/console/src/demo/main.ts") },
      outdir,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      outExtension: { ".js": ".mjs" },
      alias: sources,
      external: ["@photostructure/sqlite"],
      banner: {
        js: 'import { createRequire as belayRequire } from "node:module"; const require = belayRequire(import.meta.url);',
      },
      logLevel: "warning",
    }),
  );
  return join(folder, "main.mjs");
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await ensureInstalled();
  if (process.argv.includes("--check")) {
    await ensureConsole();
    const env = { ...process.env, BELAY_SHOTS: join(root, "packages/console/shots") };
    process.exitCode = await runBin("vitest", ["run", "packages/console/src/testing/shots.test.ts"], { env });
  } else {
    const program = await demoProgram();
    const args = ["--disable-warning=ExperimentalWarning", program];
    process.exitCode = await run(process.execPath, process.argv.includes("--no-open") ? args : [...args, "--open"]);
  }
}
