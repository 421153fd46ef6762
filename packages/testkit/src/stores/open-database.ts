// The SQLite that this Node has: its own, or the same from a package. For tests, examples and programs; the library
// itself is handed an open database.

import type { sqliteStore } from "@belay/core/sqlite";

/** The part of an open database that the store uses. */
export type Database = Parameters<typeof sqliteStore>[0];

type Options = { readonly readOnly?: boolean };
type Module = { readonly DatabaseSync: new (path: string, options?: Options) => Database };

export async function openDatabase(path: string, options: Options = {}): Promise<Database> {
  return (await databaseOpener())(path, options);
}

/** Returns a function that opens a database at once. */
export async function databaseOpener(): Promise<(path: string, options?: Options) => Database> {
  const { DatabaseSync } = await module();
  return (path, options = {}) => new DatabaseSync(path, options);
}

async function module(): Promise<Module> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtIn = major > 22 || (major === 22 && minor >= 13);
  return (await import(builtIn ? "node:sqlite" : "@photostructure/sqlite")) as Module;
}
