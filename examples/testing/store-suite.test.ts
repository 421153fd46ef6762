// Certifies a store of your own.
import { memoryStore } from "@belay/core";
import { storeSuite } from "@belay/core/testing";
import { test } from "vitest";

/** In place of your own store. */
const myStore = () => memoryStore();

// region suite
for (const { name, run, skip } of storeSuite(() => ({ store: myStore() }))) {
  test.skipIf(skip !== undefined)(name, run);
}
// endregion
