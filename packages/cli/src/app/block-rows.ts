// A part of the transcript, as rows. The first column is for our own marks: the words of a model never stand there, so they
// cannot pass for the end of a call or a stop.

import { outputText } from "../output-text.ts";
import { diffRows } from "../rows/diff-rows.ts";
import { band, GUTTER, gutter, rule, sides } from "../rows/layout.ts";
import { markdownRows } from "../rows/markdown.ts";
import { placeWords } from "../rows/place-words.ts";
import { sanitize, sanitizeLine } from "../terminal/sanitize.ts";
import { fit, type Row, type Span, width, wrap } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import type { Block } from "../view/view.ts";

/** Lines of a failed call's output that are shown while it is folded. */
const FOLDED_LINES = 4;
/** Lines of a change that are shown while it is folded. */
const DIFF_LINES = 20;
/** More than any tool returns: the whole is whole. */
const MOST_WHOLE = 40_000;

/** Columns without end: every line is one row, without any layout. */
export function blockRows(block: Block, columns: number, texts: Texts): Row[] {
  switch (block.kind) {
    case "welcome":
      return welcomeRows(block, columns, texts);
    case "person":
      return [[], ...personRows(block.text, columns)];
    case "answer": {
      const { rows } = markdownRows(block.lines, block.from, columns - GUTTER);
      // The mark stands also before an answer that begins with a fence.
      if (!block.first) return gutter({ text: "  " }, rows);
      return [[], ...gutter({ text: "● " }, rows.length === 0 ? [[]] : rows)];
    }
    case "call":
      return callRows(block, columns, texts);
    case "diff":
      return changeRows(block, columns, texts);
    case "thought":
      return thoughtRows(block, columns, texts);
    case "stop":
      return stopRows(block, columns, texts);
    case "note": {
      const style = block.tone;
      const mark = { text: style === "stop" ? "■ " : style === "error" ? "✗ " : "  ", style };
      const gap: Row[] = style === "dim" ? [] : [[]];
      const rows = sanitize(block.text)
        .split("\n")
        .flatMap((line) => wrap([{ text: line, style }], columns - GUTTER));
      return [...gap, ...gutter(mark, rows)];
    }
    default:
      return block satisfies never;
  }
}

function personRows(text: string, columns: number): Row[] {
  const rows = sanitize(text)
    .split("\n")
    .flatMap((line) => wrap([{ text: line }], columns - GUTTER));
  return gutter({ text: "› " }, rows).map((row) => band(row, columns, "person"));
}

function welcomeRows(block: Extract<Block, { kind: "welcome" }>, columns: number, texts: Texts): Row[] {
  const lines: Span[][] = [
    [
      { text: "belay", style: "heading" },
      { text: `  ${texts.app.welcome}`, style: "soft" },
    ],
    [
      {
        text: [block.model, placeWords(block.folder), ...block.guides]
          .map((each) => sanitizeLine(each, 200))
          .join(" · "),
        style: "dim",
      },
    ],
    ...(block.demo ? [[{ text: texts.app.welcomeDemo, style: "soft" }]] : []),
    [{ text: texts.app.welcomeKeys, style: "dim" }],
    [{ text: texts.app.welcomeConsole, style: "dim" }],
  ];
  return lines.flatMap((line) => gutter({ text: "  " }, wrap(line, columns - GUTTER)));
}

/** One line; under it the output, if the call failed or the person asked for it. */
function callRows(block: Extract<Block, { kind: "call" }>, columns: number, texts: Texts): Row[] {
  const { text, exit } = shellEnding(block);
  const ok = block.outcome === "ok" && exit === undefined;
  const isStop = block.outcome === "interrupted" || block.outcome === "rejected" || block.outcome === "not-executed";
  const style = ok ? "ok" : isStop ? "stop" : "error";
  const ending = ok ? "" : ` · ${exit === undefined ? texts.tool[block.outcome] : texts.tool.exit(exit)}`;
  const took = block.ms === undefined || block.ms < 1_000 ? "" : duration(block.ms);
  const [tool = "", ...rest] = sanitizeLine(block.label, 400).split(" ");
  const room = columns - GUTTER - width(tool) - width(ending) - (took === "" ? 0 : width(took) + 2);
  const head = sides(
    [
      { text: ok ? "✓ " : "✗ ", style },
      { text: tool, style: "bold" },
      { text: fit(rest.length === 0 ? "" : ` ${rest.join(" ")}`, Math.max(1, room)) },
      { text: ending, style },
    ],
    took === "" ? [] : [{ text: took, style: "dim" }],
    columns,
  );
  const output = sanitize(text).replace(/\n+$/, "");
  if (output === "" || (ok && !block.whole)) return [head];
  const lines = output.split("\n");
  const most = block.whole ? MOST_WHOLE : FOLDED_LINES;
  // The end of a command's output says most; of a file, its beginning.
  const shown = block.tool === "shell" ? lines.slice(-most) : lines.slice(0, most);
  const body = shown.flatMap((line) => outputRows(line, columns - 2 * GUTTER, block.whole));
  const left = lines.length - shown.length;
  const more: Row[] = left > 0 ? wrap([{ text: texts.tool.more(left), style: "dim" }], columns - 2 * GUTTER) : [];
  return [head, ...elbow(block.tool === "shell" ? [...more, ...body] : [...body, ...more])];
}

