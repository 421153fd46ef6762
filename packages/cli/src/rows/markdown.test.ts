import fc from "fast-check";
import { expect, test } from "vitest";
import { type Row, width } from "../terminal/width.ts";
import { markdownRows } from "./markdown.ts";

const written = (row: Row) =>
  row.map(({ text, style }) => (style === undefined ? text : `<${style}>${text}</>`)).join("");

function draw(text: string, columns = 60): string[] {
  return markdownRows(text.split("\n"), {}, columns).rows.map(written);
}

test("headings, lists, quotes, rules and inline marks are drawn, and nothing else is taken for one", () => {
  expect(draw("# Title\n- one **two** `a*b*c`\n2) three\n> said\n---\nsnake_case_name 2 * 3 * 4")).toEqual(
    [
      "<heading>Title</>",
      "<bullet>• </>one <bold>two</> <code>a*b*c</>",
      "<bullet>2) </>three",
      "<dim>▎ </><dim>said</>",
      `<line>${"─".repeat(40)}</>`,
      "snake_case_name 2 * 3 * 4",
    ].map((row) => row),
  );
});

test("a link shows its target", () => {
  expect(draw("[the bank](https://evil.example)")).toEqual(["<link>the bank</><dim> (https://evil.example)</>"]);
});

test("code is highlighted by its language, and marks inside it are only text", () => {
  expect(draw("```ts\nconst a = 1; // **no**\n```\nafter")).toEqual([
    "  <keyword>const</> a = <number>1</>; <comment>// **no**</>",
    "after",
  ]);
  expect(draw("```diff\n-old\n+new\n```")[0]).toBe("  <removed>-old</>");
});

test("a fence that is open stays open over lines, and only its own mark closes it", () => {
  expect(draw("~~~~\n```\n~~~\nx\n~~~~\ny")).toEqual(["  ```", "  ~~~", "  x", "y"]);
});

test("the columns of a table are aligned, numbers to the right, and a table that is too wide loses no word", () => {
  const table = "| name | lines |\n|---|---:|\n| a `b` | 1 |\n| 岩登り | 1234 |";
  const plain = (columns: number) =>
    markdownRows(table.split("\n"), {}, columns).rows.map((row) => row.map(({ text }) => text).join(""));
  expect(plain(60)).toEqual(["name    lines", "─────────────", "a b         1", "岩登り   1234"]);
  const wide = "| key | what it does |\n|---|---|\n| Esc | stops what runs, at once |";
  const rows = markdownRows(wide.split("\n"), {}, 20).rows.map((row) => row.map(({ text }) => text).join(""));
  expect(rows).toEqual(["key  what it does", "────────────────────", "Esc  stops what", "     runs, at once"]);
});

test("with any text, no row is too wide and no escape sequence comes out", () => {
  const line = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: "binary" }),
    fc.constantFrom("```js", "| a | b |", "|---|---|", "- [x] done", "\u001b]0;x", "**", "`"),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), fc.integer({ min: 10, max: 80 }), (lines, columns) => {
      for (const row of markdownRows(lines, {}, columns).rows) {
        const text = row.map((span) => span.text).join("");
        expect(width(text)).toBeLessThanOrEqual(columns);
        expect(text).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      }
    }),
  );
});
