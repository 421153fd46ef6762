import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { catalogue, moves } from "@belay/core/inside";
import { expect, onTestFinished, test } from "vitest";
import { errorsDoc } from "../scripts/errors-doc.mjs";
import { pages, syncDoc } from "../scripts/sync-docs.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");

test("docs/errors.md is the catalogue as it stands (npm run docs writes it)", () => {
  expect(read("docs/errors.md")).toBe(errorsDoc(catalogue));
});

test.each(pages(root))("the code in %s is the code of the files it names (npm run docs writes it)", (path) => {
  expect(read(path)).toBe(syncDoc(read(path), root));
});

test("a block takes its whole file, or one region of it without its indentation", () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "examples"));
  writeFileSync(join(folder, "examples/a.ts"), "one();\n{\n  // region inner\n  two();\n  // endregion\n}\n");
  const page = (whole: string, region: string) =>
    `# A\n\n<!-- from examples/a.ts -->\n\`\`\`ts\n${whole}\n\`\`\`\n\n<!-- from examples/a.ts#inner -->\n\`\`\`ts\n${region}\n\`\`\`\n`;
  expect(syncDoc(page("old", "old"), folder)).toBe(page("one();\n{\n  two();\n}", "two();"));
  expect(() => syncDoc("<!-- from examples/b.ts -->\n```ts\n```\n", folder)).toThrow("examples/b.ts");
  expect(() => syncDoc("<!-- from examples/a.ts#gone -->\n```ts\n```\n", folder)).toThrow("examples/a.ts#gone");
});

test.each(pages(root))("every link in %s leads to something in this repository", (path) => {
  const links = [...read(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map((link) => link[1]!);
  expect(links.filter((link) => !existsSync(join(root, dirname(path), link)))).toEqual([]);
});

test("the README shows a program by line 15", () => {
  expect(read("README.md").split("\n").slice(0, 15).join("\n")).toContain("```ts\nimport ");
});

test("the moves in docs/language.md are the moves there are", () => {
  const section = /## Lifecycle([\s\S]*?)\n## /.exec(read("docs/language.md"))![1]!;
  const rows = [...section.matchAll(/^\|(.*?)\|(.*?)\|/gm)].slice(2);
  const found: Record<string, string[]> = {};
  let from = "";
  for (const [, first, second] of rows) {
    from = /`(\w+)`/.exec(first!)?.[1] ?? from;
    found[from] = [...(found[from] ?? []), ...[...second!.matchAll(/`(\w+)`/g)].map((name) => name[1]!)];
  }
  const sorted = (table: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries(Object.entries(table).map(([state, to]) => [state, [...to].sort()]));
  expect(sorted(found)).toEqual(sorted(moves));
});
