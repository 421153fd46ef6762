import { expect, inject, it } from "vitest";
import { guards } from "./guards/list.mjs";
import { verdictOn } from "./guards.mjs";

const { guards: most, seed } = inject("effort");
const count = Math.min(most, guards.length);
/** Guards at equal distances; the seed says where they begin. */
const some = Array.from(
  { length: count },
  (_, i) => guards[(seed + Math.floor((i * guards.length) / count)) % guards.length]!,
);

it.each(some)("a test fails without a guard of the door: $name", async (guard) => {
  expect((await verdictOn(guard)).verdict).toMatch(/^(caught|hangs)$/);
});
