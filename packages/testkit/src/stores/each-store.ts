// The stores that a test of sessions runs on: what holds on one must hold on the other.

import { memoryStore, type Store } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { openDatabase } from "./open-database.ts";

export const eachStore: readonly { readonly name: string; readonly make: () => Promise<Store> }[] = [
  { name: "memory", make: async () => memoryStore() },
  { name: "sqlite", make: async () => sqliteStore(await openDatabase(":memory:")) },
];
