// One reader of a thread: a queue of live events before the store's facts. The invariants are those of the feed that made it.

import { type BelayEvent, type Draft, type Fact, isFact } from "../../event.ts";
import { enqueue } from "./enqueue.ts";

const MOST_QUEUED = 1024;

/** Reads the facts after a cursor from the store. */
export type ReadFacts = (after: number) => Promise<readonly Fact[]>;

export class Reader implements AsyncIterableIterator<BelayEvent> {
  readonly from: object | undefined;
  readonly #read: ReadFacts;
  readonly #soFar: () => Draft[];
  readonly #leave: () => void;
  #cursor: number | undefined;
  /** The seq of the fact before which drafts are void: of all agents, and of one agent by its path. */
  #since: number;
  readonly #answered = new Map<string, number>();
  #queue: BelayEvent[];
  #next = 0;
  /** The calls of next() that wait: one, unless next() is called again before the first has resolved. */
  readonly #wake: (() => void)[] = [];
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

  /** Sets the cursor, if it has none. All events after it will be pushed, and no event before now is after it. */
  begin(cursor: number): void {
    if (this.#cursor !== undefined) return;
    this.#cursor = cursor;
    this.#since = cursor;
    this.#behind = false;
    this.#queue = [];
    this.#next = 0;
    this.#ring();
  }

  push(event: BelayEvent): void {
    enqueue(this.#queue, event, this.#next);
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
    if (fact.type === "message" && fact.message.role === "assistant") this.#answered.set(fact.runPath, fact.seq);
  }

  #isVoid({ seq, runPath }: Draft): boolean {
    return seq < this.#since || seq < (this.#answered.get(runPath) ?? 0);
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
    const before = new Set(this.#queue);
    let facts: readonly Fact[];
    try {
      facts = await this.#read(cursor);
    } catch (error) {
      this.#behind = true;
      // The reader has ended: the error of its last look is dropped, because the store may have been closed since.
      if (this.#last === -1) return;
      throw error;
    }
    // The store has a fact before its owner sends a draft that follows it. An event from before this look that is ahead of all
    // facts follows none, or one that the store has lost: the reader would look for it again at once, without end.
    const head = facts.at(-1)?.seq ?? cursor;
    // Merged with the live events that arrived meanwhile, which have drafts between the facts. A fact that is there twice is
    // handed out once. A draft of another process may come before the fact that it follows: that fact goes first. Else the
    // reader would look for it again at once, and each look would lengthen the queue.
    const live = this.#queue.slice(this.#next).filter((event) => event.seq <= head || !before.has(event));
    const ahead = live.find((event) => event.seq > cursor);
    const first = ahead === undefined ? Number.POSITIVE_INFINITY : isFact(ahead) ? ahead.seq : ahead.seq + 1;
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
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Drafts of an answer or a call, which facts of other agents do not make void. */
function isStreamed({ type }: Draft): boolean {
  return type === "text-delta" || type === "reasoning-delta" || type === "superseded" || type === "tool-progress";
}
