import type { Store } from "@belay/core";

/** The number of threads of all folders that are searched for those of one. A thread whose folder is gone stays due. */
const MOST = 1_000;

/** The store, with a worker that finds only the threads that `works` picks. Every other read stays whole. */
export function storeForWorker(store: Store, works: (threadId: string) => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "due") {
        return async (...[limit, olderThanMs, tenant]: Parameters<Store["due"]>) => {
          const rows = await target.due(Math.max(limit, MOST), olderThanMs, tenant);
          return rows.filter(({ threadId }) => works(threadId)).slice(0, limit);
        };
      }
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
