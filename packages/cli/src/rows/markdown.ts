// Markdown as it streams, a line at a time: what a line looks like depends on the lines before it only by the fence that is open.

import { sanitize } from "../terminal/sanitize.ts";
import { type Row, type Span, wrap } from "../terminal/width.ts";
import { highlight } from "./highlight.ts";

/** Between two lines: the fence that is open, and its language. */
export interface MarkdownState {
  readonly fence?: string;
  readonly language?: string;
}

export interface MarkdownLine {
  readonly rows: readonly Row[];
  readonly state: MarkdownState;
}

const fenceMark = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;

/** The state after a line, without drawing it. */
export function afterLine(line: string, state: MarkdownState): MarkdownState {
  const mark = fenceMark.exec(line);
  if (state.fence !== undefined) {
    const closes = mark !== null && mark[1]!.startsWith(state.fence) && line.trim() === mark[1];
    return closes ? {} : state;
  }
  return mark === null ? state : { fence: mark[1]!, language: mark[2]!.toLowerCase() };
}

export function markdownLine(raw: string, state: MarkdownState, columns: number): MarkdownLine {
  const next = afterLine(raw, state);
  // A line end inside of a line was another kind of line end.
  const lines = sanitize(raw).split("\n");
  return { rows: lines.flatMap((line) => lineRows(line, state, next, columns)), state: next };
}

function lineRows(line: string, state: MarkdownState, next: MarkdownState, columns: number): Row[] {
  if (state.fence !== undefined || next.fence !== undefined) {
    const mark = state.fence === undefined || next.fence === undefined;
    const body = mark ? [{ text: line.trim(), style: "dim" }] : highlight(line, state.language ?? "");
    return wrap(body, columns - 2).map((row) => [{ text: "│ ", style: "dim" }, ...row]);
  }
  const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) return wrap(inline(heading[2]!, "heading"), columns);
  if (/^\s*([-*_])\s*(?:\1\s*){2,}$/.test(line)) return [[{ text: "─".repeat(Math.min(columns, 40)), style: "dim" }]];
  const quote = /^\s*>\s?(.*)$/.exec(line);
  if (quote !== null) {
    return wrap(inline(quote[1]!, "dim"), columns - 2).map((row) => [{ text: "▎ ", style: "dim" }, ...row]);
  }
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(\[[ xX]\]\s+)?(.*)$/.exec(line);
  if (item !== null) {
    const [, indent = "", mark = "", box = "", body = ""] = item;
    const bullet = /^\d/.test(mark) ? mark : "•";
    const done = box === "" ? "" : /x/i.test(box) ? "☑ " : "☐ ";
    const lead = `${indent}${bullet} `;
    return wrap([{ text: lead, style: "bullet" }, { text: done }, ...inline(body)], columns, lead.length + done.length);
  }
  if (/^\s*\|.*\|\s*$/.test(line)) return tableRows(line, columns);
  return wrap(inline(line), columns);
}

function tableRows(line: string, columns: number): Row[] {
  if (/^[\s|:-]+$/.test(line))
    return [[{ text: "─".repeat(Math.min(columns, Math.max(3, line.length))), style: "dim" }]];
  const cells = line.trim().slice(1, -1).split("|");
  const spans = cells.flatMap((cell, at): Span[] => [
    ...(at === 0 ? [] : [{ text: " │ ", style: "dim" }]),
    ...inline(cell.trim()),
  ]);
  return wrap(spans, columns);
}

const marks =
  /(`+)(.+?)\1(?!`)|\*\*(\S(?:.*?\S)?)\*\*|__(\S(?:.*?\S)?)__|\*(\S(?:[^*]*?\S)?)\*|(?<!\w)_(\S(?:[^_]*?\S)?)_(?!\w)|~~(\S(?:.*?\S)?)~~|!?\[([^\]]*)\]\(([^()\s]+)(?:\s+"[^"]*")?\)|\\([\\`*_{}[\]()#+\-.!|~>])/g;

/** Longer ones are shown as they are: no mark is worth a pause. */
const MOST_MARKED = 20_000;

/** Bold, code, links: a link shows where it leads. */
export function inline(text: string, base?: string): Row {
  const spans: Span[] = [];
  const say = (said: string, style?: string) => {
    const both = [base, style].filter(Boolean).join(" ");
    if (said !== "") spans.push(both === "" ? { text: said } : { text: said, style: both });
  };
  let at = 0;
  if (text.length > MOST_MARKED) return [{ text }];
  for (const found of text.matchAll(marks)) {
    say(text.slice(at, found.index));
    const [whole, , code, bold, bold2, italic, italic2, struck, label, href, escaped] = found;
    if (code !== undefined) say(code, "code");
    else if (bold !== undefined || bold2 !== undefined) say((bold ?? bold2)!, "bold");
    else if (italic !== undefined || italic2 !== undefined) say((italic ?? italic2)!, "italic");
    else if (struck !== undefined) say(struck, "struck");
    else if (href !== undefined) {
      say(label || href, "link");
      if (label && label !== href) say(` (${href})`, "dim");
    } else if (escaped !== undefined) say(escaped);
    else say(whole);
    at = found.index + whole.length;
  }
  say(text.slice(at));
  return spans.length === 0 ? [{ text: "" }] : spans;
}
