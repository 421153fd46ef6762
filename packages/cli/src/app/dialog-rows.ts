// A request, as rows: the question, the exact effect of a yes, and the ways to answer.

import type { Interrupt } from "@belay/core";
import { requestWords } from "../request-words.ts";
import { framed } from "../rows/layout.ts";
import { sanitizeLine, spell } from "../terminal/sanitize.ts";
import { chop, fit, type Row, width, wrap } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import { callLabel } from "../view/call-label.ts";
import { choicesOf, requestOf, ruleText } from "../view/dialog.ts";
import { innerColumns, type PreviewOf, previewRows } from "../view/preview-rows.ts";
import type { Dialog, View } from "../view/view.ts";
import { duration } from "./block-rows.ts";

interface Drawn {
  readonly rows: readonly Row[];
  readonly cursor?: { readonly x: number; readonly y: number };
}

/** Longer ones are scrolled. */
const MOST_PREVIEW = 14;
const LEAST_PREVIEW = 3;

/** A dialog with less room than this has no lower edge. */
const ROOMY = 7;

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
  const inner = innerColumns(columns);
  const { title, body } = titleOf(request, inner, around);
  const edges = room < ROOMY ? 1 : 2;
  const least = Math.min(2, body.length, room - edges - 1);
  const tail = inRoom(tailRows(view, dialog, request, inner, texts), dialog, room - edges - least);
  const others = othersRows(view, inner, texts);
  // The request that is looked at counts more than the list of the others.
  const spare = room - edges - tail.rows.length - Math.min(body.length, LEAST_PREVIEW);
  const head = others.length <= spare ? others : others.slice(0, Math.max(0, Math.min(1, spare)));
  const most = Math.max(1, Math.min(MOST_PREVIEW, room - edges - head.length - tail.rows.length));
  const shown = scrolled(body, dialog.scroll, most, inner, texts);
  const gap: Row[] = head.length + shown.length + tail.rows.length + edges < room ? [[]] : [];
  const inside = [...head, ...shown, ...gap, ...tail.rows];
  const foot = edges === 1 ? undefined : tail.keys;
  const rows = framed(title, inside, foot, columns);
  if (tail.cursor === undefined) return { rows };
  const y = 1 + inside.length - tail.rows.length + tail.cursor.y;
  return { rows, cursor: { x: tail.cursor.x + 2, y } };
}

/** As many rows as there is room for, and which of all they are. */
function scrolled(body: readonly Row[], scroll: number, most: number, columns: number, texts: Texts): readonly Row[] {
  if (body.length <= most) return body;
  const rows = Math.max(1, most - 1);
  const from = Math.min(scroll, body.length - rows);
  const words = texts.dialog.scrolled(from + 1, from + rows, body.length);
  const which = dimmed(fit(words, columns));
  return most === 1 ? [which] : [...body.slice(from, from + rows), which];
}

/** The title is the command itself, or the question; if it has no room there, it stands in the frame, whole. */
function titleOf(
  request: Interrupt,
  inner: number,
  around: { readonly texts: Texts; readonly previewOf: PreviewOf },
): { readonly title: Row; readonly body: readonly Row[] } {
  const { texts, previewOf } = around;
  const preview = request.kind === "approval" ? previewOf(request) : undefined;
  const body = previewRows(request, inner, previewOf, texts);
  const isShort = (text: string) => !text.includes("\n") && width(text) <= inner - 2;
  if (preview?.kind === "command") {
    const command = spell(preview.command).replaceAll("\t", "    ");
    if (isShort(command)) return { title: [{ text: command, style: "ask" }], body: body.slice(-1) };
  }
  const words = spell(requestWords(request, texts)).replaceAll("\t", "    ");
  if (isShort(words)) return { title: [{ text: words, style: "ask" }], body };
  const lines = words.split("\n").slice(0, 12);
  const whole = lines.flatMap((line) => wrap([{ text: line, style: "bold" }], inner));
  return { title: [{ text: fit(texts.dialog.question, inner - 2), style: "ask" }], body: [...whole, ...body] };
}

/** Of the ways to answer, those about the chosen one, with the rule that it makes. */
function inRoom(tail: Tail, dialog: Dialog, room: number): Tail {
  if (dialog.mode !== "choose" || tail.rows.length <= room) return tail;
  const most = Math.max(1, room);
  const from = Math.max(0, Math.min(dialog.cursor, dialog.cursor + 1 + tail.ruleRows - most));
  return { ...tail, rows: tail.rows.slice(from, from + most) };
}

function othersRows(view: View, columns: number, texts: Texts): Row[] {
  if (view.requests.length < 2) return [];
  const list = view.requests.slice(0, 5).map((request): Row => {
    const here = request.id === view.dialog?.id;
    const words = request.kind === "approval" && request.tool !== undefined;
    const label = words ? callLabel(request.tool!, request.args) : sanitizeLine(requestWords(request, texts), 200);
    return [{ text: fit(`${here ? "❯" : " "} ${label}`, columns), style: here ? "chosen" : "dim" }];
  });
  return [dimmed(fit(texts.dialog.others(view.requests.length), columns)), ...list];
}

/** The ways to answer, or the line that is being written; and the keys, for the lower edge. */
interface Tail extends Drawn {
  readonly keys: string;
  /** Returns rows with the rule that the chosen answer makes. */
  readonly ruleRows: number;
}

function tailRows(view: View, dialog: Dialog, request: Interrupt, columns: number, texts: Texts): Tail {
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
      const rule = here ? ruleText(request, choice.does, texts) : undefined;
      if (rule === undefined) return [row];
      return [row, ...wrap([{ text: `     ${spell(rule)}`, style: "dim" }], columns, 5).slice(0, 3)];
    });
    const keys = dialog.sending === true ? "" : words.keys;
    const ruleRows = choices.length - choicesOf(request, texts).length;
    return { rows: [...choices, ...problem, ...deadline, ...draft], keys, ruleRows };
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
  const lead = "› ";
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
    .map((line, index): Row => [{ text: index === 0 ? lead : "  ", style: "accent" }, { text: line }]);
  const focused = view.draft.text === "";
  return {
    rows: [...rows, ...problem, ...deadline, ...draft],
    keys: said[dialog.mode],
    ruleRows: 0,
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
