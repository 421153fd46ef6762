import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { catalogue, moves } from "@belay/core/inside";
import { expect, onTestFinished, test } from "vitest";
import { errorsDoc } from "../scripts/errors-doc.mjs";
import { referencePages } from "../scripts/reference-doc.mjs";
import { pages, syncDoc } from "../scripts/sync-docs.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const isFile = (path: string) => existsSync(join(root, path)) && !statSync(join(root, path)).isDirectory();
const read = (path: string) => (isFile(path) ? readFileSync(join(root, path), "utf8") : "");

const withoutCode = (page: string) => page.replace(/^```[\s\S]*?^```/gm, "");
const linksIn = (page: string) =>
  [...withoutCode(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)[^)]*\)/g)].map((link) => link[1]!);

/** The anchors that GitHub makes of the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = [...withoutCode(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = ""]) => {
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
  return new Set(anchors);
}

/** Returns the links of a page that lead to no file, or to no heading of the file. */
function deadLinks(path: string, lookup: (path: string) => string): string[] {
  return linksIn(lookup(path)).filter((link) => {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? path : join(dirname(path), file);
    if (lookup(target) === "" && !existsSync(join(root, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(lookup(target)).has(anchor);
  });
}

test("docs/errors.md is the catalogue as it stands (npm run docs writes it)", () => {
  expect(read("docs/errors.md")).toBe(errorsDoc(catalogue));
});

test.each(pages(root))("the code in %s is the code of the files it names (npm run docs writes it)", (path) => {
  expect(read(path)).toBe(syncDoc(read(path), root));
});

test.each(pages(root).filter((path) => path === "README.md" || /^docs\/[^/]+\.md$/.test(path)))(
  "every program in %s comes from a file that runs",
  (path) => {
    const blocks = [...read(path).matchAll(/^(.*)\n```(?:ts|tsx|js|mjs|html)\n/gm)];
    expect(blocks.filter(([, before = ""]) => !before.startsWith("<!-- from ")).map(([block]) => block)).toEqual([]);
  },
);

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

test("docs/reference is printed from the declarations as they stand (npm run docs writes it)", async () => {
  const printed = await referencePages(root);
  expect(Object.fromEntries(Object.keys(printed).map((path) => [path, read(path)]))).toEqual(printed);
  const files = readdirSync(join(root, "docs/reference")).map((name) => `docs/reference/${name}`);
  expect(files.sort()).toEqual(Object.keys(printed).sort());
});

const written = [...pages(root), "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

test.each(written)("every link in %s leads to a file, and to a heading of it, in this repository", (path) => {
  expect(deadLinks(path, read)).toEqual([]);
});

test("a link to a missing file, a missing heading or a missing heading of its own page is dead", () => {
  const files: Record<string, string> = {
    "docs/a.md": "# A\n[x](b.md) [x](b.md#two-words) [x](#a) [x](https://example.com/#no)\n```sh\n# No heading\n```",
    "docs/b.md": "# B\n## Two `words`\n## Again\n## Again\n[x](a.md#no-heading) [x](c.md) [x](#again-1) [x](#again-2)",
  };
  const lookup = (path: string) => files[path] ?? "";
  expect(deadLinks("docs/a.md", lookup)).toEqual([]);
  expect(deadLinks("docs/b.md", lookup)).toEqual(["a.md#no-heading", "c.md", "#again-2"]);
});

test("the index of the docs has a link to every page", () => {
  const linked = new Set(linksIn(read("docs/README.md")).map((link) => join("docs", link.split("#")[0]!)));
  const outside = pages(root).filter((path) => path.startsWith("docs/") && !path.startsWith("docs/decisions/"));
  expect(outside.filter((path) => path !== "docs/README.md" && !linked.has(path))).toEqual([]);
});

test("the README has a sentence, a picture, two commands and a program by line 15, and under 250 lines", () => {
  const lines = read("README.md").split("\n");
  expect(lines.length).toBeLessThan(250);
  const opening = lines.slice(0, 15).join("\n");
  const order = ["Belay is a ", "![", "npm start", "npm run console", "```ts\nimport "].map((part) =>
    opening.indexOf(part),
  );
  expect(order.every((at, i) => at > (order[i - 1] ?? 0))).toBe(true);
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
