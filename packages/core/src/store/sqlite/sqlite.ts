// A store in one SQLite file, for one machine: any number of processes may share it.
//
// 1. WAL and synchronous=FULL: an acknowledged write survives a power cut. One append is one transaction.
// 2. Every line carries a crc of its place and its text, chained to the line before it, and a sha256 chain, which `past`
//    proves, too (audit.ts); the thread's row carries the last of each, and a crc of itself. A mismatch is refused
//    with JOURNAL_CORRUPT, never read (P7).
// 3. Values that must agree are read in one transaction: other processes write in the meantime.
// 4. SQLite waits for its lock synchronously: we let it wait only a moment, then come back, so the event loop is free.
//
// Long, and still one piece: it is the methods of a store, each one transaction.

import { hash as sha } from "node:crypto";
import { type Clock, systemClock } from "../../clock.ts";
import { belayError, shown } from "../../error.ts";
import type { Line } from "../../journal/codec.ts";
import type { SessionState } from "../../lifecycle.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import { isGone } from "../owner.ts";
import {
  type Append,
  type Appended,
  beforeRest,
  type Change,
  type Command,
  type DecidedRow,
  type DueThread,
  type Lease,
  type ListedRow,
  type Loaded,
  type Parent,
  type Past,
  type RelayLine,
  type RequestQuery,
  type RequestRange,
  type RequestRow,
  type Rest,
  type RuleRow,
  type Snapshot,
  type Store,
  type ThreadKey,
  type ThreadQuery,
  type ThreadRow,
} from "../store.ts";
import { BUSY, type DatabaseSync, fromText, LOCKED, resultCode, type Statement, toText } from "./database.ts";
import { dropThread } from "./drop-thread.ts";
import { readDue, writeDue } from "./due.ts";
import { isMove, namedOf, Pages, readListing, writeListing } from "./listing.ts";
import { lengthenLog, openTables } from "./open-tables.ts";
import { Poll } from "./poll.ts";
import { LAST, lineEndingAt, readLines, readPast } from "./read-lines.ts";
import { RelayFiles } from "./relay-files.ts";
import {
  amendRequests,
  closeRequests,
  decidedRequests,
  openRequests,
  raiseRequests,
  readRequest,
  requestThread,
} from "./requests.ts";
import { type CommandRow, commandCrc, fencesCrc, lineCrc, lineHash, nameCrc, type Row, rowCrc } from "./rows.ts";
import { addRules, allRules, dropRule } from "./rules.ts";
import { prepare, type Statements } from "./statements.ts";
import { asStoreError, damaged } from "./store-error.ts";

/** The options of `sqliteStore()`. */
export interface SqliteStoreOptions {
  readonly clock?: Clock | undefined;
  /** How often to look whether another process has written. */
  readonly pollMs?: number | undefined;
}

const OPTIONS: KnownOptions<SqliteStoreOptions> = { clock: true, pollMs: true };

/** Thrown inside a transaction, to undo it: the row is not the one it was. */
const CHANGED = new Error("changed");

const MOST_WRITTEN = 1_000;
/** Many are looked at, and few of them written to soon. */
const MOST_READ = 8;

const UNFORKED = { parent: null, base: null, base_seq: null, base_crc: null };

/** Bodies longer than this are kept apart, by their hash, once for each tenant. */
const BLOB_BYTES = 64 * 1024;
const LOCK_TRIES_MS = 5_000;
/** A process with so many writes will write more. */
const MANY_WRITES = 1_000;

/**
 * Returns a store in the SQLite file that `db` has open. Only the store may use the handle; the caller closes it, after the runners
 * are closed. Only `watch` keeps a process alive: it polls the file until it is ended.
 */
export function sqliteStore(db: DatabaseSync, options: SqliteStoreOptions = {}): Store {
  refuseUnknown("sqliteStore()", options, OPTIONS);
  if (typeof db?.prepare !== "function") {
    const needed = "an open database, as new DatabaseSync(file) gives";
    throw belayError("OPTION_INVALID", { option: "db", value: shown(db), needed });
  }
  return new SqliteStore(db, options);
}

