import fc from "fast-check";
import { expect, test } from "vitest";
import { sanitize, sanitizeLine, sanitizer, spell } from "./sanitize.ts";

const ESC = "\u001b";

/** Hostile parts of a text, and their visible rest. */
const attacks: readonly (readonly [name: string, text: string, seen: string])[] = [
  ["colours and cursor (CSI)", `a${ESC}[31mred${ESC}[0m${ESC}[2J${ESC}[1;1Hb`, "aredb"],
  ["a window title (OSC 0)", `a${ESC}]0;pwned\u0007b`, "ab"],
  [
    "a link that says one thing and opens another (OSC 8)",
    `${ESC}]8;;https://evil.example${ESC}\\bank${ESC}]8;;${ESC}\\`,
    "bank",
  ],
  ["the clipboard (OSC 52)", `a${ESC}]52;c;cm0gLXJmIH4=\u0007b`, "ab"],
  ["a device string (DCS)", `a${ESC}P1;1|17/6c\u001b\\b`, "ab"],
  ["8-bit CSI and OSC", "a\u009b31mb\u009d0;t\u009cc\u0090q\u009cd", "abcd"],
  ["an application command and a private message", `a${ESC}_G;x${ESC}\\b${ESC}^x${ESC}\\c${ESC}Xx${ESC}\\d`, "abcd"],
  ["a reset and a charset", `a${ESC}cb${ESC}(0c${ESC}#8d`, "abcd"],
  ["directions", "abc\u202egnp.exe\u2066x\u2069\u200fd", "abcgnp.exexd"],
  ["unseen letters", "a\u200bb\u{e0041}c\ufeffd", "abcd"],
  ["bells, backspaces and deletes", "a\u0007b\u0008c\u007fd\u0000e", "abcde"],
  ["line ends of all kinds", "a\r\nb\rc\u2028d\u0085e", "a\nb\nc\nde"],
  ["a title without an end, with a new line", `a${ESC}]0;never\nb`, "a\nb"],
  ["a broken sequence", `a${ESC}[3\u00e9b`, "aéb"],
  ["joined emoji and other scripts stay", "🧗‍♀️ 岩 é ماء", "🧗‍♀️ 岩 é ماء"],
];

test.each(attacks)(
  "%s: only the words are left, whole, in two pieces cut at every place, and one by one",
  (_, text, seen) => {
    expect(sanitize(text)).toBe(seen);
    for (let cut = 0; cut <= text.length; cut += 1) {
      const clean = sanitizer();
      expect(clean(text.slice(0, cut)) + clean(text.slice(cut)), `cut at ${cut}`).toBe(seen);
    }
    const clean = sanitizer();
    expect([...Array(text.length).keys()].map((at) => clean(text[at]!)).join("")).toBe(seen);
  },
);

test("any text gives the same output however it is cut, and no sequence that a terminal obeys", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      ESC,
      `${ESC}[`,
      `${ESC}]8;;`,
      "\u009b",
      "\u0007",
      `${ESC}\\`,
      "m",
      ";",
      "\ud83e",
      "\udd97",
      "\u{e0002}",
      "\u{e0041}",
      "\r",
      "\n",
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const one = sanitizer()(pieces.join(""));
      const clean = sanitizer();
      const many = pieces.map((each) => clean(each)).join("");
      expect(many).toBe(one);
      expect(one).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
    }),
    { numRuns: 2000 },
  );
});

test("a title that never ends hides a bounded part of the text, not all of it", () => {
  const clean = sanitizer();
  clean(`${ESC}]0;`);
  const shown = Array.from({ length: 100 }, () => clean("x".repeat(100))).join("");
  expect(shown.length).toBeGreaterThan(5_000);
});

test("a line is one line, and text for a decision is spelt out", () => {
  expect(sanitizeLine(`a\n\n b${ESC}[1m c`, 20)).toBe("a b c");
  expect(sanitizeLine("a".repeat(30), 10)).toBe("aaaaaaaaa…");
  expect(spell(`rm \u202ex${ESC}[1A\n\tok`)).toBe("rm \\u{202e}x\\u{1b}[1A\n\tok");
});
