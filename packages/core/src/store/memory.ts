// A full store in memory: the same contract as the ones on disk, for tests and for work that may be lost.
//
// Long, and still one piece: it is the methods of a store.

import { type Clock, systemClock } from "../clock.ts";
import { belayError } from "../error.ts";
import type { Line } from "../journal/codec.ts";
import type { SessionState } from "../lifecycle.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { LineList } from "./line-list.ts";
import { listedAs, matches } from "./list-in-memory.ts";
import { inListOrder } from "./list-order.ts";
import { RelayRoom } from "./relay-room.ts";
import {
  type Append,
  type Appended,
  beforeRest,
  type Change,
  type Command,
  type DecidedRow,
  type DueThread,
  type Lease,
  type Listed,
  type ListedRow,
  type Loaded,
  type Named,
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
} from "./store.ts";

interface Watcher {
  readonly changed: (what?: Change) => void;
  readonly only: Change | undefined;
}

interface Thread {
  readonly threadId: string;
  readonly createdAt: number;
  readonly parent: Parent | undefined;
  agent: string;
  state: SessionState;
  fence: number;
  owner: string | undefined;
  until: number;
  appendId: string;
  updatedAt: number;
  /** Since when, or from when on, it can move if it is not held; undefined if it cannot. */
  dueAt: number | undefined;
  listed: Listed | undefined;
  named: Named | undefined;
  /** The words of `named`; undefined until the first search. */
  words: readonly string[] | undefined;
  readonly lines: LineList;
  snapshot: Snapshot | undefined;
  commands: Command[];
  /** Keys of all commands ever sent. */
  keys: Set<string> | undefined;
  rest: Rest | undefined;
  /** Ids of all requests it ever raised. */
  raised: Set<string> | undefined;
  watchers: Set<Watcher> | undefined;
}

/** The data that a tenant's threads share. */
interface Shared {
  /** In the order they were raised, each with its place in it. */
  readonly open: Map<string, RequestRow & { readonly place: number }>;
  /** The last place. */
  raised: number;
  /** The thread of each request, open or not. */
  readonly threads: Map<string, string>;
  readonly rules: Map<string, RuleRow>;
  /** In the order they were decided. */
  readonly decided: Map<string, DecidedRow>;
}

/** The options of `memoryStore()`. */
export interface MemoryStoreOptions {
  readonly clock?: Clock | undefined;
}

const OPTIONS: KnownOptions<MemoryStoreOptions> = { clock: true };

