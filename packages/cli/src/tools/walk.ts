// The files of a folder, in the order of their names, without what is ignored: .git, node_modules, what .gitignore files
// name, and links, which could lead anywhere.

import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type IgnoreRule, isIgnored, readIgnore } from "./ignore.ts";
import { readTextIfAny } from "./paths.ts";

const NEVER: readonly string[] = [".git", "node_modules", ".hg", ".svn", ".DS_Store"];
const MOST_DEPTH = 40;

export interface Entry {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly isFolder: boolean;
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** How many levels below `from`; all by default. */
  readonly depth?: number;
}

/** `from` is relative to `root`, "" for itself. Folders come before their contents. */
export async function* walk(root: string, from: string, options: WalkOptions): AsyncGenerator<Entry> {
  yield* below(root, from, await rulesAbove(root, from), options.depth ?? MOST_DEPTH, options.signal);
}

async function* below(
  root: string,
  folder: string,
  inherited: readonly IgnoreRule[],
  depth: number,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  if (depth <= 0) return;
  const rules = [...inherited, ...(await rulesOf(root, folder))];
  for (const entry of await entriesOf(join(root, folder))) {
    signal.throwIfAborted();
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    const isFolder = entry.isDirectory();
    if (NEVER.includes(entry.name) || !(isFolder || entry.isFile()) || isIgnored(rules, path, isFolder)) continue;
    yield { path, isFolder };
    if (isFolder) yield* below(root, path, rules, depth - 1, signal);
  }
}

async function rulesAbove(root: string, folder: string): Promise<IgnoreRule[]> {
  const parts = folder === "" ? [] : folder.split("/");
  const parents = parts.map((_, index) => parts.slice(0, index).join("/"));
  return (await Promise.all(parents.map((parent) => rulesOf(root, parent)))).flat();
}

async function rulesOf(root: string, folder: string): Promise<IgnoreRule[]> {
  const file = folder === "" ? ".gitignore" : `${folder}/.gitignore`;
  const found = await readTextIfAny(root, file).catch(() => undefined);
  return found === undefined ? [] : readIgnore(found.text, folder);
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    // A folder that may not be read, or that has just gone, has nothing in it for us.
    return [];
  }
}
