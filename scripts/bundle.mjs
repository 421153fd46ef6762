// One file for each door of the package, and chunks for shared code: Node opens a module in a third of a
// millisecond, and the sources have hundreds. The doors are those in package.json.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/**
 * Writes the doors of the package in `dir` to `outdir`, from the sources beside them. `platform` "neutral" is for what browsers
 * run, too.
 */
export async function bundle(dir, outdir, platform = "node") {
  const { exports } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const doors = Object.values(exports).map((door) => /^\.\/dist\/(.+)\.js$/.exec(door.default)[1]);
  await build({
    entryPoints: Object.fromEntries(doors.map((door) => [door, sourceOf(dir, door)])),
    outdir,
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    platform,
    target: platform === "node" ? "node20" : "es2022",
    packages: "external",
    // Without the paths of tsconfig.json, by which tests find sources: a package that carried a copy of another one would not
    // know the agents that were made by the other.
    tsconfigRaw: {},
    charset: "utf8",
    logLevel: "warning",
  });
}

function sourceOf(dir, door) {
  const path = join(dir, "src", `${door}.ts`);
  return existsSync(path) ? path : `${path}x`;
}
