// The preview of a change, as rows. It is here, and not with the drawing code, since keys scroll it.

import type { Interrupt } from "@belay/core";
import type { Preview } from "../preview.ts";
import { diffRows } from "../rows/diff-rows.ts";
import { placeWords } from "../rows/place-words.ts";
import { spell } from "../terminal/sanitize.ts";
import { chop, fit, type Row } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";

export type PreviewOf = (request: Interrupt) => Preview | undefined;

/** Columns that the frame of a dialog takes. */
const FRAME = 4;

/** The columns inside a frame. */
export function innerColumns(columns: number): number {
  return Math.max(8, columns - FRAME);
}

/** Returns the whole preview of a call: complete, and with no escape sequence that a terminal obeys. */
export function previewRows(request: Interrupt, columns: number, previewOf: PreviewOf, texts: Texts): Row[] {
  const inner = Math.max(8, columns);
  const plain = (text: string): Row[] =>
    spell(text)
      .replaceAll("\t", "    ")
      .split("\n")
      .flatMap((line) => chop(line, inner).map((row): Row => [{ text: row }]));
  if (request.kind === "input" || request.kind === "custom") {
    const { context } = request;
    if (context === undefined || (typeof context === "object" && context !== null && "options" in context)) return [];
    return plain(typeof context === "string" ? context : JSON.stringify(context, null, 2));
  }
  if (request.tool === undefined) return [];
  const preview = previewOf(request) ?? { kind: "args" as const, args: request.args ?? null };
  switch (preview.kind) {
    case "diff":
      return diffRows(preview.diff, inner);
    case "command":
      return [
        ...plain(preview.command).map((row): Row => row.map((span) => ({ ...span, style: "bold" }))),
        dimmed(fit(texts.dialog.in(spell(placeWords(preview.folder))), inner)),
      ];
    case "args":
      return plain(typeof preview.args === "string" ? preview.args : JSON.stringify(preview.args, null, 2));
    default:
      return preview satisfies never;
  }
}

function dimmed(text: string): Row {
  return [{ text, style: "dim" }];
}