/** A change that was made hangs on its call. */
function changeRows({ diff, whole }: Extract<Block, { kind: "diff" }>, columns: number, texts: Texts): Row[] {
  const rows = diffRows(diff, columns - 2 * GUTTER);
  const left = whole ? 0 : rows.length - DIFF_LINES;
  if (left <= 0) return elbow(rows);
  return elbow([...rows.slice(0, DIFF_LINES), [{ text: texts.tool.more(left), style: "dim" }]]);
}

function thoughtRows(block: Extract<Block, { kind: "thought" }>, columns: number, texts: Texts): Row[] {
  const took = block.ms === undefined || block.ms < 1_000 ? "" : duration(block.ms);
  const text = sanitize(block.text).trim();
  const lead = texts.app.thought(took);
  if (!block.whole)
    return [[{ text: `  ${fit(`${lead}: ${sanitizeLine(text, 400)}`, columns - GUTTER)}`, style: "dim" }]];
  const rows = text.split("\n").flatMap((line) => wrap([{ text: line, style: "dim" }], columns - GUTTER));
  return gutter({ text: "  " }, [[{ text: lead, style: "dim" }], ...rows]);
}

/** The rows that belong to the row above them. */
export function elbow(rows: readonly Row[]): Row[] {
  return rows.map((row, at) => [{ text: at === 0 ? "  └ " : "    ", style: "dim" }, ...row]);
}

function outputRows(line: string, columns: number, whole: boolean): Row[] {
  const room = Math.max(4, columns);
  return wrap([{ text: whole ? line : fit(line, room), style: "dim" }], room);
}

/** The last line of a command's result is for the model: a person reads of an exit code only if it is not 0. */
function shellEnding({ tool, output }: Extract<Block, { kind: "call" }>): { text: string; exit?: string } {
  const text = outputText(output);
  const found = tool === "shell" ? /(?:^|\n)\[exit code (-?\d+)\]\s*$/.exec(text) : null;
  if (found === null) return { text };
  const before = text.slice(0, found.index);
  return found[1] === "0" ? { text: before } : { text: before, exit: found[1]! };
}

/** The stop: one line across everything, and under it which calls it met. */
function stopRows(block: Extract<Block, { kind: "stop" }>, columns: number, { stop }: Texts): Row[] {
  const { ms, stopped, finished, notStarted, late } = block;
  const met = [stopped, finished, notStarted, late].some(({ length }) => length > 0);
  const words = [
    ms === undefined ? stop.word : stop.after(duration(ms)),
    ...(met ? [stop.counts(stopped.length, finished.length, notStarted.length)] : []),
    ...(late.length > 0 ? [stop.stillRunning(late.length)] : []),
  ].join(" · ");
  const told = (labels: readonly string[], say: (what: string) => string) =>
    labels.length === 0 ? [] : [say(labels.map((label) => sanitizeLine(label, 200)).join(", "))];
  const names = [
    ...told(stopped, stop.stopped),
    ...told(finished, stop.finished),
    ...told(notStarted, stop.notStarted),
    ...told(late, stop.late),
  ];
  return [
    [],
    rule(columns, { words, right: stop.continue, style: "stop" }),
    ...names.flatMap((line) => gutter({ text: "  " }, wrap([{ text: line, style: "dim" }], columns - GUTTER))),
  ];
}

export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  // Under a second a stop was quick: by how much is worth a digit.
  if (ms > 0 && seconds === 0) return `${Math.max(0.1, Math.floor(ms / 100) / 10)} s`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

export function compact(n: number): string {
  return n < 1_000 ? String(n) : n < 1_000_000 ? `${(n / 1_000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}
