// The inbox in React: an external store over the client, without a provider.

import type { Answer, InboxItem } from "@belay/core";
import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { Client } from "./connect.ts";
import type { InboxFilter, InboxPage } from "./inbox.ts";
import { PageStore } from "./page-store.ts";
import type { RequestError } from "./request.ts";

interface InboxSnapshot {
  readonly page: InboxPage;
  readonly loaded: boolean;
  /** Answered here; hidden before the server says so. */
  readonly hidden: ReadonlySet<string>;
  /** Why an answer or the list was refused; for an answer that was too late it names the person that decided. */
  readonly error: RequestError | undefined;
}

const nothing: InboxPage = { items: [], damaged: [], counts: { open: 0, mine: 0 } };

/** Follows the inbox. An answer hides its item at once; a refusal shows it again, with the reason in `error`. */
export function useInbox(belay: Client, filter: InboxFilter = {}) {
  const key = JSON.stringify(filter);
  const store = useMemo(() => {
    const first: InboxSnapshot = { page: nothing, loaded: false, hidden: new Set(), error: undefined };
    return new PageStore<InboxSnapshot>(first, (made) => {
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
