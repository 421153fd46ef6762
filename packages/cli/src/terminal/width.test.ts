import fc from "fast-check";
import { expect, test } from "vitest";
import { chop, fit, type Row, width, wrap } from "./width.ts";

const textOf = (row: Row) => row.map(({ text }) => text).join("");

test("wide characters take two columns, joined ones as much as they show, marks none", () => {
  expect(width("rope")).toBe(4);
  expect(width("岩登り")).toBe(6);
  expect(width("🧗‍♀️")).toBe(2);
  expect(width("e\u0301")).toBe(1);
});

test("rows are broken between words, a long word in place, and keep their styles", () => {
  const rows = wrap([{ text: "one two " }, { text: "three four", style: "bold" }], 9);
  expect(rows.map(textOf)).toEqual(["one two", "three", "four"]);
  expect(rows[1]).toEqual([{ text: "three", style: "bold" }]);
  expect(wrap([{ text: "abcdefghijkl" }], 5).map(textOf)).toEqual(["abcde", "fghij", "kl"]);
  expect(wrap([{ text: "- one two three four" }], 14, 2).map(textOf)).toEqual(["- one two", "  three four"]);
});

test("scripts without blanks are broken between characters, and no row begins with what closes", () => {
  const text = "在 Belay 中，运行可以在任何时刻停下，然后（正好）从那里继续。";
  const rows = wrap([{ text }], 20).map(textOf);
  expect(rows).toEqual(["在 Belay 中，运行可", "以在任何时刻停下，然", "后（正好）从那里继", "续。"]);
  expect(wrap([{ text: "岩登りはたのしい" }], 7).map(textOf)).toEqual(["岩登り", "はたの", "しい"]);
});

test("no row is wider than the screen, and no word is lost", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.integer({ min: 2, max: 60 }), (text, columns) => {
      const rows = wrap([{ text }], columns).map(textOf);
      for (const row of rows) expect(width(row)).toBeLessThanOrEqual(columns);
      expect(rows.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
      expect(chop(text, columns).join("")).toBe(text);
      expect(width(fit(text, columns))).toBeLessThanOrEqual(columns);
    }),
  );
});
