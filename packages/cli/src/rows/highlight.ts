// Highlights code, a line at a time: comments, texts, numbers, keywords. Enough to read by; no grammar.

import type { Row, Span } from "../terminal/width.ts";

const words = {
  js: "as async await break case catch class const continue default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield",
  py: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self",
  go: "break case chan const continue default defer else fallthrough for func go goto if import interface map nil package range return select struct switch true false type var",
  rust: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
  c: "auto bool break case char class const continue default delete do double else enum extern false float for goto if inline int long namespace new null nullptr package private protected public return short signed sizeof static struct switch template this throw true try typedef union unsigned using virtual void volatile while import final extends implements interface abstract boolean byte instanceof super synchronized throws",
  sh: "if then else elif fi for while until do done case esac in function return local export set unset echo cd exit source",
  sql: "select from where and or not null insert into values update set delete create table index primary key foreign references join left right inner outer on group by order having limit offset as distinct union all exists in is like between case when then else end begin commit rollback drop alter add",
  data: "true false null yes no",
} as const;

const aliases: Readonly<Record<string, keyof typeof words>> = {
  js: "js",
  javascript: "js",
  jsx: "js",
  mjs: "js",
  ts: "js",
  tsx: "js",
  typescript: "js",
  py: "py",
  python: "py",
  go: "go",
  rs: "rust",
  rust: "rust",
  c: "c",
  h: "c",
  cpp: "c",
  "c++": "c",
  cs: "c",
  java: "c",
  kotlin: "c",
  swift: "c",
  php: "c",
  sh: "sh",
  bash: "sh",
  zsh: "sh",
  shell: "sh",
  console: "sh",
  sql: "sql",
  json: "data",
  yaml: "data",
  yml: "data",
  toml: "data",
};

const keywords = new Map(
  Object.entries(words).map(([name, list]) => [name, new Set<string>(list.split(" "))] as const),
);

const slash = /\/\/.*|\/\*.*?(?:\*\/|$)/;
const hash = /(?<![\w$"'])#.*/;
const dash = /--.*/;
const comments: Readonly<Record<keyof typeof words, RegExp>> = {
  js: slash,
  go: slash,
  rust: slash,
  c: slash,
  py: hash,
  sh: hash,
  data: hash,
  sql: dash,
};

const text = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?/;
const number = /\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b0x[\da-fA-F]+\b/;
const word = /[A-Za-z_$][\w$]*/;

const MOST_MARKED = 2_000;

export function highlight(line: string, language: string): Row {
  if (language === "diff" || language === "patch") return [diffSpan(line)];
  const known = aliases[language];
  if (known === undefined || line.length > MOST_MARKED) return [{ text: line }];
  const tokens = new RegExp(`(${comments[known].source})|(${text.source})|(${number.source})|(${word.source})`, "g");
  const spans: Span[] = [];
  let at = 0;
  for (const found of line.matchAll(tokens)) {
    if (found.index > at) spans.push({ text: line.slice(at, found.index) });
    const [whole, comment, quoted, digits] = found;
    const key = known === "sql" ? whole.toLowerCase() : whole;
    const style = comment ? "comment" : quoted ? "string" : digits ? "number" : undefined;
    const named = style ?? (keywords.get(known)!.has(key) ? "keyword" : undefined);
    spans.push(named === undefined ? { text: whole } : { text: whole, style: named });
    at = found.index + whole.length;
  }
  if (at < line.length) spans.push({ text: line.slice(at) });
  return spans.length === 0 ? [{ text: "" }] : spans;
}

/** A line of a unified diff. */
export function diffSpan(line: string): Span {
  if (/^(?:\+\+\+|---) /.test(line)) return { text: line, style: "bold" };
  if (line.startsWith("@@")) return { text: line, style: "hunk" };
  if (line.startsWith("+")) return { text: line, style: "added" };
  return line.startsWith("-") ? { text: line, style: "removed" } : { text: line, style: "dim" };
}
