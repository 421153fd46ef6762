export type { Bus } from "./store/bus.ts";
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./store/postgres/pool.ts";
export type { PostgresStoreOptions } from "./store/postgres/postgres.ts";
export { postgresStore } from "./store/postgres/postgres.ts";
