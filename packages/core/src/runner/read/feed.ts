// From one writer to many readers. Invariants:
// 1. A reader gets every fact after its cursor once, in order, live or from the store.
// 2. A slow reader never slows the run (E3): its queue is bounded; deltas merge in it; past the bound it is emptied,
//    the reader gets `gap`, and reads the facts again from the store.
// 3. A draft is void once its answer is on record, or its segment is over: it is not handed out. Other drafts
//    older than the last fact handed out come from another agent; only text and progress are worth handing out then.
//    A draft follows the fact whose seq it has: that fact is handed out first. One whose fact the store does not have is void.
// 4. A reader that joins in mid-answer, or that gets `gap`, gets the text so far after the facts, as one delta at offset 0 (L2).
// 5. A reader of one run gets no event of the thread after it.
// 6. A thread has one feed in a runner, for any session that writes: a reader from before open() gets its drafts, too.
// 7. While readers in other processes follow the thread, its owner relays drafts to them through the store; while this
//    process does not write, it follows the owner (L1).
// 8. Once the process that ran the thread is gone, readers get `owner-lost` after the facts (V6).
// 9. A reader ends when the session or the runner that made it is closed, after the events up to then.
// 10. A reader that has seen the thread ends when the thread is deleted: another one under its name has other facts.

