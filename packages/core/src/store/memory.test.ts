import { describe, test } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { storeSuite } from "../testing/store-suite.ts";
import { memoryStore } from "./memory.ts";

describe("the store in memory", () => {
  const make = () => {
    const clock = fakeClock();
    return { store: memoryStore({ clock }), advance: (ms: number) => clock.advance(ms) };
  };
  for (const { name, run, skip } of storeSuite(make)) test.skipIf(skip !== undefined)(name, run);
});
