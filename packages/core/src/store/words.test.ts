import fc from "fast-check";
import { expect, test } from "vitest";
import { doubtfulWords, haveWords, wordsIn, wordsOf } from "./words.ts";

test("L4: a quick look at a name and its words themselves have the same answer for each search", () => {
  const piece = fc.constantFrom(
    ..."Deploy deploy r77 77 7.7 can't a-b x_y É éa ß 北京 大学 ไทย 👩‍👧 ' . , - _ \u0301 \u00a0 \t".split(" "),
  );
  const text = fc
    .array(fc.tuple(piece, fc.constantFrom("", " ", " ", "\n")), { maxLength: 8 })
    .map((pieces) => pieces.flat().join(""));
  let sure = 0;
  fc.assert(
    fc.property(text, text, fc.oneof(piece, text), (title, value, search) => {
      const named = { title, labels: { label: value } };
      const beginnings = wordsIn(search);
      const doubtful = doubtfulWords(named, beginnings);
      const has = haveWords(wordsOf(named), beginnings);
      if (doubtful === undefined) expect(has).toBe(false);
      else expect(haveWords(wordsOf(named), doubtful)).toBe(has);
      if (has && beginnings.length > 0 && doubtful?.length === 0) sure += 1;
    }),
    { numRuns: 2_000, seed: 1 },
  );
  expect(sure).toBeGreaterThan(50);
});
