import { randomUUID } from "node:crypto";
import { service } from "@belay/testkit";
import { Redis } from "ioredis";
import { describe, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";
import { redisStore } from "./redis.ts";

/** Real time: with it the suite's leases are long enough for a busy machine. */
const advance = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms + 20));

describe("the store in Redis", () => {
  const make = async () => {
    const client = new Redis(await service("redis"));
    const prefix = `belay-test-${randomUUID()}`;
    const close = async () => {
      for (let cursor = "0"; ; ) {
        const [next, keys] = await client.scan(cursor, "MATCH", `${prefix}:*`, "COUNT", 1_000);
        if (keys.length > 0) await client.unlink(...keys);
        cursor = next;
        if (cursor === "0") break;
      }
      await client.quit();
    };
    return { client, prefix, store: redisStore(client, { prefix }), advance, close };
  };
  const damageRequest = async ({ client, prefix }: Awaited<ReturnType<typeof make>>, tenant: string, id: string) => {
    const requests = `${prefix}:{t:${tenant}}:requests`;
    await client.hset(requests, id, `${await client.hget(requests, id)} `);
  };
  for (const { name, run, skip } of storeSuite(make, { damageRequest })) test.skipIf(skip !== undefined)(name, run);
});
