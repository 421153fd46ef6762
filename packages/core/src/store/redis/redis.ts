// A store in Redis, for several machines. It promises as much as its server: an answered write is on disk only with
// `appendonly yes` and `appendfsync always`, and is lost if a replica that has not received it takes over.
//
// 1. Each step is one script (scripts.ts), which Redis runs alone, and writes as one transaction.
// 2. Every line carries a crc of its journal, its place and its text, chained to the line before it, and a sha256 chain,
//    which `past` proves, too; the thread's row carries the last of each. The server cannot compute them: a writer sends a line with
//    those for the last line that it has read, and sends it again with the right ones if another line was the last.
// 3. Lines belong to a journal, which has an id of its own: a fork reads those of other threads, also after their deletion.

import { randomBytes, randomUUID } from "node:crypto";
import { belayError } from "../../error.ts";
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
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
  Snapshot,
  Store,
  ThreadKey,
  ThreadQuery,
  ThreadRow,
} from "../store.ts";
import { appendArgs } from "./append-args.ts";
import { call, type Reply } from "./call.ts";
import { keyPrefixOf, type RedisClient } from "./client.ts";
import { Hints } from "./hints.ts";
import { channelOf, fromText, readPrefix, tenantChannel, tenantKey, tenantsKey, toText } from "./keys.ts";
import { pageArgs } from "./page-args.ts";
import { readLines, type Segment } from "./read-lines.ts";
import {
  inOrder,
  type Mark,
  packCommand,
  partHead,
  type Row,
  readRow,
  shown,
  shownDamaged,
  shownListed,
  unpack,
  unpackCommand,
  unpackNames,
  unpackRequest,
  unpackRule,
  unpackVerdict,
} from "./rows.ts";
import type { scripts } from "./scripts.ts";
import { damaged } from "./store-error.ts";

/** The options of `redisStore()`. */
export interface RedisStoreOptions {
  /** The beginning of all keys. */
  readonly prefix?: string | undefined;
  /** How often to look whether a hint was lost. */
  readonly pollMs?: number | undefined;
}

const OPTIONS: KnownOptions<RedisStoreOptions> = { prefix: true, pollMs: true };

