import { expect, it } from "vitest";
import { guards, unproved, untried } from "./guards/list.mjs";
import { verdictOn, without } from "./guards.mjs";

it("each guard of the door is in its file once, and another source stands in its place", () => {
  const names = [...guards, ...unproved, ...untried].map((guard) => {
    expect(without(guard)).not.toContain(guard.guard);
    return guard.name;
  });
  expect(new Set(names).size).toBe(names.length);
});

it("a guard that is still there is not caught, and one whose file no test reads is not tried", async () => {
  const guard = guards.find(({ file }) => file.endsWith("journal/call-ends.ts"))!;
  expect(await verdictOn({ ...guard, instead: guard.guard })).toEqual({ verdict: "NOT CAUGHT" });
  expect(await verdictOn({ ...guard, tests: ["core/src/json.test"] })).toMatchObject({ verdict: "NOT TRIED" });
});
