// The tables and functions, by steps that only go forward, each taken once: under a lock, in one transaction.

import { belayError } from "../../error.ts";
import { dueColumn } from "./due.ts";
import { append, functions } from "./functions.ts";
import { listingTables } from "./listing.ts";
import type { PostgresClient, PostgresPool } from "./pool.ts";
import { tables } from "./tables.ts";

const steps: readonly ((schema: string) => string)[] = [
  (schema) => `${tables(schema)}\n${functions(schema)}`,
  (schema) => `${listingTables(schema)}\n${append(schema, "append_2", true)}`,
  dueColumn,
];

export const SCHEMA_VERSION = steps.length;

const UNDEFINED_TABLE = "42P01";
const UNDEFINED_SCHEMA = "3F000";

/** Brings the schema to this version, or makes it; a newer one is refused, or left as it is. */
export async function migrate(pool: Pick<PostgresPool, "query" | "connect">, schema: string): Promise<void> {
  if ((await version(pool, schema)) >= SCHEMA_VERSION) return;
  const client = await pool.connect();
  let failed = true;
  try {
    await client.query({ text: "BEGIN" });
    const lock = "SELECT pg_advisory_xact_lock(hashtextextended('belay migrations', 0))";
    await client.query({ text: lock });
    await refuseEncoding(client);
    const there = await client.query({ text: "SELECT to_regnamespace($1) IS NOT NULL AS there", values: [schema] });
    if (!there.rows[0].there) await client.query({ text: `CREATE SCHEMA ${schema}` });
    const tabled = await client.query({
      text: "SELECT to_regclass($1) IS NOT NULL AS there",
      values: [`${schema}.version`],
    });
    const from = tabled.rows[0].there ? await version(client, schema) : 0;
    for (const step of steps.slice(from)) await client.query({ text: step(schema) });
    if (from < SCHEMA_VERSION) await client.query({ text: `UPDATE ${schema}.version SET steps = ${SCHEMA_VERSION}` });
    await client.query({ text: "COMMIT" });
    failed = false;
  } finally {
    // Closed after a failure: that undoes it.
    client.release(failed);
  }
}

/**
 * Returns the version of the schema; 0 if there is none. Refuses a newer one, unless a column of it says that programs as old as
 * this can share it (P17).
 */
async function version(db: Pick<PostgresClient, "query">, schema: string): Promise<number> {
  try {
    const text = `SELECT steps, to_jsonb(v) ->> 'oldest' AS oldest FROM ${schema}.version AS v`;
    const row = (await db.query({ text })).rows[0];
    const found = Number(row?.steps ?? 0);
    if (found > SCHEMA_VERSION && !(Number(row.oldest ?? found) <= SCHEMA_VERSION))
      throw belayError("STORE_VERSION", { found, known: SCHEMA_VERSION });
    return found;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) return 0;
    throw error;
  }
}

async function refuseEncoding(client: PostgresClient): Promise<void> {
  const { rows } = await client.query({ text: "SHOW server_encoding" });
  const encoding = String(rows[0].server_encoding);
  if (encoding !== "UTF8")
    throw belayError("STORE_FAILED", { reason: `the database keeps text as ${encoding}; it needs UTF8` });
}