/** Makes a store in the memory of this process, with the same guarantees as the durable ones but durability. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  refuseUnknown("memoryStore()", options, OPTIONS);
  return new MemoryStore(options.clock ?? systemClock);
}

class MemoryStore implements Store {
  readonly #clock: Clock;
  /** By tenant, then by thread: a key made of both would have to be built and hashed for each append. */
  readonly #tenants = new Map<string, Map<string, Thread>>();
  /** Only of tenants that have any. */
  readonly #shared = new Map<string, Shared>();
  /** Watchers of threads that are not there yet. */
  readonly #early = new Map<string, Set<Watcher>>();
  /** Of all threads together: a thread deleted and made again under its name does not get an old fence. */
  #fences = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async load(key: ThreadKey, from: number | "snapshot" | "rest" = 0): Promise<Loaded | undefined> {
    const thread = this.#find(key);
    if (thread === undefined) return undefined;
    const snapshot = from === "snapshot" ? thread.snapshot : undefined;
    const row = this.#row(thread);
    const after = from === "snapshot" ? (snapshot?.seq ?? 0) : from === "rest" ? beforeRest(row) : from;
    return {
      row,
      lines: thread.lines.after(after),
      commands: [...thread.commands],
      ...(snapshot && { snapshot }),
    };
  }

  linesSync(key: ThreadKey, since?: number): readonly Line[] {
    const thread = this.#find(key);
    if (thread === undefined || (since !== undefined && since !== thread.createdAt)) return [];
    return thread.lines.after(0);
  }

  async past(key: ThreadKey, to = Number.MAX_SAFE_INTEGER): Promise<Past | undefined> {
    const thread = this.#find(key);
    return thread && { agent: thread.agent, lines: thread.lines.after(0, to) };
  }

  // Not an async function: a promise is all that it needs.
  append(key: ThreadKey, append: Append): Promise<Appended> {
    try {
      return Promise.resolve(this.#append(key, append));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #append(key: ThreadKey, append: Append): Appended {
    const found = this.#find(key);
    if (found !== undefined && found.appendId === append.appendId) return done(found);
    const lines = append.parent === undefined || found !== undefined ? undefined : this.#sharedBy(key, append.parent);
    if (append.parent !== undefined && lines === undefined)
      return found === undefined
        ? { ok: false, why: "orphan" }
        : { ok: false, why: "conflict", head: found.lines.head };
    const thread = found ?? this.#create(key, append, lines);
    const refusal = this.#refusal(thread, append);
    if (refusal !== undefined) return refusal;
    if (append.raise !== undefined) this.#refuseRaisedTwice(key, append.raise);
    if (found === undefined) this.#add(key, thread);
    this.#write(thread, append);
    if ((append.raise ?? append.close ?? append.amend ?? append.remember) !== undefined)
      this.#share(key.tenant, thread, append);
    notify(thread.watchers, "append");
    if (this.#tenantWatchers.size > 0) this.#changed(key);
    return done(thread);
  }

  /** Returns undefined if there is no such line to share. */
  #sharedBy({ tenant }: ThreadKey, { threadId, seq }: Parent): LineList | undefined {
    return this.#find({ tenant, threadId })?.lines.fork(seq);
  }

  #refusal(thread: Thread, append: Append): Appended | undefined {
    const { writer } = append;
    if ("take" in writer) {
      const isThere = thread.lines.head > 0;
      if (isThere && append.since !== undefined && append.since !== thread.createdAt)
        return { ok: false, why: "conflict", head: 0 };
      const lease = this.#lease(thread);
      if (lease !== undefined) return { ok: false, why: "busy", owner: lease.owner, until: lease.until };
    } else if (thread.fence !== writer.fence || thread.owner === undefined) {
      return { ok: false, why: "fenced", owner: thread.owner };
    }
    const { head } = thread.lines;
    if (head !== append.expect) return { ok: false, why: "conflict", head };
    if (append.consume === undefined) return undefined;
    const keys = append.consume.filter((key) => !thread.commands.some((command) => command.key === key));
    return keys.length > 0 ? { ok: false, why: "gone", keys } : undefined;
  }

  #write(thread: Thread, append: Append): void {
    const { writer, count, at, body } = append;
    if ("take" in writer) {
      this.#fences += 1;
      thread.fence = this.#fences;
      thread.owner = writer.take;
    }
    const now = this.#clock.now();
    thread.until = now + writer.ttlMs;
    if (append.release) thread.owner = undefined;
    if (append.snapshot !== undefined) thread.snapshot = { seq: append.expect, body: append.snapshot };
    thread.listed = listedAs(thread.listed, append);
    if (append.named !== undefined) {
      thread.named = copyOf(append.named);
      thread.words = undefined;
    }
    thread.lines.push(count, at, body);
    thread.appendId = append.appendId;
    thread.agent = append.agent;
    thread.state = append.state;
    thread.updatedAt = at;
    const { consume } = append;
    if (consume !== undefined) thread.commands = thread.commands.filter((command) => !consume.includes(command.key));
    thread.rest = append.rest === undefined ? undefined : { ...append.rest };
    thread.dueAt = movableFrom(thread, now);
  }

  #refuseRaisedTwice({ tenant, threadId }: ThreadKey, raise: NonNullable<Append["raise"]>): void {
    const threads = this.#shared.get(tenant)?.threads;
    const twice = raise.find(({ id }, i) => threads?.has(id) || raise.findIndex((other) => other.id === id) < i);
    if (twice !== undefined)
      throw belayError("STORE_FAILED", { threadId, reason: `request ${twice.id} was raised before` });
  }

  #share(tenant: string, thread: Thread, append: Append): void {
    const { threadId } = thread;
    const { raise = [], close = [], amend = [], decided = [], remember = [], at } = append;
    let shared = this.#shared.get(tenant);
    if (shared === undefined) {
      shared = { open: new Map(), raised: 0, threads: new Map(), rules: new Map(), decided: new Map() };
      this.#shared.set(tenant, shared);
    }
    for (const request of raise) {
      shared.raised += 1;
      shared.open.set(request.id, { ...request, threadId, place: shared.raised });
      shared.threads.set(request.id, threadId);
      thread.raised ??= new Set();
      thread.raised.add(request.id);
    }
    const isOpen = (id: string) => shared.threads.get(id) === threadId && shared.open.has(id);
    for (const { id, body } of amend) if (isOpen(id)) shared.open.set(id, { ...shared.open.get(id)!, body });
    for (const { id, body } of decided)
      if (isOpen(id) && close.includes(id)) shared.decided.set(id, { id, threadId, body, decidedAt: at });
    for (const id of close) if (shared.threads.get(id) === threadId) shared.open.delete(id);
    for (const rule of remember) if (!shared.rules.has(rule.id)) shared.rules.set(rule.id, { ...rule });
  }

  async renew(key: ThreadKey, fence: number, ttlMs: number): Promise<boolean> {
    const thread = this.#find(key);
    if (thread === undefined || thread.fence !== fence || thread.owner === undefined) return false;
    thread.until = this.#clock.now() + ttlMs;
    return true;
  }

  async release(key: ThreadKey, fence: number): Promise<void> {
    const thread = this.#find(key);
    if (thread === undefined || thread.fence !== fence) return;
    thread.owner = undefined;
    thread.dueAt = movableFrom(thread, this.#clock.now());
    notify(thread.watchers, "append");
    this.#changed(key);
  }

  async send(key: ThreadKey, command: Command): Promise<boolean> {
    const thread = this.#find(key);
    if (thread === undefined) throw belayError("THREAD_UNKNOWN", { threadId: key.threadId });
    thread.keys ??= new Set();
    if (thread.keys.has(command.key)) return false;
    thread.keys.add(command.key);
    thread.commands.push({ ...command });
    this.#count(thread);
    notify(thread.watchers, "command");
    return true;
  }

  async withdraw(key: ThreadKey, commandKey: string): Promise<boolean> {
    const thread = this.#find(key);
    const found = thread?.commands.find((command) => command.key === commandKey);
    if (thread === undefined || found === undefined || found.kind === "late") return false;
    if (found.kind === "stop" && thread.owner !== undefined) return false;
    thread.commands = thread.commands.filter((command) => command !== found);
    if (found.kind === "answer") thread.keys?.delete(commandKey);
    this.#count(thread);
    notify(thread.watchers, "command");
    return true;
  }

  async threads(tenant: string): Promise<ThreadRow[]> {
    const rows = Array.from(this.#tenants.get(tenant)?.values() ?? [], (thread) => this.#row(thread));
    return rows.sort((a, b) => b.updatedAt - a.updatedAt);
  }

  async due(limit: number, olderThanMs = 0, tenant?: string): Promise<readonly DueThread[]> {
    const now = this.#clock.now();
    const found: DueThread[] = [];
    for (const [of, threads] of this.#tenants) {
      if (tenant !== undefined && of !== tenant) continue;
      for (const { threadId, lines, fence, owner, until, dueAt } of threads.values()) {
        const since = dueAt === undefined ? undefined : owner === undefined ? dueAt : Math.max(dueAt, until);
        if (since === undefined || since > now - Math.max(0, olderThanMs)) continue;
        found.push({ tenant: of, threadId, head: lines.head, fence, since });
      }
    }
    return found.sort((a, b) => a.since - b.since).slice(0, limit);
  }

  /** A command came or went: a thread that could move has waited since it could. */
  #count(thread: Thread): void {
    const from = movableFrom(thread, this.#clock.now());
    thread.dueAt = from === undefined ? undefined : Math.min(from, thread.dueAt ?? from);
  }

  async requests(tenant: string, range?: RequestRange): Promise<readonly RequestRow[]> {
    const all = [...(this.#shared.get(tenant)?.open.values() ?? [])];
    if (range === undefined) return all.map(({ place: _place, ...request }) => request);
    const { after = 0, limit } = range;
    return all
      .filter(({ place }) => place > after)
      .slice(0, limit)
      .map((request) => ({ ...request }));
  }

  async requestThread(tenant: string, id: string): Promise<string | undefined> {
    return this.#shared.get(tenant)?.threads.get(id);
  }

  async rules(tenant: string): Promise<readonly RuleRow[]> {
    return Array.from(this.#shared.get(tenant)?.rules.values() ?? [], (rule) => ({ ...rule }));
  }

  async removeRule(tenant: string, id: string): Promise<boolean> {
    return this.#shared.get(tenant)?.rules.delete(id) ?? false;
  }

  async delete(key: ThreadKey, head?: number): Promise<boolean> {
    const thread = this.#find(key);
    if (thread === undefined || (head !== undefined && !this.#isAtRest(thread, head))) return false;
    this.#tenants.get(key.tenant)?.delete(key.threadId);
    for (const id of thread.raised ?? []) {
      this.#shared.get(key.tenant)?.open.delete(id);
      this.#shared.get(key.tenant)?.threads.delete(id);
      this.#shared.get(key.tenant)?.decided.delete(id);
    }
    this.#changed(key);
    if (thread.watchers === undefined || thread.watchers.size === 0) return true;
    this.#early.set(name(key), thread.watchers);
    notify(thread.watchers, "append");
    return true;
  }

  #isAtRest(thread: Thread, head: number): boolean {
    const waits = thread.commands.some(({ kind }) => kind === "input" || kind === "answer");
    return thread.lines.head === head && this.#lease(thread) === undefined && !waits;
  }

  watch(key: ThreadKey, changed: Watcher["changed"], only?: Change): () => void {
    const thread = this.#find(key);
    let watchers = thread === undefined ? this.#early.get(name(key)) : thread.watchers;
    if (watchers === undefined) {
      watchers = new Set();
      if (thread === undefined) this.#early.set(name(key), watchers);
      else thread.watchers = watchers;
    }
    const set = watchers;
    const entry: Watcher = { changed, only };
    set.add(entry);
    return () => {
      set.delete(entry);
      if (set.size === 0 && this.#early.size > 0 && this.#early.get(name(key)) === set) this.#early.delete(name(key));
    };
  }

  // Lists

  async page(tenant: string, query: ThreadQuery): Promise<readonly ListedRow[]> {
    const { after, limit } = query;
    const found: ListedRow[] = [];
    const open = new Map<string, number>();
    for (const { threadId } of this.#shared.get(tenant)?.open.values() ?? [])
      open.set(threadId, (open.get(threadId) ?? 0) + 1);
    for (const thread of this.#tenants.get(tenant)?.values() ?? []) {
      if (!matches(thread, query)) continue;
      if (after !== undefined && inListOrder(after, placeOf(thread)) >= 0) continue;
      const listed = thread.listed ?? { unlisted: true as const };
      found.push({ ...this.#row(thread), ...listed, open: open.get(thread.threadId) ?? 0 });
    }
    return found.sort((a, b) => inListOrder(placeOf(a), placeOf(b))).slice(0, limit);
  }

  async decided(tenant: string, { threadId, after, limit }: RequestQuery): Promise<readonly DecidedRow[]> {
    const placed = ({ decidedAt, id }: DecidedRow) => ({ at: decidedAt, id });
    return Array.from(this.#shared.get(tenant)?.decided.values() ?? [], (row) => ({ ...row }))
      .filter((row) => threadId === undefined || row.threadId === threadId)
      .filter((row) => after === undefined || inListOrder(after, placed(row)) < 0)
      .sort((a, b) => inListOrder(placed(a), placed(b)))
      .slice(0, limit);
  }

  async request(tenant: string, id: string): Promise<RequestRow | DecidedRow | undefined> {
    const shared = this.#shared.get(tenant);
    const open = shared?.open.get(id);
    if (open === undefined) return shared?.decided.get(id);
    const { place: _place, ...request } = open;
    return request;
  }

  readonly #tenantWatchers = new Map<string, Set<(threadId?: string) => void>>();

  watchTenant(tenant: string, changed: (threadId?: string) => void): () => void {
    const watchers = this.#tenantWatchers.get(tenant) ?? new Set();
    // A function of its own: the same one may watch twice.
    const watcher = (threadId?: string) => changed(threadId);
    this.#tenantWatchers.set(tenant, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#tenantWatchers.get(tenant) === watchers) this.#tenantWatchers.delete(tenant);
    };
  }

  #changed({ tenant, threadId }: ThreadKey): void {
    for (const changed of this.#tenantWatchers.get(tenant) ?? []) queueMicrotask(() => changed(threadId));
  }

  // The relay of drafts between runners on this store.

  readonly #relay = new RelayRoom();

  relay(key: ThreadKey, side: "owner" | "reader", heard: (body: string) => void): RelayLine {
    return this.#relay.join(name(key), side, heard);
  }

  #find(key: ThreadKey): Thread | undefined {
    return this.#tenants.get(key.tenant)?.get(key.threadId);
  }

  #create(key: ThreadKey, append: Append, lines = new LineList()): Thread {
    const { threadId } = key;
    const { agent, state, at, parent } = append;
    return {
      threadId,
      createdAt: at,
      parent: parent && { ...parent },
      agent,
      state,
      fence: 0,
      owner: undefined,
      until: 0,
      appendId: "",
      updatedAt: at,
      dueAt: undefined,
      listed: undefined,
      named: undefined,
      words: undefined,
      lines,
      snapshot: undefined,
      commands: [],
      keys: undefined,
      rest: undefined,
      raised: undefined,
      watchers: undefined,
    };
  }

  #add(key: ThreadKey, thread: Thread): void {
    const threads = this.#tenants.get(key.tenant) ?? new Map<string, Thread>();
    this.#tenants.set(key.tenant, threads.set(key.threadId, thread));
    const named = name(key);
    thread.watchers = this.#early.get(named);
    this.#early.delete(named);
  }

  #lease(thread: Thread): Lease | undefined {
    if (thread.owner === undefined || thread.until <= this.#clock.now()) return undefined;
    return { owner: thread.owner, fence: thread.fence, until: thread.until };
  }

  #row(thread: Thread): ThreadRow {
    const { threadId, agent, state, createdAt, updatedAt, rest, parent, named } = thread;
    const { head } = thread.lines;
    const lease = this.#lease(thread);
    const queued = thread.commands.some(({ kind }) => kind === "input");
    const answered = thread.commands.some(({ kind }) => kind === "answer");
    return {
      threadId,
      agent,
      state,
      head,
      createdAt,
      updatedAt,
      queued,
      answered,
      ...(rest && { rest: { ...rest } }),
      ...(parent && { parent: { ...parent } }),
      ...(named && { named: copyOf(named) }),
      ...(lease && { lease }),
    };
  }
}

function copyOf(named: Named): Named {
  return { ...named, labels: { ...named.labels } };
}

function placeOf({ updatedAt, threadId }: Pick<ListedRow, "updatedAt" | "threadId">) {
  return { at: updatedAt, id: threadId };
}

/** From when on a thread can move, leases apart. */
function movableFrom({ state, commands, rest }: Thread, now: number): number | undefined {
  if (state === "running") return now;
  const waits = (kind: Command["kind"]) => (commands.some((each) => each.kind === kind) ? now : undefined);
  if (state === "paused") return waits("answer") ?? rest?.dueAt;
  return state === "completed" || state === "initialized" ? waits("input") : undefined;
}

function done(thread: Thread): Appended {
  return { ok: true, fence: thread.fence, mail: thread.commands.length > 0 };
}

function name(key: ThreadKey): string {
  return `${key.tenant.length}:${key.tenant}${key.threadId}`;
}

function notify(watchers: Set<Watcher> | undefined, what: Change): void {
  if (watchers === undefined) return;
  for (const { changed, only } of watchers) {
    if (only === undefined || only === what) queueMicrotask(() => changed(what));
  }
}
