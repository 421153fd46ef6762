// The fold of a session's thread. Invariants:
// 1. The standing of the thread (state, pause, run) is always known. The rest is folded from the store when it is needed. It is
//    held while it is in use; if the store can be read without waiting, only until memory is needed elsewhere.
// 2. Open requests, and the calls that wait for them, are known without reading the messages before them.
// 3. A fold whose reading failed halfway is not used again.
// 4. A thread that was deleted and made again under its name is another one: its facts are not added to the old fold.

import { type BelayError, belayError } from "../../error.ts";
import type { StateEvent } from "../../event.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { type InterruptView, isView } from "../../interrupt/view.ts";
import { decode } from "../../journal/codec.ts";
import { fold, folded } from "../../journal/fold.ts";
import { openFold } from "../../journal/open-fold.ts";
import { presentView } from "../../journal/present-view.ts";
import { openRequests } from "../../journal/requests.ts";
import { thaw } from "../../journal/snapshot.ts";
import { newThread, type ThreadState } from "../../journal/state.ts";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import type { Loaded, Named, Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import { loadThread } from "./read-facts.ts";

export interface Standing {
  readonly state: SessionState;
  readonly pauseType: PauseType | undefined;
  readonly interrupts: readonly Interrupt[];
  /** The same as the root agent sees it; undefined while it is not paused. */
  readonly view: InterruptView | undefined;
  readonly runId: string | undefined;
  readonly segment: number;
  /** The seq of the last fact that is known. */
  readonly head: number;
  readonly tokenHash: string | undefined;
  readonly tokenUntil: number | undefined;
}

export interface RecallHost {
  /** The thread was deleted. */
  gone(): void;
  /** The knowledge was just read, with this row. */
  saw(row: ThreadRow | undefined): void;
}

export class Recall {
  readonly #store: Store;
  readonly #key: ThreadKey;
  standing: Standing;
  /** When the thread was made; undefined while there is none. */
  since: number | undefined;
  /** The title and labels of the thread, as of the last load. */
  named: Named | undefined;
  readonly #host: RecallHost;
  #fold: ThreadState | undefined;
  #idleFold: WeakRef<ThreadState> | undefined;
  /** Counts the changes of the fold: a load that began before the last change is old. */
  #learnt = 0;
  /** A fold of the open calls and requests, if no more was read. */
  #open: ThreadState | undefined;
  /** A fold of all facts, for readers. */
  #seen: WeakRef<ThreadState> | undefined;

  constructor(store: Store, key: ThreadKey, host: RecallHost) {
    this.#store = store;
    this.#key = key;
    this.#host = host;
    this.standing = standingOf(newThread(key.threadId));
  }

  /** Called when the thread was deleted: nothing of it is shown any more. */
  gone(): BelayError {
    this.forget();
    this.#idleFold = undefined;
    this.#seen = undefined;
    this.#host.gone();
    return belayError("THREAD_UNKNOWN", { threadId: this.#key.threadId });
  }

  /** Loads the thread. Throws if the known thread was deleted, or if another one has its name. */
  async read(after?: number | "snapshot" | "rest"): Promise<Loaded | undefined> {
    // As of now: this session may make the thread while it is read.
    const { since } = this;
    const loaded = await loadThread(this.#store, this.#key, after);
    if (since !== undefined && since !== loaded?.row.createdAt) throw this.gone();
    this.since ??= loaded?.row.createdAt;
    this.named = loaded?.row.named;
    return loaded;
  }

  /** Returns the fold that a resume needs, read without waiting if it was forgotten. */
  now(): ThreadState {
    return this.#remembered() ?? this.#refold();
  }

  /** Returns the whole fold, read without waiting if it was forgotten or if `known` has only its end. */
  whole(known: ThreadState | undefined = this.#remembered()): ThreadState {
    if (known !== undefined && !known.partial) return known;
    return this.#refold();
  }

  /** Returns the fold. With `fresh`, it adds the facts of other processes, unless `may` returns false when they are read. */
  async load(fresh: boolean, may = () => true): Promise<ThreadState> {
    const known = this.#remembered();
    if (known !== undefined && !fresh) return known;
    // A new thread: if another process was faster, the append is refused.
    if (known === undefined && !fresh && this.standing.state === "created") return newThread(this.#key.threadId);
    if (known === undefined) {
      const learnt = this.#learnt;
      // From the last snapshot, if there is one and the rest can be read later.
      const loaded = await this.read(this.#store.linesSync === undefined ? undefined : "snapshot");
      const state = await this.#enough(loaded);
      if (may() && learnt === this.#learnt) this.#settleOnRead(state, loaded?.row);
      return state;
    }
    const loaded = await this.read(known.head);
    if (!may()) return known;
    // Another load may have read the same lines meanwhile.
    const news = loaded?.lines.filter((line) => line.seq > known.head) ?? [];
    this.#fold = undefined;
    this.#idleFold = undefined;
    fold(known, news);
    this.#settleOnRead(known, loaded?.row);
    return known;
  }

  /** Returns the fold that answered calls need: the whole fold if it is held, else only the open part. */
  async loadOpen(fresh: boolean): Promise<ThreadState> {
    if (this.#remembered() !== undefined || this.#store.linesSync === undefined) return this.load(fresh);
    if (this.#open !== undefined && !fresh) return this.#open;
    const loaded = await this.read("rest");
    const open = loaded?.row.rest === undefined ? undefined : openFold(this.#key.threadId, loaded.lines, this.named);
    return open ?? this.load(true);
  }

  /** Returns the fold that a resume needs. */
  async #enough(loaded: Loaded | undefined): Promise<ThreadState> {
    const { threadId } = this.#key;
    if (loaded?.snapshot === undefined) return folded(threadId, loaded?.lines ?? []);
    const state = thaw(threadId, loaded.snapshot.seq, loaded.snapshot.body);
    if (state === undefined) return this.readAll();
    fold(state, loaded.lines);
    return state;
  }

  /** Takes the result of `firstLoad`. */
  async learn(loaded: Loaded, toGoOn: boolean): Promise<void> {
    this.since = loaded.row.createdAt;
    this.named = loaded.row.named;
    if (toGoOn || this.#store.linesSync === undefined) this.settleOn(await this.#enough(loaded));
    else if (!this.#glance(loaded)) await this.load(true);
    this.#host.saw(loaded.row);
  }

  /**
   * Takes the standing of the thread from the lines that show how it rests. The last line of a thread without open requests ends
   * with its state, and every line has its run. Returns false if these lines do not show it.
   */
  #glance({ row, lines }: Loaded): boolean {
    const { state, head, rest, named } = row;
    // The requests of a thread that crashed or failed may stand in any line.
    if (state === "error" || state === "running") return false;
    const open = rest === undefined ? undefined : openFold(this.#key.threadId, lines, named);
    if (open !== undefined) {
      this.settleOn(open);
      return true;
    }
    const facts = decode(this.#key.threadId, lines.at(-1)!);
    const { runId, segment } = facts.at(-1)!;
    const rests = facts.findLast((fact): fact is StateEvent => fact.type === "state");
    const { pauseType, interrupts = [], tokenHash, tokenUntil }: Partial<StateEvent> = rests ?? {};
    const views = facts.flatMap((fact) => (fact.type === "action" ? (fact.action.interrupted ?? []) : []));
    const view = views.findLast(isView);
    // The pause was recorded again: its view stands in an earlier line.
    if (state === "paused" && view === undefined) return false;
    this.standing = { state, pauseType, interrupts, view, runId, segment, head, tokenHash, tokenUntil };
    return true;
  }

  async readAll(): Promise<ThreadState> {
    return folded(this.#key.threadId, (await this.read())?.lines ?? []);
  }

  /** Holds the fold while it is in use. */
  hold(state: ThreadState): void {
    if (!state.openOnly) this.#fold = state;
  }

  #settleOnRead(state: ThreadState, row: ThreadRow | undefined): void {
    this.settleOn(state);
    this.#host.saw(row);
  }

  /** Takes the fold at the end of its use. It may be forgotten from now on. */
  settleOn(state: ThreadState): void {
    this.standing = standingOf(state);
    this.#learnt += 1;
    this.#fold = undefined;
    this.#open = undefined;
    if (state.openOnly) this.#open = state;
    else this.#remember(state);
  }

  forget(): void {
    this.#fold = undefined;
    this.#open = undefined;
  }

  #remembered(): ThreadState | undefined {
    const known = this.#fold ?? this.#idleFold?.deref() ?? this.#lastSeen();
    // It was read for a reader. A tenure that needed the open part alone may have written since.
    return known !== undefined && known.head >= this.standing.head ? known : undefined;
  }

  /** Returns the fold that was read last. Without the time when the thread was made, it may be of another thread of the same name. */
  #lastSeen(): ThreadState | undefined {
    return this.since === undefined ? undefined : this.#seen?.deref();
  }

  #remember(state: ThreadState): void {
    if (this.#store.linesSync === undefined) this.#fold = state;
    else this.#idleFold = new WeakRef(state);
  }

  #refold(): ThreadState {
    const seen = this.#lastSeen() ?? newThread(this.#key.threadId);
    const lines = this.#store.linesSync?.(this.#key, this.since);
    if (lines === undefined) return seen;
    this.#seen = undefined;
    fold(
      seen,
      lines.filter((line) => line.seq > seen.head),
    );
    this.#seen = new WeakRef(seen);
    return seen;
  }
}

/**
 * Loads a thread for the first time: the lines it rests on, or, with `toGoOn`, those that a resume needs. Lines that cannot be
 * read later without waiting are read now.
 */
export function firstLoad(store: Store, key: ThreadKey, toGoOn: boolean): Promise<Loaded | undefined> {
  return loadThread(store, key, store.linesSync === undefined ? 0 : toGoOn ? "snapshot" : "rest");
}

export function standingOf(thread: ThreadState): Standing {
  const { state, pauseType, run, head, tokenHash, tokenUntil } = thread;
  const open = openRequests(thread);
  const interrupts = open.length === 0 ? thread.interrupts : [...thread.interrupts, ...open];
  const { id: runId, segment } = run ?? { id: undefined, segment: 0 };
  return { state, pauseType, interrupts, view: presentView(thread), runId, segment, head, tokenHash, tokenUntil };
}
