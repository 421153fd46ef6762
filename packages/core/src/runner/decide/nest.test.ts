import { expect, test } from "vitest";
import type { Definition } from "../../agent.ts";
import { newScope, newThread } from "../../journal/state.ts";
import { nest } from "./nest.ts";

test("W2: unknown agents and kinds do not break it", () => {
  const state = newThread("t");
  state.run = { id: "r", segment: 1, startSeq: 1, usage: { inputTokens: 0, outputTokens: 0 }, underway: true };
  for (const path of ["root", "root/9:gone", "root/9:gone/what:ever"]) {
    state.scopes.set(path, { ...newScope(path), runId: "r" });
  }
  const raised = { id: "1", kind: "of tomorrow" as never, address: "root/9:gone/what:ever/s:x", raisedAt: 0, by: "?" };
  const root = { name: "root", children: [], chats: false } as unknown as Definition;
  const leaf = { ...raised, data: { type: "none" } };
  const gone = { ...raised, address: "root/9:gone", data: { type: "tools", interrupts: [leaf] } };
  expect(nest(root, "root", state, [raised])).toEqual({
    ...raised,
    address: "root",
    data: { type: "tools", interrupts: [gone] },
  });
});
