import { dropSchema, freshSchema, openPool, service, until } from "@belay/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";
import { redisBus } from "../redis/redis-bus.ts";
import type { Append, Store } from "../store.ts";
import type { PostgresPool } from "./pool.ts";
import { postgresStore } from "./postgres.ts";

const schema = freshSchema();
const tenant = "acme";
/** So rarely that a watcher learns of a change only by a hint. */
const pollMs = 60_000;
let pool: Awaited<ReturnType<typeof openPool>>;
let redis: Redis;

beforeAll(async () => {
  pool = await openPool();
  redis = new Redis(await service("redis"));
});
afterAll(async () => {
  await redis.quit();
  await dropSchema(pool, schema);
  await pool.end();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The pool, and the statements about notifications that it ran. */
function counted(): { readonly pool: PostgresPool; readonly notices: string[] } {
  const notices: string[] = [];
  const query: PostgresPool["query"] = (asked) => {
    if (/pg_notify/.test(asked.text)) notices.push(String(asked.values?.[1]));
    return pool.query(asked);
  };
  return { notices, pool: Object.assign(Object.create(pool), { query }) };
}

let appends = 0;
async function append(store: Store, threadId: string, expected: number): Promise<void> {
  const fields = { count: 1, at: Date.now(), body: "[]", agent: "helper", state: "completed", release: true } as const;
  const writer = { take: "test", ttlMs: 1_000 };
  const what: Append = { appendId: `a${++appends}`, expect: expected, writer, ...fields };
  expect(await store.append({ tenant, threadId }, what)).toMatchObject({ ok: true });
}

/** A process that owns a thread: it waits for commands. */
function owner(threadId: string) {
  const { pool: own, notices } = counted();
  const store = postgresStore(own, { schema, pollMs });
  return { threadId, store, notices, leave: store.watch({ tenant, threadId }, () => {}, "command") };
}

/** The hints of appends among notices. */
const appended = (notices: readonly string[]) => notices.filter((text) => / a[0-9a-f]{8}/.test(text)).length;

describe("hints of the store in PostgreSQL", () => {
  const owners: ReturnType<typeof owner>[] = [];
  const ownerOf = (threadId: string) => owners.find((each) => each.threadId === threadId)!;

  beforeAll(async () => {
    owners.push(...["alone", "followed by thread", "followed by tenant", "at once"].map(owner));
    // Each has listened for long enough to learn the names that others follow.
    await sleep(2_500);
  });
  afterAll(() => {
    for (const { leave } of owners) leave();
  });

  test("an append to a thread that no other process follows has no hint", async () => {
    const { store, notices } = ownerOf("alone");
    for (let i = 0; i < 10; i++) await append(store, "alone", i);
    await sleep(50);
    expect(appended(notices)).toBe(0);
  });

  test.each(["thread", "tenant"])(
    "a reader that begins to follow the %s gets each append from then on",
    async (what) => {
      const threadId = `followed by ${what}`;
      const { store, notices } = ownerOf(threadId);
      await append(store, threadId, 0);
      const reader = postgresStore(pool, { schema, pollMs });
      let told = 0;
      const changed = () => {
        told += 1;
      };
      const leave =
        what === "thread" ? reader.watch({ tenant, threadId }, changed) : reader.watchTenant(tenant, changed);
      onTestFinished(leave);
      // Its connection, its first look, and the time until the owner has received its message.
      await sleep(500);
      for (let i = 1; i <= 3; i++) {
        const before = told;
        await append(store, threadId, i);
        await until(() => told > before);
      }
      expect(appended(notices)).toBeGreaterThan(0);
    },
  );

  test("an append in the moment in which a reader begins to follow is noticed", async () => {
    const { store } = ownerOf("at once");
    const reader = postgresStore(pool, { schema, pollMs });
    // It listens already.
    onTestFinished(reader.watch({ tenant, threadId: "another" }, () => {}));
    await sleep(200);
    let told = 0;
    onTestFinished(
      reader.watch({ tenant, threadId: "at once" }, () => {
        told += 1;
      }),
    );
    await append(store, "at once", 0);
    await until(() => told > 0);
  });
});

describe("the store in PostgreSQL, with a bus on Redis", () => {
  const advance = (ms: number) => sleep(ms + 20);
  const make = () => ({ store: postgresStore(pool, { schema: `${schema}_bus`, bus: redisBus(redis) }), advance });
  afterAll(() => dropSchema(pool, `${schema}_bus`));
  for (const { name, run, skip } of storeSuite(make))
    if (/watch|relay|draft|L1|L3/i.test(name)) test.skipIf(skip)(name, run);

  test("hints and drafts reach another process by Redis, and none by NOTIFY", async () => {
    const { pool: own, notices } = counted();
    const bus = () => redisBus(redis);
    const options = { schema: `${schema}_bus`, pollMs };
    const [one, other] = [
      postgresStore(own, { ...options, bus: bus() }),
      postgresStore(own, { ...options, bus: bus() }),
    ];
    const key = { tenant, threadId: "bus" };
    await append(one, "bus", 0);
    let told = 0;
    onTestFinished(one.watch(key, () => {}, "command"));
    onTestFinished(
      other.watch(
        key,
        () => {
          told += 1;
        },
        "append",
      ),
    );
    await sleep(300);
    const before = told;
    await append(one, "bus", 1);
    await until(() => told > before);
    const heard: string[] = [];
    const speaker = one.relay?.(key, "owner", () => {});
    const reader = other.relay?.(key, "reader", (body) => void heard.push(body));
    await sleep(200);
    speaker?.say("half a word");
    await until(() => heard.length > 0);
    expect(heard).toEqual(["half a word"]);
    expect(notices).toEqual([]);
    speaker?.leave();
    reader?.leave();
  });
});
