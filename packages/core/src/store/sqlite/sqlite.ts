// A store in one SQLite file, for one machine: any number of processes may share it.
//
// 1. WAL and synchronous=FULL: what was acknowledged survives a power cut. One append is one transaction.
// 2. Every line carries a crc of its place and its text, chained to the line before it, and a sha256 chain for audits; the thread's row
//    carries the last of each. What does not fit is refused with JOURNAL_CORRUPT, never read (P7).
// 3. SQLite waits for its lock synchronously: we let it wait only a moment, then come back, so the event loop is free.

import { hash as sha } from "node:crypto";
import { crc32 } from "node:zlib";
import { type Clock, systemClock } from "../../clock.ts";
import { belayError } from "../../error.ts";
import type { Line } from "../../journal/codec.ts";
import type { SessionState } from "../../lifecycle.ts";
import { isGone } from "../owner.ts";
import type { Append, Appended, Change, Command, Lease, Loaded, Store, ThreadKey, ThreadRow } from "../store.ts";
import { BUSY, type DatabaseSync, fromText, LOCKED, resultCode, toText } from "./database.ts";
import { migrate } from "./migrations.ts";
import { refuseNetworkFiles } from "./network-files.ts";
import { Poll } from "./poll.ts";
import { type CommandRow, type EntryRow, lineCrc, lineHash, type Row, rowCrc } from "./rows.ts";
import { prepare, type Statements } from "./statements.ts";
import { asStoreError } from "./store-error.ts";

export interface SqliteStoreOptions {
  readonly clock?: Clock;
  /** How often to look whether another process has written. */
  readonly pollMs?: number;
}

/** Bodies longer than this are kept apart, by their hash, once for each tenant. */
const BLOB_BYTES = 64 * 1024;
const LOCK_TRIES_MS = 5_000;

export function sqliteStore(db: DatabaseSync, options: SqliteStoreOptions = {}): Store {
  return new SqliteStore(db, options);
}

class SqliteStore implements Store {
  readonly #db: DatabaseSync;
  readonly #clock: Clock;
  readonly #poll: Poll;
  readonly #sql: Statements;

