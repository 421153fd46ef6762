// golden/v1.txt has the rows of a schema as version 1 wrote them. It is never made anew.

import { readFileSync } from "node:fs";
import { dropSchema, freshSchema, openKit, openPool, type TestPool } from "@belay/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { functions } from "./functions.ts";
import { postgresStore } from "./postgres.ts";
import { tables } from "./tables.ts";

let pool: TestPool;
const schema = freshSchema();

async function restore(into: string, lines: readonly string[]): Promise<void> {
  await pool.query({ text: `CREATE SCHEMA "${into}"` });
  await pool.query({ text: `${tables(`"${into}"`)}\n${functions(`"${into}"`)}` });
  await pool.query({ text: `UPDATE "${into}".version SET steps = 1` });
  for (const line of lines) {
    const [table, row] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)];
    const from = `jsonb_populate_record(NULL::"${into}".${table}, $1::jsonb)`;
    const values = [row];
    await pool.query({ text: `INSERT INTO "${into}".${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${from}`, values });
  }
}

const golden = readFileSync(new URL("golden/v1.txt", import.meta.url), "utf8")
  .trimEnd()
  .split("\n");

beforeAll(async () => {
  pool = await openPool();
  await restore(schema, golden);
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

describe("a schema of version 1", () => {
  test("L4, U1: lists all of its threads, with pause and run, when it is first opened", async () => {
    const store = postgresStore(pool, { schema });
    const { runner } = await openKit(() => "ok", { store, threadId: "unused" });
    const { items } = await runner.threads();
    expect(items.map(({ threadId, state, pauseType, open }) => [threadId, state, pauseType, open])).toEqual([
      ["crashed", "paused", "crash", 0],
      ["stopped", "paused", "user_interrupt", 0],
      ["asks", "paused", "tool_interrupt", 1],
      ["completed", "completed", undefined, 0],
    ]);
    for (const { runId } of items) expect(runId).toEqual(expect.any(String));
    expect((await runner.threads({ pauseType: "tool_interrupt" })).items).toMatchObject([{ threadId: "asks" }]);
    const rows = await store.threads("default");
    expect(rows.map(({ threadId }) => threadId)).toEqual(items.map(({ threadId }) => threadId));
  });

  test("L4, U1: a thread of it gets its title with its next append", async () => {
    const store = postgresStore(pool, { schema });
    const { runner } = await openKit(() => "ok", { store, threadId: "completed" });
    expect((await runner.threads({ search: "deploy" })).items).toEqual([]);
    await (await runner.open("completed")).run("again").result;
    expect((await runner.threads({ search: "deploy" })).items).toMatchObject([{ title: "Deploy the API" }]);
    expect((await runner.threads()).items[0]).toMatchObject({ threadId: "completed", state: "completed" });
  });

  test("U1: is migrated once, with many processes that open it at the same time", async () => {
    const twice = freshSchema();
    await restore(twice, golden);
    const stores = Array.from({ length: 5 }, () => postgresStore(pool, { schema: twice }));
    const pages = await Promise.all(stores.map((store) => store.page("default", { limit: 10 })));
    for (const page of pages) expect(page).toEqual(pages[0]);
    expect(pages[0]).toHaveLength(4);
    await dropSchema(pool, twice);
  });

  test("U1: its due threads are found when it is first opened, and an append of the version before keeps it so", async () => {
    const again = freshSchema();
    await restore(again, golden);
    const store = postgresStore(pool, { schema: again });
    expect((await store.due(10)).map(({ threadId }) => threadId)).toEqual(["crashed"]);
    // As a process of version 1 or 2 writes: it does not know the column.
    const text = `UPDATE "${again}".thread SET state = 'completed', owner = NULL WHERE id = 'crashed'`;
    await pool.query({ text });
    expect(await store.due(10)).toEqual([]);
    await dropSchema(pool, again);
  });
});
