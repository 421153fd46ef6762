// Watchers of a thread are called when it changed: at once after a write of this store, by NOTIFY after a write of another
// process, and by a slow look at the rows if neither arrived. Rows are written first, hints sent after: a lost hint costs
// time and nothing else.
//
// It is one piece: watching, sending and the connection that listens have one lifetime.
//
// 1. NOTIFY is not part of a write: it would make all writers wait for one lock. Hints of appends in quick succession go
//    together; a command's goes at once, for it may be a stop.
// 2. One connection listens, only while there are watchers. When it is cut, another one replaces it, and all watchers are
//    called: hints in between were lost.
// 3. Only watchers in the foreground keep the process alive.
// 4. An append has a hint only if another process may follow the thread or its tenant (followed.ts).
// 5. Other channels may be followed on the same connection, for as long as it is open (relay.ts).

import { randomBytes } from "node:crypto";
import type { Bus } from "../bus.ts";
import type { Change, ThreadKey } from "../store.ts";
import { fromText } from "../text.ts";
import type { Calls } from "./calls.ts";
import { AGAIN_MS, ASK, Followed } from "./followed.ts";
import type { PostgresClient, PostgresPool } from "./pool.ts";
import { bytes, tenantName } from "./rows.ts";

interface TenantWatcher {
  readonly changed: (threadId?: string) => void;
}

interface Begin {
  readonly background: boolean;
  /** Waits for appends, and not only for commands. */
  readonly follows: boolean;
}

interface Watcher {
  readonly changed: (what?: Change) => void;
  readonly only: Change | undefined;
}

/** Hints of appends that come within this time go together. */
const GATHER_MS = 8;
/** PostgreSQL takes no longer ones. */
const MOST_BYTES = 7_900;
/** The time that it listens after the last watcher left: the next one is often near. */
const LINGER_MS = 50;
/** The time that a hint counts for a watcher that comes after it. */
const RECENT_MS = 2_000;
/** The interval of looks if no connection can listen. */
const DEAF_POLL_MS = 25;
/** How often to say that any thread of a tenant may have changed, if hints cannot be heard. */
const DEAF_TENANT_MS = 500;
const RECONNECT_MS = 200;
/** The interval after repeated failures: a standby has no LISTEN. */
const MOST_RECONNECT_MS = 5_000;
/** A connection without an answer for so long cannot listen, and would keep the pool from closing. */
const ANSWER_MS = 2_000;
const EVERYTHING = "*";
/** The time after which others have received that a thread is followed. */
const HEARD_MS = 30;

export class Hints {
  readonly #pool: PostgresPool;
  readonly #calls: Calls;
  readonly #channel: string;
  /** Replaces NOTIFY, and the connection that listens. */
  readonly #bus: Bus | undefined;
  #leaveBus: (() => void) | undefined;
  readonly #pollMs: number;
  /** Marks its own hints. */
  readonly #id = randomBytes(6).toString("hex");
  readonly #watchers = new Map<string, Set<Watcher>>();
  /** Of all threads of a tenant, by the name of the tenant. */
  readonly #tenants = new Map<string, Set<TenantWatcher>>();
  /** Names of threads that others have appended to, until they are looked up for the watchers of tenants. */
  readonly #unnamed = new Set<string>();
  #namingTimer: NodeJS.Timeout | undefined;
  #toldTenantsAt = 0;
  /** Hints from other processes, of threads without a watcher when they came. */
  readonly #recent = new Map<string, number>();
  readonly #unsent = new Set<string>();
  readonly #followed = new Followed();
  /** The sums of watched threads when it last looked. */
  #sums = new Map<string, string>();
  #foreground = 0;
  #sending = false;
  #sendTimer: NodeJS.Timeout | undefined;
  #sentAt = 0;
  #pollTimer: NodeJS.Timeout | undefined;
  #lingerTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #client: PostgresClient | undefined;
  #connecting = false;
  #reconnectMs = RECONNECT_MS;
  /** Listeners on other channels. */
  readonly #others = new Map<string, (payload: string) => void>();

  constructor(pool: PostgresPool, calls: Calls, channel: string, pollMs: number, bus?: Bus) {
    this.#pool = pool;
    this.#bus = bus;
    this.#calls = calls;
    this.#channel = channel;
    // Listening takes a connection for itself: with only one, none would be left for writes.
    this.#pollMs = bus === undefined && pool.options?.max === 1 ? Math.min(pollMs, DEAF_POLL_MS) : pollMs;
  }

