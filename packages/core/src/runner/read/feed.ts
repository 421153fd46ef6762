// From one writer to many readers. Invariants:
// 1. A reader gets every fact after its cursor once, in order, live or from the store.
// 2. A slow reader never slows the run (E3): its queue is bounded; deltas merge in it; past the bound it is emptied,
//    the reader gets `gap`, and reads the facts again from the store.
// 3. A draft is void once its answer is on record, or its segment is over: it is not handed out. Other drafts
//    older than the last fact handed out come from another agent; only text and progress are worth handing out then.
// 4. A reader that joins in mid-answer, or that gets `gap`, gets the text so far after the facts, as one delta at offset 0 (L2).
// 5. A reader of one run gets no event of the thread after it.
// 6. A thread has one feed in a runner, for any session that writes: a reader from before open() gets its drafts, too.
// 7. While readers in other processes follow the thread, its owner relays drafts to them through the store; while this
//    process does not write, it follows the owner (L1).
// 8. Once the process that ran the thread is gone, readers get `owner-lost` after the facts (V6).
// 9. A reader ends when the session or the runner that made it is closed, after the events up to then.

import type { Clock } from "../../clock.ts";
import { type BelayEvent, type Draft, type Fact, isFact } from "../../event.ts";
import type { Speech } from "../../frame.ts";
import type { Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import { mergeDeltas } from "./merge-deltas.ts";
import { OwnerWatch } from "./owner-watch.ts";
import { readFacts } from "./read-facts.ts";
import { RelayIn } from "./relay-in.ts";
import { type Followers, RelayOut } from "./relay-out.ts";

const MOST_QUEUED = 1024;

/** Reads the facts after a cursor from the store. */
type ReadFacts = (after: number) => Promise<readonly Fact[]>;

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
  /** Undefined while there are none: most sessions have no reader. */
  #readers: Set<Reader> | undefined;
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
  /**
   * While this process writes to the thread, the last fact that it has published: those after it come through `publish`, and
   * the store's hints say nothing new.
   */
  #live: (() => number) | undefined;
  /** The answers that stream now. Undefined while there are none. */
  #speeches: Set<Speech> | undefined;

  constructor(host: FeedHost, key: ThreadKey) {
    this.#host = host;
    this.#key = key;
  }

  /** True while a reader, here or elsewhere, gets drafts. */
  get watched(): boolean {
    return this.#readers !== undefined || this.#out?.followed === true;
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
    this.#speeches = undefined;
    this.#out?.leave();
    this.#out = undefined;
  }

  #follow(facts: readonly Fact[]): void {
    if (this.#live !== undefined || this.#readers === undefined) return;
    const { store, clock, owner } = this.#host;
    if (store.relay === undefined) return;
    this.#in ??= new RelayIn(
      `${owner}.${++ends}`,
      clock,
      (draft) => this.#hand(draft),
      (heard) => store.relay?.(this.#key, "reader", heard),
    );
    this.#in.moved(facts);
    const state = this.#in.isOpen ? undefined : facts.findLast((fact) => fact.type === "state");
    if (state?.type === "state" && state.state === "running") this.#host.cannotRelay();
  }

  #saw(row: ThreadRow): void {
    if (this.#live !== undefined || this.#readers === undefined) return;
    this.#owner ??= new OwnerWatch(this.#host, this.#key, (lost) => this.#hand(lost));
    this.#owner.saw(row);
  }

  #unfollow(): void {
    this.#in?.leave();
    this.#in = undefined;
    this.#owner?.end();
    this.#owner = undefined;
  }

  speak(speech: Speech): void {
    this.#speeches ??= new Set();
    this.#speeches.add(speech);
  }

  hush(speech: Speech): void {
    this.#speeches?.delete(speech);
  }

  /** Returns the answers of this process so far. */
  #said(): Draft[] {
    const drafts: Draft[] = [];
    for (const speech of this.#speeches ?? []) drafts.push(...speech.soFar());
    return drafts;
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
    if (this.#readers !== undefined) for (const reader of this.#readers) reader.push(event);
  }

  /** Returns a reader. `cursor` may be set later: until then nothing is handed out. The reader ends when `from` is closed. */
  reader(cursor: number | undefined, signal?: AbortSignal, from?: object): Reader {
    const stop = () => reader.end();
    const read: ReadFacts = async (after) => {
      const facts = await readFacts(this.#host.store, this.#key, after, (row) => this.#saw(row));
      this.#follow(facts);
      // The store has a fact before it is published, together with the drafts around it.
      const last = this.#live?.() ?? Number.POSITIVE_INFINITY;
      return facts.filter(({ seq }) => seq <= last);
    };
    const leave = () => {
      signal?.removeEventListener("abort", stop);
      this.#leave(reader);
    };
    const reader = new Reader(read, this.#soFar, cursor, leave, from);
    this.#readers ??= new Set();
    this.#readers.add(reader);
    this.#unwatch ??= this.#host.store.watch(this.#key, () => {
      if (this.#live === undefined) this.lookAgain();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    return reader;
  }

  /** Others may have written to the thread. */
  lookAgain(): void {
    if (this.#readers !== undefined) for (const reader of this.#readers) reader.lookAgain();
  }

  /** Ends the readers of `from`, which is closed, after the events up to now. */
  closed(from: object): void {
    for (const reader of [...(this.#readers ?? [])]) if (reader.from === from) reader.finish();
  }

  /** Ends the readers at once: the thread was deleted. */
  gone(from: object): void {
    for (const reader of [...(this.#readers ?? [])]) if (reader.from === from) reader.end();
  }

  #leave(reader: Reader): void {
    this.#readers?.delete(reader);
    if (this.#readers === undefined || this.#readers.size > 0) return;
    this.#readers = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#unfollow();
  }
}

export class Reader implements AsyncIterableIterator<BelayEvent> {
  readonly from: object | undefined;
  readonly #read: ReadFacts;
  readonly #soFar: () => Draft[];
  readonly #leave: () => void;
  #cursor: number | undefined;
  /** The seq of the fact before which drafts are void: of all agents, and of one agent by its path. */
  #since: number;
  #answered: Map<string, number> | undefined;
  #queue: BelayEvent[];
  #next = 0;
  /** The calls of next() that wait: one, unless next() is called again before the first has resolved. */
  #wake: (() => void)[] = [];
  /** The store may have facts that did not come live. */
  #behind = true;
  #gap: BelayEvent | undefined;
  /** Ends after this seq, or, with -1, at once. */
  #last: number | undefined;
  /** True if it ends after the events that it has now. */
  #finishing = false;

  constructor(
    read: ReadFacts,
    soFar: () => Draft[],
    cursor: number | undefined,
    leave: () => void,
    from: object | undefined,
  ) {
    this.from = from;
    this.#read = read;
    this.#soFar = soFar;
    this.#queue = soFar();
    this.#cursor = cursor;
    this.#since = cursor ?? 0;
    this.#leave = leave;
  }

  /** Sets the cursor. `live`: all events after it will be pushed, and no event before now is after it. */
  begin(cursor: number, live: boolean): void {
    if (this.#cursor !== undefined) return;
    this.#cursor = cursor;
    this.#since = cursor;
    this.#behind = !live;
    if (live) {
      this.#queue = [];
      this.#next = 0;
    }
    this.#ring();
  }

  push(event: BelayEvent): void {
    const { length } = this.#queue;
    const last = length > this.#next ? this.#queue[length - 1] : undefined;
    const merged = last === undefined ? undefined : mergeDeltas(last, event);
    if (merged !== undefined) this.#queue[length - 1] = merged;
    else this.#queue.push(event);
    if (this.#queue.length - this.#next > MOST_QUEUED) {
      this.#gap = event;
      // Dropped events are in the store, or in the text so far.
      this.#queue = this.#soFar();
      this.#next = 0;
      this.#behind = true;
    }
    this.#ring();
  }

  lookAgain(): void {
    this.#behind = true;
    this.#ring();
  }

  /** Hands out the events up to `last`, then ends. Without `last`, it ends now. */
  end(last?: number): void {
    if (this.#last === -1) return;
    this.#last = last ?? -1;
    if (last === undefined) this.#leave();
    // All that belongs to it is published in this tick. A reader that is never read must not watch the store without end.
    else queueMicrotask(() => this.#leave());
    this.#ring();
  }

  /** Hands out the events up to now, then ends. */
  finish(): void {
    this.#finishing = true;
    this.#leave();
    this.#ring();
  }

  async next(): Promise<IteratorResult<BelayEvent>> {
    for (;;) {
      if (this.#last === -1) return this.#done();
      const cursor = this.#cursor;
      if (cursor !== undefined) {
        if (this.#last !== undefined && cursor >= this.#last) return this.#lastDraft(cursor) ?? this.#done();
        if (this.#gap !== undefined) return { done: false, value: this.#takeGap(this.#gap, cursor) };
        // Live events that follow are handed out first: the store does not have the drafts between its facts.
        const event = this.#take();
        if (event !== undefined) return { done: false, value: event };
        if (this.#behind) {
          await this.#catchUp(cursor);
          continue;
        }
      }
      if (this.#finishing) return this.#done();
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async return(): Promise<IteratorResult<BelayEvent>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): BelayEvent | undefined {
    while (this.#next < this.#queue.length) {
      const event = this.#queue[this.#next]!;
      const cursor = this.#cursor!;
      if (isFact(event) ? event.seq > cursor + 1 : event.seq > cursor) {
        this.#behind = true;
        return undefined;
      }
      this.#next += 1;
      if (this.#next === this.#queue.length) {
        this.#queue = [];
        this.#next = 0;
      }
      if (!isFact(event)) {
        if (event.seq === cursor) return event;
        if (isStreamed(event) && !this.#isVoid(event)) return { ...event, seq: cursor };
      } else if (event.seq === cursor + 1) {
        this.#cursor = event.seq;
        this.#note(event);
        return event;
      }
    }
    return undefined;
  }

  #note(fact: Fact): void {
    if (fact.type === "state") this.#since = fact.seq;
    if (fact.type !== "message" || fact.message.role !== "assistant") return;
    this.#answered ??= new Map();
    this.#answered.set(fact.runPath, fact.seq);
  }

  #isVoid({ seq, runPath }: Draft): boolean {
    return seq < this.#since || seq < (this.#answered?.get(runPath) ?? 0);
  }

  /**
   * Returns the next draft after the last fact, such as the end of a turn. It still belongs to the run: a new run begins with a
   * fact.
   */
  #lastDraft(cursor: number): IteratorResult<BelayEvent> | undefined {
    for (let next = this.#queue[this.#next]; next !== undefined && !isFact(next); next = this.#queue[this.#next]) {
      this.#next += 1;
      if (next.seq === cursor) return { done: false, value: next };
    }
    return undefined;
  }

  async #catchUp(cursor: number): Promise<void> {
    this.#behind = false;
    let facts: readonly Fact[];
    try {
      facts = await this.#read(cursor);
    } catch (error) {
      this.#behind = true;
      // The reader has ended: the error of its last look is dropped, because the store may have been closed since.
      if (this.#last === -1) return;
      throw error;
    }
    // Merged with the live events that arrived meanwhile, which have drafts between the facts. A fact that is there twice is
    // handed out once.
    const live = this.#queue.slice(this.#next);
    const first = live.find((event) => isFact(event) && event.seq > cursor)?.seq ?? Number.POSITIVE_INFINITY;
    const after = facts.findIndex(({ seq }) => seq >= first);
    this.#queue = after === -1 ? [...facts, ...live] : [...facts.slice(0, after), ...live, ...facts.slice(after)];
    this.#next = 0;
  }

  #takeGap(at: BelayEvent, cursor: number): BelayEvent {
    this.#gap = undefined;
    const { at: time, threadId, runId, segment, attempt, agentName, runPath } = at;
    return { type: "gap", seq: cursor, at: time, threadId, runId, segment, attempt, agentName, runPath };
  }

  #done(): IteratorResult<BelayEvent> {
    this.#leave();
    return { done: true, value: undefined };
  }

  #ring(): void {
    const waiting = this.#wake;
    if (waiting.length === 0) return;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}

/** Drafts of an answer or a call, which facts of other agents do not make void. */
function isStreamed({ type }: Draft): boolean {
  return type === "text-delta" || type === "reasoning-delta" || type === "superseded" || type === "tool-progress";
}
