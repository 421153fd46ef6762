// Code that waits for a person and stays in memory. Invariants:
// 1. It is a cache: what is dropped here is begun again from its recorded steps by whoever has the thread (Q1).
// 2. What is kept is of the thread as it was at its last pause: once anybody has written to it since, all of it is
//    dropped, so that the same code never runs here and elsewhere.
// 3. What nobody will go on with is dropped: its call has ended, or is no longer open.

import type { Hot, HotCode } from "../../frame.ts";
import type { ThreadState } from "../../journal/state.ts";

/** All hot code of a runner, the longest waiting first. */
export class HotRoom {
  readonly #most: number;
  readonly #kept = new Set<Place>();

  constructor(most: number) {
    this.#most = most;
  }

  add(place: Place): void {
    this.#kept.add(place);
    for (const oldest of this.#kept) {
      if (this.#kept.size <= this.#most) break;
      oldest.session.drop(oldest.address);
    }
  }

  remove(place: Place): void {
    this.#kept.delete(place);
  }
}

interface Place {
  readonly session: HotSession;
  readonly address: string;
  readonly hot: Hot;
}

/** Whose code it is. */
export interface HotHost {
  /** Some of it has something to record. */
  wake(): void;
  /** Has others' writing looked at from now on, and returns how to end that. */
  watch(): () => void;
}

export class HotSession implements HotCode {
  readonly #room: HotRoom;
  readonly #host: HotHost;
  /** By address; undefined, like the next one, until there is some: most sessions never have any. */
  #places: Map<string, Place> | undefined;
  /** Those that have something to record. */
  #waiting: Set<string> | undefined;
  #unwatch: (() => void) | undefined;
  /** Processes of code that was dropped, by their end, and how to force that. */
  #leaving: Map<Promise<unknown>, () => void> | undefined;
  /** The head of the thread at the pause that it was kept over. */
  #head = 0;

  constructor(room: HotRoom, host: HotHost) {
    this.#room = room;
    this.#host = host;
  }

  keep(address: string, hot: Hot): void {
    const place: Place = { session: this, address, hot };
    this.#places ??= new Map();
    this.#places.set(address, place);
    this.#unwatch ??= this.#host.watch();
    this.#room.add(place);
  }

  take(address: string): Hot | undefined {
    const place = this.#places?.get(address);
    if (place === undefined) return undefined;
    this.#forget(place);
    return place.hot;
  }

  wake(address: string): void {
    if (!this.#places?.has(address)) return;
    this.#waiting ??= new Set();
    this.#waiting.add(address);
    this.#host.wake();
  }

  leaves(gone: Promise<unknown>, force: () => void): void {
    this.#leaving ??= new Map();
    this.#leaving.set(gone, force);
    void gone.then(() => this.#leaving?.delete(gone));
  }

  /** Resolves when nothing is left of what was dropped; undefined where nothing is. */
  get gone(): Promise<unknown> | undefined {
    return this.#leaving?.size ? Promise.all(this.#leaving.keys()) : undefined;
  }

  /** No grace is left for what was dropped. */
  force(): void {
    for (const force of this.#leaving?.values() ?? []) force();
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0;
  }

  get head(): number {
    return this.#head;
  }

  /** The thread rests here. */
  restsAt(state: ThreadState): void {
    this.#head = state.head;
    this.#dropEnded(state);
  }

  /** Somebody goes on with the thread that had `head`, and is now `state`. */
  check(head: number, state: ThreadState): void {
    if (head !== this.#head) this.dropAll();
    else this.#dropEnded(state);
  }

  drop(address: string): void {
    this.take(address)?.drop();
  }

  dropAll(): void {
    for (const address of [...(this.#places?.keys() ?? [])]) this.drop(address);
  }

  #dropEnded(state: ThreadState): void {
    if (this.#places === undefined || this.#places.size === 0) return;
    const open = new Set<string>();
    // A stop withdraws what it waits for: then it begins again.
    const stopped = state.pauseType === "user_interrupt" || state.pauseType === "manual";
    const underWay = (state.state === "paused" && !stopped) || state.state === "running";
    for (const { path, runId, ended, calls } of state.scopes.values()) {
      // Code of a custom agent, which has no call.
      if (underWay && runId === state.run?.id && ended === undefined) open.add(path);
      for (const { status, address } of calls) if (status === "started") open.add(address);
    }
    for (const address of [...this.#places.keys()]) if (!open.has(address)) this.drop(address);
  }

  #forget(place: Place): void {
    this.#places?.delete(place.address);
    this.#waiting?.delete(place.address);
    this.#room.remove(place);
    if (this.#places !== undefined && this.#places.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
