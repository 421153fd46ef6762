// The size of sources, tests left out: lines of code (no comments, no blanks), branches for each 100 of them, and the fields
// of each class.
//
//   node scripts/size.mjs packages/core/src                       one or more folders or files
//   node scripts/size.mjs packages/core/src --against main        and what has changed since that commit
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseSync } from "vite";

/**
 * @typedef {{ name: string, line: number, fields: number }} ClassSize
 * @typedef {{ lines: number, branches: number, classes: ClassSize[] }} Size
 * @typedef {Map<string, Size>} Sizes by path, from the root of the repository
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const MOST_CLASSES = 15;

const isSource = (/** @type {string} */ path) =>
  /\.(?:[cm]?[jt]s|[jt]sx)$/.test(path) &&
  !/\.(?:test)\.[a-z]+$|\.d\.[cm]?ts$/.test(path) &&
  !path.split("/").some((part) => part === "node_modules" || part === "dist" || part.startsWith("dist."));

/** Nodes that choose. `else if` is an `if`. A `default` chooses nothing, and a conditional type does not run. */
const CHOICES = new Set(
  "IfStatement ConditionalExpression LogicalExpression CatchClause ForStatement ForInStatement ForOfStatement WhileStatement DoWhileStatement".split(
    " ",
  ),
);

/** @typedef {{ type: string, start: number, [field: string]: any }} Node of the parser's tree */

const isChoice = (/** @type {Node} */ node) =>
  CHOICES.has(node.type) ||
  (node.type === "SwitchCase" && node.test !== null) ||
  (node.type === "AssignmentExpression" && /^(?:&&|\|\||\?\?)=$/.test(node.operator));

/** Static fields count, and so do parameters of the constructor that are fields. */
function fieldsOfClass(/** @type {Node} */ { body }) {
  const of = (/** @type {Node} */ { type, kind, value }) =>
    /PropertyDefinition$|AccessorProperty$/.test(type)
      ? 1
      : kind === "constructor"
        ? value.params.filter((/** @type {Node} */ each) => each.type === "TSParameterProperty").length
        : 0;
  return body.body.reduce((/** @type {number} */ sum, /** @type {Node} */ member) => sum + of(member), 0);
}

/**
 * Measures one source. Its name says which language it is.
 * @param {string} name
 * @param {string} source
 * @returns {Size}
 */
export function measure(name, source) {
  const { program, comments, errors } = parseSync(name, source);
  if (errors[0] !== undefined) throw new Error(`${name} cannot be parsed: ${errors[0].message}`);
  let bare = source;
  for (const { start, end } of comments)
    bare = bare.slice(0, start) + source.slice(start, end).replace(/[^\n]/g, " ") + bare.slice(end);
  const lineAt = (/** @type {number} */ at) => source.slice(0, at).split("\n").length;
  /** @type {Size} */
  const size = { lines: bare.split("\n").filter((line) => line.trim() !== "").length, branches: 0, classes: [] };
  const visit = (/** @type {unknown} */ node) => {
    if (node === null || typeof node !== "object") return;
    if ("type" in node) {
      const it = /** @type {Node} */ (node);
      if (isChoice(it)) size.branches += 1;
      if (it.type === "ClassDeclaration" || it.type === "ClassExpression")
        size.classes.push({ name: it.id?.name ?? "(no name)", line: lineAt(it.start), fields: fieldsOfClass(it) });
    }
    for (const inside of Object.values(node)) visit(inside);
  };
  visit(program);
  return size;
}

/** @returns {string[]} */
function filesBelow(/** @type {string} */ path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => name !== "node_modules" && name !== ".git")
    .flatMap((name) => filesBelow(join(path, name)));
}

const fromRoot = (/** @type {string} */ path) => relative(root, resolve(path)).split(sep).join("/");

/** @returns {Sizes} */
function sizesNow(/** @type {readonly string[]} */ places) {
  const files = places.filter((place) => existsSync(place)).flatMap(filesBelow);
  return new Map(
    files
      .filter((file) => isSource(fromRoot(file)))
      .map((file) => [fromRoot(file), measure(file, readFileSync(file, "utf8"))]),
  );
}

const git = (/** @type {readonly string[]} */ args) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });

/** @returns {Sizes} */
function sizesAt(/** @type {string} */ commit, /** @type {readonly string[]} */ places) {
  const named = git(["ls-tree", "-r", "-z", "--name-only", commit, "--", ...places.map(fromRoot)]);
  const files = named.split("\0").filter((path) => path !== "" && isSource(path));
  return new Map(files.map((path) => [path, measure(path, git(["show", `${commit}:${path}`]))]));
}

const per100 = (/** @type {{ lines: number, branches: number }} */ { lines, branches }) =>
  lines === 0 ? 0 : (100 * branches) / lines;
const fieldsOf = (/** @type {Size} */ { classes }) => classes.reduce((sum, { fields }) => sum + fields, 0);

/** @returns {{ files: number, lines: number, branches: number, classes: number, fields: number }} */
function total(/** @type {Sizes} */ sizes) {
  const all = [...sizes.values()];
  const sum = (/** @type {(size: Size) => number} */ of) => all.reduce((soFar, size) => soFar + of(size), 0);
  return {
    files: all.length,
    lines: sum(({ lines }) => lines),
    branches: sum(({ branches }) => branches),
    classes: sum(({ classes }) => classes.length),
    fields: sum(fieldsOf),
  };
}

