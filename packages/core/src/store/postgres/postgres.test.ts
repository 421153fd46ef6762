import { dropSchema, freshSchema, openPool, type TestPool } from "@belay/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { storeSuite } from "../../testing/index.ts";
import { postgresStore } from "./postgres.ts";

const schema = freshSchema();
let pool: TestPool;

beforeAll(async () => {
  pool = await openPool();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

/** Real time: with it the suite's leases are long enough for a busy machine. */
const advance = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms + 20));

describe("the store in PostgreSQL", () => {
  const make = () => ({ store: postgresStore(pool, { schema }), advance });
  const damageRequest = (_: unknown, tenant: string, id: string) =>
    pool.query({
      text: `UPDATE "${schema}".request SET body = body || ' ' WHERE tenant = $1 AND id = $2`,
      values: [tenant, id],
    });
  for (const { name, run, skip } of storeSuite(make, { damageRequest })) test.skipIf(skip)(name, run);
});
