// One folder, and nothing outside of it. Invariants:
// 1. A path is judged by its real target: links are resolved, also of the deepest existing parent.
// 2. An opened file is checked again: a folder swapped for a link between check and open gains nothing.
// 3. Writing makes a new file beside the old one and renames it: readers see the old text or the new one, never a part.

import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { problem } from "../problem.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

export interface Place {
  /** Its real path; nothing need exist there. */
  readonly real: string;
  /** The path for people and models: relative to the folder, with slashes. */
  readonly shown: string;
}

export const MOST_BYTES = 8 * 1024 * 1024;

/** Where `path` leads, inside `root`, which has no links in it. */
export async function placeOf(root: string, path: string): Promise<Place> {
  const outside = () => problem("PATH_OUTSIDE", { path: JSON.stringify(path), root });
  if (path.includes("\0")) throw outside();
  const wanted = resolve(root, path);
  const real = await realOf(wanted);
  if (!isInside(root, real)) throw outside();
  return { real, shown: relative(root, real).split(sep).join("/") || "." };
}

/** The same, as a path for people; undefined if it is none. */
export function leadsTo(root: string, path: string): Promise<string | undefined> {
  return placeOf(root, path).then(
    ({ shown }) => shown,
    () => undefined,
  );
}

export function isInside(root: string, path: string): boolean {
  const inner = relative(root, path);
  return inner === "" || !(inner === ".." || inner.startsWith(`..${sep}`) || isAbsolute(inner));
}

/** With the links of the deepest existing parent resolved. A link that leads nowhere is no place to make a file at. */
async function realOf(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; ) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") throw asProblem(error, path);
      const dangling = await lstat(at).then(
        () => true,
        () => false,
      );
      if (dangling) throw problem("PATH_MISSING", { path: JSON.stringify(path) });
    }
    missing.unshift(at.slice(dirname(at).length).replace(/^[/\\]/, ""));
    at = dirname(at);
  }
}

/** Opens a plain file for reading. A pipe does not make us wait, a link that came meanwhile is not followed. */
export async function openToRead(
  root: string,
  path: string,
): Promise<{ handle: FileHandle; place: Place; stat: Stats }> {
  const place = await placeOf(root, path);
  let handle: FileHandle;
  try {
    handle = await open(place.real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    throw asProblem(error, place.shown);
  }
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw problem("PATH_NOT_FILE", { path: place.shown });
    await checkOpened(root, place, handle);
    return { handle, place, stat: found };
  } catch (error) {
    await handle.close();
    throw asProblem(error, place.shown);
  }
}

/** The whole text of a file. */
export async function readText(root: string, path: string): Promise<{ place: Place; text: string; mode: number }> {
  const { handle, place, stat } = await openToRead(root, path);
  try {
    if (stat.size > MOST_BYTES) {
      throw problem("FILE_TOO_LARGE", { path: place.shown, bytes: stat.size, most: MOST_BYTES });
    }
    return { place, text: toText(await handle.readFile(), place.shown), mode: stat.mode & 0o777 };
  } finally {
    await handle.close();
  }
}

/** Undefined if there is none yet. */
export async function readTextIfAny(
  root: string,
  path: string,
): Promise<Awaited<ReturnType<typeof readText>> | undefined> {
  return readText(root, path).catch((error: { code?: string }) => {
    if (error.code === "PATH_MISSING") return undefined;
    throw error;
  });
}

export function toText(bytes: Uint8Array, shown: string): string {
  try {
    if (bytes.includes(0)) throw new Error("NUL");
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw problem("PATH_NOT_TEXT", { path: shown });
  }
}

/** The file that a text takes the place of; without a text there is none. */
export interface OldFile {
  readonly before: string | undefined;
  readonly mode: number | undefined;
}

/**
 * Puts a text in the place of an old file, and makes the folders that are missing on the way. Throws `FILE_RACED` if the old
 * file has another text by then: that would be lost.
 */
export async function writeText(root: string, path: string, text: string, { before, mode }: OldFile): Promise<Place> {
  const place = await placeOf(root, path);
  refuseProtected(place);
  const folder = dirname(place.real);
  try {
    await mkdir(folder, { recursive: true });
    const fresh = join(folder, `.belay-${randomBytes(8).toString("hex")}`);
    const handle = await open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? 0o666);
    try {
      await checkOpened(root, { real: fresh, shown: place.shown }, handle);
      if (mode !== undefined) await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
      await handle.close();
      const there = await lstat(place.real).catch(() => undefined);
      if (there?.isDirectory() || there?.isSymbolicLink()) throw problem("PATH_NOT_FILE", { path: place.shown });
      if ((await readTextIfAny(root, path))?.text !== before) throw problem("FILE_RACED", { path: place.shown });
      await rename(fresh, place.real);
    } catch (error) {
      // Its real path, if it has moved by now.
      const made = await whereIs(handle, { real: fresh, shown: place.shown }).catch(() => fresh);
      await handle.close().catch(() => {});
      await rm(made, { force: true });
      throw error;
    }
    return place;
  } catch (error) {
    throw asProblem(error, place.shown);
  }
}

/** A file that Git runs as code is not for a tool that writes texts. */
export function refuseProtected({ shown }: Place): void {
  if (shown.split("/").some((part) => part.toLowerCase() === ".git")) throw problem("PATH_PROTECTED", { path: shown });
}

/** Throws unless the open file lies inside the folder, also if its path has changed since it was opened. */
async function checkOpened(root: string, place: Place, handle: FileHandle): Promise<void> {
  if (!isInside(root, await whereIs(handle, place))) {
    throw problem("PATH_OUTSIDE", { path: JSON.stringify(place.shown), root });
  }
}

/**
 * Linux has the path of an open file. Elsewhere the path is resolved once more, twice the same, to the same file: a swap of
 * folders at exactly the right three moments would still pass.
 */
async function whereIs(handle: FileHandle, { real, shown }: Place): Promise<string> {
  if (process.platform === "linux") {
    const known = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
    if (known !== undefined) return known;
  }
  const opened = await handle.stat();
  const before = await realpath(real);
  const there = await stat(before);
  const same = there.ino === opened.ino && there.dev === opened.dev && (await realpath(real)) === before;
  if (!same) throw problem("PATH_MISSING", { path: shown });
  return before;
}

function asProblem(error: unknown, shown: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return problem("PATH_MISSING", { path: shown }, error);
  if (code === "ELOOP" || code === "EISDIR" || code === "ENXIO")
    return problem("PATH_NOT_FILE", { path: shown }, error);
  return error;
}
