import { expect, it } from "vitest";
import { guards } from "./guards/list.mjs";
import { without } from "./guards.mjs";

it("each guard of the door is in its file once, and another source stands in its place", () => {
  const names = guards.map((guard) => {
    expect(without(guard)).not.toContain(guard.guard);
    return guard.name;
  });
  expect(new Set(names).size).toBe(names.length);
});
