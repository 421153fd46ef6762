import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEngine } from "./engines.mjs";

let engine: Awaited<ReturnType<typeof startEngine>>;
beforeAll(async () => {
  engine = await startEngine("dbos", 1);
});
afterAll(() => engine.stop());

// In whichever order the tables are deleted, a worker that holds one of them waits for the other.
test.each([
  ["a", "b"],
  ["b", "a"],
])("the data of DBOS is deleted although a worker holds table %s and waits for table %s", async (held, wanted) => {
  const { url } = engine.settings() as { readonly url: string };
  const worker = new pg.Client({ connectionString: url });
  await worker.connect();
  await worker.query("CREATE SCHEMA dbos; CREATE TABLE dbos.a (); CREATE TABLE dbos.b ()");
  await worker.query(`BEGIN; LOCK dbos.${held} IN ACCESS SHARE MODE`);
  const wiped = engine.wipe();
  await new Promise((resolve) => setTimeout(resolve, 300));
  await worker.query(`LOCK dbos.${wanted} IN ACCESS SHARE MODE; COMMIT`);
  await wiped;
  const { rows } = await worker.query("SELECT to_regnamespace('dbos') AS name");
  expect(rows).toEqual([{ name: null }]);
  await worker.end();
});
