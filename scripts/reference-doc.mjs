// docs/reference: one page for each door of the published packages, printed from the declarations and doc comments that
// editors show. TypeScript emits the declarations; this file cuts out the names that a door lists.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { promisify } from "node:util";
import { sources } from "./sources.mjs";

/** The doors that users import, in the order of the index. */
export const referenceDoors = [
  "@belay/core",
  "@belay/core/sqlite",
  "@belay/core/postgres",
  "@belay/core/redis",
  "@belay/core/store",
  "@belay/core/testing",
  "@belay/core/dispatch",
  "@belay/client",
  "@belay/client/react",
  "@belay/server",
  "@belay/cli",
  "@belay/dbos",
  "@belay/restate",
  "@belay/bullmq",
];

const pageOf = (door) => `docs/reference/${door.slice("@belay/".length).replace("/", "-")}.md`;

/** Emits the declarations of all doors into a temporary folder and calls `use` with it. */
async function withDeclarations(root, use) {
  const folder = mkdtempSync(join(tmpdir(), "belay-reference-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const project = join(folder, "tsconfig.json");
    const compilerOptions = {
      noEmit: false,
      noEmitOnError: false,
      noCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(root, "packages"),
      outDir: join(folder, "out"),
      typeRoots: [join(root, "node_modules/@types")],
    };
    const files = referenceDoors.map((door) => sources[door]);
    writeFileSync(
      project,
      JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, files, include: [] }),
    );
    await promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", project]);
    return use((source) =>
      source.replace(join(root, "packages"), join(folder, "out")).replace(/\.(ts|tsx|js|jsx)$/, ".d.ts"),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the names that a door lists, each with the declaration file that the door takes it from. */
function namesAt(file) {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)";/g)].flatMap(([, names = "", from = ""]) =>
    names
      .split(",")
      .map((each) => each.trim().replace(/^type /, ""))
      .filter((name) => name !== "")
      .map((name) => ({ name, from: declarationFile(file, from) })),
  );
}

function declarationFile(file, from) {
  return normalize(join(dirname(file), from)).replace(/\.(ts|tsx|js|jsx)$/, ".d.ts");
}

/** Returns the end of a declaration: the first `;` or closing brace that no bracket encloses. */
function endOf(text, start, isBlock) {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    if (text.startsWith("/*", i)) i = text.indexOf("*/", i) + 1;
    else if (/["'`]/.test(text[i])) {
      const quote = text[i];
      for (i++; text[i] !== quote; i++) if (text[i] === "\\") i++;
    } else if ("({[".includes(text[i])) depth++;
    else if (")}]".includes(text[i])) {
      depth--;
      if (depth === 0 && isBlock && text[i] === "}") return i + 1;
    } else if (text[i] === ";" && depth === 0) return i + 1;
  }
  return text.length;
}

/** Returns every declaration of a name in a file, overloads included, with the doc comment before each. */
function declarationsOf(file, name, text = readFileSync(file, "utf8")) {
  const start = new RegExp(
    `((?:/\\*\\*(?:(?!\\*/)[^])*\\*/\\s*)?)export (?:declare )?(?:abstract )?(function|class|interface|type|const) ${name}\\b`,
    "g",
  );
  const found = [...text.matchAll(start)].map((match) => {
    const from = match.index + match[1].length;
    const kind = match[2];
    const end = endOf(text, from, kind === "interface" || kind === "class");
    return { kind, doc: match[1].trim(), code: text.slice(from, end) };
  });
  if (found.length > 0) return found;
  const next = namesAt(file).find((each) => each.name === name);
  if (next === undefined || !existsSync(next.from)) throw new Error(`No declaration of ${name} in ${file}.`);
  return declarationsOf(next.from, name);
}

/** Splits a doc comment into its text and its example. */
function readDoc(doc) {
  const lines = doc
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const text = lines.join("\n").trim();
  const [about = "", example] = text.split(/^@example\s*/m);
  return { about: about.replace(/^@\w+ .*$/gm, "").trim(), example: example?.replace(/^```\w*\n|\n?```$/g, "").trim() };
}

const plain = (code) =>
  code
    .replace(/^export (declare )?/, "")
    .replace(/^ {4,}/gm, (indent) => " ".repeat(indent.length / 2))
    .replace(/^\s*(private|protected) .*;\n/gm, "")
    .replace(/^\s*#private;\n/gm, "");

const KINDS = { function: "Functions", const: "Values", class: "Classes", interface: "Types", type: "Types" };

function page(door, entries) {
  const parts = [
    `# ${door}`,
    "The public names of this import, with their doc comments. `npm run docs` prints this page from the sources. " +
      "[All pages](../README.md)",
  ];
  for (const title of ["Functions", "Values", "Classes", "Types"]) {
    const here = entries.filter(({ all }) => KINDS[all[0].kind] === title);
    if (here.length === 0) continue;
    parts.push(`## ${title}`);
    for (const { name, all } of here.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      parts.push(`### ${name}`);
      const docs = all.map(({ doc }) => readDoc(doc));
      parts.push(...new Set(docs.map(({ about }) => about).filter((about) => about !== "")));
      parts.push(`\`\`\`ts\n${all.map(({ code }) => plain(code)).join("\n")}\n\`\`\``);
      for (const { example } of docs) if (example) parts.push(`Example:\n\n\`\`\`ts\n${example}\n\`\`\``);
    }
  }
  return `${parts.join("\n\n")}\n`;
}

/** Returns the text of each page of the reference by its path. @param {string} root @returns {Promise<Record<string, string>>} */
export function referencePages(root) {
  return withDeclarations(root, (declared) =>
    Object.fromEntries(
      referenceDoors.map((door) => {
        const entries = namesAt(declared(sources[door])).map(({ name, from }) => ({
          name,
          all: declarationsOf(from, name),
        }));
        return [pageOf(door), page(door, entries)];
      }),
    ),
  );
}
