// Every statement, prepared once, when it is first used: a process with one thread needs few of them. Values are
// always parameters.

import type { DatabaseSync, Statement } from "./database.ts";

export type Statements = Readonly<Record<keyof typeof texts, Statement>>;

/** Lines that are read at once. */
const PAGE = 250;

const of = "WHERE thread = ?";
// Of a line: its thread and its seq.
const id = "((?1 << 32) | ?2)";
// A request with its thread's id, also if that thread does not exist.
const request = "SELECT request.*, thread.id AS thread_id FROM request";
const asker = "LEFT JOIN thread ON thread.num = request.thread";
const end = "((?1 << 32) | 0xffffffff)";
// From a seq to another: one range, for of two lower bounds SQLite may search by the wrong one.
const on = `WHERE id BETWEEN ${id} AND ((?1 << 32) | ?3)`;
const setThread = `UPDATE thread SET agent = ?, state = ?, head = ?, fence = ?, owner = ?, until = ?, append_id = ?, crc = ?,
  hash = ?, open = ?, queued = ?, updated_at = ?, answers = ?, rest_from = ?, rest_due = ?, row_crc = ? WHERE num = ?`;

const texts = {
  read: "BEGIN",
  write: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  thread: "SELECT * FROM thread INDEXED BY sqlite_autoindex_thread_1 WHERE tenant = ? AND id = ?",
  named: "SELECT 1 FROM thread INDEXED BY thread_name WHERE name = ? AND tenant = ? AND id = ?",
  doomed: "SELECT * FROM thread WHERE tenant = ? AND id = ?",
  fences: "SELECT last, crc FROM fences",
  setFences: "UPDATE fences SET last = ?, crc = ?",
  // The number of a new thread, and the highest fence of those that were deleted.
  newThread: `SELECT MAX(COALESCE((SELECT MAX(num) FROM thread), 0), COALESCE((SELECT MAX(num) FROM kept), 0)) + 1 AS num,
     last, crc FROM fences`,
  // All rows, to be compared with those of an index.
  threads: "SELECT * FROM thread NOT INDEXED WHERE tenant = ? ORDER BY updated_at DESC, id",
  due: "SELECT due AS since, * FROM thread INDEXED BY thread_due WHERE due <= ? ORDER BY due LIMIT ? OFFSET ?",
  // Each since its lease was over, or it was let go.
  running: `SELECT MIN(thread.until, ?) AS since, thread.* FROM listing INDEXED BY listing_state
     CROSS JOIN thread ON thread.num = listing.thread WHERE listing.state = 'running'`,
  setDue: "UPDATE thread SET due = ? WHERE num = ?",
  addDue: "UPDATE thread SET due = MIN(COALESCE(due, ?1), ?1) WHERE num = ?2",
  countThreads: "SELECT COUNT(*) AS n FROM thread INDEXED BY sqlite_autoindex_thread_1 WHERE tenant = ?",
  addThread: `INSERT INTO thread (num, tenant, id, name, created_at, agent, state, head, fence, owner, until, append_id, crc, hash, open, queued, updated_at, answers, rest_from, rest_due, row_crc, parent, base, base_seq, base_crc)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  setThread,
  // The same, if the row still has that checksum; and, for a writer that takes it, only if the row is undamaged, too.
  setKnownThread: `${setThread} AND row_crc = ? AND head = ? AND fence = ?`,
  // As one text: to hand over and compare each column took five times as long. A bit makes a text a blob, which reads the
  // same there: those that are not written again are asked.
  takeKnownThread: `${setThread} AND row_crc = ? AND head = ? AND fence = ? AND owner IS NULL
     AND typeof(tenant) = 'text' AND typeof(id) = 'text' AND typeof(parent) <> 'blob' AND CONCAT_WS(char(10), tenant, id, name,
     agent, state, until, append_id, crc, hex(hash), open, queued, created_at, updated_at, COALESCE(answers, '-'),
     COALESCE(rest_from, '-'), COALESCE(rest_due, '-'), COALESCE('+' || parent, '-'), COALESCE(base, '-'),
     COALESCE(base_seq, '-'), COALESCE(base_crc, '-')) = ?`,
  addEntry: `INSERT INTO entry (id, count, at, fence, body, blob, crc, hash) VALUES (${id}, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
  entries: `SELECT id & 0xffffffff AS seq, count, at, body, blob, crc FROM entry ${on} ORDER BY id LIMIT ${PAGE}`,
  // The lines' texts with their place (the fourth value) between them, in the order of their ids, as the scan reads them: the
  // reader checks that. A bare column beside MAX is that of its row.
  page: `SELECT COUNT(*) AS count, MAX(id), crc,
     GROUP_CONCAT(CONCAT_WS(char(10), id & 0xffffffff, count, at, body), ?4) AS text FROM entry ${on}`,
  hashes: `SELECT hash FROM entry ${on} ORDER BY id`,
  // The line that holds a seq, and the one before it.
  marks: `SELECT id & 0xffffffff AS seq, crc FROM entry WHERE id BETWEEN (?1 << 32) AND ${id} ORDER BY id DESC LIMIT 2`,
  // The last line that begins at a seq or before it.
  lineAt: `SELECT id & 0xffffffff AS seq, count, crc, hash FROM entry WHERE id BETWEEN (?1 << 32) AND ${id}
     ORDER BY id DESC LIMIT 1`,
  place: `SELECT num, id, base, base_seq, base_crc FROM thread WHERE num = ?1
     UNION ALL SELECT num, id, base, base_seq, base_crc FROM kept WHERE num = ?1`,
  anyRow: "SELECT * FROM thread INDEXED BY thread_name WHERE name = ? AND tenant = ? AND id = ?",
  kept: "SELECT num, tenant, base FROM kept WHERE num = ?",
  keep: "INSERT INTO kept (num, tenant, id, base, base_seq, base_crc) VALUES (?, ?, ?, ?, ?, ?)",
  unkeep: "DELETE FROM kept WHERE num = ?",
  // The last seq of its lines that forks need.
  needed: `SELECT MAX(seq) AS seq FROM (SELECT MAX(base_seq) AS seq FROM thread WHERE base = ?1
     UNION ALL SELECT MAX(base_seq) FROM kept WHERE base = ?1)`,
  blobsAfter: `SELECT DISTINCT blob FROM entry WHERE id > ${id} AND id <= ${end} AND blob IS NOT NULL`,
  dropAfter: `DELETE FROM entry WHERE id > ${id} AND id <= ${end}`,
  addBlob: "INSERT OR IGNORE INTO blob (tenant, id, body) VALUES (?, ?, ?)",
  blob: "SELECT body FROM blob WHERE tenant = ? AND id = ?",
  dropBlob: `DELETE FROM blob WHERE tenant = ? AND id = ? AND NOT EXISTS
     (SELECT 1 FROM entry JOIN (SELECT num, tenant FROM thread UNION ALL SELECT num, tenant FROM kept) AS whose
      ON entry.id >> 32 = whose.num WHERE entry.blob = ? AND whose.tenant = ?)`,
  send: "INSERT OR IGNORE INTO command (thread, key, kind, body, at, crc) VALUES (?, ?, ?, ?, ?, ?)",
  commands: `SELECT key, kind, body, at, crc FROM command ${of} AND consumed_seq IS NULL ORDER BY rowid`,
  // Kept without its body, so that its key stays known; taken back is consumed at 0.
  consume: `UPDATE command SET consumed_seq = ?, body = '' ${of} AND key = ? AND consumed_seq IS NULL`,
  forget: `DELETE FROM command ${of} AND key = ? AND consumed_seq IS NULL`,
  openKind: `SELECT kind FROM command ${of} AND key = ? AND consumed_seq IS NULL`,
  snapshot: `SELECT seq, body, crc FROM snapshot ${of}`,
  setSnapshot: "INSERT OR REPLACE INTO snapshot (thread, seq, body, crc) VALUES (?, ?, ?, ?)",
  request: `${request} INDEXED BY sqlite_autoindex_request_1 ${asker} WHERE request.tenant = ? AND request.id = ?`,
  namedRequest: "SELECT 1 FROM request INDEXED BY request_name WHERE name = ? AND tenant = ? AND id = ?",
  openRequests: `${request} INDEXED BY request_open ${asker}
     WHERE request.tenant = ? AND closed IS NULL AND request.num > ? ORDER BY request.num LIMIT ?`,
  sumRequests: `SELECT COUNT(*) AS n, TOTAL(num) AS nums FROM request INDEXED BY request_open_again
     WHERE tenant = ? AND closed IS NULL AND num BETWEEN ? AND ?`,
  nextRequest: "SELECT COALESCE(MAX(num), 0) + 1 AS num FROM request",
  addRequest:
    "INSERT INTO request (num, tenant, id, name, thread, expires_at, body, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  // One that is not listed among the decided is kept without its body, so that its thread can still be found.
  closeRequest: "UPDATE request SET closed = ?, body = ?, decided_at = ?, crc = ? WHERE num = ?",
  amendRequest: "UPDATE request SET body = ?, crc = ? WHERE num = ?",
  decided: `${request} INDEXED BY request_decided ${asker} WHERE request.tenant = ?1 AND request.decided_at IS NOT NULL
     AND (request.decided_at, request.id) < (?2, ?3) ORDER BY request.decided_at DESC, request.id DESC LIMIT ?4`,
  decidedOf: `${request} INDEXED BY request_thread JOIN thread ON thread.num = request.thread
     WHERE request.thread = (SELECT num FROM thread WHERE tenant = ?1 AND id = ?5) AND request.decided_at IS NOT NULL
     AND (request.decided_at, request.id) < (?2, ?3) ORDER BY request.decided_at DESC, request.id DESC LIMIT ?4`,
  listing: "SELECT * FROM listing WHERE thread = ?",
  setListing: `INSERT OR REPLACE INTO listing (thread, tenant, id, at, state, agent, pause, run, title, labels, crc)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // One that keeps its place: SQLite changes only the indexes of the columns that are set.
  changeListing: "UPDATE listing SET state = ?, pause = ?, run = ?, title = ?, labels = ?, crc = ? WHERE thread = ?",
  dropListing: "DELETE FROM listing WHERE thread = ?",
  addLabel: "INSERT OR REPLACE INTO label (tenant, key, value, at, id, thread) VALUES (?, ?, ?, ?, ?, ?)",
  dropLabel: "DELETE FROM label WHERE tenant = ? AND key = ? AND value = ? AND at = ? AND id = ?",
  addWord: "INSERT OR IGNORE INTO word (tenant, word, thread) VALUES (?, ?, ?)",
  dropWord: "DELETE FROM word WHERE tenant = ? AND word = ? AND thread = ?",
  // How many there are by another index, in a row of its own, and each of them: one statement needs no transaction.
  rules: `SELECT COUNT(*) AS num, NULL AS tenant, NULL AS id, NULL AS at, NULL AS body, NULL AS crc
     FROM rule INDEXED BY sqlite_autoindex_rule_1 WHERE tenant = ?1
     UNION ALL SELECT num, tenant, id, at, body, crc FROM rule INDEXED BY rule_tenant WHERE tenant = ?1`,
  nextRule: "SELECT COALESCE(MAX(num), 0) + 1 AS num FROM rule",
  addRule: "INSERT INTO rule (num, tenant, id, at, body, crc) VALUES (?, ?, ?, ?, ?, ?)",
  dropRule: "DELETE FROM rule WHERE num = ?",
  dropSnapshot: `DELETE FROM snapshot ${of}`,
  dropCommands: `DELETE FROM command ${of}`,
  dropRequests: `DELETE FROM request ${of}`,
  dropThread: "DELETE FROM thread WHERE num = ?",
};

export function prepare(db: DatabaseSync): Statements {
  return new Prepared(db) as unknown as Statements;
}

class Prepared {
  readonly db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.db = db;
  }
}

// A statement is prepared when it is first asked for, and then takes the place of its getter: most appends call it directly.
for (const [name, text] of Object.entries(texts)) {
  const get = function (this: Prepared): Statement {
    const value = this.db.prepare(text);
    Object.defineProperty(this, name, { value });
    return value;
  };
  Object.defineProperty(Prepared.prototype, name, { get });
}
