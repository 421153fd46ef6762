// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import { withEdits } from "./args-grid.tsx";
import { decidedOf } from "./decided-of.ts";

describe("edited arguments", () => {
  const args = { order: "B", euros: 900, urgent: true };

  test("text stays text, and everything else is JSON", () => {
    expect(withEdits(args, { order: "7", euros: "90", urgent: "false" })).toEqual({
      args: { order: "7", euros: 90, urgent: false },
      bad: [],
      changed: ["order", "euros", "urgent"],
    });
  });

  test("a field that cannot be read is named, and one that is as it was counts as unchanged", () => {
    expect(withEdits(args, { euros: "ninety", order: "B" })).toEqual({ args, bad: ["euros"], changed: [] });
  });
});

test.each([
  ["approve", "approved"],
  ["answered", "responded"],
  ["withdrawn", "withdrawn"],
])("a decision %s is %s on every page", (how, word) => {
  expect(decidedOf({ how, by: "ben", at: 1 })).toEqual({ how: word, by: "ben", at: 1 });
});

test("a decision of a later release is none that this page claims to know", () => {
  expect(decidedOf({ how: "delegated", by: "ben", at: 1 })).toBeUndefined();
});
