export type { SqliteStoreOptions } from "./store/sqlite/sqlite.ts";
export { sqliteStore } from "./store/sqlite/sqlite.ts";
