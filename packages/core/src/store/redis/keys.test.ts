import { randomUUID } from "node:crypto";
import { service } from "@belay/testkit";
import { redisServer } from "@belay/testkit/processes";
import fc from "fast-check";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import type { Append } from "../store.ts";
import { channelOf, tenantKey } from "./keys.ts";
import { redisStore } from "./redis.ts";

/** Names made of the parts of keys, and of characters that no key should have. */
const name = fc.oneof(
  fc
    .array(fc.constantFrom(":", "{", "}", "t", "j", "w", "\n", "\0", "%", '"', "\\", "a", "\ud800"), { maxLength: 8 })
    .map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 6 }),
);

const append = (more: Partial<Append> = {}): Append => ({
  appendId: randomUUID(),
  expect: 0,
  count: 1,
  at: 1,
  body: "{}",
  writer: { take: "me", ttlMs: 60_000 },
  release: true,
  agent: "a",
  state: "running",
  ...more,
});

describe("keys", () => {
  test("two tenants never have one key, and none begins with another's; nor do two threads have one channel", () => {
    fc.assert(
      fc.property(name, name, name, name, (a, b, one, two) => {
        const [mine, theirs] = [tenantKey("belay", a), tenantKey("belay", b)];
        expect(mine === theirs).toBe(a === b);
        if (a !== b) expect(mine.startsWith(theirs)).toBe(false);
        expect(channelOf(mine, one) === channelOf(theirs, two)).toBe(a === b && one === two);
        expect(mine).toMatch(/^belay:\{t:[^{}:\s]*\}$/);
      }),
      { numRuns: 2_000 },
    );
  });

  test("any call of one tenant, under any names, changes no key of another", async () => {
    const client = new Redis(await service("redis"));
    const prefix = `belay-test-${randomUUID()}`;
    const store = redisStore(client, { prefix });
    const contents = async (tenant: string) => {
      const under = tenantKey(prefix, tenant);
      const names = (await client.keys(`${prefix}:*`)).filter((each) => each === under || each.startsWith(`${under}:`));
      return Promise.all(names.sort().map(async (each) => [each, await client.dumpBuffer(each)]));
    };
    await fc.assert(
      fc.asyncProperty(name, name, name, name, async (a, b, threadId, id) => {
        fc.pre(a !== b);
        const [mine, theirs] = [
          { tenant: a, threadId },
          { tenant: b, threadId },
        ];
        const brings = { raise: [{ id, body: "" }], remember: [{ id, at: 1, body: "" }] };
        await store.append(theirs, append(brings));
        const before = await contents(b);
        await store.append(mine, append(brings));
        await store.send(mine, { key: id, kind: "input", body: "", at: 1 });
        await store.append(
          { ...mine, threadId: `${threadId} fork` },
          append({ expect: 1, parent: { threadId, seq: 1 } }),
        );
        await store.withdraw(mine, id);
        await store.removeRule(a, id);
        await store.delete(mine);
        expect(await contents(b)).toEqual(before);
        await store.delete({ ...mine, threadId: `${threadId} fork` });
        expect(await store.requests(a)).toEqual([]);
        await store.removeRule(b, id);
        await store.delete(theirs);
      }),
      { numRuns: 25 },
    );
    await client.quit();
    await redisServer.remove(`${await service("redis")}?prefix=${prefix}`);
  });

  test("deleted threads leave nothing behind but counters and the tenant's name, and the lines that forks need go with the last fork", async () => {
    const client = new Redis(await service("redis"));
    const prefix = `belay-test-${randomUUID()}`;
    const store = redisStore(client, { prefix });
    const of = (threadId: string) => ({ tenant: "acme", threadId });
    await store.append(of("p"), append({ raise: [{ id: "r", body: "" }], snapshot: "s" }));
    await store.append(of("p"), append({ expect: 1 }));
    await store.send(of("p"), { key: "k", kind: "input", body: "", at: 1 });
    await store.append(of("f"), append({ expect: 1, parent: { threadId: "p", seq: 1 } }));
    await store.append(of("g"), append({ expect: 2, parent: { threadId: "f", seq: 2 } }));
    for (const threadId of ["p", "f", "g"]) expect(await store.delete(of(threadId))).toBe(true);
    const left = (await client.keys(`${prefix}:*`)).filter((each) => !each.includes(":did:"));
    expect(left.sort()).toEqual([`${prefix}:tenants`, `${prefix}:{t:acme}`]);
    await client.quit();
    await redisServer.remove(`${await service("redis")}?prefix=${prefix}`);
  });

  test("a client with a keyPrefix of its own keeps everything below it, and gets its hints", async () => {
    const url = await service("redis");
    const keyPrefix = `belay-test-${randomUUID()}:`;
    const client = new Redis(url, { keyPrefix });
    const store = redisStore(client, { pollMs: 60_000 });
    const key = { tenant: "acme", threadId: "t" };
    const heard = new Promise((resolve) => store.watch(key, resolve, "command"));
    await store.append(key, append());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await store.send(key, { key: "k", kind: "steer", body: "", at: 1 });
    await heard;
    const plain = new Redis(url);
    expect((await plain.keys(`${keyPrefix}*`)).length).toBeGreaterThan(3);
    for (const each of await plain.keys(`${keyPrefix}*`)) await plain.unlink(each);
    await client.quit();
    await plain.quit();
  });
});
