import { expect, test } from "vitest";
import { en } from "../texts/en.ts";
import type { Block } from "../view/view.ts";
import { blockRows } from "./block-rows.ts";

const lines = (block: Block, columns: number) =>
  blockRows(block, columns, en).map((row) => row.map(({ text }) => text).join(""));

test("of a long line of tool output it is seen that something is left out; unfolded, nothing is", () => {
  const call = { kind: "call", tool: "read", label: "read a", outcome: "error", output: "one two three four" } as const;
  expect(lines({ ...call, whole: false }, 14)).toEqual(["✗ read a ·", "  failed", "  one two thr…"]);
  expect(lines({ ...call, whole: true }, 14).slice(2)).toEqual(["  one two", "  three four"]);
});

test("a note of several lines is one note: its mark stands before the first", () => {
  expect(lines({ kind: "note", text: "It failed:\nno model.", tone: "error" }, 40)).toEqual([
    "",
    "✗ It failed:",
    "  no model.",
  ]);
});
