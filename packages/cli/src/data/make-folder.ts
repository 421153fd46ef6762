import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** With those above it, for its owner only. Node's own way to do so never ends where the system says ENOENT of a folder whose
 * parent is there, as /proc does. */
export function makeFolder(folder: string): void {
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
