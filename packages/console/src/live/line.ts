// The one connection of this tab. It follows a thread together with hints over all threads, or hints alone. Lost, it comes
// back by its cursor; a hidden tab lets go after a while and comes back when it is seen. A tab beyond those that may stream
// visits the server every moment, by its cursor as well. Closing it stops no run.

import type { BelayEvent } from "@belay/core";
import { asProblem, Problem } from "../wire/problem.ts";
import { changed, changedMany } from "../wire/read.ts";
import { threadPath } from "../wire/request.ts";
import { readStream } from "./read-stream.ts";
import { takeSlot } from "./take-slot.ts";
import { ThreadStore } from "./thread-store.ts";

const TAIL = 500;
const HIDDEN_MS = 30_000;
const MOST_WAIT_MS = 30_000;
const HINTS_EVERY_MS = 250;
const VISIT_EVERY_MS = 1_500;

export type LineState =
  | { readonly is: "connecting" | "live" | "asleep" }
  | { readonly is: "offline"; readonly since: number }
  | { readonly is: "refused" };

/** The server answered, and the answer will be the same again. */
const isFinal = ({ status }: Problem) => status >= 400 && ![408, 425, 429, 502, 503, 504].includes(status);

class Line {
  #state: LineState = { is: "connecting" };
  #since = Date.now();
  #wanted: string | undefined;
  #abort: AbortController | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #waitMs = 1_000;
  #hints = new Set<string>();
  #hintsDue = false;
  #started = false;
  /** The thread whose events the server refuses: it is unknown, or damaged. Only hints are followed in the meantime. */
  #refused: string | undefined;
  /** Whether a hidden tab keeps its connection. */
  staysAwake: () => boolean = () => false;
  readonly #stores = new Map<string, ThreadStore>();
  readonly #readers = new Set<() => void>();

  readonly subscribe = (reader: () => void): (() => void) => {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  };

  readonly read = (): LineState => this.#state;

  /** Connects, and keeps connecting. */
  start(): void {
    if (this.#started) return this.retry();
    this.#started = true;
    let hidden: ReturnType<typeof setTimeout> | undefined;
    document.addEventListener("visibilitychange", () => {
      clearTimeout(hidden);
      if (!document.hidden) return this.#state.is === "asleep" ? this.retry() : undefined;
      // A person that wants to be notified looks elsewhere: that is when the hints count.
      if (this.staysAwake()) return undefined;
      hidden = setTimeout(() => {
        this.#close();
        this.#set({ is: "asleep" });
      }, HIDDEN_MS);
    });
    window.addEventListener("online", () => this.retry());
    window.addEventListener("offline", () => this.#lost(asProblem(new Error("offline"))));
    this.#open();
  }

  /** The store of the thread to follow from now on. */
  follow(threadId: string): ThreadStore {
    const store = this.#stores.get(threadId) ?? new ThreadStore(threadId);
    this.#stores.set(threadId, store);
    if (this.#wanted !== threadId) {
      this.#wanted = threadId;
      if (this.#started) this.retry();
    }
    return store;
  }

  /** Follows hints alone again, unless another thread is followed by now. */
  leave(threadId: string): void {
    if (this.#wanted !== threadId) return;
    this.#wanted = undefined;
    this.#refused = undefined;
    // Data is read again next time: a store without updates would grow old unseen.
    this.#stores.delete(threadId);
    if (this.#started) this.retry();
  }

  /** Connects now. */
  retry(): void {
    this.#waitMs = 1_000;
    this.#close();
    this.#open();
  }

  #set(state: LineState): void {
    this.#state = state;
    for (const reader of this.#readers) reader();
  }

  #close(): void {
    clearTimeout(this.#retry);
    this.#abort?.abort();
    this.#abort = undefined;
  }

  #open(): void {
    const abort = new AbortController();
    this.#abort = abort;
    const threadId = this.#wanted === this.#refused ? undefined : this.#wanted;
    const store = threadId === undefined ? undefined : this.#stores.get(threadId);
    void this.#connect(store, abort.signal).catch((error: unknown) => {
      if (abort.signal.aborted) return;
      const problem = asProblem(error);
      if (store === undefined || !isFinal(problem) || problem.status === 401) return this.#lost(problem);
      // The page shows the fault of this thread; the lists stay live.
      this.#refused = store.threadId;
      this.#open();
    });
  }

  async #connect(store: ThreadStore | undefined, signal: AbortSignal): Promise<void> {
    const release = await takeSlot();
    try {
      if (!signal.aborted) await this.#follow(store, signal, release === undefined);
    } finally {
      release?.();
    }
  }

  /** A visit ends when it has read all that there is. */
  async #follow(store: ThreadStore | undefined, signal: AbortSignal, isVisit: boolean): Promise<void> {
    const path = store === undefined ? "/changes" : threadPath(store.threadId, `/events?changes=1&tail=${TAIL}`);
    for await (const { id, event, data } of readStream(path, store?.cursor, signal)) {
      if (signal.aborted) return;
      if (this.#state.is !== "live") this.#back();
      switch (event) {
        case "live":
          store?.setLive();
          if (isVisit) return this.#visitAgain();
          break;
        case "reset":
          store?.reset();
          break;
        case "sync":
          changed(undefined);
          if (isVisit) return this.#visitAgain();
          break;
        case "change":
          this.#hint((JSON.parse(data) as { threadId: string }).threadId, store);
          break;
        case "error": {
          const said = JSON.parse(data) as { readonly status: number };
          throw new Problem(said.status, said);
        }
        case "bye":
          return this.#lost(asProblem(new Error("bye")));
        default:
          store?.take(JSON.parse(data) as BelayEvent, id !== undefined);
          if (store !== undefined && id !== undefined) this.#hint(store.threadId, store);
      }
    }
    if (!signal.aborted) this.#lost(asProblem(new Error("The stream ended.")));
  }

  #visitAgain(): void {
    this.#close();
    this.#retry = setTimeout(() => this.#open(), VISIT_EVERY_MS);
  }

  #back(): void {
    const was = this.#state.is;
    this.#waitMs = 1_000;
    this.#set({ is: "live" });
    if (was === "offline") changed(undefined);
  }

  #lost(problem: Problem): void {
    this.#close();
    if (problem.status === 401 || problem.status === 403) return this.#set({ is: "refused" });
    if (this.#state.is !== "offline") {
      this.#since = Date.now();
      this.#set({ is: "offline", since: this.#since });
    }
    // At most half as much again, so that a thousand tabs do not come back in the same moment.
    const wait = this.#waitMs * (1 + Math.random() / 2);
    this.#waitMs = Math.min(this.#waitMs * 2, MOST_WAIT_MS);
    this.#retry = setTimeout(() => this.#open(), wait);
  }

  /** Hints come in swarms: lists are read again a few times a second at most. */
  #hint(threadId: string, store: ThreadStore | undefined): void {
    this.#hints.add(threadId);
    if (store === undefined && threadId === this.#refused) {
      // It exists by now.
      this.#refused = undefined;
      this.retry();
    }
    if (this.#hintsDue) return;
    this.#hintsDue = true;
    setTimeout(() => {
      this.#hintsDue = false;
      const hints = [...this.#hints];
      this.#hints.clear();
      changedMany(hints);
    }, HINTS_EVERY_MS);
  }
}

export const line = new Line();
