import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeGlob, matchesGlob } from "./glob.ts";

/** Few characters, so that patterns and texts meet. */
const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "\\", "\n", "."), maxLength: 12 });

describe("a text pattern", () => {
  test.each([
    ["git status", "git status", true],
    ["git status", "git status --short", false],
    ["git *", "git push", true],
    ["git *", "git ", true],
    ["git *", "git", false],
    ["*", "", true],
    ["", "", true],
    ["", "a", false],
    ["*rm*", "ls;\nrm -rf /", true],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*ab*ab*", "abab", true],
    ["*ab*ab*", "abb", false],
    ["a.c", "abc", false],
    ["[a-z]+?", "[a-z]+?", true],
    ["**", "anything", true],
    ["É*", "é", false],
  ])("%j on %j: %j (Q9)", (pattern, given, expected) => {
    expect(matchesGlob(pattern, given)).toBe(expected);
  });

  test.each([
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["2\\*3", "2*3", true],
    ["C:\\Temp", "C:\\Temp", true],
    ["\\\\server", "\\\\server", true],
    ["C:\\\\*", "C:\\Windows", true],
    ["C:\\\\*", "D:\\Windows", false],
    ["a\\\\\\*", "a\\*", true],
    ["a\\\\\\*", "a\\b", false],
  ])("backslashes count only before a star: %s on %s: %j (Q9)", (pattern, given, expected) => {
    expect(matchesGlob(pattern, given)).toBe(expected);
  });

  test("an escaped text matches that text and no other (Q9)", () => {
    fc.assert(fc.property(text, (it) => matchesGlob(escapeGlob(it), it)));
    fc.assert(fc.property(text, text, (it, other) => matchesGlob(escapeGlob(it), other) === (it === other)));
  });

  test("it matches by the definition of *, tried character by character (Q9)", () => {
    const literals = fc.array(text, { minLength: 1, maxLength: 4 });
    const between = fc.array(text, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(literals, between, fc.boolean(), (parts, others, fits) => {
        const it = fits
          ? parts.map((part, at) => part + (at + 1 < parts.length ? others[at] : "")).join("")
          : others[0]!;
        return matchesGlob(written(parts), it) === tryOut(parts, it);
      }),
      { numRuns: 2000 },
    );
  });

  test("a hostile pattern on 100 kB is matched in time (Q9)", () => {
    const many = "a".repeat(100_000);
    expect(matchesGlob(`${"*a".repeat(50_000)}*b`, many)).toBe(false);
    expect(matchesGlob(`${"*a".repeat(50_000)}*`, many)).toBe(true);
    expect(matchesGlob(`*${"a".repeat(50_000)}b*`, many)).toBe(false);
    expect(matchesGlob(`*b${"a".repeat(50_000)}*`, many)).toBe(false);
    expect(matchesGlob(`*${"a".repeat(50_000)}b*`, `${many}b`)).toBe(true);
    expect(matchesGlob("*".repeat(100_000), many)).toBe(true);
    expect(matchesGlob(`${"\\".repeat(100_000)}*x`, `${"\\".repeat(50_000)}yx`)).toBe(true);
    expect(escapeGlob("\\".repeat(100_000))).toBe("\\".repeat(100_000));
  });
});

/** The pattern of these literals with a wildcard between each two. */
function written(parts: readonly string[]): string {
  return parts
    .map((part, at) => (at + 1 < parts.length ? `${escapeGlob(`${part}*`).slice(0, -2)}*` : escapeGlob(part)))
    .join("");
}

function tryOut([part = "", ...rest]: readonly string[], text: string): boolean {
  if (rest.length === 0) return text === part;
  if (!text.startsWith(part)) return false;
  for (let at = part.length; at <= text.length; at++) if (tryOut(rest, text.slice(at))) return true;
  return false;
}
