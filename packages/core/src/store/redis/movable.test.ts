// What a worker looks at, again and again: the threads that can move, found without a look at all others.

import { randomUUID } from "node:crypto";
import { service } from "@belay/testkit";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { SessionState, Store } from "../../index.ts";
import { type Append, type Command, isMovable, type ThreadKey } from "../store.ts";
import { redisStore } from "./redis.ts";

const NOW = 1_000;

let client: Redis;

beforeAll(async () => {
  client = new Redis(await service("redis"));
});

afterAll(async () => {
  await client.quit();
});

function place() {
  const prefix = `belay-test-${randomUUID()}`;
  const store = redisStore(client, { prefix });
  return { store, movable: `${prefix}:{t:acme}:movable`, list: () => listed(store) };
}

/** Sorted, by what a worker would move. */
async function listed(store: Store, lookAt: "movable" | "all" = "movable"): Promise<string[]> {
  const rows = await (lookAt === "all" ? store.threads("acme") : store.threads("acme", NOW));
  return rows
    .filter((row) => isMovable(row, NOW))
    .map(({ threadId }) => threadId)
    .sort();
}

const key = (threadId: string): ThreadKey => ({ tenant: "acme", threadId });

async function step(store: Store, threadId: string, state: SessionState, more: Partial<Append> = {}): Promise<void> {
  const head = (await store.load(key(threadId)))?.row.head ?? 0;
  await store.append(key(threadId), {
    appendId: randomUUID(),
    expect: head,
    count: 1,
    at: 1,
    body: "{}",
    writer: { take: "me", ttlMs: 60_000 },
    release: true,
    agent: "a",
    state,
    ...more,
  });
}

const command = (kind: Command["kind"], id: string = randomUUID()): Command => ({ key: id, kind, body: "{}", at: 1 });

describe("threads that can move, in Redis", () => {
  test("P13: a worker is told of them alone, and of all that it has to move", async () => {
    const { store, list } = place();
    for (let i = 0; i < 50; i++) await step(store, `rests-${i}`, "paused");
    expect(await list()).toEqual([]);
    await step(store, "crashed", "running");
    await step(store, "held", "running", { release: false });
    await step(store, "due", "paused", { rest: { from: 1, dueAt: NOW } });
    await step(store, "later", "paused", { rest: { from: 1, dueAt: NOW + 1 } });
    await step(store, "queued", "completed");
    await store.send(key("queued"), command("input"));
    await store.send(key("rests-7"), command("answer"));
    await store.send(key("rests-8"), command("steer"));
    const rows = await store.threads("acme", NOW);
    expect(rows.map(({ threadId }) => threadId).sort()).toEqual(["crashed", "due", "held", "queued", "rests-7"]);
    expect(await list()).toEqual(["crashed", "due", "queued", "rests-7"]);
  });

  test("P18: whatever was written, they are the ones that a look at all threads finds", async () => {
    const names = ["a", "b", "c\nd"];
    const states: SessionState[] = ["initialized", "running", "paused", "completed", "error"];
    const change = fc.record({
      what: fc.constantFrom("step", "step", "step", "send", "withdraw", "consume", "delete", "hold"),
      name: fc.constantFrom(...names),
      state: fc.constantFrom(...states),
      kind: fc.constantFrom<Command["kind"]>("input", "answer", "steer", "stop"),
      dueAt: fc.constantFrom(undefined, NOW - 1, NOW + 1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 25 }), async (changes) => {
        const { store } = place();
        await listed(store);
        for (const { what, name, state, kind, dueAt } of changes) {
          const rest = dueAt === undefined ? {} : { rest: { from: 1, dueAt } };
          const waiting = (await store.load(key(name)))?.commands.map((each) => each.key) ?? [];
          if (what === "step") await step(store, name, state, rest);
          else if (what === "hold") await step(store, name, state, { ...rest, release: false });
          else if (what === "consume") await step(store, name, state, { ...rest, consume: waiting });
          else if (what === "send") await store.send(key(name), command(kind)).catch(() => {});
          else if (what === "withdraw" && waiting[0] !== undefined) await store.withdraw(key(name), waiting[0]);
          else if (what === "delete") await store.delete(key(name));
          expect(await listed(store)).toEqual(await listed(store, "all"));
        }
      }),
      { numRuns: 40 },
    );
  });

  test("P17: one that a process of the version before left without its mark is found after a while; one marked in vain is forgotten", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const { store, movable, list } = place();
      expect(await list()).toEqual([]);
      await step(store, "unmarked", "running");
      await client.zrem(movable, "unmarked");
      await step(store, "ended", "completed");
      for (const id of ["ended", "deleted"]) await client.zadd(movable, 0, id);
      expect([await list(), await client.zrange(movable, "0", "-1")]).toEqual([[], []]);
      vi.advanceTimersByTime(30_000);
      expect(await list()).toEqual(["unmarked"]);
    } finally {
      vi.useRealTimers();
    }
  });
});
