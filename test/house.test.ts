import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { arrows, cycles, doors } from "./house.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const src = join(root, "packages/core/src");

const everyFile = filesBelow(root);
const sources = everyFile.filter((file) => file.startsWith(src) && file.endsWith(".ts") && !file.endsWith(".test.ts"));
const imports = new Map(sources.map((file) => [file, importsOf(file)]));

describe("the house", () => {
  test("each room imports only from the rooms its arrows name", () => {
    const wrong = sources.flatMap((file) => {
      const room = roomOf(file);
      const allowed = arrows[room];
      if (!allowed) return [`${name(file)}: the room ${room} is not in test/house.ts`];
      return relativeImports(file)
        .filter((target) => roomOf(target) !== room && !allowed.includes(roomOf(target)))
        .map((target) => `${name(file)} → ${name(target)}: ${room} may not import ${roomOf(target)}`);
    });
    expect(wrong).toEqual([]);
  });

  test("a relative import names a file that exists, inside the package", () => {
    const wrong = sources.flatMap((file) =>
      relativeImports(file)
        .filter((target) => !target.startsWith(src) || !existsSync(target))
        .map((target) => `${name(file)} → ${relative(root, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test("no file imports itself by way of others, types included", () => {
    expect(rings().filter((ring) => !(ring in cycles))).toEqual([]);
  });

  test.each(Object.entries(doors))("the door %s shows exactly the names it is known for", (door, names) => {
    const file = join(src, door);
    const shown = existsSync(file) ? namesAt(file) : [];
    expect(shown).toEqual([...names].sort());
  });

  test("the core needs nothing at run time but Node", () => {
    const manifest = JSON.parse(readFileSync(join(root, "packages/core/package.json"), "utf8"));
    for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"]) {
      expect(Object.keys(manifest[kind] ?? {}), kind).toEqual([]);
    }
    const foreign = sources.flatMap((file) =>
      imports
        .get(file)!
        .filter((target) => !target.startsWith(".") && !target.startsWith("node:"))
        .map((target) => `${name(file)} → ${target}`),
    );
    expect(foreign).toEqual([]);
  });

  test("a file of more than 400 lines opens by saying why it is one piece", () => {
    const long = everyFile
      .filter((file) => /\.(ts|tsx|mjs|js)$/.test(file))
      .filter((file) => {
        const text = readFileSync(file, "utf8");
        const opening = /^(?:\s*\/\/[^\n]*\n)+|^\s*\/\*[\s\S]*?\*\//.exec(text)?.[0] ?? "";
        return text.split("\n").length > 401 && !opening.includes("one piece");
      });
    expect(long.map((file) => relative(root, file))).toEqual([]);
  });

  test("nothing points outside of the repository", () => {
    const outside = new RegExp(["\\.\\.", "shared\\b"].join("/"));
    const pointing = everyFile.filter((file) => outside.test(readFileSync(file, "utf8")));
    expect(pointing.map((file) => relative(root, file))).toEqual([]);
  });
});

function filesBelow(folder: string): string[] {
  const skipped = /^(node_modules|dist|dist\.\d+|\.git|coverage)$/;
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !skipped.test(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
    });
}

function name(file: string): string {
  return relative(src, file);
}

function roomOf(file: string): string {
  return name(file).split("/")[0]!.replace(/\.ts$/, "");
}

function withoutComments(file: string): string {
  return readFileSync(file, "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "");
}

/** What a file imports, however it says it: import … from, export … from, import "…", import("…"). */
function importsOf(file: string): string[] {
  const statement = /(?:^|;)\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']/gm;
  const bare = /(?:^|;)\s*import\s*["']([^"']+)["']/gm;
  const called = /\bimport\(\s*["']([^"']+)["']\s*\)/g;
  const text = withoutComments(file);
  return [statement, bare, called].flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1]!));
}

function relativeImports(file: string): string[] {
  return imports
    .get(file)!
    .filter((target) => target.startsWith("."))
    .map((target) => join(dirname(file), target));
}

/** Every ring found while walking the imports in depth, written from its alphabetically first file. */
function rings(): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const walk = (file: string, path: string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      const ring = path.slice(at).map(name);
      const first = ring.indexOf([...ring].sort()[0]!);
      found.add([...ring.slice(first), ...ring.slice(0, first)].join(" > "));
    } else if (!done.has(file) && imports.has(file)) {
      for (const target of relativeImports(file)) walk(target, [...path, file]);
      done.add(file);
    }
  };
  for (const file of sources) walk(file, []);
  return [...found].sort();
}

/** A door lists its names one by one, each from the file that has it; anything else in it is refused. */
function namesAt(file: string): string[] {
  const list = /export\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"[^"]+";/g;
  const text = withoutComments(file);
  const rest = text.replace(list, "").trim();
  if (rest !== "") throw new Error(`${name(file)} may only say: export { … } from "…"; it also says: ${rest}`);
  return [...text.matchAll(list)]
    .flatMap((match) => match[1]!.split(","))
    .map((each) =>
      each
        .trim()
        .replace(/^type\s+/, "")
        .replace(/^.*\sas\s+/, ""),
    )
    .filter((each) => each !== "")
    .sort();
}
