import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { factsOf, history, openKit } from "@belay/testkit";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownRedis } from "../../../../../scripts/services/redis.mjs";
import { jsonSchema, type Store, tool } from "../../index.ts";
import type { Append } from "../store.ts";
import { redisStore } from "./redis.ts";

const key = { tenant: "default", threadId: "thread" };
let server: Awaited<ReturnType<typeof ownRedis>>;
let client: Redis;
let admin: Redis;
let store: Store;

const connect = () => {
  const made = new Redis(server.url, { retryStrategy: () => 10 });
  made.on("error", () => {});
  return made;
};

beforeAll(async () => {
  server = await ownRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  client = connect();
  admin = connect();
  store = redisStore(client);
});
afterEach(async () => {
  await admin.flushall();
  client.disconnect();
  admin.disconnect();
});

const append = (expect: number, more: Partial<Append> = {}): Append => ({
  appendId: randomUUID(),
  expect,
  count: 1,
  at: 1,
  body: `{"line":${expect + 1}}`,
  writer: { take: "me", ttlMs: 60_000 },
  release: true,
  agent: "a",
  state: "running",
  ...more,
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Told {
  readonly lines: string[];
  readonly mail: string[];
}

/** Appends, sends and takes back, one after the other; the store must have everything that it acknowledged. */
async function writes(of: Store, threadId: string, { lines, mail }: Told, until: () => boolean): Promise<void> {
  const thread = { ...key, threadId };
  for (let head = 0; !until(); head++) {
    const next = append(head);
    const appended = await of.append(thread, next);
    expect(appended).toMatchObject({ ok: true });
    lines.push(next.body);
    const command = { key: `k${head}`, kind: "steer", body: "{}", at: 1 } as const;
    expect(await of.send(thread, command)).toBe(true);
    if (head % 2 === 0) expect(await of.withdraw(thread, command.key)).toBe(true);
    else mail.push(command.key);
  }
}

/** Three that write at once, while `harm` is done as many times: each has written more before it is done again. */
async function writing(times: number, harm: () => Promise<unknown>): Promise<void> {
  let over = false;
  const all = ["a", "b", "c"].map((threadId) => ({ threadId, told: { lines: [], mail: [] } as Told }));
  const writers = Promise.all(all.map(({ threadId, told }) => writes(store, threadId, told, () => over)));
  const more = async () => {
    const before = all.map(({ told }) => told.lines.length);
    while (all.some(({ told }, i) => told.lines.length === before[i])) await sleep(5);
  };
  const harming = async () => {
    for (let i = 0; i < times; i++) {
      await more();
      await harm();
    }
    await more();
    over = true;
  };
  await Promise.all([writers, harming()]);
  for (const { threadId, told } of all) await expectAll(threadId, told);
}

async function expectAll(threadId: string, told: Told): Promise<void> {
  const loaded = await redisStore(admin).load({ ...key, threadId });
  expect(loaded?.lines.map(({ body }) => body)).toEqual(told.lines);
  expect(loaded?.commands.map((command) => command.key)).toEqual(told.mail);
}

describe("P9: nothing that was acknowledged is lost or doubled", () => {
  test("while the server cuts every connection, again and again", async () => {
    let killed = 0;
    await writing(30, async () => {
      killed += (await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")) as number;
    });
    expect(killed).toBeGreaterThan(15);
  });

  test("when the server is killed with SIGKILL in the middle of it, and started again", async () => {
    await writing(4, async () => {
      await server.halt("SIGKILL");
      await server.again();
    });
  });

  test("C2: a run continues over a restart of the server, its tools run once, its watcher gets a stop after it", async () => {
    const ran: string[] = [];
    const pay = tool({
      name: "pay",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: async (_, { callId }) => {
        ran.push(callId);
        await server.halt("SIGKILL");
        await server.again();
        return "paid";
      },
    });
    const script = [[{ call: "pay", id: "p" }], [{ text: "and" }, { stall: true }]] as const;
    const kit = await openKit(script, { store, tools: [pay] });
    const run = kit.session.run("go");
    for await (const event of run) if (event.type === "text-delta") break;
    const other = connect();
    const elsewhere = await openKit([], { store: redisStore(other), threadId: "another" });
    expect(await elsewhere.runner.interrupt("thread")).toMatchObject({ accepted: true, partialText: "and" });
    expect(await run.result).toMatchObject({ status: "interrupted" });
    expect(ran).toEqual(["p"]);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call p",
      "tool: p ok",
      "assistant~user: and",
    ]);
    expect(kit.problems()).toEqual([]);
    await elsewhere.runner.close();
    other.disconnect();
  });
});

describe("a server that does not write", () => {
  test("P8, F6: out of memory, the run fails with STORE_FULL, nothing is written in part, and it continues when there is room", async () => {
    let ran = 0;
    const pay = tool({
      name: "pay",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: () => {
        ran += 1;
      },
    });
    const kit = await openKit(
      async () => {
        await admin.config("SET", "maxmemory", "1mb");
        return [{ call: "pay", id: "p" }];
      },
      { store, leaseTtlMs: 200, tools: [pay] } as never,
    );
    const result = await kit.session.run("go").result;
    expect(result).toMatchObject({ status: "failed", error: { code: "STORE_FULL" } });
    expect(ran).toBe(0);
    const written = await factsOf(store);
    await expect(
      store.append({ ...key, threadId: "new" }, append(0, { raise: [{ id: "r", body: "" }] })),
    ).rejects.toMatchObject({
      code: "STORE_FULL",
    });
    await admin.config("SET", "maxmemory", "0");
    expect(await store.load({ ...key, threadId: "new" })).toBeUndefined();
    expect(await store.requests("default")).toEqual([]);
    expect(await factsOf(store)).toEqual(written);
    while ((await store.load(key))?.row.lease !== undefined) await sleep(20);
    const again = await openKit([[{ call: "pay", id: "p" }], "done"], { store, tools: [pay] });
    expect(again.session).toMatchObject({ state: "paused", pauseType: "crash" });
    expect(await again.session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(ran).toBe(1);
    expect(again.problems()).toEqual([]);
  });

  test("P8: out of memory, threads and rules can still be removed, once, and that makes room", async () => {
    await store.append(key, append(0, { remember: [{ id: "rule", at: 1, body: "" }], raise: [{ id: "r", body: "" }] }));
    const fork = { ...key, threadId: "fork" };
    await store.append(fork, append(1, { parent: { threadId: "thread", seq: 1 } }));
    await admin.config("SET", "maxmemory", "1mb");
    try {
      await expect(store.append(key, append(1))).rejects.toMatchObject({ code: "STORE_FULL" });
      expect([await store.removeRule("default", "rule"), await store.delete(key, 1)]).toEqual([true, true]);
      expect([await store.requests("default"), (await store.load(fork))?.lines.length]).toEqual([[], 2]);
      expect(await store.delete(fork)).toBe(true);
      expect(await store.threads("default")).toEqual([]);
    } finally {
      await admin.config("SET", "maxmemory", "0");
    }
  });

  test("F6: if the server has lost a running thread, its run fails with the reason", async () => {
    const kit = await openKit(
      async () => {
        await admin.flushall();
        return "said in vain";
      },
      { store } as never,
    );
    const error = { code: "FENCED", message: expect.stringContaining("or is gone") };
    expect(await kit.session.run("go").result).toMatchObject({ status: "failed", error });
    expect(await store.threads("default")).toEqual([]);
  });

  test("F6: a replica that becomes the one to write to is waited for; one that does not is STORE_FAILED, and can be read", async () => {
    await store.append(key, append(0));
    await admin.config("SET", "replica-serve-stale-data", "yes");
    await admin.call("REPLICAOF", "127.0.0.1", "1");
    const waiting = store.append(key, append(1));
    await sleep(300);
    await admin.call("REPLICAOF", "NO", "ONE");
    expect(await waiting).toMatchObject({ ok: true });
    await admin.call("REPLICAOF", "127.0.0.1", "1");
    expect((await store.load(key))?.row.head).toBe(2);
    await expect(store.append(key, append(2))).rejects.toMatchObject({ code: "STORE_FAILED" });
    await admin.call("REPLICAOF", "NO", "ONE");
    expect(await store.append(key, append(2))).toMatchObject({ ok: true });
  });

  test("F6: one that cannot save to its disk is waited for", async () => {
    const [, folder] = (await admin.config("GET", "dir")) as [string, string];
    // A folder has the name of its file.
    mkdirSync(join(folder, "dump.rdb", "full"), { recursive: true });
    await admin.config("SET", "save", "3600 1");
    await admin.bgsave();
    while (!(await admin.info("persistence")).includes("rdb_last_bgsave_status:err")) await sleep(20);
    const waiting = store.append(key, append(0));
    await sleep(300);
    await admin.config("SET", "stop-writes-on-bgsave-error", "no");
    expect(await waiting).toMatchObject({ ok: true });
    await admin.config("SET", "save", "");
    rmSync(join(folder, "dump.rdb"), { recursive: true });
  });

  test("F6: a server without an answer is STORE_FAILED; an append that was on its way is recognised when it is sent again", async () => {
    await store.append(key, append(0));
    await admin.call("CLIENT", "PAUSE", "30000", "ALL");
    const ambiguous = append(1);
    await expect(store.append(key, ambiguous)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await server.halt("SIGKILL");
    await server.again();
    expect(await store.append(key, ambiguous)).toMatchObject({ ok: true });
    expect(await store.append(key, ambiguous)).toMatchObject({ ok: true });
    expect((await store.load(key))?.lines).toHaveLength(2);
  });

  test("F6: closed, everything is STORE_FAILED at once", async () => {
    await client.quit();
    const began = performance.now();
    await expect(store.load(key)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(store.append(key, append(0))).rejects.toMatchObject({ code: "STORE_FAILED" });
    store.watch(key, () => {})();
    expect(performance.now() - began).toBeLessThan(4_000);
  });

  test("C4: data of a newer version is STORE_VERSION, and not a key of it changes", async () => {
    await store.append(key, append(0));
    await admin.hset("belay:{t:default}", "v", "99");
    const before = await contents();
    for (const work of [
      () => store.load(key),
      () => store.append(key, append(1)),
      () => store.threads("default"),
      () => store.delete(key),
      () => store.send(key, { key: "k", kind: "steer", body: "", at: 1 }),
      () => store.requests("default"),
    ])
      await expect(work()).rejects.toMatchObject({ code: "STORE_VERSION" });
    expect(await contents()).toEqual(before);
  });

  test("P17: data of a newer version that it shares with this one works as before", async () => {
    await store.append(key, append(0));
    await admin.hset("belay:{t:default}", "v", "99", "oldest", "1");
    expect(await store.append(key, append(1))).toMatchObject({ ok: true });
    expect((await store.load(key))?.lines).toHaveLength(2);
    expect(await admin.hget("belay:{t:default}", "v")).toBe("99");
    await admin.hset("belay:{t:default}", "oldest", "98");
    await expect(store.load(key)).rejects.toMatchObject({ code: "STORE_VERSION" });
  });

  test("a prefix that would move keys to other places is refused", () => {
    for (const prefix of ["", "{a}", "a b", "a\n", "a}", 7 as never])
      expect(() => redisStore(client, { prefix })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

/** Returns every key with its value. */
async function contents(): Promise<Record<string, string>> {
  const names = (await admin.keys("*")).sort();
  const dumps = await Promise.all(names.map(async (name) => (await admin.dumpBuffer(name))?.toString("hex") ?? ""));
  return Object.fromEntries(names.map((name, i) => [name, dumps[i]!]));
}
