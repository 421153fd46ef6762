// The parts of the terminal that need no terminal: keys, text, verdicts.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Keys } from "./keys.mjs";
import { ESC } from "./terminal-kit.ts";
import { clean, spell, width, wrap } from "./text.mjs";
import { readVerdict } from "./verdict.mjs";

describe("keys", () => {
  const pressed = async (...chunks: (string | number)[]) => {
    const names: string[] = [];
    const keys = new Keys((name: string, text?: string) => names.push(text ?? name));
    for (const chunk of chunks) {
      if (typeof chunk === "number") await sleep(chunk);
      else keys.feed(Buffer.from(chunk, "latin1"));
    }
    await sleep(80);
    // Where both moments are over at once, a lone ESC is given up in the next turn of the event loop.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    return names;
  };

  test.each([
    ["a lone ESC", [ESC], ["escape"]],
    ["two of them", [ESC + ESC], ["escape", "escape"]],
    ["two in two pieces", [ESC, ESC], ["escape", "escape"]],
    ["an arrow", [`${ESC}[A`], ["up"]],
    ["an arrow in three pieces", [ESC, "[", "A"], ["up"]],
    ["ESC, a while, then [", [ESC, 80, "["], ["escape", "["]],
    ["an arrow with Alt", [`${ESC}${ESC}[A`], []],
    ["a letter with Alt", [`${ESC}f`], []],
    ["a paste with an Enter in it", [`${ESC}[200~a\rb`, `c${ESC}[201~\r`], ["a bc", "enter"]],
    ["half a character, then the rest", ["\u00c3", "\u00a9"], ["é"]],
  ])("%s", async (_, chunks, names) => {
    expect(await pressed(...chunks)).toEqual(names);
  });
});

test("text for a screen has no control characters, and rows as wide as the screen", () => {
  expect(clean(`a${ESC}[31mb${ESC}]8;;http://x\u0007c\r\nd\te\u009b1mf\u202eg\u0000`)).toBe("abc\nd  efg");
  expect(width("é岩🧗a")).toBe(6);
  for (const columns of [2, 5, 20]) {
    const rows = wrap("The 岩 quick brown-fox-that-is-long jumps 🧗 over", columns);
    expect(Math.max(...rows.map((row) => width(row.trimEnd())))).toBeLessThanOrEqual(columns);
    expect(rows.join("").replace(/ /g, "")).toBe("The岩quickbrown-fox-that-is-longjumps🧗over");
  }
});

test("what a person decides about is spelt where it would not be seen", () => {
  expect(spell(`a\n${ESC}[31mb\u202ec\u200b\u0000é🧗`)).toBe("a\n\\u{1b}[31mb\\u{202e}c\\u{200b}\\u{0}é🧗");
});

test.each([
  ["y", { type: "approve" }],
  ["Yes.", { type: "approve" }],
  ["n", { type: "reject", reason: "" }],
  ["No, it is late", { type: "reject", reason: "it is late" }],
  ["edit", "edit"],
  ["yes but elsewhere", undefined],
  ["yy", undefined],
  ["not now", undefined],
  ["nothing", undefined],
])("%s is a verdict, or a new instruction", (line, verdict) => {
  expect(readVerdict(line)).toEqual(verdict);
});
