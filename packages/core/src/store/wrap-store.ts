// A store with some of its methods replaced.

import type { Store } from "./store.ts";

export function wrapStore(store: Store, changes: Partial<Store>): Store {
  const { linesSync, relay } = store;
  return {
    load: (key, after) => store.load(key, after),
    past: (key, to) => store.past(key, to),
    append: (key, append) => store.append(key, append),
    renew: (key, fence, ttlMs) => store.renew(key, fence, ttlMs),
    release: (key, fence) => store.release(key, fence),
    send: (key, command) => store.send(key, command),
    withdraw: (key, commandKey) => store.withdraw(key, commandKey),
    threads: (tenant) => store.threads(tenant),
    due: (limit, olderThanMs, tenant) => store.due(limit, olderThanMs, tenant),
    requests: (tenant, range) => store.requests(tenant, range),
    requestThread: (tenant, id) => store.requestThread(tenant, id),
    page: (tenant, query) => store.page(tenant, query),
    decided: (tenant, query) => store.decided(tenant, query),
    request: (tenant, id) => store.request(tenant, id),
    watchTenant: (tenant, changed, background) => store.watchTenant(tenant, changed, background),
    rules: (tenant) => store.rules(tenant),
    removeRule: (tenant, id) => store.removeRule(tenant, id),
    delete: (key, head) => store.delete(key, head),
    watch: (key, changed, only, background) => store.watch(key, changed, only, background),
    ...(relay !== undefined && { relay: (key, side, heard) => relay.call(store, key, side, heard) }),
    ...(linesSync !== undefined && { linesSync: (key, since) => linesSync.call(store, key, since) }),
    ...changes,
  };
}