  constructor(db: DatabaseSync, options: SqliteStoreOptions) {
    this.#db = db;
    this.#clock = options.clock ?? systemClock;
    refuseNetworkFiles(db);
    db.exec("PRAGMA busy_timeout = 5000");
    db.exec("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    migrate(db);
    db.exec("PRAGMA busy_timeout = 20");
    this.#sql = prepare(db);
    this.#poll = new Poll(db, options.pollMs ?? 20);
  }

  async load(key: ThreadKey, after = 0): Promise<Loaded | undefined> {
    return this.#guarded(key, () => {
      const row = this.#row(key);
      if (row === undefined) return undefined;
      const commands = this.#sql.commands.all(row.num) as unknown as CommandRow[];
      return {
        row: this.#shown(row),
        lines: this.#lines(key, row, after),
        commands: commands.map((command) => readCommand(key, command)),
      };
    });
  }

  linesSync(key: ThreadKey): readonly Line[] {
    const row = this.#row(key);
    return row === undefined ? [] : this.#lines(key, row, 0);
  }

  async append(key: ThreadKey, append: Append): Promise<Appended> {
    const appended = await this.#guarded(key, () => this.#transaction(() => this.#append(key, append)));
    if (appended.ok) this.#poll.changed(name(key), "append");
    return appended;
  }

  #append(key: ThreadKey, append: Append): Appended {
    const row = this.#row(key);
    if (row !== undefined && fromText(row.append_id) === append.appendId) return this.#done(row.num, row.fence);
    const refusal = this.#refusal(row, append);
    if (refusal !== undefined) return refusal;
    const fence = "take" in append.writer ? (this.#sql.nextFence.get() as { last: number }).last : append.writer.fence;
    const num = row?.num ?? (this.#sql.nextNum.get() as { num: number }).num;
    const open = (command: string) => this.#sql.isOpen.get(num, toText(command)) !== undefined;
    const keys = (append.consume ?? []).filter((command) => !open(command));
    if (keys.length > 0) return { ok: false, why: "gone", keys };
    this.#write(key, append, row, num, fence);
    for (const command of append.consume ?? [])
      this.#sql.consume.run(append.expect + append.count, num, toText(command));
    return this.#done(num, fence);
  }

  #done(num: number, fence: number): Appended {
    return { ok: true, fence, mail: this.#sql.anyOpen.get(num) !== undefined };
  }

  #refusal(row: Row | undefined, append: Append): Appended | undefined {
    const { writer } = append;
    if ("take" in writer) {
      const lease = row === undefined ? undefined : this.#lease(row);
      if (lease !== undefined) return { ok: false, why: "busy", owner: lease.owner, until: lease.until };
    } else if (row === undefined || row.fence !== writer.fence || row.owner === null) {
      return { ok: false, why: "fenced", owner: row?.owner ?? undefined };
    }
    if ((row?.head ?? 0) !== append.expect) return { ok: false, why: "conflict", head: row?.head ?? 0 };
    return undefined;
  }

  #write(key: ThreadKey, append: Append, row: Row | undefined, num: number, fence: number): void {
    const tenant = toText(key.tenant);
    const id = toText(key.threadId);
    const { at, count, expect, writer } = append;
    const body = toText(append.body);
    const crc = lineCrc(row?.crc ?? 0, key, expect + 1, count, at, body);
    const hash = lineHash(row?.hash ?? new Uint8Array(0), body);
    const large = body.length > BLOB_BYTES;
    const blob = large ? sha("sha256", body, "hex") : null;
    if (blob !== null) this.#sql.addBlob.run(tenant, blob, body);
    this.#sql.addEntry.run(num, expect + 1, count, at, fence, large ? null : body, blob, crc, hash);
    const owner = append.release ? null : toText("take" in writer ? writer.take : (row?.owner ?? ""));
    const until = this.#clock.now() + writer.ttlMs;
    const appendId = toText(append.appendId);
    const { state } = append;
    const agent = toText(append.agent);
    const head = expect + count;
    const created = row?.created_at ?? at;
    const sum = rowCrc(key.tenant, {
      id,
      agent,
      state,
      head,
      fence,
      append_id: appendId,
      crc,
      created_at: created,
      updated_at: at,
    });
    const values = [agent, state, head, fence, owner, until, appendId, crc, hash, at, sum] as const;
    if (row === undefined) this.#sql.addThread.run(num, tenant, id, at, ...values);
    else this.#sql.setThread.run(...values, num);
  }

  async renew(key: ThreadKey, fence: number, ttlMs: number): Promise<boolean> {
    return this.#guarded(key, () => {
      const until = this.#clock.now() + ttlMs;
      return Number(this.#sql.renew.run(until, toText(key.tenant), toText(key.threadId), fence).changes) > 0;
    });
  }

  async release(key: ThreadKey, fence: number): Promise<void> {
    await this.#guarded(key, () => this.#sql.release.run(toText(key.tenant), toText(key.threadId), fence));
    this.#poll.changed(name(key), "append");
  }

  async send(key: ThreadKey, command: Command): Promise<boolean> {
    const fresh = await this.#guarded(key, () =>
      this.#transaction(() => {
        const num = this.#row(key)?.num;
        if (num === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
        const { kind, body, at } = command;
        const values = [toText(command.key), kind, toText(body), at] as const;
        const crc = crc32(values.join("\n"));
        return Number(this.#sql.send.run(num, ...values, crc).changes) > 0;
      }),
    );
    if (fresh) this.#poll.changed(name(key), "command");
    return fresh;
  }

  async withdraw(key: ThreadKey, commandKey: string): Promise<boolean> {
    const taken = await this.#guarded(key, () => {
      const num = this.#row(key)?.num ?? 0;
      return Number(this.#sql.withdraw.run(num, toText(commandKey)).changes) > 0;
    });
    if (taken) this.#poll.changed(name(key), "command");
    return taken;
  }

  async threads(tenant: string): Promise<ThreadRow[]> {
    const rows = this.#sql.threads.all(toText(tenant)) as unknown as Row[];
    return rows.map((row) => this.#shown(row));
  }

  async delete(key: ThreadKey): Promise<void> {
    const tenant = toText(key.tenant);
    await this.#guarded(key, () =>
      this.#transaction(() => {
        const found = this.#sql.num.get(tenant, toText(key.threadId)) as { num: number } | undefined;
        if (found === undefined) return;
        const blobs = this.#sql.blobsOf.all(found.num) as { blob: string }[];
        for (const statement of this.#sql.deletes) statement.run(found.num);
        for (const { blob } of blobs) this.#sql.dropBlob.run(tenant, blob, blob, tenant);
      }),
    );
    this.#poll.changed(name(key), "append");
  }

  watch(key: ThreadKey, changed: (what?: Change) => void): () => void {
    return this.#poll.watch(name(key), changed);
  }

  #row(key: ThreadKey): Row | undefined {
    const row = this.#sql.thread.get(toText(key.tenant), toText(key.threadId)) as Row | undefined;
    if (row !== undefined && row.row_crc !== rowCrc(key.tenant, row))
      throw damaged(key, row.head, "its row does not fit its checksum");
    return row;
  }

  /** The lines after `after`, checked against their crcs and the thread's row. */
  #lines(key: ThreadKey, row: Row, after: number): readonly Line[] {
    if (after >= row.head) return [];
    const found = this.#sql.entries.all(row.num, row.num, after + 1) as unknown as EntryRow[];
    const first = found[0];
    const before = first === undefined || first.seq === 1 ? 0 : this.#crcBefore(key, row.num, first.seq);
    let crc = before;
    let next = first?.seq ?? 1;
    const lines = found.map((entry): Line => {
      const body = entry.body ?? this.#blob(key, entry);
      const { seq, count, at } = entry;
      crc = lineCrc(crc, key, seq, count, at, body);
      if (seq !== next || crc !== entry.crc) throw damaged(key, seq, "a line does not fit its checksum");
      next = seq + count;
      return { seq, count, at, body: fromText(body) };
    });
    if (next !== row.head + 1 || crc !== row.crc) throw damaged(key, next, `the journal does not reach ${row.head}`);
    return lines;
  }

  #crcBefore(key: ThreadKey, num: number, seq: number): number {
    const row = this.#sql.crcBefore.get(num, seq) as { crc: number } | undefined;
    if (row === undefined) throw damaged(key, seq, "the line before it is missing");
    return row.crc;
  }

  #blob(key: ThreadKey, entry: EntryRow): string {
    const row = this.#sql.blob.get(toText(key.tenant), entry.blob ?? "") as { body: string } | undefined;
    if (row === undefined) throw damaged(key, entry.seq, "its text is missing");
    return row.body;
  }

  #lease(row: Row): Lease | undefined {
    if (row.owner === null || row.until <= this.#clock.now()) return undefined;
    const owner = fromText(row.owner);
    return isGone(owner) ? undefined : { owner, fence: row.fence, until: row.until };
  }

  #shown(row: Row): ThreadRow {
    const lease = this.#lease(row);
    return {
      threadId: fromText(row.id),
      agent: fromText(row.agent),
      state: row.state as SessionState,
      head: row.head,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      queued: row.queued === 1,
      ...(lease && { lease }),
    };
  }

  #transaction<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      try {
        this.#db.exec("ROLLBACK");
      } catch {
        // SQLite has rolled back by itself.
      }
      throw error;
    }
  }

  /** Comes back later where another process holds the lock; says other failures in our words. */
  async #guarded<T>(key: ThreadKey, work: () => T): Promise<T> {
    const giveUp = Date.now() + LOCK_TRIES_MS;
    for (;;) {
      try {
        return work();
      } catch (error) {
        const code = resultCode(error);
        if ((code !== BUSY && code !== LOCKED) || Date.now() > giveUp) throw asStoreError(key, error);
      }
      await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 8));
    }
  }
}

function name(key: ThreadKey): string {
  return `${key.tenant}\n${key.threadId}`;
}

function readCommand(of: ThreadKey, row: CommandRow): Command {
  const { key, kind, body, at, crc } = row;
  if (crc32([key, kind, body, at].join("\n")) !== crc) throw damaged(of, 0, `command ${key} does not fit its checksum`);
  return { key: fromText(key), kind, body: fromText(body), at };
}

function damaged(key: ThreadKey, seq: number, problem: string): Error {
  return belayError("JOURNAL_CORRUPT", { threadId: key.threadId, seq, problem });
}
