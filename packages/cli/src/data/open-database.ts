// The file of all threads: one SQLite database that only its owner can read. Node's own SQLite if it has one, else the
// same from a package.

import { chmodSync, closeSync, openSync } from "node:fs";
import type { sqliteStore } from "@belay/core/sqlite";
import { databaseIn, inDataFolder } from "./folders.ts";
import { makeFolder } from "./make-folder.ts";

type Database = Parameters<typeof sqliteStore>[0];
type Module = { readonly DatabaseSync: new (path: string) => Database };

const OWNER_ONLY = 0o600;

/** SQLite gives the files beside it (-wal, -shm) the mode of this one. */
export async function openDatabase(dataFolder: string): Promise<Database> {
  const file = databaseIn(dataFolder);
  inDataFolder(dataFolder, () => {
    makeFolder(dataFolder);
    // Made before SQLite would make it, so that it is never open to others, not even for a moment.
    closeSync(openSync(file, "a", OWNER_ONLY));
    chmodSync(file, OWNER_ONLY);
  });
  const { DatabaseSync } = await sqlite();
  return inDataFolder(dataFolder, () => new DatabaseSync(file));
}

async function sqlite(): Promise<Module> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtIn = major > 22 || (major === 22 && minor >= 13);
  if (!builtIn) return (await import("@photostructure/sqlite")) as unknown as Module;
  return withoutWarning(async () => (await import("node:sqlite" as string)) as Module);
}

/** Suppresses Node's note that its SQLite is experimental: it would break the screen. */
async function withoutWarning<T>(work: () => Promise<T>): Promise<T> {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes("SQLite")) return;
    (emitWarning as (...args: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof emitWarning;
  try {
    return await work();
  } finally {
    process.emitWarning = emitWarning;
  }
}
