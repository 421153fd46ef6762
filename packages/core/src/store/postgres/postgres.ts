// A store in a PostgreSQL database, for any number of machines.
//
// 1. One step is one round trip and one transaction: a call of a function in the database (functions.ts), or, for a writer
//    after its own last line, one statement; if that finds any difference, the function is called.
// 2. Every line is chained to the one before it by a sha256 of its place and its text, every other row carries a checksum of
//    itself. A mismatch is refused with JOURNAL_CORRUPT or STORE_CORRUPT (P7).
// 3. Time is the database's. Only the end of a lease shows that its owner is gone: processes of other machines cannot be
//    looked at.
// 4. A cut connection leaves the outcome of a call open: the call is repeated on another one, and gets the first answer (P9).
// 5. Watching is a row first, a hint second and a slow look as a backstop (hints.ts).

import { randomUUID } from "node:crypto";
import { belayError } from "../../error.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import type { Bus } from "../bus.ts";
import { damagedRequest } from "../damaged-request.ts";
import type {
  Append,
  Appended,
  Change,
  Command,
  DecidedRow,
  DueThread,
  ListedRow,
  Loaded,
  Past,
  RelayLine,
  RequestQuery,
  RequestRange,
  RequestRow,
  RuleRow,
  Store,
  ThreadKey,
  ThreadQuery,
  ThreadRow,
} from "../store.ts";
import { fromText, toText } from "../text.ts";
import { appendValues, goOnValues, readAppended } from "./append.ts";
import { Calls, type Rows } from "./calls.ts";
import { dueStatement } from "./due.ts";
import { Hints } from "./hints.ts";
import { namedOf, shownListed } from "./listing.ts";
import type { PostgresPool } from "./pool.ts";
import { type PageRow, readLines, readRest } from "./read-lines.ts";
import { Relay } from "./relay.ts";
import { Renewals } from "./renewals.ts";
import { checkedRequest, fitsRequest, shownDecided, shownOpen } from "./request-rows.ts";
import {
  bytes,
  commandSum,
  fits,
  type ListingRow,
  nameOf,
  type RequestTableRow,
  type Row,
  ruleSum,
  snapshotSum,
  tenantName,
  threadName,
} from "./rows.ts";
import type { StatementName } from "./statements.ts";
import { asStoreError, damaged, misfit } from "./store-error.ts";
import { shown, shownDamaged } from "./thread-rows.ts";

/** The options of `postgresStore()`. */
export interface PostgresStoreOptions {
  /** The schema of its tables, made if it does not exist. "belay" by default. */
  readonly schema?: string | undefined;
  /** How often to look at watched threads, should a hint be lost. */
  readonly pollMs?: number | undefined;
  /** How long to try again when the database cannot be reached. */
  readonly retryMs?: number | undefined;
  /** Carries hints and streamed text in place of NOTIFY, for many processes. `redisBus(client)` of `@belay/core/redis` makes one. */
  readonly bus?: Bus | undefined;
}

const OPTIONS: KnownOptions<PostgresStoreOptions> = { schema: true, pollMs: true, retryMs: true, bus: true };

const POLL_MS = 500;
const RETRY_MS = 10_000;
const MOST_REMEMBERED = 2_000;

/** Pools whose idle connections may be cut without ending the process. */
const heard = new WeakSet<PostgresPool>();

/**
 * Returns a store in the database of `pool`, which is `pg`'s. Makes and migrates its tables when it is first used. The caller
 * closes the pool, after the runners are closed.
 */
export function postgresStore(pool: PostgresPool, options: PostgresStoreOptions = {}): Store {
  refuseUnknown("postgresStore()", options, OPTIONS);
  return new PostgresStore(pool, options);
}

interface LoadRow extends Row, PageRow, ListingRow {
  readonly commands: string | null;
  readonly snapshot_seq: string | null;
  readonly snapshot_body: string | null;
  readonly snapshot_sum: string | null;
  readonly after: string;
}

class PostgresStore implements Store {
  readonly #calls: Calls;
  /** The hashes of the last lines of threads, by name, as this store last saw or wrote them. */
  readonly #last = new Map<string, string>();
  readonly #hints: Hints;
  readonly #renewals: Renewals;

