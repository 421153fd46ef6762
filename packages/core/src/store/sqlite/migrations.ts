// The tables, by small steps that only go forward. `user_version` counts the steps taken.
//
// Threads have a number, so that the key that each line repeats is short. Each is found in two ways, by (tenant, id) and by
// a crc of both: a damaged index does not make a thread look new. A thread's row counts its open commands, for the same reason.
// A line's id is made of its thread's number and its seq, so that it needs no index of its own: each page that an append
// changes is written to the disk twice. Threads are not indexed by the time of their last change for the same reason: lists
// have a table of their own, which most appends do not touch (listing.ts). Requests are found in two ways, and the open ones
// counted in two, as threads are; so are rules.
//
// A fork's row names the thread whose lines it continues. The lines of a deleted thread that its forks need stay, under
// its number, which is in `kept` then.
//
// Rows written before a column was added have NULL in it, and a checksum without it.

import { belayError } from "../../error.ts";
import type { DatabaseSync } from "./database.ts";
import { fencesCrc } from "./rows.ts";

const steps: readonly string[] = [
  `CREATE TABLE fences (last INTEGER NOT NULL, crc INTEGER NOT NULL);
   INSERT INTO fences (last, crc) VALUES (0, ${fencesCrc(0)});
   CREATE TABLE thread (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, name INTEGER NOT NULL, agent TEXT NOT NULL,
     state TEXT NOT NULL, head INTEGER NOT NULL, fence INTEGER NOT NULL, owner TEXT, until INTEGER NOT NULL,
     append_id TEXT NOT NULL, crc INTEGER NOT NULL, hash BLOB NOT NULL, open INTEGER NOT NULL, queued INTEGER NOT NULL,
     created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, row_crc INTEGER NOT NULL,
     UNIQUE (tenant, id));
   CREATE INDEX thread_name ON thread (name);
   CREATE INDEX thread_tenant ON thread (tenant);
   CREATE TABLE entry (
     id INTEGER PRIMARY KEY, count INTEGER NOT NULL, at INTEGER NOT NULL, fence INTEGER NOT NULL,
     body TEXT, blob TEXT, crc INTEGER NOT NULL, hash BLOB NOT NULL);
   CREATE TABLE command (
     thread INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
     body TEXT NOT NULL, at INTEGER NOT NULL, crc INTEGER NOT NULL, consumed_seq INTEGER);
   CREATE UNIQUE INDEX command_key ON command (thread, key);
   CREATE INDEX command_open ON command (thread) WHERE consumed_seq IS NULL;
   CREATE TABLE blob (tenant TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, id));`,
  `CREATE TABLE snapshot (thread INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL);`,
  `ALTER TABLE thread ADD COLUMN answers INTEGER;
   ALTER TABLE thread ADD COLUMN rest_from INTEGER;
   ALTER TABLE thread ADD COLUMN rest_due INTEGER;
   CREATE TABLE request (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, name INTEGER NOT NULL, thread INTEGER NOT NULL,
     expires_at INTEGER, body TEXT NOT NULL, crc INTEGER NOT NULL, closed INTEGER, UNIQUE (tenant, id));
   CREATE INDEX request_name ON request (name);
   CREATE INDEX request_thread ON request (thread);
   CREATE INDEX request_open ON request (tenant) WHERE closed IS NULL;
   CREATE INDEX request_open_name ON request (tenant, name) WHERE closed IS NULL;
   CREATE TABLE rule (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
     crc INTEGER NOT NULL, UNIQUE (tenant, id));
   CREATE INDEX rule_tenant ON rule (tenant);`,
  `ALTER TABLE thread ADD COLUMN parent TEXT;
   ALTER TABLE thread ADD COLUMN base INTEGER;
   ALTER TABLE thread ADD COLUMN base_seq INTEGER;
   ALTER TABLE thread ADD COLUMN base_crc INTEGER;
   CREATE INDEX thread_base ON thread (base) WHERE base IS NOT NULL;
   CREATE TABLE kept (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, base INTEGER, base_seq INTEGER, base_crc INTEGER);
   CREATE INDEX kept_base ON kept (base) WHERE base IS NOT NULL;`,
  `CREATE TABLE listing (
     thread INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, state TEXT NOT NULL,
     agent TEXT NOT NULL, pause TEXT, run TEXT, title TEXT, labels TEXT, crc INTEGER);
   INSERT INTO listing (thread, tenant, id, at, state, agent, pause)
     SELECT num, tenant, id, updated_at, state, agent, '?' FROM thread;
   CREATE INDEX listing_at ON listing (tenant, at, id);
   CREATE INDEX listing_state ON listing (tenant, state, at, id);
   CREATE INDEX listing_agent ON listing (tenant, agent, at, id);
   CREATE INDEX listing_pause ON listing (tenant, pause, at, id) WHERE pause IS NOT NULL;
   CREATE TABLE label (
     tenant TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL,
     thread INTEGER NOT NULL, PRIMARY KEY (tenant, key, value, at, id)) WITHOUT ROWID;
   CREATE TABLE word (
     tenant TEXT NOT NULL, word TEXT NOT NULL, thread INTEGER NOT NULL, PRIMARY KEY (tenant, word, thread)) WITHOUT ROWID;
   ALTER TABLE request ADD COLUMN decided_at INTEGER;
   CREATE INDEX request_decided ON request (tenant, decided_at, id) WHERE decided_at IS NOT NULL;`,
  // When threads that can move are due, leases apart (due.ts). And the second index of open requests, in the order of the first,
  // so that a page of them can be compared. Running threads are listed by their state alone.
  `CREATE TABLE due (thread INTEGER PRIMARY KEY, at INTEGER NOT NULL);
   INSERT INTO due (thread, at) SELECT num, at FROM (SELECT num, CASE state WHEN 'running' THEN updated_at
       WHEN 'paused' THEN CASE WHEN answers > 0 THEN updated_at ELSE rest_due END
       WHEN 'completed' THEN CASE WHEN queued > 0 THEN updated_at END
       WHEN 'initialized' THEN CASE WHEN queued > 0 THEN updated_at END END AS at FROM thread) WHERE at IS NOT NULL;
   CREATE INDEX due_at ON due (at);
   DROP INDEX request_open_name;
   CREATE INDEX request_open_again ON request (tenant, closed) WHERE closed IS NULL;
   DROP INDEX listing_at;
   DROP INDEX listing_agent;
   CREATE INDEX listing_at ON listing (tenant, at, id) WHERE state <> 'running';
   CREATE INDEX listing_agent ON listing (tenant, agent, at, id) WHERE state <> 'running';`,
  // A run changes fewer pages. Its thread keeps its place in the lists until it is let go; a thread that runs since it was made
  // has none, which is a time below 0. Running threads are found by their state, also by workers. The time at which another one
  // is due stands in its row.
  `ALTER TABLE thread ADD COLUMN due INTEGER;
   UPDATE thread SET due = (SELECT at FROM due WHERE due.thread = thread.num) WHERE state <> 'running';
   CREATE INDEX thread_due ON thread (due) WHERE due IS NOT NULL;
   DROP TABLE due;
   DROP INDEX thread_tenant;
   DROP INDEX listing_at;
   DROP INDEX listing_state;
   DROP INDEX listing_agent;
   CREATE INDEX listing_at ON listing (tenant, at, id) WHERE at >= 0;
   CREATE INDEX listing_state ON listing (state, tenant, at, id);
   CREATE INDEX listing_agent ON listing (tenant, agent, at, id) WHERE at >= 0;`,
];

