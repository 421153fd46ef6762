import { expect, test } from "vitest";
import { memoryStore } from "../store/memory.ts";
import type { Append, Store } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";
import { fakeClock } from "./fake-clock.ts";
import { type AttackPoint, numberedClock, numberedStore } from "./numbered.ts";

const key = { tenant: "default", threadId: "thread" };

test("each promise of a store that settles is a point, by whatever name it is asked, well or not", async () => {
  const points: AttackPoint[] = [];
  const inner = memoryStore();
  const store = numberedStore(
    inner,
    (point) => points.push(point),
    () => {},
  );
  const asked: {
    [Name in Exclude<keyof Store, "append" | "watch" | "watchTenant" | "relay" | "linesSync">]: () => Promise<unknown>;
  } = {
    load: () => store.load(key),
    past: () => store.past(key),
    renew: () => store.renew(key, 1, 1),
    release: () => store.release(key, 1),
    send: () => store.send(key, { key: "k", kind: "steer", body: "{}", at: 0 }),
    withdraw: () => store.withdraw(key, "k"),
    threads: () => store.threads(key.tenant),
    due: () => store.due(1),
    requests: () => store.requests(key.tenant),
    requestThread: () => store.requestThread(key.tenant, "r"),
    page: () => store.page(key.tenant, { limit: 1 }),
    decided: () => store.decided(key.tenant, { limit: 1 }),
    request: () => store.request(key.tenant, "r"),
    rules: () => store.rules(key.tenant),
    removeRule: () => store.removeRule(key.tenant, "r"),
    delete: () => store.delete(key),
  };
  for (const ask of Object.values(asked)) await ask().catch(() => {});
  expect(points).toEqual(Object.keys(asked).map((name) => `${name}:after`));
});

test("a point lies before the waiting code continues", async () => {
  const order: string[] = [];
  const store = numberedStore(
    memoryStore(),
    (point) => order.push(point),
    () => {},
  );
  await store.load(key).then(() => order.push("went on"));
  expect(order).toEqual(["load:after", "went on"]);
});

test("an append is reported before it is sent", () => {
  const order: unknown[] = [];
  const inner = wrapStore(memoryStore(), {
    append(_key, append) {
      order.push("sent", append.appendId);
      return new Promise(() => {});
    },
  });
  const store = numberedStore(
    inner,
    () => {},
    ({ appendId }) => order.push("told", appendId),
  );
  void store.append(key, { appendId: "a" } as Append);
  expect(order).toEqual(["told", "a", "sent", "a"]);
});

test("a timer that falls due is a point, and one that is cleared is none", async () => {
  const clock = fakeClock();
  const order: string[] = [];
  const numbered = numberedClock(clock, (point) => order.push(point));
  numbered.setTimeout(() => order.push("ran"), 10);
  numbered.clearTimeout(numbered.setTimeout(() => order.push("never"), 5));
  await clock.advance(20);
  expect(order).toEqual(["timer:due", "ran"]);
});
