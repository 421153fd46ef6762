// golden/v1.txt has the keys of a tenant as version 1 wrote them, as the commands that make them. It is never made anew.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { openKit, redisCommands, service } from "@belay/testkit";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { redisStore } from "./redis.ts";

let client: Redis;
let prefix: string;

beforeEach(async () => {
  client = new Redis(await service("redis"));
  prefix = `belay-test-${randomUUID()}`;
  const lines = readFileSync(new URL("golden/v1.txt", import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  for (const line of lines) {
    const [command, key, ...args] = JSON.parse(line) as [string, string, ...string[]];
    await client.call(command, prefix + key, ...args);
  }
});
afterEach(async () => {
  const keys = await client.keys(`${prefix}:*`);
  if (keys.length > 0) await client.unlink(...keys);
  await client.quit();
});

describe("a tenant of version 1", () => {
  test("L4, U1: lists all of its threads, with pause and run, when it is first opened", async () => {
    const stores = Array.from({ length: 3 }, () => redisStore(client, { prefix }));
    const pages = await Promise.all(stores.map((store) => store.page("default", { limit: 10 })));
    for (const page of pages) expect(page).toEqual(pages[0]);
    const { runner } = await openKit(() => "ok", { store: stores[0]!, threadId: "unused" });
    const { items } = await runner.threads();
    expect(items.map(({ threadId, state, pauseType, open }) => [threadId, state, pauseType, open])).toEqual([
      ["crashed", "paused", "crash", 0],
      ["stopped", "paused", "user_interrupt", 0],
      ["asks", "paused", "tool_interrupt", 1],
      ["completed", "completed", undefined, 0],
    ]);
    expect((await runner.threads({ pauseType: "user_interrupt" })).items).toMatchObject([{ threadId: "stopped" }]);
    expect(await client.hget(`${prefix}:{t:default}`, "v")).toBe("2");
  });

  test("L4, U1: a thread of it gets its title with its next append", async () => {
    const { runner } = await openKit(() => "ok", { store: redisStore(client, { prefix }), threadId: "completed" });
    await (await runner.open("completed")).run("again").result;
    expect((await runner.threads({ search: "deploy" })).items).toMatchObject([{ title: "Deploy the API" }]);
    expect((await runner.threads()).items[0]).toMatchObject({ threadId: "completed", state: "completed" });
  });

  test("L4: a page sends one script, and reads one list of it", async () => {
    const store = redisStore(client, { prefix });
    for (let i = 0; i < 30; i++) {
      const append = { appendId: `a${i}`, expect: 0, count: 1, at: i, body: "[]", release: true } as const;
      const named = { labels: { env: i % 10 === 0 ? "prod" : "test" } };
      const writer = { take: "me", ttlMs: 1_000 };
      const key = { tenant: "many", threadId: `t${i}` };
      await store.append(key, { ...append, writer, agent: "a", state: "completed", named });
    }
    // The server has the script from now on.
    await store.page("many", { limit: 1 });
    const sent = (query: object) => redisCommands(client, prefix, () => store.page("many", { limit: 3, ...query }));
    const lists: Record<string, object> = {
      ":at": {},
      ":state:completed": { state: "completed" },
      ":agent:a": { agent: "a" },
      ":label:": { label: { env: "prod" } },
    };
    for (const [list, query] of Object.entries(lists)) {
      const commands = await sent(query);
      expect(commands.filter(([name]) => /^eval/i.test(name!))).toHaveLength(1);
      const read = commands.filter(([name]) => /^zrevrangebyscore$/i.test(name!)).map(([, key]) => key!);
      expect(read).toHaveLength(1);
      expect(read[0]).toContain(list);
      // The rows of the page, and no others: each is read twice, to be checked and to be sent.
      expect(commands.filter(([name]) => /^hget$/i.test(name!)).length).toBeLessThan(15);
      expect(commands.filter(([name]) => /^(hgetall|hscan|keys|scan)$/i.test(name!))).toEqual([]);
    }
    // A word of many threads does not cost a command for each of them.
    expect((await store.page("many", { limit: 3, words: ["test"] })).length).toBe(3);
    expect((await sent({ words: ["test"] })).filter(([name]) => /^zscore$/i.test(name!)).length).toBeLessThan(10);
  });
});
