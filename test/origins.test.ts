import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { citedBelow, originProblems, originsDoc, readOrigins, titlesBelow, titlesIn } from "../scripts/origins.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "docs/origins.md");

describe("where Belay comes from", () => {
  test("every claim has a test that exists, a decision that stands against it, or is pending", () => {
    const project = {
      titles: titlesBelow(root),
      cited: citedBelow(root),
      exists: (path: string) => existsSync(join(root, path)),
    };
    expect(originProblems(readOrigins(root), project)).toEqual([]);
  });

  test("the claims of each origin are numbered without a gap", () => {
    for (const { claims } of readOrigins(root).origins) {
      const letter = claims[0]!.id[0];
      expect(claims.map(({ id }) => id)).toEqual(claims.map((_, i) => `${letter}${i + 1}`));
    }
  });

  test("docs/origins.md is printed from docs/origins.json as it stands (npm run docs writes it)", () => {
    expect(existsSync(page) ? readFileSync(page, "utf8") : "").toBe(originsDoc(root));
  });
});

describe("what is found wrong", () => {
  const project = {
    titles: (path: string) => (path === "a.test.ts" ? ["it works"] : undefined),
    cited: new Set(["S2"]),
    exists: (path: string) => path === "docs/a.md",
  };
  const wrong = (...claims: object[]) =>
    originProblems({ pending: {}, origins: [{ name: "a", about: "", claims: claims as never }] }, project);
  const claim = "it does";

  test("a claim with nothing that stands for it, one that is there twice, one that waits for nothing known", () => {
    const none = "A1 has no test and no decision, and is not pending";
    expect(wrong({ id: "A1", claim })).toEqual([none]);
    expect(wrong({ id: "A1", claim, test: [] })).toEqual([none]);
    const good = { id: "A1", claim, test: ["a.test.ts › it works"] };
    expect(wrong(good)).toEqual([]);
    expect(wrong(good, good)).toEqual(["A1 is there twice"]);
    expect(wrong({ id: "A1", claim, pending: "rain" })).toEqual(["A1 waits for rain, which nobody explains"]);
    const dry = { pending: { rain: "soon" }, origins: [] };
    expect(originProblems(dry, project)).toEqual(["nothing waits for rain"]);
  });

  test("a test that is not there, in a file that is or is not", () => {
    expect(wrong({ id: "A1", claim, test: ["a.test.ts › it work", "b.test.ts › it works"] })).toEqual([
      "A1 names a test that is not in a.test.ts: it work",
      "A1 names b.test.ts, which is no test file",
    ]);
  });

  test("a decision that no test cites, that is no page, or that says nothing", () => {
    expect(wrong({ id: "A1", claim, decision: { by: "S2", why: "so" } })).toEqual([]);
    expect(wrong({ id: "A1", claim, decision: { by: "docs/a.md", why: "so" } })).toEqual([]);
    expect(wrong({ id: "A1", claim, decision: { by: "S2", why: " " } })).toEqual(["A1 differs without a word why"]);
    for (const by of ["S3", "docs/b.md", ""]) {
      expect(wrong({ id: "A1", claim, decision: { by, why: "so" } })).toHaveLength(1);
    }
  });

  test("titles are read from any way to write a test, and not from those that are skipped", () => {
    const source = [
      'test("plain", () => {});',
      "it('says \"so\"', () => {});",
      'test.each([1, 2])("each %s", () => {});',
      'test.each(\n  cases,\n)(\n  "on lines of its own",\n  () => {},\n);',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a template
      "it(`made of ${what}`, () => {});",
      'describe("a group", () => {});',
      'test.skip("skipped", () => {});',
      'it.todo("to do");',
      'const notes = ["no title", "none"];',
    ];
    expect(titlesIn(source.join("\n"))).toEqual([
      "plain",
      'says "so"',
      "each %s",
      "on lines of its own",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a template
      "made of ${what}",
      "a group",
    ]);
  });
});
