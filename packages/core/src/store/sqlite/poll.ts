// Hints across processes: SQLite's data_version changes when another connection commits. Looked at every few
// milliseconds, and only while someone watches.

import type { Change } from "../store.ts";
import { type DatabaseSync, resultCode, type Statement } from "./database.ts";

interface Watcher {
  readonly changed: (what?: Change) => void;
  readonly only: Change | undefined;
}

export class Poll {
  readonly #db: DatabaseSync;
  readonly #everyMs: number;
  readonly #watchers = new Map<string, Set<Watcher>>();
  #timer: NodeJS.Timeout | undefined;
  /** How many keep the process alive: whoever follows a thread waits for something. */
  #foreground = 0;
  #statement: Statement | undefined;
  #version: unknown;

  constructor(db: DatabaseSync, everyMs: number) {
    this.#db = db;
    this.#everyMs = everyMs;
  }

  watch(thread: string, changed: Watcher["changed"], only?: Change, background = false): () => void {
    const entry: Watcher = { changed, only };
    const set = this.#watchers.get(thread) ?? new Set();
    this.#watchers.set(thread, set.add(entry));
    if (!background) this.#foreground += 1;
    if (this.#timer === undefined) this.#start();
    this.#hold();
    return () => {
      if (set.delete(entry) && !background) this.#foreground -= 1;
      if (set.size === 0 && this.#watchers.get(thread) === set) this.#watchers.delete(thread);
      if (this.#watchers.size === 0) this.#stop();
      else this.#hold();
    };
  }

  /** This connection changed the thread: data_version does not tell. */
  changed(thread: string, what?: Change): void {
    for (const { changed, only } of this.#watchers.get(thread) ?? []) {
      if (only === undefined || what === undefined || only === what) queueMicrotask(() => changed(what));
    }
  }

  /** What was written since we last looked counts, too: between an append and this watch a stop may have come. Who never looked has seen nothing. */
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
      // The next append says what is wrong with the database. One that is closed never says anything again.
      if (resultCode(error) === undefined) this.#stop();
      return;
    }
    if (version === this.#version) return;
    this.#version = version;
    for (const thread of [...this.#watchers.keys()]) this.changed(thread);
  }

  /** Another one after each commit of another connection. */
  version(): unknown {
    this.#statement ??= this.#db.prepare("PRAGMA data_version");
    return (this.#statement.get() as { data_version: unknown }).data_version;
  }
}
