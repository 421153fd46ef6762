// Markdown as it streams. How a line looks depends on the lines before it only by the fence that is open, and on its
// neighbours only in a table: the rows of a table are drawn together, so that its columns are aligned.

import { sanitize } from "../terminal/sanitize.ts";
import { type Row, type Span, wrap } from "../terminal/width.ts";
import { highlight } from "./highlight.ts";
import { widthOf } from "./layout.ts";

/** Between two lines: the fence that is open, and its language. */
export interface MarkdownState {
  readonly fence?: string;
  readonly language?: string;
}

interface Drawn {
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

/** Whether a line outside of a fence is a row of a table. */
export function isTableRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line);
}

/** Draws whole lines. Rows of one table must come together. */
export function markdownRows(lines: readonly string[], from: MarkdownState, columns: number): Drawn {
  const rows: Row[] = [];
  let state = from;
  let table: string[] = [];
  const endTable = () => {
    if (table.length > 0) rows.push(...tableRows(table, columns));
    table = [];
  };
  for (const raw of lines) {
    const next = afterLine(raw, state);
    if (state.fence === undefined && isTableRow(raw)) table.push(sanitize(raw).replaceAll("\n", " "));
    else {
      endTable();
      // A line end inside of a line was another kind of line end.
      for (const line of sanitize(raw).split("\n")) rows.push(...lineRows(line, state, next, columns));
    }
    state = next;
  }
  endTable();
  return { rows, state };
}

function lineRows(line: string, state: MarkdownState, next: MarkdownState, columns: number): Row[] {
  if (state.fence !== undefined || next.fence !== undefined) {
    // The marks of a fence are not shown: the code is indented.
    if (state.fence === undefined || next.fence === undefined) return [];
    return wrap(highlight(line, state.language ?? ""), columns - 2).map((row) => [{ text: "  " }, ...row]);
  }
  const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) return wrap(inline(heading[2]!, "heading"), columns);
  if (/^\s*([-*_])\s*(?:\1\s*){2,}$/.test(line)) return [[{ text: "─".repeat(Math.min(columns, 40)), style: "line" }]];
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
  return wrap(inline(line), columns);
}

const dividing = /^[\s|:-]+$/;

/** The columns of a table as wide as their widest cell; a table that has no room is shown as it was written. */
function tableRows(lines: readonly string[], columns: number): Row[] {
  const written = lines.map(cellsOf);
  const divider = lines.findIndex((line) => dividing.test(line));
  const aligned = divider < 0 ? [] : written[divider]!.map(alignment);
  const cells = written.map((row, at) =>
    at === divider ? [] : row.map((cell) => inline(cell, at < divider ? "bold" : undefined)),
  );
  const most = Math.max(...cells.map((row) => row.length));
  const wide = Array.from({ length: most }, (_, at) => Math.max(1, ...cells.map((row) => widthOf(row[at] ?? []))));
  const total = wide.reduce((sum, each) => sum + each, 0) + 2 * (most - 1);
  if (most === 0) return [];
  const room = total <= columns ? wide : narrowed(wide, columns - 2 * (most - 1));
  if (room === undefined) return lines.flatMap((line) => wrap([{ text: line.trim() }], columns));
  return cells.flatMap((row, at): Row[] => {
    if (at === divider) return [[{ text: room.map((each) => "─".repeat(each)).join("──"), style: "line" }]];
    const wrapped = room.map((each, index) => wrap(row[index] ?? [], each));
    const height = Math.max(...wrapped.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      room.flatMap((each, index): Span[] => [
        ...(index === 0 ? [] : [{ text: "  " }]),
        ...padded(wrapped[index]![line] ?? [], each, aligned[index] ?? "left", index === most - 1),
      ]),
    );
  });
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

function alignment(mark: string): "left" | "right" {
  return /^-+:$/.test(mark.trim()) ? "right" : "left";
}

/** The widest column gives way first; undefined if the columns would be too narrow to read. */
function narrowed(wide: readonly number[], room: number): number[] | undefined {
  const next = [...wide];
  for (let over = next.reduce((sum, each) => sum + each, 0) - room; over > 0; over -= 1) {
    const widest = next.indexOf(Math.max(...next));
    if (next[widest]! <= 6) return undefined;
    next[widest]! -= 1;
  }
  return next;
}

function padded(cell: Row, columns: number, side: "left" | "right", last: boolean): Row {
  const blanks = " ".repeat(Math.max(0, columns - widthOf(cell)));
  if (side === "right") return [{ text: blanks }, ...cell];
  return last ? cell : [...cell, { text: blanks }];
}

const marks =
  /(`+)(.+?)\1(?!`)|\*\*(\S(?:.*?\S)?)\*\*|__(\S(?:.*?\S)?)__|\*(\S(?:[^*]*?\S)?)\*|(?<!\w)_(\S(?:[^_]*?\S)?)_(?!\w)|~~(\S(?:.*?\S)?)~~|!?\[([^\]]*)\]\(([^()\s]+)(?:\s+"[^"]*")?\)|\\([\\`*_{}[\]()#+\-.!|~>])/g;

/** Longer ones are shown as they are: no mark is worth a pause. */
const MOST_MARKED = 20_000;

/** Bold, code, links: a link shows its target. */
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