  constructor(pool: PostgresPool, options: PostgresStoreOptions) {
    const { schema = "belay", pollMs = POLL_MS, retryMs = RETRY_MS, bus } = options;
    this.#calls = new Calls(pool, quoted(schema), retryMs);
    this.#renewals = new Renewals(this.#calls);
    const channel = `belay_${nameOf(schema, "")}`;
    this.#hints = new Hints(pool, this.#calls, channel, pollMs, bus);
    // Names of channels have at most 63 bytes.
    const isDeaf = bus === undefined && pool.options?.max === 1;
    this.#relay = isDeaf ? undefined : new Relay(this.#calls, this.#hints, channel.slice(0, 22), bus);
    if (heard.has(pool)) return;
    heard.add(pool);
    // A cut idle connection is not a failure: the next caller gets another.
    pool.on("error", () => {});
  }

  async load(key: ThreadKey, from: number | "snapshot" | "rest" = 0): Promise<Loaded | undefined> {
    for (;;) {
      const after = typeof from === "number" ? from : 0;
      const values = [bytes(threadName(key)), after, from === "snapshot", from === "rest"];
      const [found] = (await this.#call(key, "load", values)) as readonly LoadRow[];
      if (found === undefined) return this.#absent(key);
      if (found.id !== toText(key.threadId) || !fits(found, key.tenant))
        throw damaged(key, 0, "its row does not fit its checksum");
      const loaded = await this.#loaded(key, found, from === "snapshot");
      if (loaded !== undefined) return loaded;
    }
  }

  /** Undefined if the thread was deleted, and maybe made again, while its lines were read. */
  async #loaded(key: ThreadKey, found: LoadRow, wantsSnapshot: boolean): Promise<Loaded | undefined> {
    const snapshot = wantsSnapshot ? snapshotOf(found) : undefined;
    // A cache: one that is damaged is as good as none.
    const lost = wantsSnapshot && snapshot === undefined && found.snapshot_seq !== null;
    const reader = { calls: this.#calls, key, row: found };
    const read = await this.#guarded(key, () =>
      lost ? readLines(reader, 0) : readLines(reader, Number(found.after), found),
    );
    if (read.damage !== undefined) {
      if (await this.#isStill(key, found)) throw read.damage.error;
      return undefined;
    }
    const { lines } = read;
    this.#remember(found.name, found.hash);
    const named = namedOf(found);
    const row = named === undefined ? shown(found) : { ...shown(found), named };
    return { row, lines, commands: commandsOf(key, found), ...(snapshot && { snapshot }) };
  }

  async #isStill(key: ThreadKey, row: Row): Promise<boolean> {
    const [now] = await this.#call(key, "row", [bytes(row.name)]);
    return now?.num === row.num;
  }

