// The stores that a test of sessions runs on: what holds on one must hold on the other.

import { memoryStore } from "../store/memory.ts";
import { sqliteStore } from "../store/sqlite/sqlite.ts";
import type { Store } from "../store/store.ts";
import { openDatabase } from "./open-database.ts";

export const eachStore: readonly { readonly name: string; readonly make: () => Promise<Store> }[] = [
  { name: "memory", make: async () => memoryStore() },
  { name: "sqlite", make: async () => sqliteStore(await openDatabase(":memory:")) },
];
