import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { arrows, cliArrows, cliDoors, cycles, doors } from "./house.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const everyFile = filesBelow(root);

/** A package of ours: its sources, and what each of them imports. */
interface House {
  readonly src: string;
  readonly arrows: Record<string, readonly string[]>;
  readonly doors: Record<string, readonly string[]>;
  readonly sources: readonly string[];
  readonly imports: ReadonlyMap<string, readonly string[]>;
}

const houses = [house("core", arrows, doors), house("cli", cliArrows, cliDoors)] as const;
const [core] = houses;

describe.each(houses)("the house $src", (at) => {
  test("each room imports only from the rooms its arrows name", () => {
    const wrong = at.sources.flatMap((file) => {
      const room = roomOf(at, file);
      const allowed = at.arrows[room];
      if (!allowed) return [`${name(at, file)}: the room ${room} is not in test/house.ts`];
      return relativeImports(at, file)
        .filter((target) => roomOf(at, target) !== room && !allowed.includes(roomOf(at, target)))
        .map((target) => `${name(at, file)} → ${name(at, target)}: ${room} may not import ${roomOf(at, target)}`);
    });
    expect(wrong).toEqual([]);
  });

  test("a relative import names a file that exists, inside the package", () => {
    const wrong = at.sources.flatMap((file) =>
      relativeImports(at, file)
        .filter((target) => !target.startsWith(at.src) || !existsSync(target))
        .map((target) => `${name(at, file)} → ${relative(root, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test("no file imports itself by way of others, types included", () => {
    expect(rings(at).filter((ring) => !(ring in cycles))).toEqual([]);
  });

  test.each(Object.entries(at.doors))("the door %s shows exactly the names it is known for", (door, names) => {
    const file = join(at.src, door);
    const shown = existsSync(file) ? namesAt(file) : [];
    expect(shown).toEqual([...names].sort());
  });
});

describe("the house", () => {
  test("the core needs nothing at run time but Node", () => {
    const manifest = JSON.parse(readFileSync(join(root, "packages/core/package.json"), "utf8"));
    for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"]) {
      expect(Object.keys(manifest[kind] ?? {}), kind).toEqual([]);
    }
    const foreign = core.sources.flatMap((file) =>
      core.imports
        .get(file)!
        .filter((target) => !target.startsWith(".") && !target.startsWith("node:"))
        .map((target) => `${name(core, file)} → ${target}`),
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

function house(name: string, arrows: House["arrows"], doors: House["doors"]): House {
  const src = join(root, "packages", name, "src");
  const sources = everyFile.filter(
    (file) => file.startsWith(src) && /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file),
  );
  return { src, arrows, doors, sources, imports: new Map(sources.map((file) => [file, importsOf(file)])) };
}

function filesBelow(folder: string): string[] {
  const skipped = /^(node_modules|dist|dist\.\w+|\.git|coverage)$/;
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !skipped.test(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
    });
}

function name(at: House, file: string): string {
  return relative(at.src, file);
}

function roomOf(at: House, file: string): string {
  const [first, second] = name(at, file).split("/");
  const room = first === "runner" && second !== undefined ? `${first}/${second}` : first!;
  return room.replace(/\.tsx?$/, "");
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

function relativeImports(at: House, file: string): string[] {
  return at.imports
    .get(file)!
    .filter((target) => target.startsWith("."))
    .map((target) => join(dirname(file), target));
}

/** Every ring found while walking the imports in depth, written from its alphabetically first file. */
function rings(at: House): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const walk = (file: string, path: string[]): void => {
    const from = path.indexOf(file);
    if (from >= 0) {
      const ring = path.slice(from).map((each) => name(at, each));
      const first = ring.indexOf([...ring].sort()[0]!);
      found.add([...ring.slice(first), ...ring.slice(0, first)].join(" > "));
    } else if (!done.has(file) && at.imports.has(file)) {
      for (const target of relativeImports(at, file)) walk(target, [...path, file]);
      done.add(file);
    }
  };
  for (const file of at.sources) walk(file, []);
  return [...found].sort();
}

/** A door lists its names one by one, each from the file that has it; anything else in it is refused. */
function namesAt(file: string): string[] {
  const list = /export\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"[^"]+";/g;
  const text = withoutComments(file);
  const rest = text.replace(list, "").trim();
  if (rest !== "")
    throw new Error(`${relative(root, file)} may only say: export { … } from "…"; it also says: ${rest}`);
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