const signed = (/** @type {number} */ n, digits = 0) => (n > 0 ? "+" : "") + n.toFixed(digits);

function table(/** @type {readonly (readonly string[])[]} */ rows) {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  // The last column is a name: it is not filled up.
  return rows.map((row) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : cell.padStart(widths[i] ?? 0))).join("  "),
  );
}

/** Every class of the sources, the one with the most fields first. */
function mostFields(/** @type {Sizes} */ sizes) {
  return [...sizes]
    .flatMap(([path, { classes }]) => classes.map((each) => ({ ...each, path })))
    .sort((a, b) => b.fields - a.fields || a.path.localeCompare(b.path));
}

function classRows(/** @type {Sizes} */ now, /** @type {Sizes | undefined} */ before) {
  const all = mostFields(now);
  const old = new Map(mostFields(before ?? new Map()).map((each) => [each.name, each.fields]));
  const rows = all.slice(0, MOST_CLASSES).map(({ name, path, line, fields }) => {
    const was = before === undefined ? [] : [old.has(name) ? signed(fields - (old.get(name) ?? 0)) : "new"];
    return [String(fields), ...was, `${name}  ${path}:${line}`];
  });
  const heading = `Classes with the most fields (${Math.min(all.length, MOST_CLASSES)} of ${all.length}):`;
  return all.length === 0 ? [] : ["", heading, ...table(rows)];
}

/** @returns {string[]} the lines to print */
export function report(/** @type {Sizes} */ now, /** @type {Sizes | undefined} */ before) {
  const row = (/** @type {string} */ name, /** @type {ReturnType<typeof total>} */ size) => [
    String(size.lines),
    String(size.branches),
    per100(size).toFixed(1),
    String(size.fields),
    name,
  ];
  const one = (/** @type {Sizes} */ sizes, /** @type {string} */ path) =>
    total(new Map(sizes.has(path) ? [[path, /** @type {Size} */ (sizes.get(path))]] : []));
  const head = ["lines", "branches", "per 100", "fields"];
  const sum = total(now);
  if (before === undefined) {
    const paths = [...now.keys()].sort((a, b) => one(now, b).lines - one(now, a).lines || a.localeCompare(b));
    const rows = [[...head, "file"], ...paths.map((path) => row(path, one(now, path)))];
    return [...table([...rows, row(`in ${sum.files} files`, sum)]), ...classRows(now, before)];
  }
  const difference = (/** @type {ReturnType<typeof total>} */ a, /** @type {ReturnType<typeof total>} */ b) => [
    signed(a.lines - b.lines),
    signed(a.branches - b.branches),
    signed(per100(a) - per100(b), 1),
    signed(a.fields - b.fields),
  ];
  const paths = [...new Set([...now.keys(), ...before.keys()])];
  const changed = paths.filter(
    (path) =>
      JSON.stringify(one(now, path)) !== JSON.stringify(one(before, path)) || now.has(path) !== before.has(path),
  );
  const moved = (/** @type {string} */ path) => one(now, path).lines - one(before, path).lines;
  changed.sort((a, b) => moved(b) - moved(a) || a.localeCompare(b));
  const fate = (/** @type {string} */ path) => (!before.has(path) ? " (new)" : !now.has(path) ? " (gone)" : "");
  const rows = changed.map((path) => {
    const size = one(now, path);
    return [...row("", size).slice(0, 4), ...difference(size, one(before, path)), path + fate(path)];
  });
  const was = total(before);
  const nothing = ["", "", "", ""];
  return [
    ...table([
      [...head, ...head.map((name) => `Δ ${name}`), "file that differs"],
      ...rows,
      [...row("", was).slice(0, 4), ...nothing, `before, in ${was.files} files`],
      [...row("", sum).slice(0, 4), ...difference(sum, was), `now, in ${sum.files} files`],
    ]),
    ...classRows(now, before),
  ];
}

/** @returns {string | undefined} */
function refusal(
  /** @type {string[]} */ places,
  /** @type {boolean} */ compares,
  /** @type {string | undefined} */ commit,
) {
  const unknown = places.find((place) => place.startsWith("-"));
  if (unknown !== undefined) return `There is no option ${unknown}.`;
  if (compares && commit === undefined) return "--against needs a commit.";
  if (places.length === 0) return "Nothing was given to measure.";
  // A place may be gone since the commit.
  const missing = places.find((place) => !compares && !existsSync(place));
  return missing === undefined ? undefined : `There is no ${missing}.`;
}

function main(/** @type {readonly string[]} */ args) {
  const against = args.indexOf("--against");
  const commit = against < 0 ? undefined : args[against + 1];
  const places = args.filter((_, i) => against < 0 || (i !== against && i !== against + 1));
  const refused = refusal(places, against >= 0, commit);
  if (refused !== undefined) {
    console.error(`${refused}\nUsage: node scripts/size.mjs <folder or file …> [--against <commit>]`);
    return 2;
  }
  try {
    const before = commit === undefined ? undefined : sizesAt(commit, places);
    const now = sizesNow(places);
    if (now.size === 0 && (before?.size ?? 0) === 0) {
      console.error(`No sources in ${places.join(", ")}. Tests are not counted.`);
      return 2;
    }
    console.log(report(now, before).join("\n"));
    return 0;
  } catch (error) {
    const { stderr } = /** @type {{ stderr?: string }} */ (error);
    if (!stderr) throw error;
    console.error(`git cannot read the commit ${commit}: ${stderr.trim()}`);
    return 2;
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.exitCode = main(process.argv.slice(2));
