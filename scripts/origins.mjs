// docs/origins.md names, for each claim of the designs that Belay unites, its test, or our alternative and the reason.
// The claims are docs/origins.json.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {{ by: string, why: string }} Decision a promise that tests cite ("S2"), or a page of the docs
 * @typedef {{ id: string, claim: string, test?: string[], decision?: Decision, pending?: string }} Claim
 * @typedef {{ name: string, about: string, claims: Claim[] }} Origin
 * @typedef {{ pending: Record<string, string>, origins: Origin[] }} Origins
 * @typedef {(path: string) => string[] | undefined} TitlesOf the titles in a test file; undefined if there is none
 */

const SEPARATOR = " › ";

/** @returns {Origins} */
export function readOrigins(/** @type {string} */ root) {
  return JSON.parse(readFileSync(join(root, "docs/origins.json"), "utf8"));
}

/** The titles of tests and groups in a test file, as they are written; those that are skipped are none. */
export function titlesIn(/** @type {string} */ source) {
  const called = /(?:\b(?:test|it|describe)\b(?![^\n("'`]*\.(?:skip|todo)\b)[^\n"'`]*|\))\(\s*/.source;
  const literal = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)\s*,/.source;
  return [...source.matchAll(new RegExp(called + literal, "g"))].map((found) =>
    /** @type {string} */ (found[1]).slice(1, -1).replace(/\\(.)/g, "$1"),
  );
}

/** @returns {TitlesOf} */
export function titlesBelow(/** @type {string} */ root) {
  /** @type {Map<string, string[]>} */
  const read = new Map();
  return (path) => {
    if (!path.endsWith(".test.ts") || !existsSync(join(root, path))) return undefined;
    const titles = read.get(path) ?? titlesIn(readFileSync(join(root, path), "utf8"));
    read.set(path, titles);
    return titles;
  };
}

/** Every promise that the title of a test cites: "S2", "section 9". */
export function citedBelow(/** @type {string} */ root) {
  /** @type {Set<string>} */
  const cited = new Set();
  const titles = titlesBelow(root);
  for (const folder of ["packages/core/src", "packages/testkit/src", "examples", "test"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      for (const title of titles(`${folder}/${file.replaceAll("\\", "/")}`) ?? []) {
        for (const [promise] of title.matchAll(/\bsection \d+|\b[A-Z]\d+\b/g)) cited.add(promise);
      }
    }
  }
  return cited;
}

/**
 * Returns the faults of the claims: each needs a test that exists, a promise or page against it, or is pending.
 * @param {Origins} origins
 * @param {{ titles: TitlesOf, cited: ReadonlySet<string>, exists: (path: string) => boolean }} project
 */
export function originProblems({ origins, pending }, { titles, cited, exists }) {
  const claims = origins.flatMap((origin) => origin.claims);
  const problems = claims.flatMap(({ id, claim, test = [], decision, pending: waits }, i) => {
    const found = [];
    if (claims.findIndex((other) => other.id === id) !== i) found.push("is there twice");
    if (claim.trim() === "") found.push("claims nothing");
    if (test.length === 0 && !decision && !waits) found.push("has no test and no decision, and is not pending");
    for (const ref of test) {
      const { path, title } = splitRef(ref);
      if (!titles(path)) found.push(`names ${path}, which is no test file`);
      else if (!titles(path)?.includes(title)) found.push(`names a test that is not in ${path}: ${title}`);
    }
    if (decision && !cited.has(decision.by) && !(decision.by.startsWith("docs/") && exists(decision.by))) {
      found.push(`differs by ${decision.by}, which no test cites and which is no page`);
    }
    if (decision && decision.why.trim() === "") found.push("differs without a word why");
    if (waits !== undefined && !Object.hasOwn(pending, waits)) found.push(`waits for ${waits}, which nobody explains`);
    return found.map((problem) => `${id} ${problem}`);
  });
  const awaited = new Set(claims.map((claim) => claim.pending));
  return [
    ...problems,
    ...Object.keys(pending).flatMap((part) => (awaited.has(part) ? [] : [`nothing waits for ${part}`])),
  ];
}

/** Returns the page; throws if a claim has no test, no promise and no page. */
export function originsDoc(/** @type {string} */ root) {
  const origins = readOrigins(root);
  const project = {
    titles: titlesBelow(root),
    cited: citedBelow(root),
    exists: (/** @type {string} */ path) => existsSync(join(root, path)),
  };
  const problems = originProblems(origins, project);
  if (problems.length > 0) throw new Error(`docs/origins.json:\n${problems.join("\n")}`);
  const waiting = Object.entries(origins.pending).map(([part, words]) => `- *${part}*: ${words}`);
  const parts = [
    "# Origins",
    "Belay unites four published designs for interrupting agents. Each line below is something that a reader of one of them would look for, in our words, with the tests that show it. Where we do otherwise, the line says by which promise (tests cite them by letter and number) or page, and why. Some lines have both: the tests show what is alike.",
    "This page is printed from `docs/origins.json` by `npm run docs`, which fails when a claim has nothing to stand for it or a test is not there. `…` in the name of a test stands for its cases.",
    ...(waiting.length === 0 ? [] : [`Not there yet:\n\n${waiting.join("\n")}`]),
    ...origins.origins.flatMap(({ name, about, claims }) => [`## ${name}`, about, table(claims)]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function table(/** @type {Claim[]} */ claims) {
  const rows = claims.map((claim) => `| ${claim.id} | ${cell(claim.claim)} | ${standing(claim)} |`);
  return ["| | claim | what stands for it |", "|---|---|---|", ...rows].join("\n");
}

function standing(/** @type {Claim} */ { test = [], decision, pending }) {
  const lines = test.map((ref) => {
    const { path, title } = splitRef(ref);
    return `[${cell(title.replace(/\$\{[^}]*\}+|%[sj]|\$\w+/g, "…"))}](../${path})`;
  });
  if (decision) {
    const { by, why } = decision;
    const name = by.startsWith("docs/") ? `[${by.slice(5)}](${by.slice(5)})` : by;
    lines.push(`**otherwise, by ${name}**: ${cell(why)}`);
  }
  if (pending) lines.push(`${lines.length > 0 ? "the rest " : ""}*waits for: ${pending}*`);
  return lines.join("<br>");
}

function splitRef(/** @type {string} */ ref) {
  const at = ref.indexOf(SEPARATOR);
  return { path: ref.slice(0, at), title: ref.slice(at + SEPARATOR.length) };
}

/** What Markdown would read otherwise. */
function cell(/** @type {string} */ text) {
  return text.replace(/[[\]<>|*_`\\]/g, "\\$&");
}
