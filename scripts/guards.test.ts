import { expect, it } from "vitest";
import { guards } from "./guards/list.mjs";
import { verdictOn, without } from "./guards.mjs";

it("each guard of the door is in its file once, and another source stands in its place", () => {
  const names = guards.map((guard) => {
    expect(without(guard)).not.toContain(guard.guard);
    return guard.name;
  });
  expect(new Set(names).size).toBe(names.length);
});

it("the program tells a guard that a test misses from one that none misses", async () => {
  const guard = guards.find(({ file }) => file.endsWith("journal/call-ends.ts"))!;
  expect(await verdictOn(guard)).toBe("caught");
  expect(await verdictOn({ ...guard, instead: guard.guard })).toBe("NOT CAUGHT");
});
