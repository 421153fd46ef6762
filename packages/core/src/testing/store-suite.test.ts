import { describe, expect, test } from "vitest";
import { memoryStore } from "../store/memory.ts";
import { badForkStores } from "./bad-fork-stores.ts";
import { badRequestStores } from "./bad-request-stores.ts";
import { badStores, changed } from "./bad-stores.ts";
import { fakeClock } from "./fake-clock.ts";
import { type StoreCaseName, storeSuite } from "./store-suite.ts";

async function failures(make: Parameters<typeof storeSuite>[0], only?: StoreCaseName): Promise<string[]> {
  const suite = storeSuite(make).filter((each) => only === undefined || each.name === only);
  const ended = await Promise.allSettled(suite.map((each) => each.run()));
  return suite.filter((_, i) => ended[i]!.status === "rejected").map((each) => each.name);
}

describe("the store suite", () => {
  test.concurrent.each(Object.entries({ ...badStores, ...badRequestStores, ...badForkStores }))(
    "catches a store that %s",
    async (_, { change, caught }) => {
      const make = () => {
        const clock = fakeClock();
        return { store: changed(memoryStore({ clock }), change), advance: (ms: number) => clock.advance(ms) };
      };
      expect(await failures(make, caught)).toEqual([caught]);
    },
  );

  test("catches a store that measures leases by another clock", async () => {
    const clock = fakeClock();
    const failed = await failures(() => ({ store: memoryStore(), advance: (ms) => clock.advance(ms) }));
    expect(failed).toContain(
      "a lease ends by the store's clock; then it is not shown, and can be taken with a higher fence" satisfies StoreCaseName,
    );
  });

  test("finds nothing in a store whose time really passes", async () => {
    expect(await failures(() => ({ store: memoryStore() }))).toEqual([]);
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
    const suite = storeSuite(() => ({ store: memoryStore() }), { skip: { [name]: "lines are small here" } });
    const skipped = suite.flatMap((each) => (each.skip === undefined ? [] : [[each.name, each.skip]]));
    expect(skipped).toEqual([[name, "lines are small here"]]);
  });
});
