// The stores that a test of sessions runs on: what holds on one must hold on the other.

import { type Clock, memoryStore, type Store } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { openDatabase } from "./open-database.ts";

export const eachStore: readonly { readonly name: string; readonly make: (clock?: Clock) => Promise<Store> }[] = [
  { name: "memory", make: async (clock) => memoryStore({ clock }) },
  { name: "sqlite", make: async (clock) => sqliteStore(await openDatabase(":memory:"), { clock }) },
];
