// The folders of the program: threads in the data folder, files that people write by hand in the config folder.

import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { problem } from "../problem.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Returns `given` (--data), BELAY_DATA, XDG_DATA_HOME, or the usual folder of this system. */
export function dataFolderOf(given: string | undefined, env: Env = process.env, platform = process.platform): string {
  const named = given ?? filled(env.BELAY_DATA);
  if (named !== undefined) return absolute(named);
  return join(base(env, platform, "XDG_DATA_HOME", ".local/share", "LOCALAPPDATA"), "belay");
}

/** Returns `given` (--config), BELAY_CONFIG, XDG_CONFIG_HOME, or the usual folder of this system. */
export function configFolderOf(given: string | undefined, env: Env = process.env, platform = process.platform): string {
  const named = given ?? filled(env.BELAY_CONFIG);
  if (named !== undefined) return absolute(named);
  return join(base(env, platform, "XDG_CONFIG_HOME", ".config", "APPDATA"), "belay");
}

/** Returns the folder that the person is in, with all links resolved; npm changes to its package's folder. */
export function currentFolder({ npm_lifecycle_event, INIT_CWD }: Env = process.env): string {
  return whereWeAre(() => realpathSync(npm_lifecycle_event === "start" && INIT_CWD ? INIT_CWD : process.cwd()));
}

/** Writes a file at the given path. Throws `FILE_UNWRITABLE`. */
export function writing<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw problem("FILE_UNWRITABLE", { file, reason: (error as Error).message }, error);
  }
}

/** Adds the path of the store to an error of the runtime, so that the person can find the file. */
export function storeProblem(error: unknown, folder: () => string): unknown {
  try {
    return namedProblem(error, folder);
  } catch {
    // This error holds also if the folder cannot be named.
    return error;
  }
}

function namedProblem(error: unknown, folder: () => string): unknown {
  const { code, details = {}, cause } = (error ?? {}) as Told;
  const { reason = "", problem: damage = "" } = details;
  if (code === "STORE_FULL" || (code === "STORE_FAILED" && isOfTheDisk(cause)))
    return problem("DATA_FOLDER", { folder: folder(), reason }, error);
  if (code === "STORE_CORRUPT") return problem("DATA_DAMAGED", { file: databaseIn(folder()), reason: damage }, error);
  return code === "STORE_VERSION" ? problem("DATA_NEWER", { file: databaseIn(folder()) }, error) : error;
}

interface Told {
  readonly code?: string;
  readonly details?: { readonly reason?: string; readonly problem?: string };
  readonly cause?: unknown;
}

/** SQLite's PERM, READONLY, IOERR and CANTOPEN. */
const DISK: ReadonlySet<number> = new Set([3, 8, 10, 14]);

/** Other failures of a store are not repaired by more room or another folder. */
function isOfTheDisk(cause: unknown): boolean {
  const { errcode, syscall } = (cause ?? {}) as { readonly errcode?: number; readonly syscall?: string };
  // The upper bytes say more of the same.
  return syscall !== undefined || (errcode !== undefined && DISK.has(errcode & 0xff));
}

/** The file of all threads. */
export function databaseIn(dataFolder: string): string {
  return join(dataFolder, "threads.db");
}

/** Reports a refusal of the system with the folder: `DATA_FOLDER`. */
export function inDataFolder<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw problem("DATA_FOLDER", { folder, reason: (error as Error).message }, error);
  }
}

function base(env: Env, platform: NodeJS.Platform, xdg: string, below: string, windows: string): string {
  const named = filled(env[xdg]);
  if (named !== undefined) return absolute(named);
  const home = filled(env.HOME) ?? homedir();
  if (platform === "darwin") return join(home, "Library/Application Support");
  if (platform === "win32")
    return filled(env[windows]) ?? join(home, "AppData", windows === "APPDATA" ? "Roaming" : "Local");
  return join(home, below);
}

/** Returns a path relative to the folder that the person is in. */
function absolute(path: string): string {
  return whereWeAre(() => resolve(path));
}

/** Throws `FOLDER_GONE`: it may have been removed since. */
function whereWeAre(look: () => string): string {
  try {
    return look();
  } catch (error) {
    throw problem("FOLDER_GONE", { reason: (error as Error).message }, error);
  }
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value;
}