  /** A thread with a damaged name does not look absent. */
  async #absent(key: ThreadKey): Promise<undefined> {
    const rows = await this.#call(key, "misnamed", [toText(key.tenant), toText(key.threadId)]);
    if (rows.length === 0) return undefined;
    // It may have been made since we looked.
    const [now] = await this.#call(key, "row", [bytes(threadName(key))]);
    if (now === undefined) throw damaged(key, 0, "two indexes know different threads");
    return undefined;
  }

  async past(key: ThreadKey, to = Number.MAX_SAFE_INTEGER): Promise<Past | undefined> {
    for (;;) {
      const [row] = (await this.#call(key, "row", [bytes(threadName(key))])) as readonly Row[];
      if (row === undefined) return this.#absent(key);
      const whole = row.id === toText(key.threadId) && fits(row, key.tenant);
      const reader = { calls: this.#calls, key, row };
      const read = await this.#guarded(key, () => (whole ? readLines(reader, 0) : readRest(reader)));
      if (read.damage !== undefined && !(await this.#isStill(key, row))) continue;
      const { damage } = read;
      const lines = read.lines.filter(({ seq, count }) => seq + count - 1 <= to);
      return {
        ...(whole && { agent: fromText(row.agent) }),
        lines,
        ...(damage !== undefined && damage.seq <= to && { damage }),
      };
    }
  }

  async append(key: ThreadKey, append: Append): Promise<Appended> {
    const name = threadName(key);
    const appended = (await this.#goOn(key, name, append)) ?? (await this.#append(key, name, append));
    if (appended.ok) this.#hints.changed(name, "append", key);
    return appended;
  }

  /** Returns undefined if it is more than a line after the last known one, or if any value differs from then. */
  async #goOn(key: ThreadKey, name: string, append: Append): Promise<Appended | undefined> {
    const before = this.#last.get(name);
    const next = before === undefined ? undefined : goOnValues(key, name, append, before);
    this.#last.delete(name);
    if (next === undefined) return undefined;
    const [row] = await this.#call(key, "take" in append.writer ? "takeOn" : "goOn", next.values);
    if (row === undefined) return undefined;
    this.#remember(name, next.hash);
    return { ok: true, fence: Number(row.fence), mail: row.mail };
  }

  async #append(key: ThreadKey, name: string, append: Append): Promise<Appended> {
    const values = appendValues(key, name, append);
    const { since } = append;
    const [row] = await (since === undefined
      ? this.#call(key, "append", values)
      : this.#call(key, "appendTo", [...values, since]));
    const { appended, hash } = readAppended(row.outcome);
    if (hash !== undefined) this.#remember(name, hash);
    return appended;
  }

  #remember(name: string, hash: string): void {
    this.#last.set(name, hash);
    if (this.#last.size <= MOST_REMEMBERED) return;
    for (const oldest of this.#last.keys()) return void this.#last.delete(oldest);
  }

  async renew(key: ThreadKey, fence: number, ttlMs: number): Promise<boolean> {
    const [name, tenant, id] = nameValues(key);
    return this.#guarded(key, () => this.#renewals.renew([name, tenant, id, fence, ttlMs]));
  }

  async release(key: ThreadKey, fence: number): Promise<void> {
    await this.#call(key, "release", [...nameValues(key), fence]);
    this.#hints.changed(threadName(key), "append", key);
  }

  async send(key: ThreadKey, command: Command): Promise<boolean> {
    const name = threadName(key);
    const { kind, at } = command;
    const stored = { key: toText(command.key), kind, body: toText(command.body), at };
    const sum = bytes(commandSum(name, stored));
    const values = [...nameValues(key), stored.key, kind, stored.body, at, sum, randomUUID()];
    const [row] = await this.#call(key, "send", values);
    if (row.done === null) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
    if (row.done) this.#hints.changed(name, "command");
    return row.done;
  }

  async withdraw(key: ThreadKey, commandKey: string): Promise<boolean> {
    const values = [...nameValues(key), toText(commandKey), randomUUID()];
    let [row] = await this.#call(key, "withdraw", values);
    if (!row.done) [row] = await this.#call(key, "withdrawOther", values);
    if (row.done) this.#hints.changed(threadName(key), "command");
    return row.done;
  }

  async threads(tenant: string): Promise<ThreadRow[]> {
    const rows = (await this.#call(undefined, "threads", [bytes(tenantName(tenant))])) as readonly Row[];
    return rows.map((row) => (fits(row, tenant) ? shown(row) : shownDamaged(row)));
  }

  async due(limit: number, olderThanMs = 0, tenant?: string): Promise<readonly DueThread[]> {
    const of = tenant === undefined ? null : bytes(tenantName(tenant));
    const statement = dueStatement(limit, of);
    const older = Math.max(0, Math.round(olderThanMs));
    const found = await this.#call(undefined, statement, statement === "dueOf" ? [older, limit, of] : [older]);
    const rows = found.slice(0, limit);
    return rows.map((row) => ({
      tenant: fromText(row.tenant),
      threadId: fromText(row.id),
      head: Number(row.head),
      fence: Number(row.fence),
      since: Number(row.due_at),
    }));
  }

  async requests(tenant: string, range?: RequestRange): Promise<readonly RequestRow[]> {
    const values = [bytes(tenantName(tenant)), range?.after ?? 0, range?.limit ?? null];
    const rows = (await this.#call(undefined, "requests", values)) as readonly RequestTableRow[];
    return rows.map((row) => {
      const { id, thread_id } = row;
      const place = range && { place: Number(row.num) };
      if (!fitsRequest(row)) return { ...damagedRequest(id, thread_id), ...place };
      // As it was written: it is found under this tenant's name, and is another's.
      if (row.tenant !== toText(tenant)) throw misfit(`request ${id}`);
      return { ...shownOpen(row), ...place };
    });
  }

  async requestThread(tenant: string, id: string): Promise<string | undefined> {
    const row = await this.#findRequest(tenant, id);
    return row && fromText(row.thread_id!);
  }

  async #findRequest(tenant: string, id: string): Promise<RequestTableRow | undefined> {
    const name = nameOf(toText(tenant), toText(id));
    const [row] = (await this.#call(undefined, "request", [bytes(name)])) as readonly RequestTableRow[];
    if (row === undefined) return undefined;
    if (row.id !== toText(id)) throw misfit(`request ${row.id}`);
    return checkedRequest(row, tenant);
  }

  // Lists

  async page(tenant: string, query: ThreadQuery): Promise<readonly ListedRow[]> {
    const show = (row: Row) => (fits(row, tenant) ? shown(row) : undefined);
    const rows = await this.#guarded(undefined, () => this.#calls.page(tenant, query));
    return rows.map((row) => shownListed(row, show));
  }

  async decided(tenant: string, query: RequestQuery): Promise<readonly DecidedRow[]> {
    const { threadId, limit, after = { at: Number.MAX_SAFE_INTEGER, id: "" } } = query;
    const values = [after.at, toText(after.id), limit];
    const rows = (await (threadId === undefined
      ? this.#call(undefined, "decided", [bytes(tenantName(tenant)), ...values])
      : this.#call(undefined, "decidedOf", [bytes(threadName({ tenant, threadId })), ...values]))) as RequestTableRow[];
    return rows.map((row) => {
      if (fitsRequest(row) && row.tenant === toText(tenant)) return shownDecided(row);
      return { ...damagedRequest(row.id, row.thread_id), decidedAt: Number(row.decided_at) };
    });
  }

  async request(tenant: string, id: string): Promise<RequestRow | DecidedRow | undefined> {
    const row = await this.#findRequest(tenant, id);
    if (row === undefined || (row.closed !== null && row.decided_at === null)) return undefined;
    return row.closed === null ? shownOpen(row) : shownDecided(row);
  }

  watchTenant(tenant: string, changed: (threadId?: string) => void, background?: boolean): () => void {
    return this.#hints.watchTenant(tenant, changed, background);
  }

  async rules(tenant: string): Promise<readonly RuleRow[]> {
    const rows = await this.#call(undefined, "rules", [bytes(tenantName(tenant))]);
    return rows.map((row) => {
      const rule = { id: row.id, at: Number(row.at), body: row.body };
      if (row.tenant !== toText(tenant) || row.sum !== ruleSum(row.tenant, rule)) throw misfit(`rule ${row.id}`);
      return { id: fromText(rule.id), at: rule.at, body: fromText(rule.body) };
    });
  }

  async removeRule(tenant: string, id: string): Promise<boolean> {
    const name = bytes(nameOf(toText(tenant), toText(id)));
    const [row] = await this.#call(undefined, "removeRule", [name, randomUUID()]);
    return row.done;
  }

  async delete(key: ThreadKey, head?: number): Promise<boolean> {
    const [row] = await this.#call(key, "delete", [...nameValues(key), head ?? null, randomUUID()]);
    if (row.done) this.#hints.changed(threadName(key), "append", key);
    return row.done;
  }

  watch(key: ThreadKey, changed: (what?: Change) => void, only?: Change, background?: boolean): () => void {
    return this.#hints.watch(threadName(key), changed, only, background);
  }

  // The relay of drafts between processes. A pool of one connection has none to listen on.

  readonly #relay: Relay | undefined;

  relay(key: ThreadKey, side: "owner" | "reader", heard: (body: string) => void): RelayLine | undefined {
    return this.#relay?.join(threadName(key), side, heard);
  }

  async #call(key: ThreadKey | undefined, name: StatementName, values: unknown[]): Promise<Rows> {
    return this.#guarded(key, () => this.#calls.call(name, values));
  }

  async #guarded<T>(key: ThreadKey | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStoreError(key, error);
    }
  }
}

function nameValues(key: ThreadKey): unknown[] {
  return [bytes(threadName(key)), toText(key.tenant), toText(key.threadId)];
}

/** The name of the schema, as SQL has it. */
function quoted(schema: string): string {
  if (schema === "" || schema.includes("\0") || Buffer.byteLength(schema) > 63)
    throw belayError("OPTION_INVALID", { option: "schema", value: JSON.stringify(schema), needed: "1 to 63 bytes" });
  return `"${schema.replaceAll('"', '""')}"`;
}

function snapshotOf(found: LoadRow): Loaded["snapshot"] {
  const { name, snapshot_seq, snapshot_body, snapshot_sum } = found;
  if (snapshot_seq === null || snapshot_body === null) return undefined;
  const seq = Number(snapshot_seq);
  return snapshotSum(name, seq, snapshot_body) === snapshot_sum ? { seq, body: fromText(snapshot_body) } : undefined;
}

function commandsOf(of: ThreadKey, row: LoadRow): readonly Command[] {
  if (row.open === 0) return [];
  const found = JSON.parse(row.commands ?? "[]") as [string, Command["kind"], string, number, string][];
  if (found.length !== row.open) throw damaged(of, 0, `${found.length} commands wait, not ${row.open}`);
  return found.map(([key, kind, body, at, sum]) => {
    if (commandSum(row.name, { key, kind, body, at }) !== sum)
      throw damaged(of, 0, `command ${key} does not fit its checksum`);
    return { key: fromText(key), kind, body: fromText(body), at };
  });
}
