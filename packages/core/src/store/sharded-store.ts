// Several stores as one, by tenant. Each method but `due` is about one tenant, and `due` asks one shard after another: no
// transaction spans two shards. A tenant does not move between shards.

import { belayError, shown } from "../error.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import type { DueThread, Store } from "./store.ts";

/** The options of `shardedStore()`. */
export interface ShardedStoreOptions {
  /** Returns the name of the shard of a tenant: the same one, in every process, for as long as the tenant has threads. */
  readonly shardOf: (tenant: string) => string;
  /** The stores by the names of their shards. */
  readonly stores: Readonly<Record<string, Store>>;
}

const OPTIONS: KnownOptions<ShardedStoreOptions> = { shardOf: true, stores: true };

/**
 * Makes one store of several, each for some of the tenants.
 *
 * @example
 * ```ts
 * const store = shardedStore({
 *   shardOf: (tenant) => (tenant.startsWith("eu-") ? "eu" : "us"),
 *   stores: { eu: postgresStore(euPool), us: postgresStore(usPool) },
 * });
 * ```
 */
export function shardedStore(options: ShardedStoreOptions): Store {
  refuseUnknown("shardedStore()", options, OPTIONS);
  const { shardOf, stores } = options;
  if (typeof shardOf !== "function") throw invalid("shardOf", shardOf, "a function from a tenant to a shard");
  const all = Object.values(stores ?? {});
  if (all.length === 0 || !all.every((store) => typeof store?.load === "function"))
    throw invalid("stores", stores, "an object with a store for each shard");

  const of = (tenant: string): Store => {
    const name = shardOf(tenant);
    if (Object.hasOwn(stores, name)) return stores[name]!;
    throw invalid("shardOf", name, `for tenant ${tenant} one of ${Object.keys(stores).join(", ")}`);
  };

  async function due(limit: number, olderThanMs?: number, tenant?: string): Promise<readonly DueThread[]> {
    if (tenant !== undefined) return of(tenant).due(limit, olderThanMs, tenant);
    const found: DueThread[] = [];
    for (const store of all) found.push(...(await store.due(limit, olderThanMs)));
    return found.sort((a, b) => a.since - b.since).slice(0, limit);
  }

  return {
    // Asynchronous, so that a tenant without a shard is a rejection, as every failure of a store is.
    load: async (key, after) => of(key.tenant).load(key, after),
    past: async (key, to) => of(key.tenant).past(key, to),
    append: async (key, append) => of(key.tenant).append(key, append),
    renew: async (key, fence, ttlMs) => of(key.tenant).renew(key, fence, ttlMs),
    release: async (key, fence) => of(key.tenant).release(key, fence),
    send: async (key, command) => of(key.tenant).send(key, command),
    withdraw: async (key, commandKey) => of(key.tenant).withdraw(key, commandKey),
    threads: async (tenant) => of(tenant).threads(tenant),
    due,
    requests: async (tenant, range) => of(tenant).requests(tenant, range),
    requestThread: async (tenant, id) => of(tenant).requestThread(tenant, id),
    page: async (tenant, query) => of(tenant).page(tenant, query),
    decided: async (tenant, query) => of(tenant).decided(tenant, query),
    request: async (tenant, id) => of(tenant).request(tenant, id),
    watchTenant: (tenant, changed, background) => of(tenant).watchTenant(tenant, changed, background),
    rules: async (tenant) => of(tenant).rules(tenant),
    removeRule: async (tenant, id) => of(tenant).removeRule(tenant, id),
    delete: async (key, head) => of(key.tenant).delete(key, head),
    watch: (key, changed, only, background) => of(key.tenant).watch(key, changed, only, background),
    relay: (key, side, heard) => of(key.tenant).relay?.(key, side, heard),
    // A reader of lines may wait for one store and not for another: only if none has to.
    ...(all.every(({ linesSync }) => linesSync !== undefined) && {
      linesSync: (key, since) => of(key.tenant).linesSync!(key, since),
    }),
  };
}

function invalid(option: string, value: unknown, needed: string): Error {
  return belayError("OPTION_INVALID", { option, value: shown(value), needed });
}