  watch(thread: string, changed: Watcher["changed"], only?: Change, background = false): () => void {
    const entry: Watcher = { changed, only };
    const set = this.#watchers.get(thread) ?? new Set();
    this.#watchers.set(thread, set.add(entry));
    if ((this.#recent.get(thread) ?? 0) > Date.now() - RECENT_MS) queueMicrotask(() => set.has(entry) && changed());
    this.#recent.delete(thread);
    return this.#begin(this.#watchers, thread, set, entry, { background, follows: only !== "command" });
  }

  /** Calls `changed` with each thread that is appended to; without one when some may have been missed. */
  watchTenant(tenant: string, changed: TenantWatcher["changed"], background = false): () => void {
    const name = tenantName(tenant);
    const entry: TenantWatcher = { changed };
    const set = this.#tenants.get(name) ?? new Set();
    this.#tenants.set(name, set.add(entry));
    return this.#begin(this.#tenants, name, set, entry, { background, follows: true });
  }

  #begin<W>(
    watchers: Map<string, Set<W>>,
    key: string,
    set: Set<W>,
    entry: W,
    { background, follows }: Begin,
  ): () => void {
    if (!background) this.#foreground += 1;
    clearTimeout(this.#lingerTimer);
    void this.#listen();
    this.#pollTimer ??= this.#pollLater();
    if (follows && this.#followed.joinedAt !== undefined) {
      this.#announce();
      // An append that was made before its owner received this has no hint.
      clearTimeout(this.#pollTimer);
      this.#pollTimer = setTimeout(() => void this.#poll(), Math.min(this.#pollMs, HEARD_MS));
    }
    this.#hold();
    return () => {
      if (!set.delete(entry)) return;
      if (!background) this.#foreground -= 1;
      if (set.size === 0 && watchers.get(key) === set) watchers.delete(key);
      if (!this.#isWatched) this.#leave();
      this.#hold();
    };
  }

  get #isWatched(): boolean {
    return this.#watchers.size > 0 || this.#tenants.size > 0;
  }

  /** Listens on another channel. Returns a function that ends it. A watcher must exist in the meantime. */
  hear(channel: string, heard: (payload: string) => void): () => void {
    if (this.#bus !== undefined) return this.#bus.subscribe(channel, heard, () => {});
    this.#others.set(channel, heard);
    if (this.#client !== undefined) this.#ask(this.#client, `LISTEN ${channel}`).catch(ignore);
    return () => {
      if (this.#others.get(channel) !== heard) return;
      this.#others.delete(channel);
      if (this.#client !== undefined) this.#ask(this.#client, `UNLISTEN ${channel}`).catch(ignore);
    };
  }

  /** This store changed the thread. */
  changed(thread: string, what: Change, key?: ThreadKey): void {
    this.#tell(thread, what);
    if (key !== undefined && this.#tenants.size > 0) this.#tellTenant(tenantName(key.tenant), key.threadId);
    if (what === "append" && key !== undefined && !this.#followed.mayBe(thread, tenantName(key.tenant))) return;
    this.#unsent.add(`${what === "command" ? "c" : "a"}${thread}`);
    if (what === "command") this.#send();
    else this.#sendSoon();
  }

  /** Says which threads and tenants are followed here, for a while. */
  #announce(): void {
    const threads = [...this.#watchers].filter(([, set]) => [...set].some(({ only }) => only !== "command"));
    const names = [...threads.map(([thread]) => thread), ...this.#tenants.keys()];
    for (const hint of this.#followed.says(names, MOST_BYTES / 2)) this.#unsent.add(hint);
    this.#send();
  }

  #tell(thread: string, what?: Change): void {
    for (const { changed, only } of this.#watchers.get(thread) ?? []) {
      if (only === undefined || what === undefined || only === what) queueMicrotask(() => changed(what));
    }
  }

  #tellAll(): void {
    for (const thread of [...this.#watchers.keys()]) this.#tell(thread);
    this.#tellTenants();
  }

  #tellTenant(name: string, threadId?: string): void {
    for (const { changed } of this.#tenants.get(name) ?? []) queueMicrotask(() => changed(threadId));
  }

  /** Any thread may have changed. */
  #tellTenants(): void {
    this.#toldTenantsAt = performance.now();
    for (const name of this.#tenants.keys()) this.#tellTenant(name);
  }

  /** A hint has the hash of a thread's name: the rows have the name itself, and its tenant's. */
  async #nameThreads(): Promise<void> {
    this.#namingTimer = undefined;
    const names = [...this.#unnamed];
    this.#unnamed.clear();
    try {
      const rows = await this.#calls.aside("names", [names.map(bytes)]);
      for (const { tenant_name, id } of rows) this.#tellTenant(tenant_name, fromText(id));
    } catch {
      this.#tellTenants();
    }
  }

  #sendSoon(): void {
    if (this.#sending || this.#sendTimer !== undefined) return;
    const wait = this.#sentAt + GATHER_MS - performance.now();
    if (wait <= 0) this.#send();
    else this.#sendTimer = setTimeout(() => this.#send(), wait);
  }

  #send(): void {
    clearTimeout(this.#sendTimer);
    this.#sendTimer = undefined;
    if (this.#sending || this.#unsent.size === 0) return;
    const list = [...this.#unsent].join(" ");
    const text = `${this.#id} ${list.length < MOST_BYTES ? list : EVERYTHING}`;
    this.#unsent.clear();
    this.#sending = true;
    const over = () => {
      this.#sending = false;
      this.#sentAt = performance.now();
      for (const hint of this.#unsent) if (hint.startsWith("c")) return this.#send();
      if (this.#unsent.size > 0) this.#sendSoon();
    };
    // The slow look replaces a lost one.
    const sent = this.#bus?.publish(this.#channel, text) ?? this.#calls.aside("notify", [this.#channel, text]);
    sent.then(over, over);
  }

  #heard(text: string | undefined): void {
    const [from, ...hints] = (text ?? "").split(" ");
    if (from === this.#id) return;
    for (const hint of hints) {
      if (hint === EVERYTHING) {
        this.#tellAll();
        this.#followed.heardAny();
      }
      const thread = hint.slice(1);
      if (hint === ASK) this.#announce();
      if (hint === ASK || this.#followed.heard(hint)) continue;
      if (this.#tenants.size > 0 && hint.startsWith("a")) {
        this.#unnamed.add(thread);
        this.#namingTimer ??= setTimeout(() => void this.#nameThreads(), GATHER_MS).unref();
      }
      if (this.#watchers.has(thread)) this.#tell(thread, hint.startsWith("c") ? "command" : "append");
      else if (hint.startsWith("c")) this.#remember(thread);
    }
  }

  #remember(thread: string): void {
    const now = Date.now();
    this.#recent.delete(thread);
    this.#recent.set(thread, now);
    for (const [old, at] of this.#recent) {
      if (at > now - RECENT_MS) break;
      this.#recent.delete(old);
    }
  }

  async #listen(): Promise<void> {
    if (this.#bus !== undefined) {
      this.#leaveBus ??= this.#bus.subscribe(
        this.#channel,
        (text) => this.#heard(text),
        () => this.#joined(),
      );
      return;
    }
    if (this.#client !== undefined || this.#connecting || this.#retryTimer !== undefined) return;
    if (this.#pool.options?.max === 1) return;
    this.#connecting = true;
    let client: PostgresClient | undefined;
    try {
      client = await this.#calls.connect();
      const listening = client;
      const heard = ({ channel, payload }: { readonly channel: string; readonly payload?: string }) => {
        if (channel === this.#channel) this.#heard(payload);
        else this.#others.get(channel)?.(payload ?? "");
      };
      const lost = () => this.#lost(listening);
      this.#detach.set(client, () => {
        listening.removeListener("notification", heard);
        listening.removeListener("error", lost);
        listening.removeListener("end", lost);
      });
      client.on("notification", heard);
      client.on("error", lost);
      client.on("end", lost);
      this.#client = client;
      const channels = [this.#channel, ...this.#others.keys()];
      const listen = channels.map((channel) => `LISTEN ${channel}`).join("; ");
      await this.#ask(client, listen);
      this.#connecting = false;
      this.#reconnectMs = RECONNECT_MS;
      if (!this.#isWatched) return this.#leave();
      this.#hold();
      this.#joined();
    } catch {
      this.#connecting = false;
      if (client === undefined) this.#listenLater();
      else this.#lost(client);
    }
  }

  /** It receives hints from now on; earlier ones were lost for this process. */
  #joined(): void {
    this.#followed.joinedAt = performance.now();
    this.#tellAll();
    this.#unsent.add(ASK);
    this.#announce();
    this.#send();
  }

  #asked: Promise<unknown> = Promise.resolve();

  /** Has the connection that listens run a statement, after those before: it takes one at a time. */
  #ask(client: PostgresClient, text: string): Promise<unknown> {
    const done = this.#asked.then(() => client.query({ text, query_timeout: ANSWER_MS }));
    this.#asked = done.catch(ignore);
    return done;
  }

  readonly #detach = new Map<PostgresClient, () => void>();

  #lost(client: PostgresClient): void {
    this.#followed.joinedAt = undefined;
    if (this.#client === client) this.#client = undefined;
    this.#letGo(client, true);
    this.#listenLater();
  }

  #letGo(client: PostgresClient, broken: boolean): void {
    const detach = this.#detach.get(client);
    if (!this.#detach.delete(client)) return;
    // An error without a listener would end the process; the next user of the client has its own.
    const deaf = () => {};
    client.on("error", deaf);
    detach?.();
    try {
      client.ref?.();
      client.release(broken);
    } catch {
      // It is the pool's already.
    }
    if (!broken) client.removeListener("error", deaf);
  }

  #listenLater(): void {
    if (!this.#isWatched || this.#retryTimer !== undefined) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      if (this.#isWatched) void this.#listen();
    }, this.#reconnectMs);
    this.#reconnectMs = Math.min(2 * this.#reconnectMs, MOST_RECONNECT_MS);
    this.#hold();
  }

  #leave(): void {
    clearTimeout(this.#pollTimer);
    this.#pollTimer = undefined;
    this.#sums.clear();
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    clearTimeout(this.#lingerTimer);
    // It holds the process for that long: a pool that is closed now waits for this connection.
    this.#lingerTimer = setTimeout(() => void this.#stopListening(), LINGER_MS);
  }

  async #stopListening(): Promise<void> {
    if (this.#isWatched) return;
    this.#followed.joinedAt = undefined;
    this.#leaveBus?.();
    this.#leaveBus = undefined;
    const client = this.#client;
    if (client === undefined || this.#connecting || this.#isWatched) return;
    this.#client = undefined;
    this.#recent.clear();
    try {
      await this.#ask(client, "UNLISTEN *");
      this.#letGo(client, false);
    } catch {
      this.#letGo(client, true);
    }
  }

  #end(): void {
    this.#watchers.clear();
    this.#tenants.clear();
    this.#foreground = 0;
    this.#leave();
    if (this.#client !== undefined) this.#lost(this.#client);
  }

  #pollLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#poll(), Math.min(this.#pollMs, AGAIN_MS));
  }

  async #poll(): Promise<void> {
    // It waits for the connection that listens, and does not serve the present watchers.
    if (this.#pool.ending) return this.#end();
    const names = [...this.#watchers.keys()];
    try {
      const rows = await this.#calls.aside("sums", [names.map(bytes)]);
      const now = new Map(rows.map(({ name, sum }): [string, string] => [name, sum]));
      for (const thread of names) {
        const [before, after] = [this.#sums.get(thread), now.get(thread)];
        // A thread seen for the first time may have changed since its watch began.
        if (before !== after || (before === undefined && after !== undefined)) this.#tell(thread);
      }
      this.#sums = now;
    } catch {
      // The next append reports the failure of the database.
    }
    if (!this.#isWatched) return;
    if (this.#followed.tick()) this.#announce();
    if (this.#followed.joinedAt === undefined && performance.now() - this.#toldTenantsAt > DEAF_TENANT_MS)
      this.#tellTenants();
    this.#pollTimer = this.#pollLater();
    this.#hold();
  }

  /** Keeps the process alive, or lets it go. */
  #hold(): void {
    const held = this.#foreground > 0 || !this.#isWatched;
    for (const timer of [this.#pollTimer, this.#retryTimer]) {
      if (held) timer?.ref();
      else timer?.unref();
    }
    if (held) this.#client?.ref?.();
    else this.#client?.unref?.();
  }
}

/** A connection that is cut is replaced, and listens to all channels again. */
function ignore(): void {}
