// Every statement, prepared once. Values are always parameters.

import type { DatabaseSync } from "./database.ts";

export type Statements = ReturnType<typeof prepare>;

export function prepare(db: DatabaseSync) {
  const of = "WHERE thread = ?";
  return {
    thread: db.prepare("SELECT * FROM thread INDEXED BY sqlite_autoindex_thread_1 WHERE tenant = ? AND id = ?"),
    named: db.prepare("SELECT 1 FROM thread INDEXED BY thread_name WHERE name = ? AND tenant = ? AND id = ?"),
    num: db.prepare("SELECT num FROM thread WHERE tenant = ? AND id = ?"),
    // Of all threads together: a thread deleted and made again under its name does not get an old fence.
    fences: db.prepare("SELECT last, crc FROM fences"),
    setFences: db.prepare("UPDATE fences SET last = ?, crc = ?"),
    nextNum: db.prepare("SELECT COALESCE(MAX(num), 0) + 1 AS num FROM thread"),
    threads: db.prepare("SELECT * FROM thread WHERE tenant = ? ORDER BY updated_at DESC, id"),
    countThreads: db.prepare("SELECT COUNT(*) AS n FROM thread INDEXED BY sqlite_autoindex_thread_1 WHERE tenant = ?"),
    addThread: db.prepare(
      `INSERT INTO thread (num, tenant, id, name, created_at, agent, state, head, fence, owner, until, append_id, crc, hash, open, queued, updated_at, row_crc)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    setThread: db.prepare(
      `UPDATE thread SET agent = ?, state = ?, head = ?, fence = ?, owner = ?, until = ?, append_id = ?, crc = ?, hash = ?,
       open = ?, queued = ?, updated_at = ?, row_crc = ? WHERE num = ?`,
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
    send: db.prepare("INSERT OR IGNORE INTO command (thread, key, kind, body, at, crc) VALUES (?, ?, ?, ?, ?, ?)"),
    commands: db.prepare(`SELECT key, kind, body, at, crc FROM command ${of} AND consumed_seq IS NULL ORDER BY rowid`),
    // Kept without its body, so that its key stays known; taken back is consumed at 0.
    consume: db.prepare(`UPDATE command SET consumed_seq = ?, body = '' ${of} AND key = ? AND consumed_seq IS NULL`),
    openKind: db.prepare(`SELECT kind FROM command ${of} AND key = ? AND consumed_seq IS NULL`),
    snapshot: db.prepare(`SELECT seq, body, crc FROM snapshot ${of}`),
    setSnapshot: db.prepare("INSERT OR REPLACE INTO snapshot (thread, seq, body, crc) VALUES (?, ?, ?, ?)"),
    deletes: ["entry WHERE thread", "snapshot WHERE thread", "command WHERE thread", "thread WHERE num"].map((of) =>
      db.prepare(`DELETE FROM ${of} = ?`),
    ),
  };
}
