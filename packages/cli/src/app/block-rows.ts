// A part of the transcript, as rows.

import { homedir } from "node:os";
import { outputText } from "../output-text.ts";
import { diffSpan } from "../rows/highlight.ts";
import { markdownLine } from "../rows/markdown.ts";
import { sanitize, sanitizeLine, spell } from "../terminal/sanitize.ts";
import { fit, type Row, type Span, wrap } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import type { Block } from "../view/view.ts";

/** What is shown of a tool's output while it is folded. */
const FOLDED_LINES = 4;
const MOST_WHOLE = 2_000;

export function blockRows(block: Block, columns: number, texts: Texts): Row[] {
  switch (block.kind) {
    case "welcome":
      return welcomeRows(block, columns, texts);
    case "person":
      return [
        [],
        ...sanitize(block.text)
          .split("\n")
          .flatMap((line, at) => quoted(line, at === 0 ? "› " : "  ", columns)),
      ];
    case "answer": {
      let state = block.from;
      const rows: Row[] = block.first ? [[]] : [];
      for (const line of block.lines) {
        const drawn = markdownLine(line, state, columns);
        rows.push(...drawn.rows);
        state = drawn.state;
      }
      return rows;
    }
    case "call":
      return callRows(block, columns, texts);
    case "diff":
      return [[], ...diffRows(block.diff, columns)];
    case "asked":
      return [
        [],
        ...spell(block.text)
          .split("\n")
          .flatMap((line) => wrap([{ text: line.replaceAll("\t", "    ") }], columns, 2)),
      ];
    case "note": {
      const lead = block.tone === "stop" ? "■ " : block.tone === "error" ? "✗ " : "  ";
      const style = block.tone;
      const lines = sanitize(block.text).split("\n");
      const gap: Row[] = block.tone === "dim" ? [] : [[]];
      return [
        ...gap,
        ...lines.flatMap((line, at) =>
          wrap(
            [
              { text: at === 0 ? lead : "  ", style },
              { text: line, style },
            ],
            columns,
            2,
          ),
        ),
      ];
    }
    default:
      return block satisfies never;
  }
}

function quoted(line: string, lead: string, columns: number): Row[] {
  return wrap(
    [
      { text: lead, style: "accent" },
      { text: line, style: "person" },
    ],
    columns,
    2,
  );
}

function welcomeRows(block: Extract<Block, { kind: "welcome" }>, columns: number, texts: Texts): Row[] {
  const home = homedir();
  const { folder } = block;
  const place = folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
  const lines: Span[][] = [
    [
      { text: "belay", style: "heading" },
      { text: ` · ${texts.app.welcome}`, style: "bold" },
    ],
    [{ text: `${sanitizeLine(block.model, 80)} · ${sanitizeLine(place, 200)}`, style: "dim" }],
    ...(block.demo ? [[{ text: texts.app.welcomeDemo, style: "stop" }]] : []),
    [{ text: texts.app.welcomeKeys, style: "dim" }],
  ];
  return lines.flatMap((line) => wrap(line, columns));
}

function callRows(block: Extract<Block, { kind: "call" }>, columns: number, texts: Texts): Row[] {
  const ok = block.outcome === "ok";
  const style = ok ? "ok" : block.outcome === "error" || block.outcome === "unknown" ? "error" : "stop";
  const took = block.ms === undefined || block.ms < 1_000 ? "" : ` · ${duration(block.ms)}`;
  const ending = ok ? took : ` · ${texts.tool[block.outcome]}${took}`;
  const head = wrap(
    [{ text: ok ? "✓ " : "✗ ", style }, { text: sanitizeLine(block.label, 200) }, { text: ending, style: "dim" }],
    columns,
    2,
  );
  const text = sanitize(outputText(block.output)).replace(/\n+$/, "");
  if (text === "") return head;
  const lines = text.split("\n");
  const most = block.whole ? MOST_WHOLE : FOLDED_LINES;
  // The end of what a command wrote tells most; of what was read, the beginning.
  const shown = block.tool === "shell" ? lines.slice(-most) : lines.slice(0, most);
  const body = shown.flatMap((line) => outputRows(line, columns, block.whole));
  const left = lines.length - shown.length;
  const more: Row[] = left > 0 ? wrap([{ text: `  ${texts.tool.more(left)}`, style: "dim" }], columns, 2) : [];
  return block.tool === "shell" ? [...head, ...more, ...body] : [...head, ...body, ...more];
}

function outputRows(line: string, columns: number, whole: boolean): Row[] {
  const room = Math.max(4, columns - 2);
  const shown = whole ? line : fit(line, room);
  return wrap([{ text: shown, style: "dim" }], room).map((row) => [{ text: "  " }, ...row]);
}

/** What a person decides about, to the last character. */
export function diffRows(diff: string, columns: number): Row[] {
  const lines = spell(diff).replace(/\n$/, "").split("\n");
  return lines.flatMap((line) => wrap([diffSpan(line.replaceAll("\t", "    "))], columns, 2));
}

export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return `${Math.floor(seconds / 3_600)}h ${Math.floor((seconds % 3_600) / 60)}m`;
}

export function compact(n: number): string {
  return n < 1_000 ? String(n) : n < 1_000_000 ? `${(n / 1_000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}
