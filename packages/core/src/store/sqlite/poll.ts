// Hints across processes: SQLite's data_version changes when another connection commits. Polled every few milliseconds, and only
// while there are watchers.

import type { Change, ThreadKey } from "../store.ts";
import { type DatabaseSync, resultCode, type Statement } from "./database.ts";

interface Watcher {
  readonly changed: (what?: Change) => void;
  readonly only: Change | undefined;
}

interface TenantWatcher {
  readonly changed: (threadId?: string) => void;
}

export class Poll {
  readonly #db: DatabaseSync;
  readonly #everyMs: number;
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #tenants = new Map<string, Set<TenantWatcher>>();
  #timer: NodeJS.Timeout | undefined;
  /** The number of watchers that keep the process alive. */
  #foreground = 0;
  #statement: Statement | undefined;
  #version: unknown;

  constructor(db: DatabaseSync, everyMs: number) {
    this.#db = db;
    this.#everyMs = everyMs;
  }

  watch(thread: string, changed: Watcher["changed"], only?: Change, background = false): () => void {
    return this.#add(this.#watchers, thread, { changed, only }, background);
  }

  /** Calls `changed` with each thread of the tenant that this connection changes, and without one if another connection wrote. */
  watchTenant(tenant: string, changed: TenantWatcher["changed"], background = false): () => void {
    return this.#add(this.#tenants, tenant, { changed }, background);
  }

  #add<W>(watchers: Map<string, Set<W>>, key: string, entry: W, background: boolean): () => void {
    const set = watchers.get(key) ?? new Set();
    watchers.set(key, set.add(entry));
    if (!background) this.#foreground += 1;
    if (this.#timer === undefined) this.#start();
    this.#hold();
    return () => {
      if (set.delete(entry) && !background) this.#foreground -= 1;
      if (set.size === 0 && watchers.get(key) === set) watchers.delete(key);
      if (this.#watchers.size === 0 && this.#tenants.size === 0) this.#stop();
      else this.#hold();
    };
  }

  /** This connection appended to the thread, or removed it. */
  changedIn({ tenant, threadId }: ThreadKey): void {
    for (const { changed } of this.#tenants.get(tenant) ?? []) queueMicrotask(() => changed(threadId));
  }

  /** This connection changed the thread: data_version does not show it. */
  changed(thread: string, what?: Change): void {
    for (const { changed, only } of this.#watchers.get(thread) ?? []) {
      if (only === undefined || what === undefined || only === what) queueMicrotask(() => changed(what));
    }
  }

  /**
   * Writes since the last look count, too: a stop may have come between an append and this watch. Without an earlier look all
   * counts.
   */
  #start(): void {
    this.#timer = setInterval(() => this.#look(), this.#everyMs);
  }

  #hold(): void {
    if (this.#foreground > 0) this.#timer?.ref();
    else this.#timer?.unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    let version: unknown;
    try {
      version = this.version();
    } catch (error) {
      // The next append reports the failure of the database. A closed one never reports again.
      if (isClosed(error)) this.#stop();
      return;
    }
    if (version === this.#version) return;
    this.#version = version;
    for (const thread of [...this.#watchers.keys()]) this.changed(thread);
    for (const set of this.#tenants.values()) for (const { changed } of set) queueMicrotask(() => changed());
  }

  /** False once the database is closed. It is never opened again. */
  isOpen(): boolean {
    try {
      this.version();
      return true;
    } catch (error) {
      return !isClosed(error);
    }
  }

  /** Another one after each commit of another connection. */
  version(): unknown {
    this.#statement ??= this.#db.prepare("PRAGMA data_version");
    return (this.#statement.get() as { data_version: unknown }).data_version;
  }
}

/** SQLite has a code for each failure of a database that is open. */
const isClosed = (error: unknown): boolean => resultCode(error) === undefined;
