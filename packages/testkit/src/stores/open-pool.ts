// A pool of connections to the PostgreSQL that tests use. For tests and programs that they start; the library itself is
// handed one.

import type { PostgresPool } from "@belay/core/postgres";
import { service } from "./services.ts";

export interface TestPool extends PostgresPool {
  end(): Promise<void>;
}

export interface PoolOptions {
  /** Default: the database of the tests. */
  readonly url?: string;
  readonly max?: number;
  /** Idle connections keep no process alive. */
  readonly allowExitOnIdle?: boolean;
}

export async function openPool({ url, max = 10, allowExitOnIdle = false }: PoolOptions = {}): Promise<TestPool> {
  // Loaded only by a process that has PostgreSQL.
  const { default: pg } = await import("pg");
  return new pg.Pool({ connectionString: url ?? (await service("postgres")), max, allowExitOnIdle });
}

let schemas = 0;

/** A new name for a schema. */
export function freshSchema(): string {
  schemas += 1;
  return `belay_test_${process.pid}_${Date.now().toString(36)}_${schemas}`;
}

export async function dropSchema(pool: PostgresPool, schema: string): Promise<void> {
  await pool.query({ text: `DROP SCHEMA IF EXISTS "${schema}" CASCADE` });
}
