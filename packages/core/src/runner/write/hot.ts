// Code that waits for a person and stays in memory. Invariants:
// 1. It is a cache. If code is dropped here, the process that has the thread begins it again from its recorded steps (Q1).
// 2. It belongs to the thread as of its last pause. If another process has written since, all of it is dropped, so that the
//    same code never runs in two processes.
// 3. Code whose call has ended, or is no longer open, is dropped.

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
  /** It has results to record. */
  isWaiting: boolean;
}

/** The thread that the code belongs to. */
export interface HotHost {
  /** Called when code has results to record. */
  wake(): void;
  /** Watches for appends of other processes. Returns the call that ends the watch. */
  watch(): () => void;
}

export class HotSession implements HotCode {
  readonly #room: HotRoom;
  readonly #host: HotHost;
  /** By address. */
  readonly #places = new Map<string, Place>();
  #unwatch: (() => void) | undefined;
  /** The processes of dropped code: the promise of their end, and the call that forces it. */
  #leaving: readonly { readonly gone: Promise<unknown>; readonly force: () => void }[] = [];
  /** The head of the thread at the pause over which the code was kept. */
  #head = 0;

  constructor(room: HotRoom, host: HotHost) {
    this.#room = room;
    this.#host = host;
  }

  keep(address: string, hot: Hot): void {
    const place: Place = { session: this, address, hot, isWaiting: false };
    this.#places.set(address, place);
    this.#unwatch ??= this.#host.watch();
    this.#room.add(place);
  }

  take(address: string): Hot | undefined {
    const place = this.#places.get(address);
    if (place === undefined) return undefined;
    this.#forget(place);
    return place.hot;
  }

  wake(address: string): void {
    const place = this.#places.get(address);
    if (place === undefined) return;
    place.isWaiting = true;
    this.#host.wake();
  }

  leaves(gone: Promise<unknown>, force: () => void): void {
    const leaving = { gone, force };
    this.#leaving = [...this.#leaving, leaving];
    void gone.then(() => (this.#leaving = this.#leaving.filter((each) => each !== leaving)));
  }

  /** Resolves when the processes of dropped code have ended. Undefined if there are none. */
  get gone(): Promise<unknown> | undefined {
    return this.#leaving.length > 0 ? Promise.all(this.#leaving.map(({ gone }) => gone)) : undefined;
  }

  /** Ends the grace of dropped code. */
  force(): void {
    for (const { force } of this.#leaving) force();
  }

  get isWaiting(): boolean {
    return [...this.#places.values()].some((place) => place.isWaiting);
  }

  get head(): number {
    return this.#head;
  }

  /** Keeps the code over a pause, but for the code that the pause has ended. */
  restsAt(state: ThreadState): void {
    this.#head = state.head;
    this.#dropEnded(state);
  }

  /** Drops all code if another process has written since the pause. A tenure begins with `state`; the head before it was `head`. */
  check(head: number, state: ThreadState): void {
    if (head !== this.#head) this.dropAll();
    else this.#dropEnded(state);
  }

  drop(address: string): void {
    this.take(address)?.drop();
  }

  dropAll(): void {
    for (const address of [...this.#places.keys()]) this.drop(address);
  }

  #dropEnded(state: ThreadState): void {
    if (this.#places.size === 0) return;
    const open = new Set<string>();
    // A stop withdraws the request that it waits for. Then the code begins again.
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
    this.#places.delete(place.address);
    this.#room.remove(place);
    if (this.#places.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
