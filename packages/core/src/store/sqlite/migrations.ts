// The tables, by small steps that only go forward. `user_version` counts the steps taken.
//
// Threads have a number, so that what is stored once for each line is short. entry is an ordinary rowid table: WITHOUT ROWID takes three times the space for long bodies.

import { belayError } from "../../error.ts";
import type { DatabaseSync } from "./database.ts";

const steps: readonly string[] = [
  `CREATE TABLE fences (last INTEGER NOT NULL);
   INSERT INTO fences (last) VALUES (0);
   CREATE TABLE thread (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL,
     head INTEGER NOT NULL, fence INTEGER NOT NULL, owner TEXT, until INTEGER NOT NULL,
     append_id TEXT NOT NULL, crc INTEGER NOT NULL, hash BLOB NOT NULL,
     created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, row_crc INTEGER NOT NULL,
     UNIQUE (tenant, id));
   CREATE INDEX thread_updated ON thread (tenant, updated_at);
   CREATE TABLE entry (
     thread INTEGER NOT NULL, seq INTEGER NOT NULL, count INTEGER NOT NULL,
     at INTEGER NOT NULL, fence INTEGER NOT NULL, body TEXT, blob TEXT, crc INTEGER NOT NULL, hash BLOB NOT NULL);
   CREATE UNIQUE INDEX entry_seq ON entry (thread, seq);
   CREATE TABLE command (
     thread INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
     body TEXT NOT NULL, at INTEGER NOT NULL, crc INTEGER NOT NULL, consumed_seq INTEGER);
   CREATE UNIQUE INDEX command_key ON command (thread, key);
   CREATE INDEX command_open ON command (thread) WHERE consumed_seq IS NULL;
   CREATE TABLE blob (tenant TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, id));`,
];

export const SCHEMA_VERSION = steps.length;

/** Brings the database to this version, under SQLite's own lock; a newer one is refused. */
export function migrate(db: DatabaseSync): void {
  if (version(db) === SCHEMA_VERSION) return;
  db.exec("BEGIN EXCLUSIVE");
  try {
    const from = version(db);
    if (from > SCHEMA_VERSION) throw belayError("STORE_VERSION", { found: from, known: SCHEMA_VERSION });
    for (const step of steps.slice(from)) db.exec(step);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function version(db: DatabaseSync): number {
  return Number((db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version);
}
