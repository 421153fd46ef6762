// npm run console: the console with a seeded tour, without a key. Builds stale packages, then serves on loopback.
//
//   npm run console              opens it in the browser
//   npm run console -- --no-open prints the address only; other options are those of `belay serve`
//   npm run console -- --check   checks each page in each state and takes pictures, into packages/console/shots
//   npm run console -- --docs    the same, and takes the pictures of the docs anew
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureConsole } from "./build-console.mjs";
import { bundleCli } from "./bundle-cli.mjs";
import { cachedBundle } from "./cached-bundle.mjs";
import { ensureInstalled, root, run, runBin } from "./ensure.mjs";
import { sources } from "./sources.mjs";

/** Returns the file with the program, made of the sources. `serve --demo` is the tour. */
export async function demoProgram() {
  await ensureConsole();
  const folder = await cachedBundle("cli", async (outdir) => {
    await bundleCli(join(root, "packages/cli"), join(outdir, "dist"), sources);
    // The program reads its version beside itself.
    copyFileSync(join(root, "packages/cli/package.json"), join(outdir, "package.json"));
  });
  return join(folder, "dist/belay.js");
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await ensureInstalled();
  const docs = process.argv.includes("--docs");
  if (docs || process.argv.includes("--check")) {
    await ensureConsole();
    const env = { ...process.env, BELAY_SHOTS: join(root, "packages/console/shots"), ...(docs && { BELAY_DOCS: "1" }) };
    process.exitCode = await runBin("vitest", ["run", "packages/console/src/testing/shots.sweep.test.ts"], { env });
  } else {
    const program = await demoProgram();
    const asked = process.argv.slice(2).filter((word) => word !== "--no-open");
    const open = process.argv.includes("--no-open") ? [] : ["--open"];
    const args = ["--disable-warning=ExperimentalWarning", program, "serve", "--demo", ...open, ...asked];
    process.exitCode = await run(process.execPath, args);
  }
}
