import { openKit } from "@belay/testkit";
import { expect, test } from "vitest";
import { humanApproval, humanInput, jsonSchema, tool } from "../index.ts";

/** Returns the request, or the call that ran, for a tool whose needsApproval returns `verdict`. */
async function gate(verdict: unknown): Promise<string | undefined> {
  const wipe = tool({
    name: "wipe",
    description: "",
    input: jsonSchema({ type: "object" }),
    needsApproval: () => verdict as boolean,
    execute: () => "wiped",
  });
  const { session } = await openKit([[{ call: "wipe" }], "done"], { tools: [wipe] });
  const result = await session.run("go").result;
  return result.status === "interrupted" ? result.interrupts[0]?.reason : result.status;
}

test("Q5: a verdict that is neither yes nor no means ask", async () => {
  expect(await gate(false)).toBe("completed");
  expect(await gate(true)).toBe("helper wants to run wipe.");
  expect(await gate(humanApproval("Wipe it?"))).toBe("Wipe it?");
  const unclear = "helper wants to run wipe. Whether that is safe could not be told: ";
  for (const [verdict, shown] of [
    [undefined, "nothing"],
    [null, "null"],
    ["yes", '"yes"'],
    [0, "0"],
  ]) {
    const problem = `its needsApproval gave ${shown}, neither true nor false nor a request.`;
    expect(await gate(verdict)).toBe(unclear + problem);
  }
  expect(await gate("abc".match(/b/))).toContain(unclear);
});

test("a request that cannot be answered is refused by its constructor", () => {
  const refusal = (make: () => unknown) => {
    try {
      return make();
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(refusal(() => humanInput("Name?", { expiresAt: 60_000 }))).toBe(
    "That request cannot be raised: its expiresAt is 60000, which is long ago: write Date.now() + 60000 for a while.",
  );
  expect(refusal(() => humanApproval("May I?", { approvers: ["ann", "ben"], quorum: 3 }))).toBe(
    "That request cannot be raised: its quorum is 3, and only ann, ben may approve.",
  );
  expect(refusal(() => humanApproval("May I?", { approvers: ["ann", "group:night"], quorum: 3 }))).toBeTypeOf("object");
});
