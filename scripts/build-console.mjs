// The pages of the console as one module of gzip strings: the server carries them without files, and loads them when the
// first page is asked for. gzip and not brotli: browsers accept brotli over https and loopback only.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { extname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { ensureInstalled, newest, root } from "./ensure.mjs";

const source = join(root, "packages/console");
const target = join(root, "packages/server/src/console-assets.ts");

/** The bound of the first page, in bytes of gzip. */
export const FIRST_LOAD = 180_000;

/** @type {Readonly<Record<string, string>>} */
const types = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** @typedef {{ type: string, etag: string, gzip: string }} Asset */

/** @returns {string[]} */
function filesBelow(/** @type {string} */ folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Builds the pages and writes the module. Resolves to the bytes of the first load. */
export async function buildConsole() {
  const { build } = await import("vite");
  const folder = mkdtempSync(join(tmpdir(), "belay-console-"));
  // A test that builds it must not get a page for development.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = "production";
  try {
    await build({
      configFile: join(source, "vite.config.ts"),
      mode: "production",
      logLevel: "warn",
      build: { outDir: folder, emptyOutDir: true },
    });
    const html = readFileSync(join(folder, "index.html"), "utf8").replaceAll('"./assets/', '"__BASE__assets/');
    /** @type {Record<string, Asset>} */
    const assets = {};
    for (const file of filesBelow(join(folder, "assets")).sort()) {
      const type = types[extname(file)];
      if (type === undefined) throw new Error(`The console has a file of an unknown type: ${file}`);
      const body = readFileSync(file);
      assets[relative(folder, file)] = {
        type,
        etag: `"${createHash("sha256").update(body).digest("hex").slice(0, 16)}"`,
        gzip: gzipSync(body, { level: 9 }).toString("base64"),
      };
    }
    const words = [
      "// Made by scripts/build-console.mjs, in one piece. Not committed, and not to be edited.",
      "",
      `export const page = ${JSON.stringify(html)};`,
      "",
      `export const assets: Readonly<Record<string, { readonly type: string; readonly etag: string; readonly gzip: string }>> = ${JSON.stringify(assets)};`,
      "",
    ].join("\n");
    const fresh = `${target}.${process.pid}.tmp`;
    writeFileSync(fresh, words);
    renameSync(fresh, target);
    return firstLoad(html, assets);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The bytes, as sent, of the scripts and styles that the page itself names. */
export function firstLoad(/** @type {string} */ html, /** @type {Readonly<Record<string, Asset>>} */ assets) {
  const named = [...html.matchAll(/__BASE__(assets\/[^"]+)/g)].map((found) => found[1]);
  return Object.entries(assets)
    .filter(([path]) => named.includes(path) && !path.endsWith(".svg"))
    .reduce((sum, [, { gzip }]) => sum + Buffer.from(gzip, "base64").length, 0);
}

/** Builds the pages if their sources are newer than the module. */
export async function ensureConsole() {
  const sources = [
    join(source, "src"),
    join(source, "index.html"),
    join(source, "vite.config.ts"),
    join(root, "packages/client/src"),
  ];
  const made = existsSync(target) ? statSync(target).mtimeMs : 0;
  if (made < Math.max(...sources.map(newest))) await buildConsole();
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await ensureInstalled();
  const bytes = await buildConsole();
  console.log(`console: first load ${(bytes / 1000).toFixed(1)} kB gzipped, of ${FIRST_LOAD / 1000} kB`);
  process.exitCode = bytes <= FIRST_LOAD ? 0 : 1;
}
