// Every statement, prepared once. Values are always parameters.

import type { DatabaseSync } from "./database.ts";

export type Statements = ReturnType<typeof prepare>;

export function prepare(db: DatabaseSync) {
  const of = "WHERE thread = ?";
  const queued =
    "EXISTS (SELECT 1 FROM command WHERE command.thread = thread.num AND consumed_seq IS NULL AND kind = 'input') AS queued";
  return {
    thread: db.prepare(`SELECT *, ${queued} FROM thread WHERE tenant = ? AND id = ?`),
    num: db.prepare("SELECT num FROM thread WHERE tenant = ? AND id = ?"),
    // Of all threads together: a thread deleted and made again under its name does not get an old fence.
    nextFence: db.prepare("UPDATE fences SET last = last + 1 RETURNING last"),
    nextNum: db.prepare("SELECT COALESCE(MAX(num), 0) + 1 AS num FROM thread"),
    threads: db.prepare(`SELECT *, ${queued} FROM thread WHERE tenant = ? ORDER BY updated_at DESC, id`),
    addThread: db.prepare(
      `INSERT INTO thread (num, tenant, id, created_at, agent, state, head, fence, owner, until, append_id, crc, hash, updated_at, row_crc)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    setThread: db.prepare(
      `UPDATE thread SET agent = ?, state = ?, head = ?, fence = ?, owner = ?, until = ?, append_id = ?, crc = ?, hash = ?,
       updated_at = ?, row_crc = ? WHERE num = ?`,
    ),
    addEntry: db.prepare(
      `INSERT INTO entry (thread, seq, count, at, fence, body, blob, crc, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    entries: db.prepare(
      `SELECT seq, count, at, body, blob, crc FROM entry ${of}
       AND seq >= (SELECT COALESCE(MAX(seq), 1) FROM entry ${of} AND seq <= ?) ORDER BY seq`,
    ),
    crcBefore: db.prepare(`SELECT crc FROM entry ${of} AND seq < ? ORDER BY seq DESC LIMIT 1`),
    addBlob: db.prepare("INSERT OR IGNORE INTO blob (tenant, id, body) VALUES (?, ?, ?)"),
    blob: db.prepare("SELECT body FROM blob WHERE tenant = ? AND id = ?"),
    blobsOf: db.prepare(`SELECT DISTINCT blob FROM entry ${of} AND blob IS NOT NULL`),
    dropBlob: db.prepare(
      `DELETE FROM blob WHERE tenant = ? AND id = ? AND NOT EXISTS
       (SELECT 1 FROM entry JOIN thread ON entry.thread = thread.num WHERE entry.blob = ? AND thread.tenant = ?)`,
    ),
    renew: db.prepare("UPDATE thread SET until = ? WHERE tenant = ? AND id = ? AND fence = ? AND owner IS NOT NULL"),
    release: db.prepare("UPDATE thread SET owner = NULL WHERE tenant = ? AND id = ? AND fence = ?"),
    send: db.prepare("INSERT OR IGNORE INTO command (thread, key, kind, body, at, crc) VALUES (?, ?, ?, ?, ?, ?)"),
    commands: db.prepare(`SELECT key, kind, body, at, crc FROM command ${of} AND consumed_seq IS NULL ORDER BY rowid`),
    consume: db.prepare(`UPDATE command SET consumed_seq = ?, body = '' ${of} AND key = ? AND consumed_seq IS NULL`),
    isOpen: db.prepare(`SELECT 1 FROM command ${of} AND key = ? AND consumed_seq IS NULL`),
    anyOpen: db.prepare(`SELECT 1 FROM command ${of} AND consumed_seq IS NULL LIMIT 1`),
    // Kept, so that its key stays known.
    withdraw: db.prepare(
      `UPDATE command SET consumed_seq = 0, body = '' ${of} AND key = ? AND consumed_seq IS NULL AND kind IN ('input', 'steer')`,
    ),
    deletes: ["entry WHERE thread", "command WHERE thread", "thread WHERE num"].map((of) =>
      db.prepare(`DELETE FROM ${of} = ?`),
    ),
  };
}
