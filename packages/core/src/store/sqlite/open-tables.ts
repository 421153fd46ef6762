// Makes a database ours: its tables, and how it keeps them. Before anything is changed, a newer one is refused.

import { BUSY, type DatabaseSync, resultCode } from "./database.ts";
import { migrate, refuseNewer, SCHEMA_VERSION } from "./migrations.ts";
import { fileOf, refuseNetworkFiles, type Statfs } from "./network-files.ts";

const LOCK_TRIES_MS = 5_000;

/**
 * The size at which SQLite's log is written back and begun anew. A write that makes the file longer also syncs its new length,
 * which takes half as long again: a short log is soon overwritten instead. Below this size, writing it back costs more than that
 * saves.
 */
const LOG_PAGES = 250;
/** The same for a log that is written over for long: fewer write-backs are worth a larger file. */
const LONG_LOG_PAGES = 1_000;

/** Returns the path of the database; empty or undefined if it has none. */
export function openTables(db: DatabaseSync, statfs?: Statfs): string | undefined {
  const file = fileOf(db);
  refuseNetworkFiles(file, statfs);
  db.exec("PRAGMA busy_timeout = 5000");
  const found = refuseNewer(db);
  db.exec(`PRAGMA page_size = 4096; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  // Switching to WAL needs the file alone, and SQLite does not wait for that: several processes may open a new file at once. A
  // process that finds it done needs no lock.
  patiently(() => db.exec("PRAGMA journal_mode = WAL"));
  if (found !== SCHEMA_VERSION) patiently(() => migrate(db));
  db.exec("PRAGMA busy_timeout = 20");
  return file;
}

export function lengthenLog(db: DatabaseSync): void {
  db.exec(`PRAGMA wal_autocheckpoint = ${LONG_LOG_PAGES}`);
}

function patiently(work: () => void): void {
  const giveUp = Date.now() + LOCK_TRIES_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (resultCode(error) !== BUSY || Date.now() > giveUp) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + Math.random() * 10);
  }
}
