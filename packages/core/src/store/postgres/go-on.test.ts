import { dropSchema, freshSchema, openPool, type TestPool } from "@belay/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../../index.ts";
import type { Append } from "../store.ts";
import { postgresStore } from "./postgres.ts";

const key = { tenant: "tenant", threadId: "thread" };
let pool: TestPool;
let schema: string;
let store: Store;
let fence: number;
const schemas: string[] = [];

const line = (head: number, writer: Append["writer"], more: Partial<Append> = {}): Append => {
  const body = `{"n":${head}}`;
  const of = { appendId: `${head} ${JSON.stringify(writer)}`, expect: head, count: 1, at: 1, body, writer };
  return { ...of, agent: "helper", state: "running", release: false, ...more };
};
const next = (head: number, more: Partial<Append> = {}) => line(head, { fence, ttlMs: 60_000 }, more);
const sql = async (text: string) => (await pool.query({ text, values: [] })).rows;
const bodies = async (from: Store) => (await from.load(key))?.lines.map(({ body }) => body);

beforeAll(async () => {
  pool = await openPool();
});
beforeEach(async () => {
  schema = freshSchema();
  schemas.push(schema);
  store = postgresStore(pool, { schema });
  const taken = await store.append(key, line(0, { take: "me", ttlMs: 1 }));
  if (!taken.ok) throw new Error(taken.why);
  fence = taken.fence;
});
afterAll(async () => {
  for (const each of schemas) await dropSchema(pool, each);
  await pool.end();
});

describe("a writer after its own last line", () => {
  test("F2: its lines are chained as any others, also for a store that has written none of them", async () => {
    for (let head = 1; head < 5; head++) expect(await store.append(key, next(head))).toMatchObject({ ok: true, fence });
    expect(await bodies(postgresStore(pool, { schema }))).toEqual([
      '{"n":0}',
      '{"n":1}',
      '{"n":2}',
      '{"n":3}',
      '{"n":4}',
    ]);
  });

  test("F3: is fenced once another writer has taken the thread, with or without further lines", async () => {
    await sql(`SELECT pg_sleep(0.01)`);
    const other = postgresStore(pool, { schema });
    expect(await other.append(key, line(1, { take: "other", ttlMs: 60_000 }))).toMatchObject({ ok: true });
    const before = await bodies(other);
    expect(await store.append(key, next(1))).toMatchObject({ ok: false, why: "fenced", owner: "other" });
    expect(await store.append(key, next(2))).toMatchObject({ ok: false, why: "fenced", owner: "other" });
    expect(await bodies(other)).toEqual(before);
  });

  test("F3: writes nothing once it has given the thread back, by an append or without one", async () => {
    await store.release(key, fence);
    expect(await store.append(key, next(1))).toMatchObject({ ok: false, why: "fenced" });
    const again = await store.append(key, line(1, { take: "me", ttlMs: 60_000 }));
    fence = again.ok ? again.fence : 0;
    expect(await store.append(key, next(2, { release: true }))).toMatchObject({ ok: true });
    expect(await store.append(key, next(3))).toMatchObject({ ok: false, why: "fenced" });
    expect(await bodies(store)).toHaveLength(3);
  });

  test("P9: gets the first answer when the same append comes again, and writes once", async () => {
    expect(await store.append(key, next(1))).toEqual({ ok: true, fence, mail: false });
    expect(await store.append(key, next(1))).toEqual({ ok: true, fence, mail: false });
    expect(await bodies(store)).toHaveLength(2);
  });

  test("P7: does not overwrite a damaged row", async () => {
    expect(await store.append(key, next(1))).toMatchObject({ ok: true });
    await sql(`UPDATE "${schema}".thread SET created_at = created_at + 1`);
    await expect(store.append(key, next(2))).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    expect(await sql(`SELECT count(*)::int AS n FROM "${schema}".entry`)).toEqual([{ n: 2 }]);
  });
});

