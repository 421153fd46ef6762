// Where things are kept: threads in the data folder, what people write by hand in the config folder.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { problem } from "../problem.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** `given` (--data), BELAY_DATA, XDG_DATA_HOME, or where this system keeps such things. */
export function dataFolderOf(given: string | undefined, env: Env = process.env, platform = process.platform): string {
  const named = given ?? filled(env.BELAY_DATA);
  if (named !== undefined) return resolve(named);
  return join(base(env, platform, "XDG_DATA_HOME", ".local/share", "LOCALAPPDATA"), "belay");
}

/** `given` (--config), BELAY_CONFIG, XDG_CONFIG_HOME, or where this system keeps such things. */
export function configFolderOf(given: string | undefined, env: Env = process.env, platform = process.platform): string {
  const named = given ?? filled(env.BELAY_CONFIG);
  if (named !== undefined) return resolve(named);
  return join(base(env, platform, "XDG_CONFIG_HOME", ".config", "APPDATA"), "belay");
}

/** Where the system refuses, the person is told what it is about: `DATA_FOLDER`. */
export function inDataFolder<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw problem("DATA_FOLDER", { folder, reason: (error as Error).message }, error);
  }
}

function base(env: Env, platform: NodeJS.Platform, xdg: string, below: string, windows: string): string {
  const named = filled(env[xdg]);
  if (named !== undefined) return resolve(named);
  const home = filled(env.HOME) ?? homedir();
  if (platform === "darwin") return join(home, "Library/Application Support");
  if (platform === "win32")
    return filled(env[windows]) ?? join(home, "AppData", windows === "APPDATA" ? "Roaming" : "Local");
  return join(home, below);
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value;
}