class SqliteStore implements Store {
  /** Held against garbage collection while its statements are in use. */
  readonly db: DatabaseSync;
  readonly #clock: Clock;
  readonly #poll: Poll;
  readonly #sql: Statements;
  readonly #pages: Pages;
  /** The last threads read or written, each with its row as this store saw it: most appends need not read theirs. */
  readonly #written = new Map<string, Row>();
  readonly #read = new Map<string, Row>();
  /** The rules that were read last: they are asked for with every call, and seldom change. */
  #rules: { readonly tenant: string; readonly version: unknown; readonly rows: readonly RuleRow[] } | undefined;

  #writes = 0;

  constructor(db: DatabaseSync, options: SqliteStoreOptions) {
    this.db = db;
    this.#clock = options.clock ?? systemClock;
    try {
      const file = openTables(db);
      this.#sql = prepare(db);
      this.#pages = new Pages(db);
      const poll = new Poll(db, options.pollMs ?? 10);
      this.#poll = poll;
      this.#relay = file ? new RelayFiles(file, () => poll.isOpen()) : undefined;
    } catch (error) {
      throw asStoreError(undefined, error);
    }
  }

  async load(key: ThreadKey, from: number | "snapshot" | "rest" = 0): Promise<Loaded | undefined> {
    return this.#guarded(key, () =>
      this.#transaction(this.#sql.read, () => {
        const row = this.#row(key);
        if (row === undefined) return undefined;
        const snapshot = from === "snapshot" ? this.#snapshot(key, row) : undefined;
        this.#looked(name(key), row);
        const shown = this.#shown(row);
        const after = from === "snapshot" ? (snapshot?.seq ?? 0) : from === "rest" ? beforeRest(shown) : from;
        const lines = readLines(this.#sql, key, row, after);
        row.listing = readListing(this.#sql, row.num);
        const named = row.listing && namedOf(row.listing);
        const commands = this.#commands(key, row);
        return {
          row: named === undefined ? shown : { ...shown, named },
          lines,
          commands,
          ...(snapshot && { snapshot }),
        };
      }),
    );
  }

  /** A cache: one that is damaged, or ahead of its thread, is as good as none. */
  #snapshot(key: ThreadKey, row: Row): Snapshot | undefined {
    const found = this.#sql.snapshot.get(row.num) as { seq: number; body: string; crc: number } | undefined;
    if (found === undefined || found.seq > row.head) return undefined;
    const { seq, body, crc } = found;
    return lineCrc(0, key, seq, 0, 0, body) === crc ? { seq, body: fromText(body) } : undefined;
  }

  linesSync(key: ThreadKey, since?: number): readonly Line[] {
    try {
      return this.#transaction(this.#sql.read, () => {
        const row = this.#row(key);
        if (row === undefined || (since !== undefined && since !== row.created_at)) return [];
        return readLines(this.#sql, key, row, 0);
      });
    } catch (error) {
      throw asStoreError(key, error);
    }
  }

  async past(key: ThreadKey, to = LAST): Promise<Past | undefined> {
    return this.#guarded(key, () =>
      this.#transaction(this.#sql.read, () => {
        const row = this.#anyRow(key);
        if (row === undefined) return undefined;
        const isSound = isOf(row, key) && fits(row, key.tenant);
        return { ...(isSound && { agent: fromText(row.agent) }), ...readPast(this.#sql, key, row, isSound, to) };
      }),
    );
  }

  /** Returns the row, also if it is damaged, or in one index only. */
  #anyRow(key: ThreadKey): Row | undefined {
    const [tenant, id] = [toText(key.tenant), toText(key.threadId)];
    const row = this.#sql.thread.get(tenant, id) as Row | undefined;
    return row ?? (this.#sql.anyRow.get(nameCrc(tenant, id), tenant, id) as Row | undefined);
  }

  async append(key: ThreadKey, append: Append): Promise<Appended> {
    const thread = name(key);
    const known = this.#written.get(thread) ?? this.#read.get(thread);
    this.#written.delete(thread);
    this.#read.delete(thread);
    const written = await this.#guarded(
      key,
      () => this.#appendKnown(key, append, known) ?? this.#writing(() => this.#append(key, append)),
    );
    if (!("num" in written)) return written;
    remember(this.#written, MOST_WRITTEN, thread, written);
    this.#poll.changed(thread, "append");
    this.#poll.changedIn(key);
    return done(written);
  }

  #looked(thread: string, row: Row): void {
    if (this.#written.has(thread)) this.#written.set(thread, row);
    else remember(this.#read, MOST_READ, thread, row);
  }

  /** Writes to the row as this store last saw it, without a read; returns undefined if it has changed. */
  #appendKnown(key: ThreadKey, append: Append, known: Row | undefined): Row | undefined {
    const { writer, expect, consume, parent } = append;
    if (known === undefined || consume !== undefined || known.head !== expect || parent !== undefined) return undefined;
    if (isAnother(known, append)) return undefined;
    if ("take" in writer ? known.owner !== null : known.owner === null || known.fence !== writer.fence)
      return undefined;
    try {
      return this.#writing(() => this.#write(key, append, known, [], known));
    } catch (error) {
      if (error === CHANGED) return undefined;
      throw error;
    }
  }

  /** The thread's row after it, or why it was not written. */
  #append(key: ThreadKey, append: Append): Row | Appended {
    const row = this.#row(key);
    if (row !== undefined && fromText(row.append_id) === append.appendId) return row;
    if (append.parent !== undefined) return this.#fork(key, append, append.parent, row);
    const refusal = this.#refusal(row, append);
    if (refusal !== undefined) return refusal;
    const consumed = append.consume ?? [];
    const kinds = consumed.map((command) => (row === undefined ? undefined : this.#openKind(row.num, command)));
    const keys = consumed.filter((_, i) => kinds[i] === undefined);
    if (keys.length > 0) return { ok: false, why: "gone", keys };
    const written = this.#write(key, append, row, kinds);
    for (const command of consumed) this.#sql.consume.run(written.head, written.num, toText(command));
    return written;
  }

  /** Its first append; undefined is the row of a thread that is not there. */
  #fork(key: ThreadKey, append: Append, parent: Parent, row: Row | undefined): Row | Appended {
    if (row !== undefined) return { ok: false, why: "conflict", head: row.head };
    const { tenant } = key;
    const of = { tenant, threadId: parent.threadId };
    const shared = this.#anyRow(of);
    const isSound = shared !== undefined && isOf(shared, of) && fits(shared, tenant);
    const end = shared && lineEndingAt(this.#sql, of, shared, isSound, parent.seq);
    if (end === undefined) return { ok: false, why: "orphan" };
    const { seq, crc, hash, num } = end;
    const forked = { parent: toText(parent.threadId), base: num, base_seq: seq, base_crc: crc };
    const fresh = { ...this.#newRow(key, append.at), ...forked, head: seq, crc, hash };
    const refusal = this.#refusal(undefined, append, seq);
    if (refusal !== undefined) return refusal;
    if (append.consume !== undefined && append.consume.length > 0)
      return { ok: false, why: "gone", keys: append.consume };
    return this.#write(key, append, fresh, [], undefined, true);
  }

  #refusal(row: Row | undefined, append: Append, head = row?.head ?? 0): Appended | undefined {
    const { writer } = append;
    if ("take" in writer) {
      if (row !== undefined && isAnother(row, append)) return { ok: false, why: "conflict", head: 0 };
      const lease = row === undefined ? undefined : this.#lease(row);
      if (lease !== undefined) return { ok: false, why: "busy", owner: lease.owner, until: lease.until };
    } else if (row === undefined || row.fence !== writer.fence || row.owner === null) {
      const owner = row?.owner;
      return { ok: false, why: "fenced", owner: owner == null ? undefined : fromText(owner) };
    }
    return head === append.expect ? undefined : { ok: false, why: "conflict", head };
  }

  #write(
    key: ThreadKey,
    append: Append,
    before: Row | undefined,
    consumed: readonly unknown[],
    known?: Row,
    isNew = before === undefined,
  ): Row {
    const { at, count, expect, writer } = append;
    const row = before ?? this.#newRow(key, at);
    const body = toText(append.body);
    const crc = lineCrc(row.crc, key, expect + 1, count, at, body);
    const hash = lineHash(row.hash, body);
    const fence = "take" in writer ? row.fence + 1 : writer.fence;
    const owner = "take" in writer ? toText(writer.take) : row.owner;
    const { num, tenant, id, name, created_at, open, queued, answers, parent, base, base_seq, base_crc } = row;
    const now = this.#clock.now();
    // The row first: if it is not the known one, that undoes the rest. By name: spreading the values that SQLite returns is
    // slow.
    const saved = this.#save(
      {
        num,
        tenant,
        id,
        name,
        agent: toText(append.agent),
        state: append.state,
        head: expect + count,
        fence,
        owner: append.release ? null : owner,
        until: append.release ? now : now + writer.ttlMs,
        append_id: toText(append.appendId),
        crc,
        hash,
        open: open - consumed.length,
        queued: queued - consumed.filter((kind) => kind === "input").length,
        answers: answers === null ? null : fewer(answers, consumed),
        rest_from: append.rest?.from ?? null,
        rest_due: append.rest?.dueAt ?? null,
        parent,
        base,
        base_seq,
        base_crc,
        created_at,
        updated_at: at,
        row_crc: 0,
      },
      isNew,
      known,
    );
    writeDue(this.#sql, before, saved, now, true);
    const large = body.length > BLOB_BYTES;
    const blob = large ? sha("sha256", body, "hex") : null;
    if (blob !== null) this.#sql.addBlob.run(row.tenant, blob, body);
    this.#sql.addEntry.run(row.num, expect + 1, count, at, fence, large ? null : body, blob, crc, hash);
    if (append.snapshot !== undefined) {
      const snapshot = toText(append.snapshot);
      this.#sql.setSnapshot.run(row.num, expect, snapshot, lineCrc(0, key, expect, 0, 0, snapshot));
    }
    if (append.raise !== undefined) raiseRequests(this.#sql, saved, append.raise);
    if (append.amend !== undefined) amendRequests(this.#sql, saved, append.amend);
    if (append.close !== undefined) closeRequests(this.#sql, saved, append);
    saved.listing = before?.listing;
    if (isMove(before, append)) {
      const listing = isNew ? undefined : (before?.listing ?? readListing(this.#sql, saved.num));
      writeListing(this.#sql, saved, append, listing);
    }
    if (append.remember !== undefined) {
      this.#rules = undefined;
      addRules(this.#sql, saved.tenant, append.remember);
    }
    return saved;
  }

  #newRow(key: ThreadKey, at: number): Row {
    const found = this.#sql.newThread.get() as { num: number; last: number; crc: number } | undefined;
    const fence = fenceOfTheDead(key, found);
    const { num } = found!;
    const [tenant, id] = [toText(key.tenant), toText(key.threadId)];
    const hash = new Uint8Array(0);
    const none = { head: 0, fence, owner: null, until: 0, append_id: "", crc: 0, open: 0, queued: 0, row_crc: 0 };
    const later = { answers: null, rest_from: null, rest_due: null, ...UNFORKED };
    const times = { created_at: at, updated_at: at };
    return { num, tenant, id, name: nameCrc(tenant, id), agent: "", state: "", hash, ...none, ...later, ...times };
  }

  /** Writes the row; where `known` is given, only over that one. */
  #save(row: { -readonly [K in keyof Row]: Row[K] }, isNew = false, known?: Row): Row {
    const { num, tenant, id, name, created_at, agent, state, head, fence, owner, until, append_id, crc, hash } = row;
    const { open, queued, updated_at, answers, rest_from, rest_due } = row;
    const sum = rowCrc(row);
    row.row_crc = sum;
    const sql = this.#sql;
    if (isNew) {
      const { parent, base, base_seq, base_crc } = row;
      sql.addThread.run(
        ...[num, tenant, id, name, created_at, agent, state, head, fence, owner, until, append_id, crc, hash],
        ...[open, queued, updated_at, answers, rest_from, rest_due, sum, parent, base, base_seq, base_crc],
      );
      return row;
    }
    const values = [agent, state, head, fence, owner, until, append_id, crc, hash, open, queued, updated_at, answers];
    values.push(rest_from, rest_due, sum, num);
    if (known === undefined) sql.setThread.run(...values);
    else {
      values.push(known.row_crc, known.head, known.fence);
      if (known.owner === null) values.push(restOfRow(known));
      const statement = known.owner === null ? sql.takeKnownThread : sql.setKnownThread;
      if (Number(statement.run(...values).changes) === 0) throw CHANGED;
    }
    return row;
  }

  async renew(key: ThreadKey, fence: number, ttlMs: number): Promise<boolean> {
    return this.#guarded(key, () =>
      this.#writing(() => {
        const row = this.#row(key);
        if (row === undefined || row.fence !== fence || row.owner === null) return false;
        this.#save({ ...row, until: this.#clock.now() + ttlMs });
        return true;
      }),
    );
  }

  async release(key: ThreadKey, fence: number): Promise<void> {
    const released = await this.#guarded(key, () => this.#writing(() => this.#release(key, fence)));
    if (released !== undefined) this.#looked(name(key), released);
    this.#poll.changed(name(key), "append");
    this.#poll.changedIn(key);
  }

  #release(key: ThreadKey, fence: number): Row | undefined {
    const row = this.#row(key);
    if (row?.fence !== fence) return undefined;
    const now = this.#clock.now();
    const saved = this.#save({ ...row, owner: null, until: now });
    writeDue(this.#sql, row, saved, now, true);
    const state = row.state as SessionState;
    if (state !== "running") writeListing(this.#sql, saved, { state }, readListing(this.#sql, row.num));
    return saved;
  }

  async send(key: ThreadKey, command: Command): Promise<boolean> {
    const fresh = await this.#guarded(key, () => this.#writing(() => this.#send(key, command)));
    if (fresh) this.#poll.changed(name(key), "command");
    return fresh;
  }

  #send(of: ThreadKey, command: Command): boolean {
    const row = this.#row(of);
    if (row === undefined) throw belayError("THREAD_UNKNOWN", { threadId: of.threadId });
    const { kind, at } = command;
    const [key, body] = [toText(command.key), toText(command.body)];
    const crc = commandCrc(row.num, { key, kind, body, at });
    if (Number(this.#sql.send.run(row.num, key, kind, body, at, crc).changes) === 0) return false;
    const answers = kind === "answer" ? (row.answers ?? 0) + 1 : row.answers;
    const saved = this.#save({ ...row, open: row.open + 1, queued: row.queued + (kind === "input" ? 1 : 0), answers });
    writeDue(this.#sql, row, saved, this.#clock.now(), false);
    return true;
  }

  async withdraw(key: ThreadKey, commandKey: string): Promise<boolean> {
    const taken = await this.#guarded(key, () => this.#writing(() => this.#withdraw(key, commandKey)));
    if (taken) this.#poll.changed(name(key), "command");
    return taken;
  }

  #withdraw(key: ThreadKey, commandKey: string): boolean {
    const row = this.#row(key);
    const kind = row === undefined ? undefined : this.#openKind(row.num, commandKey);
    if (row === undefined) return false;
    if (kind === undefined || kind === "late" || (kind === "stop" && row.owner !== null)) return false;
    if (kind === "answer") this.#sql.forget.run(row.num, toText(commandKey));
    else this.#sql.consume.run(0, row.num, toText(commandKey));
    const answers = row.answers === null ? null : fewer(row.answers, [kind]);
    const queued = row.queued - (kind === "input" ? 1 : 0);
    const saved = this.#save({ ...row, open: row.open - 1, queued, answers });
    writeDue(this.#sql, row, saved, this.#clock.now(), false);
    return true;
  }

  async threads(tenant: string): Promise<ThreadRow[]> {
    return this.#guarded(undefined, () =>
      this.#transaction(this.#sql.read, () => {
        const rows = this.#sql.threads.all(toText(tenant)) as unknown as Row[];
        const { n } = this.#sql.countThreads.get(toText(tenant)) as { n: number };
        if (n !== rows.length) throw belayError("STORE_CORRUPT", { problem: "two indexes know different threads" });
        return rows.map((row) => (fits(row, tenant) ? this.#shown(row) : shownDamaged(row)));
      }),
    );
  }

  async due(limit: number, olderThanMs = 0, tenant?: string): Promise<readonly DueThread[]> {
    const now = this.#clock.now();
    const before = now - Math.max(0, olderThanMs);
    const query = { limit, now, before, tenant: tenant === undefined ? undefined : toText(tenant) };
    const show = (row: Row) => (fits(row, fromText(String(row.tenant))) ? this.#shown(row) : undefined);
    return this.#guarded(undefined, () => this.#transaction(this.#sql.read, () => readDue(this.#sql, query, show)));
  }

  async requests(tenant: string, range?: RequestRange): Promise<readonly RequestRow[]> {
    return this.#guarded(undefined, () =>
      this.#transaction(this.#sql.read, () => openRequests(this.#sql, tenant, range)),
    );
  }

  async requestThread(tenant: string, id: string): Promise<string | undefined> {
    return this.#guarded(undefined, () =>
      this.#transaction(this.#sql.read, () => requestThread(this.#sql, tenant, id)),
    );
  }

  // Lists

  async page(tenant: string, query: ThreadQuery): Promise<readonly ListedRow[]> {
    const show = (row: Row) => (fits(row, tenant) ? this.#shown(row) : undefined);
    return this.#guarded(undefined, () =>
      this.#transaction(this.#sql.read, () => this.#pages.read(tenant, query, show)),
    );
  }

  async decided(tenant: string, query: RequestQuery): Promise<readonly DecidedRow[]> {
    return this.#guarded(undefined, () =>
      this.#transaction(this.#sql.read, () => decidedRequests(this.#sql, tenant, query)),
    );
  }

  async request(tenant: string, id: string): Promise<RequestRow | DecidedRow | undefined> {
    return this.#guarded(undefined, () => this.#transaction(this.#sql.read, () => readRequest(this.#sql, tenant, id)));
  }

  watchTenant(tenant: string, changed: (threadId?: string) => void, background?: boolean): () => void {
    return this.#poll.watchTenant(tenant, changed, background);
  }

  async rules(tenant: string): Promise<readonly RuleRow[]> {
    return this.#guarded(undefined, () => {
      const version = this.#poll.version();
      if (this.#rules?.tenant !== tenant || this.#rules.version !== version)
        this.#rules = { tenant, version, rows: allRules(this.#sql, tenant) };
      return this.#rules.rows.map((rule) => ({ ...rule }));
    });
  }

  async removeRule(tenant: string, id: string): Promise<boolean> {
    return this.#guarded(undefined, () =>
      this.#writing(() => {
        this.#rules = undefined;
        return dropRule(this.#sql, tenant, id);
      }),
    );
  }

  async delete(key: ThreadKey, head?: number): Promise<boolean> {
    const done = await this.#guarded(key, () => this.#writing(() => this.#delete(key, head)));
    if (!done) return false;
    this.#relay?.drop(name(key));
    this.#poll.changed(name(key), "append");
    this.#poll.changedIn(key);
    return true;
  }

  #delete(key: ThreadKey, head: number | undefined): boolean {
    const found = this.#sql.doomed.get(toText(key.tenant), toText(key.threadId)) as Row | undefined;
    if (found === undefined) return false;
    const isSound = fits(found, key.tenant);
    if (head !== undefined && !(isSound && this.#isAtRest(found, head))) return false;
    const before = fenceOfTheDead(key, this.#sql.fences.get() as { last: number; crc: number } | undefined);
    // Of a row that does not fit its checksum nothing is believed, its fence neither.
    const last = isSound ? Math.max(before, found.fence) : before + 1_000_000;
    if (last !== before) this.#sql.setFences.run(last, fencesCrc(last));
    dropThread(this.#sql, found);
    return true;
  }

  #isAtRest(row: Row, head: number): boolean {
    return row.head === head && row.queued === 0 && row.answers === null && this.#lease(row) === undefined;
  }

  watch(key: ThreadKey, changed: (what?: Change) => void, only?: Change, background?: boolean): () => void {
    return this.#poll.watch(name(key), changed, only, background);
  }

  // The relay of drafts between processes.

  readonly #relay: RelayFiles | undefined;

  relay(key: ThreadKey, side: "owner" | "reader", heard: (body: string) => void): RelayLine | undefined {
    return this.#relay?.join(name(key), side, heard);
  }

  #row(key: ThreadKey): Row | undefined {
    const [tenant, id] = [toText(key.tenant), toText(key.threadId)];
    const row = this.#sql.thread.get(tenant, id) as Row | undefined;
    if (row === undefined) {
      if (this.#sql.named.get(nameCrc(tenant, id), tenant, id) === undefined) return undefined;
      throw damaged(key, 0, "two indexes know different threads");
    }
    if (!isOf(row, key) || !fits(row, key.tenant)) throw damaged(key, 0, "its row does not fit its checksum");
    return row;
  }

  #commands(of: ThreadKey, row: Row): readonly Command[] {
    if (row.open === 0) return [];
    const found = this.#sql.commands.all(row.num) as unknown as CommandRow[];
    // A damaged index can lead to one of them twice, in place of another.
    const count = new Set(found.map(({ key }) => key)).size;
    if (found.length !== row.open || count !== row.open)
      throw damaged(of, 0, `${count} commands wait, not ${row.open}`);
    return found.map((command) => {
      const { key, kind, body, at, crc } = command;
      if (commandCrc(row.num, command) !== crc) throw damaged(of, 0, `command ${key} does not fit its checksum`);
      return { key: fromText(key), kind, body: fromText(body), at };
    });
  }

  #openKind(num: number, command: string): Command["kind"] | undefined {
    return (this.#sql.openKind.get(num, toText(command)) as { kind: Command["kind"] } | undefined)?.kind;
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
      queued: row.queued > 0,
      answered: row.answers !== null,
      ...(row.rest_from !== null && { rest: restOf(row.rest_from, row.rest_due) }),
      ...(row.parent !== null && { parent: { threadId: fromText(row.parent), seq: row.base_seq ?? 0 } }),
      ...(lease && { lease }),
    };
  }

  #writing<T>(work: () => T): T {
    const result = this.#transaction(this.#sql.write, work);
    this.#writes += 1;
    if (this.#writes === MANY_WRITES) lengthenLog(this.db);
    return result;
  }

  #transaction<T>(begin: Statement, work: () => T): T {
    begin.run();
    try {
      const result = work();
      this.#sql.commit.run();
      return result;
    } catch (error) {
      try {
        this.#sql.rollback.run();
      } catch {
        // SQLite itself has rolled back.
      }
      throw error;
    }
  }

  /** Comes back later where another process holds the lock; says other failures in our words. */
  async #guarded<T>(key: ThreadKey | undefined, work: () => T): Promise<T> {
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