describe("a writer that takes a known thread", () => {
  const take = (head: number, owner: string) => line(head, { take: owner, ttlMs: 60_000 });

  test("F2: gets a higher fence, and its line is chained to the last", async () => {
    await store.append(key, next(1, { release: true }));
    const again = await store.append(key, take(2, "me"));
    expect(again).toEqual({ ok: true, fence: expect.any(Number), mail: false });
    expect(again.ok && again.fence).toBeGreaterThan(fence);
    await store.append(key, {
      ...next(3, { release: true }),
      writer: { fence: (again as { fence: number }).fence, ttlMs: 1 },
    });
    const other = postgresStore(pool, { schema });
    expect((await other.load(key))?.row.lease).toBeUndefined();
    expect(await other.append(key, take(4, "other"))).toMatchObject({ ok: true });
    expect(await bodies(store)).toHaveLength(5);
    expect((await store.load(key))?.row.lease?.owner).toBe("other");
  });

  test("C3: gets the name of the owner, also if no line was written since, and takes the thread when that lease is over", async () => {
    await store.release(key, fence);
    await store.append(key, line(1, { take: "me", ttlMs: 3_000 }));
    const other = postgresStore(pool, { schema });
    await other.load(key);
    expect(await other.append(key, take(2, "other"))).toMatchObject({ ok: false, why: "busy", owner: "me" });
    await sql("SELECT pg_sleep(3.1)");
    await other.load(key);
    expect(await other.append(key, take(2, "other"))).toMatchObject({ ok: true });
  });

  test("F2: of many that looked at the same time one has it, and the others get its name", async () => {
    await store.release(key, fence);
    const others = Array.from({ length: 8 }, () => postgresStore(pool, { schema }));
    for (const other of others) await other.load(key);
    const taken = await Promise.all(others.map((other, i) => other.append(key, take(1, `other ${i}`))));
    const winner = taken.findIndex(({ ok }) => ok);
    for (const [i, each] of taken.entries()) {
      expect(each).toMatchObject(i === winner ? { ok: true } : { ok: false, why: "busy", owner: `other ${winner}` });
    }
    expect(await bodies(store)).toHaveLength(2);
  });

  test("P9: gets the first answer when the same append comes again, and writes once", async () => {
    await store.release(key, fence);
    await store.load(key);
    const first = await store.append(key, take(1, "me"));
    expect(first).toMatchObject({ ok: true });
    expect(await store.append(key, take(1, "me"))).toEqual(first);
    expect(await bodies(store)).toHaveLength(2);
  });

  test("P7: does not overwrite a row that was damaged since", async () => {
    await store.release(key, fence);
    await store.load(key);
    await sql(`UPDATE "${schema}".thread SET created_at = created_at + 1`);
    await expect(store.append(key, take(1, "me"))).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  });
});

describe("a writer that takes a known thread while another process deletes it", () => {
  const known = (head: number) => line(head, { take: "me", ttlMs: 60_000 }, { since: 1 });
  /** Another store, which has read no line of it, and so calls the function. */
  const taking = () => postgresStore(pool, { schema }).append(key, known(2));
  const moment = (ms: number) => sql(`SELECT pg_sleep(${ms / 1_000})`);
  const LOCK = 7_301;

  /** From now on the function for "me" waits until the returned function is called: long after the statement has read its rows. */
  async function hold(): Promise<() => Promise<void>> {
    const types = `bytea, bytea, text, text, text, bigint, integer, bigint, text, bytea, boolean, text, bigint, bigint,
      boolean, text, text, bigint, bigint, text, bytea, text[], jsonb`;
    const args = Array.from({ length: 23 }, (_, i) => `$${i + 1}`).join(", ");
    await sql(`ALTER FUNCTION "${schema}".append_2 RENAME TO appended`);
    await sql(`CREATE FUNCTION "${schema}".append_2(${types}) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
      IF $12 = 'me' THEN PERFORM pg_advisory_xact_lock(${LOCK}); END IF;
      RETURN "${schema}".appended(${args});
    END $$`);
    const client = await pool.connect();
    await client.query({ text: `SELECT pg_advisory_lock(${LOCK})` });
    return async () => {
      await client.query({ text: `SELECT pg_advisory_unlock(${LOCK})` });
      client.release();
    };
  }

  async function isHeld(): Promise<boolean> {
    const held = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted`;
    return (await sql(held)).length > 0;
  }

  /** As long as the first. */
  async function make(from: Store): Promise<void> {
    for (const head of [0, 1]) {
      const more = { appendId: `new ${head}`, at: 2, body: '"new"', release: true };
      expect(await from.append(key, line(head, { take: "other", ttlMs: 60_000 }, more))).toMatchObject({ ok: true });
    }
  }

  beforeEach(async () => {
    await store.append(key, next(1, { release: true }));
  });

  test("F3: writes to the known thread: another that is made under its name has no line of it", async () => {
    const other = postgresStore(pool, { schema });
    const free = await hold();
    const taken = taking();
    while (!(await isHeld())) await moment(5);
    const made = other.delete(key).then(() => make(other));
    await Promise.race([made, moment(200)]);
    await free();
    expect(await taken).toMatchObject({ ok: true });
    await made;
    expect(await bodies(other)).toEqual(['"new"', '"new"']);
  });

  test("F3: is refused if the thread was deleted first, also if another is made before the function looks", async () => {
    const free = await hold();
    const client = await pool.connect();
    await client.query({ text: "BEGIN" });
    await client.query({ text: `DELETE FROM "${schema}".thread` });
    const taken = taking();
    await moment(100);
    await client.query({ text: "COMMIT" });
    client.release();
    await Promise.race([taken, moment(200)]);
    const other = postgresStore(pool, { schema });
    await make(other);
    await free();
    expect(await taken).toEqual({ ok: false, why: "conflict", head: 0 });
    expect(await bodies(other)).toEqual(['"new"', '"new"']);
  });
});
