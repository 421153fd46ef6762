// The owner's end of a relay: while readers in other processes follow the thread, it sends them the drafts, in batches.
// Invariants:
// 1. Without a follower nothing is sent, and a draft is not even made.
// 2. A follower counts until its time is over: one that died is forgotten.
// 3. At most one batch every `EVERY_MS`. Deltas that wait are merged. A new follower gets the text so far with the next batch.

import type { Clock } from "../../clock.ts";
import type { Draft } from "../../event.ts";
import type { RelayLine } from "../../store/store.ts";
import { enqueue } from "./enqueue.ts";
import { type Batch, readFollow } from "./relay-words.ts";

const EVERY_MS = 40;
/** Drafts that wait for a batch. */
const MOST_WAITING = 1024;

/** The followers of a thread, by name, and until when each counts. They outlive a tenure. */
export type Followers = Map<string, number>;

export class RelayOut {
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #soFar: () => readonly Draft[];
  readonly #followers: Followers;
  readonly #line: RelayLine | undefined;
  #waiting: Draft[] = [];
  #wanted = false;
  #n = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: unknown;

  constructor(
    owner: string,
    clock: Clock,
    followers: Followers,
    soFar: () => readonly Draft[],
    join: (heard: (body: string) => void) => RelayLine | undefined,
  ) {
    this.#owner = owner;
    this.#clock = clock;
    this.#followers = followers;
    this.#soFar = soFar;
    this.#line = join((body) => this.#heard(body));
  }

  /** True while a reader elsewhere follows the thread. */
  get followed(): boolean {
    if (this.#followers.size === 0) return false;
    const now = this.#clock.now();
    for (const [reader, until] of this.#followers) {
      if (until > now) return true;
      this.#followers.delete(reader);
    }
    return false;
  }

  push(draft: Draft): void {
    enqueue(this.#waiting, draft);
    if (this.#waiting.length > MOST_WAITING) {
      this.#waiting = [];
      this.#wanted = true;
      // Readers notice that this batch is missing.
      this.#n += 1;
    }
    this.#sendSoon();
  }

  /** The tenure is over: followers get the rest. */
  leave(): void {
    if (this.#n > 0 && this.followed) this.#send(true);
    this.#clock.clearTimeout(this.#timer);
    this.#line?.leave();
  }

  #heard(body: string): void {
    const follow = readFollow(body);
    if (follow === undefined) return;
    const { reader, ttlMs, want } = follow;
    const isNew = !this.#followers.has(reader);
    if (ttlMs <= 0) {
      this.#followers.delete(reader);
      return;
    }
    this.#followers.set(reader, this.#clock.now() + ttlMs);
    if (!isNew && !want) return;
    this.#wanted = true;
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#timer !== undefined) return;
    const waitMs = this.#sentAt + EVERY_MS - this.#clock.now();
    if (waitMs <= 0) return this.#send();
    this.#timer = this.#clock.setTimeout(() => this.#send(), waitMs);
  }

  #send(over = false): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    // The text so far has the deltas that wait.
    const drafts = this.#wanted
      ? [...this.#waiting.filter((draft) => !isText(draft)), ...this.#soFar()]
      : this.#waiting;
    this.#waiting = [];
    this.#wanted = false;
    this.#n += 1;
    this.#sentAt = this.#clock.now();
    const batch: Batch = { owner: this.#owner, n: this.#n, drafts, over };
    this.#line?.say(JSON.stringify(batch));
  }
}

function isText({ type }: Draft): boolean {
  return type === "text-delta" || type === "reasoning-delta";
}
