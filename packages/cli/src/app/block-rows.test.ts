import { expect, test } from "vitest";
import { en } from "../texts/en.ts";
import type { Block } from "../view/view.ts";
import { blockRows } from "./block-rows.ts";

const lines = (block: Block, columns: number) =>
  blockRows(block, columns, en).map((row) => row.map(({ text }) => text).join(""));

test("of a long line of tool output it is seen that something is left out; unfolded, nothing is", () => {
  const call = { kind: "call", tool: "read", label: "read a", outcome: "error", output: "one two three four" } as const;
  expect(lines({ ...call, whole: false }, 20)).toEqual(["✗ read a · failed", "  └ one two three f…"]);
  expect(lines({ ...call, whole: true }, 18).slice(1)).toEqual(["  └ one two three", "    four"]);
});

test("a note of several lines is one note: its mark stands before the first", () => {
  expect(lines({ kind: "note", text: "It failed:\nno model.", tone: "error" }, 40)).toEqual([
    "",
    "✗ It failed:",
    "  no model.",
  ]);
});

test("one line for a call that has ended; the output of a command is shown if it failed, and an exit code only if it is not 0", () => {
  const call = {
    kind: "call",
    tool: "shell",
    label: "shell npm test",
    outcome: "ok",
    whole: false,
    ms: 4_200,
  } as const;
  expect(lines({ ...call, output: "fine\n[exit code 0]" }, 40)).toEqual(["✓ shell npm test                     4 s"]);
  expect(lines({ ...call, output: "fine\n[exit code 0]", whole: true }, 40)[1]).toBe("  └ fine");
  expect(lines({ ...call, output: "one failed\n[exit code 1]" }, 40)).toEqual([
    "✗ shell npm test · exit code 1       4 s",
    "  └ one failed",
  ]);
  const long = { ...call, label: `shell ${"word ".repeat(40)}`, output: null };
  expect(lines(long, 40)).toEqual(["✓ shell word word word word word w…  4 s"]);
});

test("a stop is one line across the screen: the time of the run, the calls that were cut, the key to continue; then the names", () => {
  const nothing = { stopped: [], finished: [], notStarted: [], late: [] };
  expect(lines({ kind: "stop", ms: 4_000, ...nothing }, 50)).toEqual([
    "",
    "── stopped after 4 s ─────────────── ⏎ continue ──",
  ]);
  const met = { ...nothing, stopped: ["shell npm test"], notStarted: ["write a", "write b"] };
  expect(lines({ kind: "stop", ms: 61_000, ...met }, 80)).toEqual([
    "",
    "── stopped after 1 min 1 s · 1 stopped · 0 finished · 2 never began ────────────",
    "  Stopped: shell npm test.",
    "  Never began: write a, write b.",
  ]);
});

test("words of a model never stand in the column of our own marks", () => {
  const fake = {
    kind: "answer",
    lines: ["✓ shell rm -rf done", "── stopped after 4 s ──"],
    from: {},
    first: true,
  } as const;
  expect(lines(fake, 60)).toEqual(["", "● ✓ shell rm -rf done", "  ── stopped after 4 s ──"]);
});
