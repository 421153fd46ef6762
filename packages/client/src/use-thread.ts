// A thread in React: an external store over the client, without a provider.

import { useMemo, useState, useSyncExternalStore } from "react";
import type { Client } from "./connect.ts";
import { type ConnectionEvent, isThreadEvent } from "./events.ts";
import { foldThread, shownMessages, shownState } from "./fold-thread.ts";
import { PageStore } from "./page-store.ts";
import type { RequestError } from "./request.ts";
import { emptyThread, type ThreadView } from "./thread-view.ts";

interface ThreadSnapshot {
  readonly view: ThreadView;
  readonly connection: ConnectionEvent["state"];
  readonly error: RequestError | undefined;
  /** True once the replay is over. */
  readonly live: boolean;
}

function threadStore(belay: Client, threadId: string): PageStore<ThreadSnapshot> {
  const first: ThreadSnapshot = { view: emptyThread, connection: "connecting", error: undefined, live: false };
  return new PageStore(first, (store) => {
    const gone = new AbortController();
    const { head } = store.get().view;
    const after = head > 0 ? head : undefined;
    const read = async () => {
      for await (const event of belay
        .open(threadId)
        .events({ after, changes: true, restHidden: true, signal: gone.signal })) {
        const now = store.get();
        if (isThreadEvent(event)) store.set({ ...now, view: foldThread(now.view, event) });
        else if (event.type === "connection")
          store.set({ ...now, connection: event.state, error: event.error ?? now.error });
        else if (event.type === "reset") store.set({ ...now, view: emptyThread, live: false });
        else if (event.type === "live") store.set({ ...now, live: true, error: undefined });
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
