// A request, as rows: what is asked, exactly what would be done, and the ways to answer.

import type { Interrupt } from "@belay/core";
import type { Preview } from "../preview.ts";
import { requestWords } from "../request-words.ts";
import { sanitizeLine, spell } from "../terminal/sanitize.ts";
import { chop, fit, type Row, width, wrap } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import { choicesOf, requestOf, ruleText } from "../view/dialog.ts";
import type { Dialog, View } from "../view/view.ts";
import { diffRows, duration } from "./block-rows.ts";

export type PreviewOf = (request: Interrupt) => Preview | undefined;

interface Drawn {
  readonly rows: readonly Row[];
  readonly cursor?: { readonly x: number; readonly y: number };
}

/** Longer ones are put into the transcript whole, and shown here by their beginning. */
export const MOST_PREVIEW = 14;
const LEAST_PREVIEW = 3;

export function dialogRows(
  view: View,
  columns: number,
  room: number,
  around: { readonly texts: Texts; readonly previewOf: PreviewOf },
): Drawn {
  const { dialog } = view;
  const request = requestOf(view);
  if (dialog === undefined || request === undefined) return { rows: [] };
  const { texts } = around;
  const body = previewRows(request, columns, around.previewOf, texts);
  const title = titleRows(request, columns, texts).slice(0, Math.max(1, room - 2));
  const tail = inRoom(tailRows(view, dialog, request, columns, texts), dialog, room - title.length - 1);
  const others = othersRows(view, columns, texts);
  // Whoever answers sees what about: the list of the others gives way first.
  const spare = room - title.length - tail.rows.length - Math.min(body.length, LEAST_PREVIEW);
  const head = [...title, ...(others.length <= spare ? others : others.slice(0, Math.max(0, Math.min(1, spare))))];
  const most = Math.max(1, Math.min(MOST_PREVIEW, room - head.length - tail.rows.length));
  const shown = body.length > most ? [...body.slice(0, most - 1), dimmed(`… + ${body.length - most + 1}`)] : body;
  const rows = [...head, ...shown.map((row): Row => [{ text: "│ ", style: "ask" }, ...row]), ...tail.rows];
  if (tail.cursor === undefined) return { rows };
  return { rows, cursor: { x: tail.cursor.x, y: rows.length - tail.rows.length + tail.cursor.y } };
}

/** Of the ways to answer, those about the chosen one. */
function inRoom(tail: Drawn, dialog: Dialog, room: number): Drawn {
  if (dialog.mode !== "choose" || tail.rows.length <= room) return tail;
  const most = Math.max(1, room);
  const from = Math.max(0, dialog.cursor + 1 - most);
  return { rows: tail.rows.slice(from, from + most) };
}

function titleRows(request: Interrupt, columns: number, texts: Texts): Row[] {
  const lines = spell(requestWords(request, texts)).split("\n").slice(0, 12);
  return lines.flatMap((line, at) =>
    wrap(
      [
        { text: at === 0 ? "? " : "  ", style: "ask" },
        { text: line, style: "ask" },
      ],
      columns,
      2,
    ),
  );
}

function othersRows(view: View, columns: number, texts: Texts): Row[] {
  if (view.requests.length < 2) return [];
  const list = view.requests.slice(0, 5).map((request): Row => {
    const here = request.id === view.dialog?.id;
    const label = sanitizeLine(`${request.tool ?? ""} ${requestWords(request, texts)}`, 200);
    return [{ text: fit(`${here ? "❯" : " "} ${label}`, columns), style: here ? "chosen" : "dim" }];
  });
  return [dimmed(fit(texts.dialog.others(view.requests.length), columns)), ...list];
}

/** Everything there is to see of what would be done: nothing in it is left out, and nothing obeyed. */
export function previewRows(request: Interrupt, columns: number, previewOf: PreviewOf, texts: Texts): Row[] {
  const inner = Math.max(8, columns - 2);
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
        dimmed(fit(texts.dialog.in(spell(preview.folder)), inner)),
      ];
    case "args":
      return plain(typeof preview.args === "string" ? preview.args : JSON.stringify(preview.args, null, 2));
    default:
      return preview satisfies never;
  }
}

function tailRows(view: View, dialog: Dialog, request: Interrupt, columns: number, texts: Texts): Drawn {
  const { dialog: words } = texts;
  const problem =
    dialog.problem === undefined ? [] : wrap([{ text: `✗ ${spell(dialog.problem)}`, style: "error" }], columns, 2);
  const deadline = deadlineRows(view, request, columns, texts);
  const draft = view.draft.text === "" ? [] : wrap([{ text: words.draftFirst, style: "stop" }], columns);
  if (dialog.mode === "choose") {
    const choices = choicesOf(request, texts).flatMap((choice, at): Row[] => {
      const here = at === dialog.cursor;
      const row: Row = [
        { text: here ? "❯ " : "  ", style: "chosen" },
        { text: choice.key, style: "accent" },
        { text: fit(`  ${sanitizeLine(choice.label, 200)}`, columns - 3), ...(here && { style: "chosen" }) },
      ];
      const remembers = choice.does === "always" || choice.does === "thread";
      if (!here || !remembers) return [row];
      return [
        row,
        ...wrap([{ text: `     ${words.rule(spell(ruleText(request)))}`, style: "dim" }], columns, 5).slice(0, 3),
      ];
    });
    const keys = dialog.sending === true ? [] : [dimmed(fit(words.keys, columns))];
    return { rows: [...choices, ...problem, ...deadline, ...draft, ...keys] };
  }
  const said = {
    edit: words.editing,
    reason: words.reason,
    answer:
      request.kind === "unknown"
        ? words.resulting
        : choicesOf(request, texts).length > 0
          ? words.wording
          : words.answering,
  };
  const lead = "  › ";
  const lines = dialog.editor.text.split("\n").flatMap((line) => chop(line, columns - lead.length));
  const before = dialog.editor.text
    .slice(0, dialog.editor.cursor)
    .split("\n")
    .flatMap((line) => chop(line, columns - lead.length));
  const at = before.length - 1;
  const most = 5;
  const from = Math.max(0, Math.min(at - most + 1, lines.length - most));
  const rows = lines
    .slice(from, from + most)
    .map((line, index): Row => [{ text: index === 0 ? lead : "    ", style: "accent" }, { text: line }]);
  const focused = view.draft.text === "";
  return {
    rows: [...rows, ...problem, ...deadline, ...draft, dimmed(fit(said[dialog.mode], columns))],
    ...(focused && { cursor: { x: lead.length + width(before[at] ?? ""), y: at - from } }),
  };
}

function deadlineRows(view: View, request: Interrupt, columns: number, texts: Texts): Row[] {
  if (request.expiresAt === undefined) return [];
  const { dialog } = texts;
  const then = { reject: dialog.thenReject, approve: dialog.thenApprove, fail: dialog.thenFail }[
    request.onExpire ?? "reject"
  ];
  const left = duration(Math.max(0, request.expiresAt - view.now));
  return [[{ text: fit(`⏱ ${dialog.deadline(left, then)}`, columns), style: "stop" }]];
}

function dimmed(text: string): Row {
  return [{ text, style: "dim" }];
}
