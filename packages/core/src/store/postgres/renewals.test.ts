import { dropSchema, freshSchema, openPool } from "@belay/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Store, ThreadKey } from "../store.ts";
import type { PostgresPool } from "./pool.ts";
import { postgresStore } from "./postgres.ts";

const schema = freshSchema();
const LONG = 3_600_000;
let pool: Awaited<ReturnType<typeof openPool>>;
let statements: string[] = [];
let store: Store;

beforeAll(async () => {
  pool = await openPool();
  const query: PostgresPool["query"] = (asked) => {
    const name = asked.name?.split("_")[1];
    // The hints of the appends before are sent a moment after them: on a busy machine, beside the renewals.
    if (name !== undefined && name !== "notify") statements.push(name);
    return pool.query(asked);
  };
  store = postgresStore(Object.assign(Object.create(pool), { query }), { schema });
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

const keys = (name: string) =>
  Array.from({ length: 30 }, (_, i): ThreadKey => ({ tenant: `tenant-${i % 3}`, threadId: `${name} ${i}` }));

/** Takes a thread for a moment. Returns its fence. */
async function taken(key: ThreadKey): Promise<number> {
  const writer = { take: "test", ttlMs: 60_000 };
  const fields = { count: 1, at: 1, body: "[]", agent: "helper", state: "running", release: false } as const;
  const done = await store.append(key, { appendId: `a ${key.threadId}`, expect: 0, writer, ...fields });
  return (done as { readonly fence: number }).fence;
}

const untilOf = async (key: ThreadKey) => (await store.load(key))!.row.lease?.until ?? 0;

test("renewals that are asked for at one moment are one statement, over all tenants", async () => {
  const all = keys("one");
  const fences = await Promise.all(all.map(taken));
  statements = [];
  const kept = await Promise.all(all.map((key, i) => store.renew(key, fences[i]!, LONG)));
  expect(statements).toEqual(["renewAll"]);
  expect(kept).toEqual(all.map(() => true));
  for (const key of all) expect(await untilOf(key)).toBeGreaterThan(Date.now() + LONG / 2);
});

test("P5, P7: of many, a lost lease and a damaged row are reported one by one, and the others are renewed", async () => {
  const all = keys("some");
  const fences = await Promise.all(all.map(taken));
  await store.release(all[3]!, fences[3]!);
  await pool.query({ text: `UPDATE ${schema}.thread SET state = 'paused' WHERE id = $1`, values: [all[7]!.threadId] });
  const asked = [...all, { tenant: "tenant-0", threadId: "nobody's" }];
  const fenceOf = (i: number) => (i === 5 ? fences[5]! - 1 : (fences[i] ?? 1));
  const calls = asked.map((key, i) => store.renew(key, fenceOf(i), LONG));
  const told = await Promise.allSettled([...calls, store.renew(all[9]!, fences[9]!, LONG)]);
  const lost = told.flatMap((one, i) => (one.status === "fulfilled" && !one.value ? [i] : []));
  expect(lost).toEqual([3, 5, 30]);
  const failed = told.flatMap((one, i) => (one.status === "rejected" ? [[i, one.reason.code]] : []));
  expect(failed).toEqual([[7, "JOURNAL_CORRUPT"]]);
  for (const i of [0, 9, 29]) expect(await untilOf(all[i]!)).toBeGreaterThan(Date.now() + LONG / 2);
  expect(await untilOf(all[5]!)).toBeLessThan(Date.now() + LONG / 2);
});
