// One file for each door of the package, and chunks for what they share: Node opens a module in a third of a
// millisecond, and there are as many as there are thoughts in the sources. The doors are those in package.json.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Writes the doors of the package in `dir` to `outdir`, from the sources beside them. */
export async function bundle(dir, outdir) {
  const { exports } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const doors = Object.values(exports).map((door) => /^\.\/dist\/(.+)\.js$/.exec(door.default)[1]);
  await build({
    entryPoints: Object.fromEntries(doors.map((door) => [door, join(dir, "src", `${door}.ts`)])),
    outdir,
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    charset: "utf8",
    sourcemap: true,
    logLevel: "warning",
  });
}
