import { useEffect, useState, useSyncExternalStore } from "react";
import { request, threadPath } from "../wire/request.ts";
import type { Fact } from "../wire/shapes.ts";
import { type LineState, line } from "./line.ts";
import type { ThreadShown, ThreadStore } from "./thread-store.ts";

export function useLine(): LineState {
  return useSyncExternalStore(line.subscribe, line.read);
}

/** True while the page may be old and nothing can be sent. */
export function useOffline(): boolean {
  return useLine().is === "offline";
}

const nothing = () => () => {};
const none = (): ThreadShown | undefined => undefined;

/** Follows a thread while the page shows it. */
export function useThread(threadId: string): { shown: ThreadShown | undefined; loadEarlier(): Promise<void> } {
  const [store, setStore] = useState<ThreadStore>();
  useEffect(() => {
    setStore(line.follow(threadId));
    return () => line.leave(threadId);
  }, [threadId]);
  const current = store?.threadId === threadId ? store : undefined;
  const shown = useSyncExternalStore(current?.subscribe ?? nothing, current?.read ?? none);
  return {
    shown,
    async loadEarlier() {
      const first = current?.read().facts[0]?.seq ?? 1;
      if (current === undefined || first <= 1) return;
      const { items } = await request<{ items: readonly Fact[] }>(
        threadPath(threadId, `/facts?before=${first}&limit=1000`),
      );
      current.addEarlier(items);
    },
  };
}

/** The time, renewed every `everyMs` while the page is seen. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
