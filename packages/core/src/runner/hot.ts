// Code that waits for a person and stays in memory. Invariants:
// 1. It is a cache: what is dropped here is begun again from its recorded steps by whoever has the thread (Q1).
// 2. What is kept is of the thread as it was at its last pause: once anybody has written to it since, all of it is
//    dropped, so that the same code never runs here and elsewhere.

import type { Hot, HotCode } from "../frame.ts";

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

export class HotSession implements HotCode {
  readonly #room: HotRoom;
  readonly #places = new Map<string, Place>();
  readonly #wake: () => void;
  /** The head of the thread at the pause that it was kept over. */
  #head: number | undefined;
  /** Some of it has something to record. */
  #waiting = false;

  constructor(room: HotRoom, wake: () => void) {
    this.#room = room;
    this.#wake = wake;
  }

  keep(address: string, hot: Hot): void {
    const place: Place = { session: this, address, hot };
    this.#places.set(address, place);
    this.#room.add(place);
  }

  take(address: string): Hot | undefined {
    const place = this.#places.get(address);
    if (place === undefined) return undefined;
    this.#forget(place);
    return place.hot;
  }

  wake(address: string): void {
    if (!this.#places.has(address)) return;
    this.#waiting = true;
    this.#wake();
  }

  get isWaiting(): boolean {
    return this.#waiting && this.#places.size > 0;
  }

  /** The thread rests here. */
  restsAt(head: number): void {
    this.#head = head;
  }

  /** Somebody is about to go on with the thread as of `head`. */
  check(head: number): void {
    this.#waiting = false;
    if (head !== this.#head) this.dropAll();
  }

  drop(address: string): void {
    this.take(address)?.drop();
  }

  dropAll(): void {
    for (const address of [...this.#places.keys()]) this.drop(address);
  }

  #forget(place: Place): void {
    this.#places.delete(place.address);
    this.#room.remove(place);
  }
}
