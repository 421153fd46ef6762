// What a session knows of its thread. Invariants:
// 1. Where the thread stands (state, pause, run) is always known; what was said is folded from the store when it is
//    needed, and held only while it is in use, or for as long as memory is not needed elsewhere, where the store can
//    be read without waiting.
// 2. A fold in which reading failed halfway is not looked at again.

import type { Interrupt } from "../interrupt/interrupt.ts";
import { fold } from "../journal/fold.ts";
import { newThread, type ThreadState } from "../journal/state.ts";
import type { PauseType, SessionState } from "../lifecycle.ts";
import type { Store, ThreadKey } from "../store/store.ts";
import { loadThread } from "./read-facts.ts";

export interface Standing {
  readonly state: SessionState;
  readonly pauseType: PauseType | undefined;
  readonly interrupts: readonly Interrupt[];
  readonly runId: string | undefined;
  readonly segment: number;
}

export class Recall {
  readonly #store: Store;
  readonly #key: ThreadKey;
  standing: Standing = { state: "created", pauseType: undefined, interrupts: [], runId: undefined, segment: 0 };
  #fold: ThreadState | undefined;
  #idleFold: WeakRef<ThreadState> | undefined;
  /** How often something was learnt: what was read before the last time is old. */
  #learnt = 0;

  constructor(store: Store, key: ThreadKey) {
    this.#store = store;
    this.#key = key;
  }

  /** The fold, read without waiting where it was forgotten. */
  now(): ThreadState {
    return this.#remembered() ?? this.#refold();
  }

  /** The fold, brought up to date where `fresh` asks for it, unless `may` says at the end that it must not. */
  async load(fresh: boolean, may = () => true): Promise<ThreadState> {
    const known = this.#remembered();
    if (known !== undefined && !fresh) return known;
    if (known === undefined) {
      const learnt = this.#learnt;
      const state = await this.readAll();
      if (may() && learnt === this.#learnt) this.settleOn(state);
      return state;
    }
    const loaded = await loadThread(this.#store, this.#key, known.head);
    if (!may()) return known;
    // Others may have read the same lines meanwhile.
    const news = loaded?.lines.filter((line) => line.seq > known.head) ?? [];
    this.#fold = undefined;
    this.#idleFold = undefined;
    fold(known, news);
    this.settleOn(known);
    return known;
  }

  async readAll(): Promise<ThreadState> {
    const state = newThread(this.#key.threadId);
    fold(state, (await loadThread(this.#store, this.#key))?.lines ?? []);
    return state;
  }

  /** In use: it is not forgotten before it is settled on. */
  hold(state: ThreadState): void {
    this.#fold = state;
  }

  /** What is known now, and need not be held. */
  settleOn(state: ThreadState): void {
    const { state: now, pauseType, interrupts, run } = state;
    this.standing = { state: now, pauseType, interrupts, runId: run?.id, segment: run?.segment ?? 0 };
    this.#learnt += 1;
    this.#fold = undefined;
    this.#remember(state);
  }

  forget(): void {
    this.#fold = undefined;
  }

  #remembered(): ThreadState | undefined {
    return this.#fold ?? this.#idleFold?.deref();
  }

  #remember(state: ThreadState): void {
    if (this.#store.linesSync === undefined) this.#fold = state;
    else this.#idleFold = new WeakRef(state);
  }

  #refold(): ThreadState {
    const state = newThread(this.#key.threadId);
    const lines = this.#store.linesSync?.(this.#key);
    if (lines === undefined) return state;
    fold(state, lines);
    this.#remember(state);
    return state;
  }
}
