// A scratch store for the demo: SQLite in a folder of its own, so that a child process can crash in it.

import { join } from "node:path";
import { sqliteStore } from "@belay/core/sqlite";

type Database = Parameters<typeof sqliteStore>[0];

export async function openStore(folder: string) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtIn = major > 22 || (major === 22 && minor >= 13);
  const { DatabaseSync } = (await import(builtIn ? "node:sqlite" : "@photostructure/sqlite")) as {
    readonly DatabaseSync: new (path: string) => Database;
  };
  const db = new DatabaseSync(join(folder, "demo.db"));
  return { db, store: sqliteStore(db), close: () => (db as unknown as { close(): void }).close() };
}