const tables = [...steps.join("\n").matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => `'${name}'`).join(", ");
const foreign = `SELECT (SELECT user_version FROM pragma_user_version) AS found,
   (SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'fences') AS ours,
   (SELECT MIN(name) FROM sqlite_schema WHERE name IN (${tables})) AS taken`;

export const SCHEMA_VERSION = steps.length;

/** Brings the database to this version, under SQLite's own lock; a newer one is refused, or left as it is. */
export function migrate(db: DatabaseSync): void {
  const found = version(db);
  if (found === SCHEMA_VERSION) return;
  if (found > SCHEMA_VERSION) return void refuseNewer(db);
  db.exec("BEGIN IMMEDIATE");
  try {
    refuseNewer(db);
    for (const step of steps.slice(version(db))) db.exec(step);
    if (version(db) < SCHEMA_VERSION) db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.exec("COMMIT");
  } catch (error) {
    try {
      db.exec("ROLLBACK");
    } catch {
      // SQLite itself has rolled back.
    }
    throw error;
  }
}

/**
 * Returns the version of this database. Refuses a database of a newer version, unless it says that programs as old as this can
 * share it (P17), and that of another program.
 */
export function refuseNewer(db: DatabaseSync): number {
  const found = version(db);
  if (found !== SCHEMA_VERSION) refuseForeign(db);
  if (found > SCHEMA_VERSION && !(oldestFor(db) <= SCHEMA_VERSION))
    throw belayError("STORE_VERSION", { found, known: SCHEMA_VERSION });
  return found;
}

/**
 * Another program counts its own versions, or has tables of our names. One that counts to our own version is not asked
 * for here, where every opening would pay for it: its first statement says so.
 */
function refuseForeign(db: DatabaseSync): void {
  // In one statement: another process may be making the tables.
  const { found, ours, taken } = db.prepare(foreign).get() as { found: number; ours: number; taken: string | null };
  if (Number(found) === 0 ? taken === null : Number(ours) > 0) return;
  const problem = Number(found) === 0 ? `it has a table ${taken} already` : `its user_version is ${found}`;
  throw belayError("STORE_FOREIGN", { problem });
}

function version(db: DatabaseSync): number {
  return Number((db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version);
}

/** A newer version that adds only data that older ones may ignore has a table for that. NaN if there is none. */
function oldestFor(db: DatabaseSync): number {
  const named = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'compatible'";
  if (db.prepare(named).get() === undefined) return Number.NaN;
  return Number((db.prepare("SELECT oldest FROM compatible").get() as { oldest?: unknown } | undefined)?.oldest);
}
