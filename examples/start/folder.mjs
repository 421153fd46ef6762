// One folder. Invariants:
// 1. Nothing outside of it is read or written: not by "..", not by an absolute path, not through a symbolic link.
// 2. Nothing is read whole that could be large, and nothing that is not a plain file of text.
// 3. Hidden files, node_modules and dist do not exist for it.
// 4. Writing makes a new file, and never changes one that is there.
import { constants } from "node:fs";
import { open, opendir, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";

const MOST_FILES = 2000;
const MOST_DEPTH = 12;
const MOST_BYTES = 64 * 1024;
const MOST_MATCHES = 300;

const isIgnored = (name) => name.startsWith(".") || name === "node_modules" || name === "dist";

/** @param {string} path */
export async function openFolder(path) {
  const root = await realpath(path);
  return {
    root,

    /** The paths of its files, sorted; `more` where there are more than we list. `signal` ends it. */
    async list(signal) {
      const files = [];
      let more = false;
      const walk = async (folder, depth) => {
        for (const entry of await entriesOf(folder)) {
          signal?.throwIfAborted();
          if (isIgnored(entry.name)) continue;
          const inner = join(folder, entry.name);
          if (files.length >= MOST_FILES) more = true;
          if (more) return;
          if (entry.isDirectory() && depth < MOST_DEPTH) await walk(inner, depth + 1);
          else if (entry.isFile()) files.push(relative(root, inner).split(sep).join("/"));
        }
      };
      await walk(root, 0);
      return { files, more };
    },

    /** The beginning of a file: `{ path, text, bytes, more }`. */
    async read(path, most = MOST_BYTES) {
      const file = await inside(root, path);
      // Should the path become a link, or turn out to be a pipe, opening it neither follows nor waits.
      const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const stat = await handle.stat();
        if (!stat.isFile()) throw new Error(`${path} is not a file.`);
        const buffer = Buffer.alloc(Math.min(stat.size, most));
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
        const bytes = buffer.subarray(0, bytesRead);
        if (bytes.includes(0)) throw new Error(`${path} is not text.`);
        return { path, text: bytes.toString("utf8"), bytes: stat.size, more: stat.size > bytesRead };
      } finally {
        await handle.close();
      }
    },

    /** Makes a file: `{ path, bytes }`. */
    async write(path, text) {
      const name = basename(path);
      if (["", ".", ".."].includes(name) || isIgnored(name)) throw new Error(`${path} is no name for a file here.`);
      const file = join(await inside(root, dirname(path), path), name);
      const { O_WRONLY, O_CREAT, O_EXCL } = constants;
      const handle = await open(file, O_WRONLY | O_CREAT | O_EXCL).catch((error) => {
        throw error.code === "EEXIST" ? new Error(`${path} is there already, and I overwrite nothing.`) : error;
      });
      try {
        await handle.writeFile(text);
        return { path, bytes: Buffer.byteLength(text) };
      } finally {
        await handle.close();
      }
    },

    /** Lines that contain `text`, in whatever case: `{ path, line, text }`. */
    async search(text, signal) {
      const wanted = text.toLowerCase();
      const matches = [];
      const { files, more } = await this.list(signal);
      for (const path of files) {
        signal?.throwIfAborted();
        const file = await this.read(path).catch(() => undefined);
        const lines = file?.text.split("\n") ?? [];
        for (const [index, line] of lines.entries()) {
          if (!line.toLowerCase().includes(wanted)) continue;
          if (matches.length >= MOST_MATCHES) return { matches, more: true };
          matches.push({ path, line: index + 1, text: line.trim().slice(0, 160).toWellFormed() });
        }
      }
      return { matches, more };
    },
  };
}

/** The real path of `path`, which must lie inside `root`. */
async function inside(root, path, shown = path) {
  const outside = new Error(`${shown} is not in this folder.`);
  if (path.includes("\0") || isAbsolute(path)) throw outside;
  const real = await realpath(join(root, path)).catch(() => {
    throw new Error(`There is no file ${path}.`);
  });
  const inner = relative(root, real);
  if (inner === ".." || inner.startsWith(`..${sep}`) || isAbsolute(inner)) throw outside;
  if (inner.split(sep).some(isIgnored)) throw new Error(`${path} is ignored here.`);
  return real;
}

async function entriesOf(folder) {
  const entries = [];
  try {
    for await (const entry of await opendir(folder)) entries.push(entry);
  } catch {
    // A folder that may not be read, or that has just gone, has nothing in it for us.
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
