// The repeated look of a worker: the threads that can move, found without a look at all others.

import { randomUUID } from "node:crypto";
import { service } from "@belay/testkit";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SessionState, Store } from "../../index.ts";
import { type Append, type Command, isMovable, type ThreadKey } from "../store.ts";
import { redisStore } from "./redis.ts";

/** Far from the present, on both sides of it. */
const [PAST, FUTURE] = [1_000, Date.now() + 1e9];

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

/** The threads that a worker would move, sorted. */
async function listed(store: Store, lookAt: "movable" | "all" = "movable"): Promise<string[]> {
  const found =
    lookAt === "all"
      ? (await store.threads("acme")).filter((row) => isMovable(row, Date.now()))
      : await store.due(100, 0, "acme");
  return found.map(({ threadId }) => threadId).sort();
}

const key = (threadId: string): ThreadKey => ({ tenant: "acme", threadId });

async function step(store: Store, threadId: string, state: SessionState, more: Partial<Append> = {}): Promise<void> {
  const head = (await store.load(key(threadId)))?.row.head ?? 0;
  await store.append(key(threadId), { ...appended(state), expect: head, ...more });
}

function appended(state: SessionState): Append {
  return {
    appendId: randomUUID(),
    expect: 0,
    count: 1,
    at: 1,
    body: "{}",
    writer: { take: "me", ttlMs: 60_000 },
    release: true,
    agent: "a",
    state,
  };
}

const command = (kind: Command["kind"], id: string = randomUUID()): Command => ({ key: id, kind, body: "{}", at: 1 });

describe("threads that can move, in Redis", () => {
  test("P13: a worker gets exactly the threads that it has to move", async () => {
    const { store, list } = place();
    for (let i = 0; i < 50; i++) await step(store, `rests-${i}`, "paused");
    expect(await list()).toEqual([]);
    await step(store, "crashed", "running");
    await step(store, "held", "running", { release: false });
    await step(store, "due", "paused", { rest: { from: 1, dueAt: PAST } });
    await step(store, "later", "paused", { rest: { from: 1, dueAt: FUTURE } });
    await step(store, "queued", "completed");
    await store.send(key("queued"), command("input"));
    await store.send(key("rests-7"), command("answer"));
    await store.send(key("rests-8"), command("steer"));
    expect(await list()).toEqual(["crashed", "due", "queued", "rests-7"]);
  });

  test("P18: after any writes, they are the ones that a look at all threads finds", async () => {
    const names = ["a", "b", "c\nd"];
    const states: SessionState[] = ["initialized", "running", "paused", "completed", "error"];
    const change = fc.record({
      what: fc.constantFrom("step", "step", "step", "send", "withdraw", "consume", "delete", "hold"),
      name: fc.constantFrom(...names),
      state: fc.constantFrom(...states),
      kind: fc.constantFrom<Command["kind"]>("input", "answer", "steer", "stop"),
      dueAt: fc.constantFrom(undefined, PAST, FUTURE),
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

  test("one that is marked in vain is forgotten", async () => {
    const { store, movable, list } = place();
    expect(await list()).toEqual([]);
    await step(store, "ended", "completed");
    for (const id of ["ended", "deleted"]) await client.zadd(movable, 0, id);
    expect([await list(), await client.zrange(movable, "0", "-1")]).toEqual([[], []]);
  });

  test("U1: a tenant that is known from its first append is asked with all others", async () => {
    const { store } = place();
    await step(store, "crashed", "running");
    await store.append({ tenant: "another", threadId: "crashed" }, appended("running"));
    expect((await store.due(10)).map(({ tenant }) => tenant)).toEqual(["acme", "another"]);
    expect(await store.due(10, 60_000)).toEqual([]);
  });
});
