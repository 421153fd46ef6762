// One thread as this page follows it: its facts from some seq on, and the one fold of them. Readers are called at most ten
// times a second, with a frame of the browser, however fast deltas arrive.

import { emptyThread, foldThread, type ThreadView } from "@belay/client";
import type { BelayEvent, Fact } from "@belay/core";

const EVERY_MS = 100;

export interface ThreadShown {
  readonly threadId: string;
  readonly view: ThreadView;
  /** In order, without holes; the first may have any seq. */
  readonly facts: readonly Fact[];
  /** The replay is over: later events are live. */
  readonly live: boolean;
}

export class ThreadStore {
  readonly threadId: string;
  #facts: Fact[] = [];
  #view: ThreadView = emptyThread;
  #live = false;
  #shown: ThreadShown;
  #told = 0;
  #due = false;
  readonly #readers = new Set<() => void>();

  constructor(threadId: string) {
    this.threadId = threadId;
    this.#shown = { threadId, view: emptyThread, facts: [], live: false };
  }

  /** The seq of the last fact; undefined if there is none yet. */
  get cursor(): number | undefined {
    return this.#facts.at(-1)?.seq;
  }

  take(event: BelayEvent, isFact: boolean): void {
    if (isFact) {
      const last = this.cursor ?? 0;
      if (event.seq <= last) return;
      this.#facts.push(event as Fact);
    }
    this.#view = foldThread(this.#view, event);
    this.#tell();
  }

  setLive(): void {
    this.#live = true;
    this.#tell();
  }

  /** The thread was made again: nothing that was read counts any more. */
  reset(): void {
    this.#facts = [];
    this.#view = emptyThread;
    this.#live = false;
    this.#tell();
  }

  /** Puts older facts before the present ones, and folds all of them anew. */
  addEarlier(facts: readonly Fact[]): void {
    const first = this.#facts[0]?.seq ?? Number.POSITIVE_INFINITY;
    const { draft } = this.#view;
    this.#facts = [...facts.filter(({ seq }) => seq < first), ...this.#facts];
    this.#view = { ...this.#facts.reduce<ThreadView>(foldThread, emptyThread), draft };
    this.#tell();
  }

  readonly subscribe = (reader: () => void): (() => void) => {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  };

  readonly read = (): ThreadShown => this.#shown;

  #tell(): void {
    if (this.#due) return;
    this.#due = true;
    const wait = Math.max(0, this.#told + EVERY_MS - performance.now());
    const show = () => {
      this.#due = false;
      this.#told = performance.now();
      this.#shown = { threadId: this.threadId, view: this.#view, facts: [...this.#facts], live: this.#live };
      for (const reader of this.#readers) reader();
    };
    // A hidden page has no frames, and must not wait for one.
    const frame = () => (document.hidden ? show() : requestAnimationFrame(show));
    if (wait === 0) frame();
    else setTimeout(frame, wait);
  }
}