function remember(rows: Map<string, Row>, most: number, thread: string, row: Row): void {
  rows.set(thread, row);
  if (rows.size > most) for (const oldest of rows.keys()) if (rows.delete(oldest)) break;
}

function done(row: Row): Appended {
  return { ok: true, fence: row.fence, mail: row.open > 0 };
}

function name(key: ThreadKey): string {
  return `${key.tenant}\n${key.threadId}`;
}

/** Made again under the name of the one that the writer knew. */
function isAnother(row: Row, { since }: Append): boolean {
  return since !== undefined && row.created_at !== since;
}

function fits(row: Row, tenant: string): boolean {
  return row.row_crc === rowCrc(row) && row.tenant === toText(tenant) && row.name === nameCrc(row.tenant, row.id);
}

/** The highest fence of any thread that was deleted: one made again under its name does not get an old one. */
function fenceOfTheDead(key: ThreadKey, found: { readonly last: number; readonly crc: number } | undefined): number {
  if (found === undefined || found.crc !== fencesCrc(found.last))
    throw damaged(key, 0, "the count of fences does not fit its checksum");
  return found.last;
}

/** The columns of a free thread besides its checksum, head and fence, in the order of takeKnownThread. */
function restOfRow(row: Row): string {
  const { tenant, id, name, agent, state, until, append_id, crc, hash, open, queued, created_at, updated_at } = row;
  const { answers, rest_from, rest_due, parent, base, base_seq, base_crc } = row;
  const sum = Buffer.from(hash).toString("hex").toUpperCase();
  const now = `${tenant}\n${id}\n${name}\n${agent}\n${state}\n${until}\n${append_id}\n${crc}\n${sum}\n${open}\n${queued}`;
  const forked = `${parent === null ? "-" : `+${parent}`}\n${base ?? "-"}\n${base_seq ?? "-"}\n${base_crc ?? "-"}`;
  const rest = `${answers ?? "-"}\n${rest_from ?? "-"}\n${rest_due ?? "-"}`;
  return `${now}\n${created_at}\n${updated_at}\n${rest}\n${forked}`;
}

function isOf(row: Row, key: ThreadKey): boolean {
  return row.id === toText(key.threadId);
}

/** A row that does not fit its checksum is reported only by its name, for a search. */
function shownDamaged(row: Row): ThreadRow {
  const none = { agent: "", state: "error", head: 0, createdAt: 0, updatedAt: 0 } as const;
  return { threadId: String(row.id), ...none, queued: false, answered: false, damaged: true };
}

function restOf(from: number, due: number | null): Rest {
  return due === null ? { from } : { from, dueAt: due };
}

/** How many answers wait after these kinds of commands are consumed. */
function fewer(answers: number, consumed: readonly unknown[]): number | null {
  return answers - consumed.filter((kind) => kind === "answer").length || null;
}
