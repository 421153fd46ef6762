import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { sources } from "../scripts/sources.mjs";
import { arrows, cliArrows, cliDoors, cycles, doors, privateDoors, testExceptions } from "./house.ts";
import { clientArrows, clientDoors } from "./house-of-client.ts";
import { consoleArrows } from "./house-of-console.ts";
import { engineArrows, engineDoors } from "./house-of-engines.ts";
import { generated, serverArrows, serverDoors } from "./house-of-server.ts";
import { kitArrows, kitDoors } from "./house-of-tests.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const everyFile = filesBelow(root);

/** A package of ours: its sources and tests, and the imports of each file. */
interface House {
  readonly src: string;
  readonly arrows: Record<string, readonly string[]>;
  readonly doors: Record<string, readonly string[]>;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  readonly imports: ReadonlyMap<string, readonly string[]>;
}

const houses = [
  house("core", arrows, doors),
  house("cli", cliArrows, cliDoors),
  house("server", serverArrows, serverDoors),
  house("client", clientArrows, clientDoors),
  house("console", consoleArrows, {}),
  house("testkit", kitArrows, kitDoors),
  house("bullmq", engineArrows.bullmq, engineDoors.bullmq),
  house("dbos", engineArrows.dbos, engineDoors.dbos),
  house("restate", engineArrows.restate, engineDoors.restate),
] as const;
const [core, , server, , , testkit] = houses;

describe.each(houses)("the house $src", (at) => {
  test("each room imports only from the rooms its arrows name", () => {
    const wrong = at.sources.flatMap((file) => {
      const room = roomOf(at, file);
      const allowed = at.arrows[room];
      if (!allowed) return [`${name(at, file)}: the room ${room} is not in test/house.ts`];
      return relativeImports(at, file)
        .filter((target) => target.startsWith(at.src))
        .filter((target) => roomOf(at, target) !== room && !allowed.includes(roomOf(at, target)))
        .map((target) => `${name(at, file)} → ${name(at, target)}: ${room} may not import ${roomOf(at, target)}`);
    });
    expect(wrong).toEqual([]);
  });

  test("a test imports the rooms that its own room may import, the doors of its package, and helpers for tests", () => {
    const held = at.tests.filter((file) => !(relative(root, file) in testExceptions));
    const wrong = held.flatMap((file) => {
      const room = roomOf(at, file);
      const allowed = [room, ...("testing" in at.arrows ? ["testing"] : []), ...(at.arrows[room] ?? [])];
      return relativeImports(at, file)
        .filter((target) => target.startsWith(at.src) && !isDoor(at, target))
        .filter((target) => !allowed.includes(roomOf(at, target)))
        .map((target) => `${name(at, file)} → ${name(at, target)}`);
    });
    expect(wrong).toEqual([]);
  });

  test("a relative import names a file that exists, inside the package; one for tests may be a script", () => {
    const scripts = join(root, "scripts");
    const wrong = [...at.sources, ...at.tests].flatMap((file) =>
      relativeImports(at, file)
        .filter((target) => {
          const inside = target.startsWith(at.src) || (isForTests(at, file) && target.startsWith(scripts));
          return !inside || !(existsSync(target) || generated.includes(relative(root, target)));
        })
        .map((target) => `${name(at, file)} → ${relative(root, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test("only tests import the testkit, and only the testkit opens private doors", () => {
    const wrong = [...at.sources, ...at.tests].flatMap((file) =>
      at.imports
        .get(file)!
        .filter((target) => target.startsWith("@belay/testkit") || privateDoors.includes(target))
        .filter((target) => !(privateDoors.includes(target) ? at === testkit : isForTests(at, file)))
        .map((target) => `${name(at, file)} → ${target}`),
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
  test("no file outside of a package imports the sources of one by a path", () => {
    const packages = join(root, "packages");
    const wrong = everyFile
      .filter((file) => /\.(tsx?|mjs|js)$/.test(file) && !file.startsWith(packages))
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => target.startsWith(".") && join(dirname(file), target).startsWith(packages))
          .map((target) => `${relative(root, file)} → ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  test("tests and types find the same source behind each door", () => {
    const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
    const found = Object.entries(sources).map(([door, path]) => [door, [`./${relative(root, path)}`]]);
    expect(compilerOptions.paths).toEqual(Object.fromEntries(found));
  });

  test("a package has the doors that its package.json names, and no private one", () => {
    const dirs = ["bullmq", "cli", "client", "console", "core", "dbos", "restate", "server", "testkit"];
    const named = dirs.flatMap((dir) => {
      const manifest = JSON.parse(readFileSync(join(root, "packages", dir, "package.json"), "utf8"));
      return Object.keys(manifest.exports).map((door) => join(manifest.name, door));
    });
    expect([...named, ...privateDoors].sort()).toEqual(Object.keys(sources).sort());
  });

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

  test("the server needs our own packages only, and nothing of Node: it runs wherever a Request becomes a Response", () => {
    const foreign = server.sources
      .filter((file) => !isForTests(server, file))
      .flatMap((file) =>
        server.imports
          .get(file)!
          .filter((target) => !target.startsWith(".") && !target.startsWith("@belay/"))
          .map((target) => `${name(server, file)} → ${target}`),
      );
    expect(foreign).toEqual([]);
  });

  test("a file of more than 400 lines after its imports opens by saying why it is one piece", () => {
    const long = everyFile
      .filter((file) => /\.(ts|tsx|mjs|js)$/.test(file))
      .filter((file) => {
        const text = readFileSync(file, "utf8");
        const opening = /^(?:\s*\/\/[^\n]*\n)+|^\s*\/\*[\s\S]*?\*\//.exec(text)?.[0] ?? "";
        const own = text.replace(/^import\b[^;]*;\n/gm, "");
        return own.split("\n").length > 401 && !opening.includes("one piece");
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
  const files = everyFile.filter((file) => file.startsWith(`${src}/`) && /\.(tsx?|mjs)$/.test(file));
  const sources = files.filter((file) => !isTest(file));
  const tests = files.filter(isTest);
  return { src, arrows, doors, sources, tests, imports: new Map(files.map((file) => [file, importsOf(file)])) };
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file);
}

/** A test, or a file that only tests use. */
function isForTests(at: House, file: string): boolean {
  return isTest(file) || at === testkit || (at !== core && roomOf(at, file) === "testing");
}

/** A door of the package that is not private. */
function isDoor(at: House, file: string): boolean {
  const door = name(at, file);
  return door in at.doors && !privateDoors.some((each) => sources[each as keyof typeof sources] === file);
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
  return room.replace(/(\.test)?\.(tsx?|m?js)$/, "");
}

function withoutComments(file: string): string {
  return readFileSync(file, "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "");
}

/** Returns the imports of a file, in every form: import … from, export … from, import "…", import("…"). */
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
