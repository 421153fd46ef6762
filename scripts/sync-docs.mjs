// Code in the docs is taken from files that run. A code block below `<!-- from path -->` is that file, below
// `<!-- from path#name -->` the lines between `// region name` and `// endregion` in it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const block = /(<!-- from ([^\s#]+)(?:#(\S+))? -->\s*?\n```\w*\n)([\s\S]*?)(\n?```)/g;
const marker = /^\s*\/\/ (?:region \S+|endregion)\s*$/;

/** The page with every block as its file has it. @param {string} page @param {string} root */
export function syncDoc(page, root) {
  return page.replace(block, (_, opening, path, region) => `${opening}${excerpt(root, path, region)}\n\`\`\``);
}

function excerpt(root, path, region) {
  const file = join(root, path);
  if (!existsSync(file)) throw new Error(`The docs quote ${path}, which does not exist.`);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const from = region ? lines.findIndex((line) => line.trim() === `// region ${region}`) : -1;
  const to = region ? lines.findIndex((line, index) => index > from && line.trim() === "// endregion") : lines.length;
  if (region && (from < 0 || to < 0)) throw new Error(`The docs quote ${path}#${region}; the file has no such region.`);
  const kept = lines.slice(from + 1, to).filter((line) => !marker.test(line));
  const indents = kept.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const indent = region ? Math.min(...indents) : 0;
  return kept
    .map((line) => line.slice(indent))
    .join("\n")
    .trim();
}

/** Returns the README, those of the packages, and every page below docs, as paths from the root. @param {string} root */
export function pages(root) {
  const docs = existsSync(join(root, "docs")) ? readdirSync(join(root, "docs"), { recursive: true }).map(String) : [];
  const packages = existsSync(join(root, "packages")) ? readdirSync(join(root, "packages")) : [];
  const readmes = ["README.md", ...packages.map((name) => join("packages", name, "README.md"))];
  const all = [...readmes, ...docs.map((path) => join("docs", path))];
  return all.filter((path) => path.endsWith(".md") && existsSync(join(root, path)));
}
