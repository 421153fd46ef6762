// A unified diff as rows: each line with its number, and the words that differ marked in lines that take each other's place.

import { spell } from "../terminal/sanitize.ts";
import { type Row, type Span, wrap } from "../terminal/width.ts";

interface Line {
  readonly kind: " " | "-" | "+" | "note";
  readonly number: number;
  readonly text: string;
  /** The parts of the text that differ from the line that it replaces, or that replaces it. */
  readonly parts?: readonly Part[];
}

interface Part {
  readonly text: string;
  readonly differs: boolean;
}

/** Longer lines are compared only by their common beginning and end. */
const MOST_WORDS = 200;
/** Of two lines that have less than this in common, each is marked as a whole. */
const LEAST_SAME = 0.3;

/** Shows the whole change, to the last character. The caller shows the path. */
export function diffRows(diff: string, columns: number): Row[] {
  const lines = compared(linesOf(spell(diff).replaceAll("\t", "    ").replace(/\n$/, "").split("\n")));
  const digits = String(lines.reduce((most, { number }) => Math.max(most, number), 1)).length;
  return lines.flatMap((line) => rowsOf(line, digits, columns));
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

function linesOf(diff: readonly string[]): Line[] {
  const lines: Line[] = [];
  let old = 1;
  let fresh = 1;
  let begun = false;
  for (const text of diff) {
    const hunk = HUNK.exec(text);
    if (hunk !== null) {
      if (begun) lines.push({ kind: "note", number: 0, text: "⋮" });
      [old, fresh, begun] = [Number(hunk[1]), Number(hunk[2]), true];
    } else if (!begun && /^(?:---|\+\+\+) /.test(text)) {
      // The names of the files.
    } else if (text.startsWith("-")) lines.push({ kind: "-", number: old++, text: text.slice(1) });
    else if (text.startsWith("+")) lines.push({ kind: "+", number: fresh++, text: text.slice(1) });
    else if (text.startsWith(" ")) {
      lines.push({ kind: " ", number: fresh++, text: text.slice(1) });
      old += 1;
    } else lines.push({ kind: "note", number: 0, text });
  }
  return lines;
}

/** Lines that were taken out are compared, one by one, with those that were put in after them. */
function compared(lines: readonly Line[]): readonly Line[] {
  const out = [...lines];
  for (let at = 0; at < lines.length; ) {
    const removed = count(lines, at, "-");
    const added = count(lines, at + removed, "+");
    for (let nth = 0; nth < Math.min(removed, added); nth += 1) {
      const [before, after] = [lines[at + nth]!, lines[at + removed + nth]!];
      const parts = differing(before.text, after.text);
      if (parts === undefined) continue;
      out[at + nth] = { ...before, parts: parts[0] };
      out[at + removed + nth] = { ...after, parts: parts[1] };
    }
    at += Math.max(1, removed + added);
  }
  return out;
}

function count(lines: readonly Line[], from: number, kind: Line["kind"]): number {
  let to = from;
  while (lines[to]?.kind === kind) to += 1;
  return to - from;
}

const WORDS = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;

/** Returns both texts in parts; undefined if they have too little in common. */
function differing(before: string, after: string): readonly [Part[], Part[]] | undefined {
  const [old, fresh] = [before.match(WORDS) ?? [], after.match(WORDS) ?? []];
  const same = old.length > MOST_WORDS || fresh.length > MOST_WORDS ? ends(old, fresh) : longest(old, fresh);
  const kept = [...same.keys()].reduce((sum, at) => sum + old[at]!.trim().length, 0);
  const all = Math.max(before.replace(/\s/g, "").length, after.replace(/\s/g, "").length);
  if (kept < all * LEAST_SAME) return undefined;
  const there = new Set(same.values());
  return [partsOf(old, (at) => !same.has(at)), partsOf(fresh, (at) => !there.has(at))];
}

/** By the place in the old words, the place in the new ones. */
type Same = Map<number, number>;

function ends(old: readonly string[], fresh: readonly string[]): Same {
  const same: Same = new Map();
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  for (; head < most && old[head] === fresh[head]; head += 1) same.set(head, head);
  for (let tail = 1; tail <= most - head && old.at(-tail) === fresh.at(-tail); tail += 1)
    same.set(old.length - tail, fresh.length - tail);
  return same;
}

/** The longest words in common, in order. */
function longest(old: readonly string[], fresh: readonly string[]): Same {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = fresh.length - 1; j >= 0; j -= 1)
      lengths[i]![j] =
        old[i] === fresh[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  const same: Same = new Map();
  for (let i = 0, j = 0; i < old.length && j < fresh.length; ) {
    if (old[i] === fresh[j]) same.set(i++, j++);
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i += 1;
    else j += 1;
  }
  return same;
}

function partsOf(words: readonly string[], differs: (at: number) => boolean): Part[] {
  const parts: { text: string; differs: boolean }[] = [];
  for (const [at, text] of words.entries()) {
    const last = parts.at(-1);
    if (last !== undefined && last.differs === differs(at)) last.text += text;
    else parts.push({ text, differs: differs(at) });
  }
  return parts;
}

function rowsOf(line: Line, digits: number, columns: number): Row[] {
  const number = (line.kind === "note" ? "" : String(line.number)).padStart(digits);
  const lead: Span = { text: `${number} `, style: "dim" };
  const hanging = digits + 2;
  if (line.kind === "note") return wrap([lead, { text: line.text, style: "hunk" }], columns, hanging);
  const style = { " ": "soft", "-": "removed", "+": "added" }[line.kind];
  const marked = line.kind === "-" ? "removed-word" : "added-word";
  const parts = line.parts ?? [{ text: line.text, differs: false }];
  const words = parts.map(({ text, differs }): Span => ({ text, style: differs ? marked : style }));
  return wrap([lead, { text: line.kind, style }, ...words], columns, hanging);
}
