import { openDatabase } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../index.ts";
import { sqliteStore } from "../sqlite.ts";
import { fakeClock, storeSuite } from "../testing/index.ts";
import { shardedStore } from "./sharded-store.ts";
import type { Store } from "./store.ts";

/** Tenants lie on either shard, by their last letter. */
const shardOf = (tenant: string) => (tenant.charCodeAt(tenant.length - 1) % 2 === 0 ? "even" : "odd");

describe("a store of a shard in memory and one in SQLite", () => {
  const make = async () => {
    const clock = fakeClock();
    const db = await openDatabase(":memory:");
    const stores = { even: memoryStore({ clock }), odd: sqliteStore(db, { clock, pollMs: 5 }) };
    return {
      store: shardedStore({ shardOf, stores }),
      advance: (ms: number) => clock.advance(ms),
      close: () => db.close(),
    };
  };
  const skip = {
    "the owner's bodies reach every reader of its thread, and a reader's the owner, whole and in order, until they leave":
      "a database without a path relays nothing",
  };
  for (const each of storeSuite(make, { skip })) test.skipIf(each.skip !== undefined)(each.name, each.run);
});

const begin = (store: Store, tenant: string) =>
  store.append(
    { tenant, threadId: "thread" },
    {
      ...{ appendId: tenant, expect: 0, count: 1, at: 1, body: "{}", agent: "a", state: "running", release: true },
      writer: { take: "me", ttlMs: 1_000 },
    },
  );

describe("shards", () => {
  test("due threads are read from each shard, and come in one order", async () => {
    const clock = fakeClock();
    const stores = { even: memoryStore({ clock }), odd: memoryStore({ clock }) };
    const store = shardedStore({ shardOf, stores });
    for (const tenant of ["b", "a", "d", "c"]) {
      await begin(store, tenant);
      await clock.advance(10);
    }
    expect((await store.due(3)).map(({ tenant }) => tenant)).toEqual(["b", "a", "d"]);
    expect((await stores.odd.due(10)).map(({ tenant }) => tenant)).toEqual(["a", "c"]);
  });

  test("a tenant of an unknown shard is refused, with the names of the known ones", async () => {
    const store = shardedStore({ shardOf: () => "third", stores: { even: memoryStore(), odd: memoryStore() } });
    await expect(store.threads("x")).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(store.threads("x")).rejects.toThrow(/third.*even, odd/s);
    for (const stores of [{}, { one: {} }, undefined])
      expect(() => shardedStore({ shardOf, stores: stores as never })).toThrow(/stores/);
  });
});