/** The number of threads whose last line this store remembers. */
const MOST_MARKS = 1_000;
const PAGE = "500";
/**
 * Returns a store in the Redis that `client`, of ioredis, is connected to. The caller closes the client, after the runners are
 * closed; a second connection, opened while a thread is watched, closes with it.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  refuseUnknown("redisStore()", options, OPTIONS);
  return new RedisStore(client, options);
}

class RedisStore implements Store {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #hints: Hints;
  /** The last line of the last threads that were read or written: most lines are sent once. */
  readonly #marks = new Map<string, Mark>();
  /** Tenants that this store has added to the list of tenants, or has seen there. */
  readonly #tenants = new Set<string>();

  constructor(client: RedisClient, options: RedisStoreOptions) {
    this.#client = client;
    this.#prefix = readPrefix(options.prefix ?? "belay");
    const look = async (key: string, ids: readonly string[]) =>
      (await call(client, "look", key, ids.map(toText)))[1] as string[];
    this.#hints = new Hints(client, look, options.pollMs ?? 1_000);
  }

  async load(key: ThreadKey, from: number | "snapshot" | "rest" = 0): Promise<Loaded | undefined> {
    const reply = await this.#call("load", key, String(from));
    if (reply[0] === "none") return undefined;
    const [, raw, now, after, before, kept, mail, segments, names] = reply as LoadReply;
    const row = this.#row(key, raw);
    const snapshot = kept === "" ? undefined : readSnapshot(row, kept);
    // A cache: one that is damaged is as good as none.
    if (kept !== "" && snapshot === undefined) return this.load(key);
    const { lines, damage } = readLines(key, segments, Number(after), before, row.head, row);
    if (damage !== undefined) throw damage.error;
    this.#remember(key, row);
    const named = unpackNames(toText(key.threadId), names);
    const seen = named === undefined ? shown(row, Number(now)) : { ...shown(row, Number(now)), named };
    return { row: seen, lines, commands: commandsOf(key, row, mail), ...(snapshot && { snapshot }) };
  }

  async past(key: ThreadKey, to = Number.MAX_SAFE_INTEGER): Promise<Past | undefined> {
    let reply: Reply;
    try {
      reply = await this.#call("past", key, String(to));
    } catch (error) {
      if ((error as { code?: unknown }).code !== "JOURNAL_CORRUPT") throw error;
      return { lines: [], damage: { seq: 0, error: damaged(key, 0, "its row does not fit its checksum") } };
    }
    if (reply[0] === "none") return undefined;
    const [, raw, segments] = reply as unknown as [string, string, Segment[]];
    const row = this.#row(key, raw);
    const whole = to >= row.head;
    const { lines, damage } = readLines(key, segments, 0, "", whole ? row.head : 0, whole ? row : undefined, true);
    return { agent: row.agent, lines, ...(damage && { damage }) };
  }

  async append(key: ThreadKey, append: Append): Promise<Appended> {
    await this.#enlist(key.tenant);
    const name = nameOf(key);
    let mark = this.#marks.get(name);
    this.#marks.delete(name);
    for (;;) {
      const sent = appendArgs(key, append, mark ?? newMark());
      const [what, ...rest] = (await this.#call("append", key, ...sent.args)) as readonly string[];
      switch (what) {
        case "ok":
          this.#remember(key, sent.mark);
          return { ok: true, fence: Number(rest[0]), mail: rest[1] !== "0" };
        case "known":
          return { ok: true, fence: Number(rest[0]), mail: rest[1] !== "0" };
        case "mark":
          mark = newMark(rest[0], Number(rest[1]), rest[2]);
          break;
        default:
          return refusal(key, append, what!, rest);
      }
    }
  }

  async renew(key: ThreadKey, fence: number, ttlMs: number): Promise<boolean> {
    return isYes(await this.#call("renew", key, String(fence), String(ttlMs)));
  }

  async release(key: ThreadKey, fence: number): Promise<void> {
    await this.#call("release", key, String(fence));
  }

  async send(key: ThreadKey, command: Command): Promise<boolean> {
    const thread = toText(key.threadId);
    const packed = packCommand(thread, command);
    await this.#enlist(key.tenant);
    const reply = await this.#call("send", key, toText(command.key), command.kind, packed, randomUUID());
    if (reply[0] === "unknown") throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
    return isYes(reply);
  }

  async withdraw(key: ThreadKey, commandKey: string): Promise<boolean> {
    return isYes(await this.#call("withdraw", key, toText(commandKey), randomUUID()));
  }

  /** Asks one tenant after another, as a cluster has each on a node of its own, and sorts the answers. */
  async due(limit: number, olderThanMs = 0, tenant?: string): Promise<readonly DueThread[]> {
    if (tenant !== undefined) return this.#due(tenant, limit, olderThanMs);
    const [, all] = await call(this.#client, "tenants", tenantsKey(this.#prefix), []);
    const found = await Promise.all((all as string[]).map((each) => this.#due(fromText(each), limit, olderThanMs)));
    return found
      .flat()
      .sort((a, b) => a.since - b.since)
      .slice(0, limit);
  }

  async #due(tenant: string, limit: number, olderThanMs: number): Promise<readonly DueThread[]> {
    const args = [String(limit), String(Math.max(0, Math.round(olderThanMs)))];
    const [, flat] = (await call(this.#client, "due", this.#tenant(tenant), args)) as [string, string[]];
    const found: DueThread[] = [];
    for (let i = 0; i < flat.length; i += 4) {
      const [id = "", since, head, fence] = flat.slice(i, i + 4);
      const counts = { head: Number(head), fence: Number(fence), since: Number(since) };
      found.push({ tenant, threadId: fromText(id), ...counts });
    }
    return found;
  }

  /** Adds a tenant to the list that `due` asks, before anything of it is written. */
  async #enlist(tenant: string): Promise<void> {
    if (this.#tenants.has(tenant)) return;
    await call(this.#client, "addTenant", tenantsKey(this.#prefix), [toText(tenant)]);
    this.#tenants.add(tenant);
  }

  /**
   * Page by page: the server has other callers. Each row is whole, and a row that changes in the meantime is returned as before
   * or after.
   */
  async threads(tenant: string): Promise<ThreadRow[]> {
    const rows = new Map<string, ThreadRow>();
    let cursor = "0";
    do {
      const reply = await call(this.#client, "list", this.#tenant(tenant), [cursor, PAGE]);
      const [, now, next, flat] = reply as unknown as [string, string, string, string[]];
      for (let i = 0; i < flat.length; i += 2) {
        const row = readRow(flat[i + 1]!);
        const fits = row !== undefined && toText(row.id) === flat[i];
        rows.set(flat[i]!, fits ? shown(row, Number(now)) : shownDamaged(flat[i]!));
      }
      cursor = next;
    } while (cursor !== "0");
    return [...rows.values()].sort((a, b) => b.updatedAt - a.updatedAt || (a.threadId < b.threadId ? -1 : 1));
  }

  async requests(tenant: string, range?: RequestRange): Promise<readonly RequestRow[]> {
    const args = range === undefined ? [""] : [String(range.after ?? 0), String(range.limit)];
    const [what, flat] = await call(this.#client, "requests", this.#tenant(tenant), args);
    if (what === "differ") throw belayError("STORE_CORRUPT", { problem: "two lists know different requests" });
    return inOrder(flat as string[]).map(([id, packed, place]) => ({
      ...unpackRequest(id, packed),
      ...(range && { place }),
    }));
  }

  async requestThread(tenant: string, id: string): Promise<string | undefined> {
    const [, found] = await call(this.#client, "requestThread", this.#tenant(tenant), [toText(id)]);
    return found === null ? undefined : fromText(found as string);
  }

  // Lists

  async page(tenant: string, query: ThreadQuery): Promise<readonly ListedRow[]> {
    const [, now, rows] = await call(this.#client, "page", this.#tenant(tenant), pageArgs(query));
    return (rows as [string, string, string, string, string][]).map(([id, at, raw, names, open]) =>
      shownListed(id, Number(at), raw, names, Number(open), Number(now)),
    );
  }

  async decided(tenant: string, { threadId, after, limit }: RequestQuery): Promise<readonly DecidedRow[]> {
    const place = after === undefined ? ["", ""] : [String(after.at), toText(after.id)];
    const args = [String(limit), ...place, threadId === undefined ? "" : `+${toText(threadId)}`];
    const [, rows] = await call(this.#client, "decided", this.#tenant(tenant), args);
    return (rows as [string, string, string][]).map(([id, at, packed]) => unpackVerdict(id, at, packed));
  }

  async request(tenant: string, id: string): Promise<RequestRow | DecidedRow | undefined> {
    const [what, ...rest] = await call(this.#client, "request", this.#tenant(tenant), [toText(id)]);
    const [first = "", second = ""] = rest as string[];
    if (what === "open") return unpackRequest(toText(id), partHead(first, 1)[1]!);
    return what === "decided" ? unpackVerdict(toText(id), first, second) : undefined;
  }

  watchTenant(tenant: string, changed: (threadId?: string) => void, background?: boolean): () => void {
    const key = this.#tenant(tenant);
    return this.#hints.watchTenant(keyPrefixOf(this.#client) + tenantChannel(key), changed, background);
  }

  async rules(tenant: string): Promise<readonly RuleRow[]> {
    const [, flat] = await call(this.#client, "rules", this.#tenant(tenant), []);
    return inOrder(flat as string[]).map(([id, packed]) => unpackRule(id, packed) ?? misfit(`rule ${id}`));
  }

  async removeRule(tenant: string, id: string): Promise<boolean> {
    return isYes(await call(this.#client, "removeRule", this.#tenant(tenant), [randomUUID(), toText(id)]));
  }

  async delete(key: ThreadKey, head?: number): Promise<boolean> {
    const args = [randomUUID(), toText(key.threadId), head === undefined ? "" : String(head)];
    return isYes(await call(this.#client, "remove", this.#tenant(key.tenant), args, key));
  }

  watch(key: ThreadKey, changed: (what?: Change) => void, only?: Change, background?: boolean): () => void {
    const tenant = this.#tenant(key.tenant);
    const channel = keyPrefixOf(this.#client) + channelOf(tenant, key.threadId);
    return this.#hints.watch({ tenantKey: tenant, threadId: key.threadId, channel }, changed, only, background);
  }

  // The relay of drafts between processes.

  relay(key: ThreadKey, side: "owner" | "reader", heard: (body: string) => void): RelayLine {
    const channel = keyPrefixOf(this.#client) + channelOf(this.#tenant(key.tenant), key.threadId);
    return this.#hints.relay(channel, side, heard);
  }

  #call(script: keyof typeof scripts, key: ThreadKey, ...args: readonly string[]): Promise<Reply> {
    return call(this.#client, script, this.#tenant(key.tenant), [toText(key.threadId), ...args], key);
  }

  #tenant(tenant: string): string {
    return tenantKey(this.#prefix, tenant);
  }

  #row(key: ThreadKey, raw: string): Row {
    const row = readRow(raw);
    if (row === undefined || row.id !== key.threadId) throw damaged(key, 0, "its row does not fit its checksum");
    return row;
  }

  #remember(key: ThreadKey, { journal, crc, hash }: Mark): void {
    this.#marks.set(nameOf(key), { journal, crc, hash });
    if (this.#marks.size > MOST_MARKS) for (const oldest of this.#marks.keys()) if (this.#marks.delete(oldest)) break;
  }
}

type LoadReply = [string, string, string, string, string, string, string[], Segment[], string];

function newMark(journal = "", crc = 0, hash = ""): Mark {
  return { journal: journal || randomBytes(16).toString("base64url"), crc, hash };
}

function refusal(key: ThreadKey, { parent }: Append, what: string, rest: readonly string[]): Appended {
  const owner = rest[0] ? fromText(rest[0].slice(1)) : undefined;
  switch (what) {
    case "busy":
      return { ok: false, why: "busy", owner: owner ?? "", until: Number(rest[1]) };
    case "fenced":
      return { ok: false, why: "fenced", owner };
    case "conflict":
      return { ok: false, why: "conflict", head: Number(rest[0]) };
    case "gone":
      return { ok: false, why: "gone", keys: rest.map(fromText) };
    case "orphan":
      return { ok: false, why: "orphan" };
    case "damaged parent":
      throw damaged({ ...key, threadId: parent!.threadId }, 0, "its row does not fit its checksum");
    case "raised":
      throw belayError("STORE_FAILED", {
        threadId: key.threadId,
        reason: `request ${fromText(rest[0]!)} was raised before`,
      });
    default:
      throw belayError("STORE_FAILED", { threadId: key.threadId, reason: `an answer that is none: ${what}` });
  }
}

function readSnapshot(row: Row, kept: string): Snapshot | undefined {
  const [seq, packed] = [kept.slice(0, kept.indexOf("\n")), kept.slice(kept.indexOf("\n") + 1)];
  const values = unpack(`${toText(row.id)}\n${seq}`, packed, 1);
  return values && { seq: Number(seq), body: fromText(values[0]!) };
}

function commandsOf(key: ThreadKey, row: Row, mail: readonly string[]): readonly Command[] {
  if (mail.length !== 2 * row.open) throw damaged(key, 0, `${mail.length / 2} commands wait, not ${row.open}`);
  return inOrder(mail).map(([id, packed]) => {
    const command = unpackCommand(toText(key.threadId), id, packed);
    if (command === undefined) throw damaged(key, 0, `command ${fromText(id)} does not fit its checksum`);
    return command;
  });
}

function isYes([what]: Reply): boolean {
  return what === "yes";
}

function misfit(what: string): never {
  throw belayError("STORE_CORRUPT", { problem: `${what} does not fit its checksum` });
}

function nameOf({ tenant, threadId }: ThreadKey): string {
  return `${tenant.length}:${tenant}${threadId}`;
}
