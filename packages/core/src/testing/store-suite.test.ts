import {
  badForkStores,
  badListStores,
  badRequestStores,
  badStores,
  badWithdrawals,
  changed,
} from "@belay/testkit/bad-stores";
import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../clock.ts";
import { damagedRequest } from "../store/damaged-request.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";
import { fakeClock } from "./fake-clock.ts";
import type { StoreUnderTest } from "./store-cases/bench.ts";
import { type StoreCaseName, storeSuite } from "./store-suite.ts";

/** A store in memory whose requests can be damaged. */
function fragile(clock: Clock): { readonly store: Store; readonly damaged: Set<string> } {
  const damaged = new Set<string>();
  const store = memoryStore({ clock });
  const requests: Store["requests"] = async (tenant, range) =>
    (await store.requests(tenant, range)).map((row) =>
      damaged.has(`${tenant} ${row.id}`) ? damagedRequest(row.id, row.threadId) : row,
    );
  return { store: wrapStore(store, { requests }), damaged };
}

type Under = StoreUnderTest & { readonly damaged?: Set<string> };

const damageRequest = ({ damaged }: Under, tenant: string, id: string) => damaged?.add(`${tenant} ${id}`);

async function failures(make: () => Under, only?: StoreCaseName): Promise<string[]> {
  const suite = storeSuite(make, { damageRequest }).filter((each) => only === undefined || each.name === only);
  const ended = await Promise.allSettled(suite.map((each) => each.run()));
  return suite.filter((_, i) => ended[i]!.status === "rejected").map((each) => each.name);
}

describe("the store suite", () => {
  test.concurrent.each(
    Object.entries({ ...badStores, ...badRequestStores, ...badForkStores, ...badListStores, ...badWithdrawals }),
  )("catches a store that %s", async (_, { change, caught }) => {
    const make = () => {
      const clock = fakeClock();
      const { store, damaged } = fragile(clock);
      return { store: changed(store, change), damaged, advance: (ms: number) => clock.advance(ms) };
    };
    expect(await failures(make, caught)).toEqual([caught]);
  });

  test("catches a store that measures leases by another clock", async () => {
    const clock = fakeClock();
    const caught = "a lease ends by the store's clock; then it is not shown, and can be taken with a higher fence";
    const make = () => ({ store: memoryStore(), advance: (ms: number) => clock.advance(ms) });
    // Alone: beside all others it may take so long that the lease has really ended.
    expect(await failures(make, caught)).toEqual([caught]);
  });

  test("finds no fault in a store with real time", async () => {
    expect(await failures(() => fragile(systemClock))).toEqual([]);
  });

  test("closes each store, also after a failure", async () => {
    let open = 0;
    const { change } = badStores["does not look at the head"]!;
    const close = () => {
      open -= 1;
    };
    const make = () => {
      open += 1;
      return { store: changed(memoryStore(), change), close };
    };
    expect((await failures(make)).length).toBeGreaterThan(0);
    expect(open).toBe(0);
  });

  test("a skipped case says why", () => {
    const name: StoreCaseName = "a body of a megabyte comes back whole, more than once";
    const skip = { [name]: "lines are small here" };
    const suite = storeSuite(() => fragile(systemClock), { skip, damageRequest });
    const skipped = suite.flatMap((each) => (each.skip === undefined ? [] : [[each.name, each.skip]]));
    expect(skipped).toEqual([[name, "lines are small here"]]);
  });

  test("a store that nothing can damage is not asked for damage, and the suite says so", () => {
    const suite = storeSuite(() => ({ store: memoryStore() }));
    expect(new Set(suite.map(({ skip }) => skip))).toEqual(new Set([undefined, "no way is given to damage a request"]));
  });
});
