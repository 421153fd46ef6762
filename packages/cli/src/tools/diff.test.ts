// Our diffs against a program that others wrote: `patch` makes the new text of the old one.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { unifiedDiff } from "./diff.ts";

test("a change is shown with three lines around it, changes close together in one piece", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);
  const before = `${lines.join("\n")}\n`;
  const after = before.replace("line 5\n", "five\n").replace("line 9\n", "").replace("line 19\n", "line 19\nmore\n");
  expect(unifiedDiff("a.txt", before, after)).toBe(`--- a/a.txt
+++ b/a.txt
@@ -2,11 +2,10 @@
 line 2
 line 3
 line 4
-line 5
+five
 line 6
 line 7
 line 8
-line 9
 line 10
 line 11
 line 12
@@ -17,4 +16,5 @@
 line 17
 line 18
 line 19
+more
 line 20
`);
});

test("a new file, an emptied one, a last line without a break, and no change at all", () => {
  expect(unifiedDiff("a", undefined, "x\n")).toBe("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n");
  expect(unifiedDiff("a", "x\n", "")).toBe("--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n-x\n");
  expect(unifiedDiff("a", "x\n", "x")).toBe("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n");
  expect(unifiedDiff("a", "x", "x")).toBe("");
});

test("a difference that is too long is cut, with a note", () => {
  const after = Array.from({ length: 100 }, (_, at) => `${at}\n`).join("");
  expect(unifiedDiff("a", undefined, after, 10).split("\n").slice(-3)).toEqual(["+6", "… 93 more lines", ""]);
});

test("git applies any diff to the old text and gets the new one", () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-diff-"));
  const text = fc.array(fc.constantFrom("a", "b", "c", "", " d"), { maxLength: 30 }).map((lines) => lines.join("\n"));
  try {
    execFileSync("git", ["init", "-q", folder]);
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff("f", before, after);
        if (diff === "") return before === after;
        writeFileSync(join(folder, "f"), before);
        execFileSync("git", ["apply", "--unidiff-zero", "-"], {
          cwd: folder,
          input: diff,
          stdio: ["pipe", "pipe", "pipe"],
        });
        return readFileSync(join(folder, "f"), "utf8") === after;
      }),
      { numRuns: 40 },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
