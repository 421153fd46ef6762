import { type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Whether the file system takes `A` and `a` for the same name. A name without letters does not show it: then the platform
 * decides.
 */
export function ignoresCase(folder: string): boolean {
  const name = basename(folder);
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase();
  if (other === name) return process.platform === "darwin" || process.platform === "win32";
  const found = look(join(dirname(folder), other));
  const own = look(folder);
  return found !== undefined && own !== undefined && found.ino === own.ino && found.dev === own.dev;
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
