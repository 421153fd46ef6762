// Bundles of child processes, shared by all test files: a bundle is made once for each state of the sources.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { root } from "./ensure.mjs";

// Below node_modules, so that a bundle finds its packages.
const cache = join(root, "node_modules/.cache/belay-bundles");
const UNUSED_MS = 24 * 60 * 60 * 1000;

/** @returns {string[]} */
function sourcesBelow(/** @type {string} */ folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return sourcesBelow(path);
      return /\.test\.tsx?$/.test(entry.name) ? [] : [path];
    });
}

/** The sources of all packages, the bundler and its settings, and the packages from outside. */
function fingerprint(/** @type {readonly string[]} */ more) {
  const packages = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name));
  const files = [
    ...packages.map((dir) => join(dir, "package.json")),
    ...packages.flatMap((dir) => (existsSync(join(dir, "src")) ? sourcesBelow(join(dir, "src")) : [])),
    ...["package-lock.json", "scripts/bundle.mjs", "scripts/bundle-cli.mjs", "scripts/sources.mjs"].map((path) =>
      join(root, path),
    ),
  ];
  const hash = createHash("sha256").update(JSON.stringify(more));
  for (const file of files.filter((path) => existsSync(path))) hash.update(`\0${file}\0`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 20);
}

/**
 * Returns the folder with the bundle `name`, and has `make` fill it if no test has done so for these sources. `more` are
 * the settings that `make` depends on besides the sources.
 * @param {string} name
 * @param {(folder: string) => Promise<unknown>} make
 * @param {readonly string[]} [more]
 */
export async function cachedBundle(name, make, more = []) {
  const folder = join(cache, `${name}-${fingerprint([name, ...more])}`);
  if (!existsSync(folder)) {
    // Made beside and moved: another process finds all of it or nothing.
    const fresh = `${folder}.${process.pid}.${Math.random().toString(36).slice(2)}`;
    mkdirSync(fresh, { recursive: true });
    try {
      await make(fresh);
      renameSync(fresh, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
    removeUnused();
  }
  const now = new Date();
  utimesSync(folder, now, now);
  return folder;
}

function removeUnused() {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const usedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - usedAt > UNUSED_MS) rmSync(folder, { recursive: true, force: true });
  }
}
