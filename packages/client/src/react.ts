// Hooks for pages in React. Each is an external store over the client; no provider is needed.

import type { Answer, InboxItem } from "@belay/core";
import { useCallback, useMemo, useState, useSyncExternalStore } from "react";
import type { Client, ConnectionEvent, InboxFilter, InboxPage, RequestError, ThreadView } from "./index.ts";
import { emptyThread, foldThread, isThreadEvent, shownMessages, shownState } from "./index.ts";

const REDRAW_MS = 33;

interface ThreadSnapshot {
  readonly view: ThreadView;
  readonly connection: ConnectionEvent["state"];
  readonly error: RequestError | undefined;
  /** True once the replay is over. */
  readonly live: boolean;
}

/** A value that React can follow. Changes that come close together are drawn once. */
class Store<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();
  readonly #start: (store: Store<Value>) => () => void;
  #stop: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(value: Value, start: (store: Store<Value>) => () => void) {
    this.#value = value;
    this.#start = start;
  }

  readonly get = (): Value => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#stop ??= this.#start(this);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  };

  set(value: Value): void {
    this.#value = value;
    this.#timer ??= setTimeout(() => this.show(this.#value), REDRAW_MS);
  }

  /** Sets the value and draws it at once: the person has just done something. */
  show(value: Value): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}

function threadStore(belay: Client, threadId: string): Store<ThreadSnapshot> {
  const first: ThreadSnapshot = { view: emptyThread, connection: "connecting", error: undefined, live: false };
  return new Store(first, (store) => {
    const gone = new AbortController();
    const { head } = store.get().view;
    const after = head > 0 ? head : undefined;
    const read = async () => {
      for await (const event of belay.open(threadId).events({ after, changes: true, signal: gone.signal })) {
        const now = store.get();
        if (isThreadEvent(event)) store.set({ ...now, view: foldThread(now.view, event) });
        else if (event.type === "connection") store.set({ ...now, connection: event.state, error: event.error });
        else if (event.type === "reset") store.set({ ...now, view: emptyThread, live: false });
        else if (event.type === "live") store.set({ ...now, live: true });
      }
    };
    void read();
    return () => gone.abort();
  });
}

/** Follows a thread: its messages with the text that streams now, its state, and the verbs for it. */
export function useThread(belay: Client, threadId: string) {
  const [store, setStore] = useState(() => ({ belay, threadId, of: threadStore(belay, threadId) }));
  const mine = store.belay === belay && store.threadId === threadId ? store : undefined;
  const current = useMemo(() => mine ?? { belay, threadId, of: threadStore(belay, threadId) }, [mine, belay, threadId]);
  const { view, connection, error, live } = useSyncExternalStore(current.of.subscribe, current.of.get, current.of.get);
  const verbs = useMemo(() => {
    const thread = belay.open(threadId);
    // A thread that the server did not have is followed once it exists.
    const begin =
      <Args extends readonly unknown[], Result>(verb: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        const done = await verb.apply(thread, args as never);
        if (current.of.get().connection === "closed") setStore({ belay, threadId, of: threadStore(belay, threadId) });
        return done;
      };
    return {
      thread,
      run: begin(thread.run),
      send: begin(thread.send),
      resume: begin(thread.resume),
      interrupt: thread.interrupt.bind(thread),
      pause: thread.pause.bind(thread),
      steer: thread.steer.bind(thread),
      enqueue: thread.enqueue.bind(thread),
      withdraw: thread.withdraw.bind(thread),
    };
  }, [belay, threadId, current]);
  const messages = useMemo(() => shownMessages(view), [view]);
  const { interrupts, waiting, runId, segment, calls, usage, head } = view;
  return {
    ...verbs,
    ...shownState(view),
    view,
    messages,
    interrupts,
    waiting,
    calls,
    usage,
    head,
    runId,
    segment,
    connection,
    error,
    live,
  };
}

interface InboxSnapshot {
  readonly page: InboxPage;
  readonly loaded: boolean;
  /** Answered here; hidden before the server says so. */
  readonly hidden: ReadonlySet<string>;
  /** Why an answer or the list was refused; for an answer that was too late it says who decided. */
  readonly error: RequestError | undefined;
}

const nothing: InboxPage = { items: [], damaged: [], counts: { open: 0, mine: 0 } };

/** Follows the inbox. An answer hides its item at once; a refusal shows it again, with the reason in `error`. */
export function useInbox(belay: Client, filter: InboxFilter = {}) {
  const key = JSON.stringify(filter);
  const store = useMemo(() => {
    const first: InboxSnapshot = { page: nothing, loaded: false, hidden: new Set(), error: undefined };
    return new Store<InboxSnapshot>(first, (made) => {
      const gone = new AbortController();
      const read = async () => {
        for await (const page of belay.inbox(JSON.parse(key)).live({ signal: gone.signal })) {
          const { hidden } = made.get();
          const left = new Set([...hidden].filter((id) => page.items.some((item) => item.id === id)));
          made.set({ ...made.get(), page, loaded: true, hidden: left });
        }
      };
      read().catch((error) => made.set({ ...made.get(), error }));
      return () => gone.abort();
    });
  }, [belay, key]);
  const { page, loaded, hidden, error } = useSyncExternalStore(store.subscribe, store.get, store.get);
  const answer = useCallback(
    async (item: string | Pick<InboxItem, "id">, said: Answer) => {
      const id = typeof item === "string" ? item : item.id;
      store.show({ ...store.get(), hidden: new Set([...store.get().hidden, id]), error: undefined });
      try {
        return await belay.answer(id, said);
      } catch (refusal) {
        const shown = new Set([...store.get().hidden].filter((each) => each !== id));
        store.set({ ...store.get(), hidden: shown, error: refusal as RequestError });
        throw refusal;
      }
    },
    [belay, store],
  );
  const items = useMemo(() => page.items.filter(({ id }) => !hidden.has(id)), [page, hidden]);
  return { items, damaged: page.damaged, counts: page.counts, loaded, error, answer };
}
