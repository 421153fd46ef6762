import { expect, test } from "vitest";
import { diffRows } from "./diff-rows.ts";

const textOf = (diff: string, columns = 80) =>
  diffRows(diff, columns).map((row) => row.map(({ text }) => text).join(""));
const marked = (diff: string, style: string) =>
  diffRows(diff, 80).map((row) =>
    row
      .filter((span) => span.style === style)
      .map(({ text }) => text)
      .join("|"),
  );
const diffOf = (...hunks: readonly (readonly string[])[]) =>
  `${["--- a/a.txt", "+++ b/a.txt", ...hunks.flat()].join("\n")}\n`;
const numbered = (n: number) => Array.from({ length: n }, (_, at) => `line ${at + 1}`);

test("each line has its number: the old one if it was taken out, else the new one; between hunks stands a mark", () => {
  const diff = diffOf(
    ["@@ -2,6 +2,7 @@", " line 2", " line 3", " line 4", "+fresh", " line 5", " line 6", " line 7"],
    [
      "@@ -27,7 +28,7 @@",
      " line 27",
      " line 28",
      " line 29",
      "-line 30",
      "+changed",
      " line 31",
      " line 32",
      " line 33",
    ],
  );
  expect(textOf(diff)).toEqual([
    " 2  line 2",
    " 3  line 3",
    " 4  line 4",
    " 5 +fresh",
    " 6  line 5",
    " 7  line 6",
    " 8  line 7",
    "   ⋮",
    "28  line 27",
    "29  line 28",
    "30  line 29",
    "30 -line 30",
    "31 +changed",
    "32  line 31",
    "33  line 32",
    "34  line 33",
  ]);
});

test("words that differ are marked in lines that take each other's place; lines that have little in common are not", () => {
  const diff = diffOf([
    "@@ -1,3 +1,3 @@",
    "-const limit = 10;",
    "+const most = 10;",
    " kept",
    "-abc def",
    "+xyz",
    "+more",
  ]);
  expect(marked(diff, "removed-word").filter(Boolean)).toEqual(["limit"]);
  expect(marked(diff, "added-word").filter(Boolean)).toEqual(["most"]);
});

test("nothing is left out: a long line continues below, a missing line break is said, control characters are spelt out", () => {
  const diff = diffOf(["@@ -0,0 +1,2 @@", `+${"x".repeat(50)}`, "+\u001b[31mred", "\\ No newline at end of file"]);
  const rows = textOf(diff, 30);
  expect(rows.every((row) => row.length <= 30)).toBe(true);
  expect(rows.join("").replace(/[^x]/g, "")).toHaveLength(50);
  expect(rows.join("\n")).toContain("\\u{1b}[31mred");
  expect(rows.at(-1)).toContain("No newline at end");
});

test("a line of any length, and lines of any number, are compared in time", () => {
  const long = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word}${at}`).join(" ");
  const lines = [...numbered(1_000).map((line) => `-${line}`), ...numbered(1_000).map((line) => `+${line}!`)];
  const diff = diffOf(["@@ -1 +1 @@", `-${long("a")}`, `+${long("b")}`, " kept", ...lines]);
  const begun = performance.now();
  expect(diffRows(diff, 100).length).toBeGreaterThan(1_000);
  expect(performance.now() - begun).toBeLessThan(5_000);
});