import type { Clock } from "../../clock.ts";
import { type BelayEvent, type Draft, type Fact, isFact } from "../../event.ts";
import type { Speech } from "../../frame.ts";
import type { Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import { OwnerWatch } from "./owner-watch.ts";
import { factsAndRow, loadThread } from "./read-facts.ts";
import { Reader, type ReadFacts } from "./reader.ts";
import { RelayIn } from "./relay-in.ts";
import { type Followers, RelayOut } from "./relay-out.ts";

/** The parts of a runner that its feeds use. */
export interface FeedHost {
  readonly store: Store;
  readonly clock: Clock;
  /** Unique for each runner. */
  readonly owner: string;
  /** Called if the store cannot relay. */
  cannotRelay(): void;
}

/** Counts the ends of relays, to tell them apart. */
let ends = 0;

export class Feed {
  /** Never changed in place: an empty list costs an idle thread less than a set. */
  #readers: readonly Reader[] = [];
  readonly #host: FeedHost;
  readonly #key: ThreadKey;
  /** The relay to readers elsewhere, while this process writes. */
  #out: RelayOut | undefined;
  readonly #followers: Followers = new Map();
  /** The relay from the owner, while another process may write. */
  #in: RelayIn | undefined;
  /** Looks whether the owner is still there, while another process may write. */
  #owner: OwnerWatch | undefined;
  #unwatch: (() => void) | undefined;
  /** The time at which the thread was made that the readers follow. Undefined while it does not exist. */
  #made: number | undefined;
  /**
   * While this process writes to the thread, the last fact that it has published: those after it come through `publish`, and
   * the store's hints say nothing new.
   */
  #live: (() => number) | undefined;
  /** The answers that stream now. */
  readonly #speeches = new Set<Speech>();

  constructor(host: FeedHost, key: ThreadKey) {
    this.#host = host;
    this.#key = key;
  }

  /** True while a reader, here or elsewhere, gets drafts. */
  get watched(): boolean {
    return this.#readers.length > 0 || this.#out?.followed === true;
  }

  /** This process writes to the thread from now on. `head` returns the last fact that it has published. */
  begin(head: () => number): void {
    this.#live = head;
    this.#unfollow();
    const { store, clock, owner } = this.#host;
    if (store.relay === undefined) return;
    const join = (heard: (body: string) => void) => store.relay?.(this.#key, "owner", heard);
    this.#out = new RelayOut(`${owner}.${++ends}`, clock, this.#followers, () => this.#said(), join);
  }

  /** This process writes no more. */
  rest(): void {
    this.#live = undefined;
    this.#speeches.clear();
    this.#out?.leave();
    this.#out = undefined;
  }

  /** While another process may write, readers get its drafts, and learn when it is gone. */
  #follow(row: ThreadRow | undefined, facts: readonly Fact[]): void {
    if (this.#live !== undefined || this.#readers.length === 0) return;
    this.#owner ??= new OwnerWatch(this.#host, this.#key, (lost) => this.#hand(lost));
    if (row !== undefined) this.#owner.saw(row);
    const { store, clock, owner } = this.#host;
    if (store.relay === undefined) return;
    this.#in ??= new RelayIn(
      `${owner}.${++ends}`,
      clock,
      (draft) => this.#hand(draft),
      (heard) => store.relay?.(this.#key, "reader", heard),
    );
    this.#in.moved(facts);
    if (!this.#in.isOpen && row?.state === "running") this.#host.cannotRelay();
  }

  /** Returns true if a reader with facts up to `after` follows a thread that was deleted, also if another one has its name now. */
  async #isGone(seen: ThreadRow | undefined, after: number): Promise<boolean> {
    const isOther = (row: ThreadRow | undefined) =>
      this.#made === undefined ? after > 0 && row === undefined : this.#made !== row?.createdAt;
    // Another reader may have seen the thread after this row was read.
    const row = isOther(seen) ? (await loadThread(this.#host.store, this.#key, Number.MAX_SAFE_INTEGER))?.row : seen;
    if (isOther(row)) return true;
    if (this.#readers.length > 0) this.#made = row?.createdAt;
    return false;
  }

  #unfollow(): void {
    this.#in?.leave();
    this.#in = undefined;
    this.#owner?.end();
    this.#owner = undefined;
  }

  speak(speech: Speech): void {
    this.#speeches.add(speech);
  }

  hush(speech: Speech): void {
    this.#speeches.delete(speech);
  }

  /** Returns the answers of this process so far. */
  #said(): Draft[] {
    return [...this.#speeches].flatMap((speech) => speech.soFar());
  }

  readonly #soFar = (): Draft[] => {
    const said = this.#in?.soFar() ?? this.#said();
    const lost = this.#owner?.lost;
    return lost === undefined ? said : [...said, lost];
  };

  publish(event: BelayEvent): void {
    this.#hand(event);
    if (this.#out?.followed && !isFact(event)) this.#out.push(event);
  }

  #hand(event: BelayEvent): void {
    for (const reader of this.#readers) reader.push(event);
  }

  /** Returns a reader. `cursor` may be set later: until then nothing is handed out. The reader ends when `from` is closed. */
  reader(cursor: number | undefined, signal?: AbortSignal, from?: object): Reader {
    const stop = () => reader.end();
    const read: ReadFacts = async (after) => {
      const { facts = [], row } = (await factsAndRow(this.#host.store, this.#key, after)) ?? {};
      if (await this.#isGone(row, after)) {
        for (const each of this.#readers) each.end();
        return [];
      }
      this.#follow(row, facts);
      // The store has a fact before it is published, together with the drafts around it.
      const last = this.#live?.() ?? Number.POSITIVE_INFINITY;
      return facts.filter(({ seq }) => seq <= last);
    };
    const leave = () => {
      signal?.removeEventListener("abort", stop);
      this.#leave(reader);
    };
    const reader = new Reader(read, this.#soFar, cursor, leave, from);
    this.#readers = [...this.#readers, reader];
    this.#unwatch ??= this.#host.store.watch(this.#key, () => {
      if (this.#live === undefined) this.lookAgain();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    return reader;
  }

  /** Others may have written to the thread. */
  lookAgain(): void {
    for (const reader of this.#readers) reader.lookAgain();
  }

  /** Ends the readers of `from`, which is closed, after the events up to now. */
  closed(from: object): void {
    for (const reader of this.#readers) if (reader.from === from) reader.finish();
  }

  /** Ends the readers at once: the thread was deleted. */
  gone(from: object): void {
    for (const reader of this.#readers) if (reader.from === from) reader.end();
  }

  #leave(reader: Reader): void {
    if (!this.#readers.includes(reader)) return;
    this.#readers = this.#readers.filter((each) => each !== reader);
    if (this.#readers.length > 0) return;
    this.#made = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#unfollow();
  }
}
