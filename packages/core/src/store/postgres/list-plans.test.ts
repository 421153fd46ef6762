// Each filter alone is answered by an index (L4): PostgreSQL says so itself, of as many threads as make one worth it.

import { dropSchema, freshSchema, openPool, type TestPool } from "@belay/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ThreadQuery } from "../store.ts";
import { pageStatement } from "./listing.ts";
import { postgresStore } from "./postgres.ts";
import { threadColumns } from "./statements.ts";

let pool: TestPool;
const schema = freshSchema();
const sql = async (text: string, values: unknown[] = []) => (await pool.query({ text, values })).rows;

const MANY = 20_000;

beforeAll(async () => {
  pool = await openPool();
  const store = postgresStore(pool, { schema });
  const append = { appendId: "a", expect: 0, count: 1, at: 0, body: "[]", release: true } as const;
  const key = { tenant: "default", threadId: "t" };
  const named = { title: "one", labels: { env: "prod" } };
  const writer = { take: "me", ttlMs: 1_000 };
  await store.append(key, { ...append, writer, agent: "a", state: "completed", named });
  // The lists alone: a plan asks for no more.
  const s = `"${schema}"`;
  await sql(`INSERT INTO ${s}.thread (name, tenant_name, tenant, id, agent, state, head, fence, until, append_id, hash, base, root,
      open, queued, answers, created_at, updated_at, sum)
    SELECT sha256(convert_to(i::text, 'UTF8')), tenant_name, tenant, 't' || i, 'a' || i % 40, state, 1, 1, 0, '', hash, base, root, 0, 0, 0, i, i, sum
    FROM ${s}.thread, generate_series(1, ${MANY}) AS i WHERE id = 't'`);
  await sql(`INSERT INTO ${s}.listing (thread, tenant_name, agent_name, id, at, state, pause)
    SELECT num, tenant_name, ${s}.name_1('', agent), id, updated_at,
      CASE WHEN num % 200 = 0 THEN 'running' ELSE (ARRAY['completed', 'paused', 'error', 'terminated'])[1 + num % 4] END,
      CASE WHEN num % 4 = 1 THEN 'manual' END
    FROM ${s}.thread WHERE id <> 't'`);
  await sql(`INSERT INTO ${s}.label SELECT l.thread,
      CASE WHEN l.thread % 500 = 0 THEN o.pair ELSE substr(sha256(convert_to((l.thread % 100)::text, 'UTF8')), 1, 16) END,
      l.tenant_name, l.at FROM ${s}.listing l, ${s}.label o WHERE l.thread <> o.thread`);
  await sql(`INSERT INTO ${s}.word SELECT tenant_name, 'word' || thread % 500, thread FROM ${s}.listing`);
  await sql(`ANALYZE ${s}.thread, ${s}.listing, ${s}.label, ${s}.word, ${s}.request`);
}, 60_000);
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

const cases: readonly (readonly [name: string, query: Omit<ThreadQuery, "limit">, index: string])[] = [
  ["state", { state: "completed" }, "listing_state"],
  ["pauseType", { pauseType: "manual" }, "listing_pause"],
  ["agent", { agent: "a7" }, "listing_agent"],
  ["label", { label: { env: "prod" } }, "label_pair"],
  ["search", { words: ["word77"] }, "word_pkey"],
];

describe("a page of threads on PostgreSQL", () => {
  test.each(cases)("L4: %s is answered by an index", async (_name, query, index) => {
    for (const place of [{}, { after: { at: MANY / 2, id: "t5" } }]) {
      const statement = pageStatement(`"${schema}"`, threadColumns, "default", { ...query, ...place, limit: 50 });
      const rows = await sql(`EXPLAIN ${statement.text}`, statement.values);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toContain(index);
      expect(plan).not.toMatch(/Seq Scan on (listing|thread|label|word)/);
    }
  });

  test("L4: without a filter the index by time is read from its end", async () => {
    const statement = pageStatement(`"${schema}"`, threadColumns, "default", { state: undefined, limit: 50 });
    const plan = (await sql(`EXPLAIN ${statement.text}`, statement.values)).map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/Index Scan Backward using listing_at/);
    expect(plan).toMatch(/listing_state/);
  });
});
