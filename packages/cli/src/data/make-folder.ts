import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Makes a folder and those above it, for its owner only. Node's own way never ends if the system reports ENOENT for a folder with
 * an existing parent, as /proc does. */
export function makeFolder(folder: string): void {
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
