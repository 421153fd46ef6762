// The live rows below the transcript: the streaming line, running calls, waiting inputs, a request or a list, the prompt, the status.
// They never fill the screen: rows that do not fit are left out from the top, never the prompt and the status.

import { GUTTER, gutter, rule, sides, widthOf } from "../rows/layout.ts";
import { markdownRows } from "../rows/markdown.ts";
import { sanitize, sanitizeLine } from "../terminal/sanitize.ts";
import { chop, fit, type Row, type Span, width } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import { takesKeys } from "../view/dialog.ts";
import { ownAnswer, tailOf } from "../view/from-thread.ts";
import { modelWork, newReasoning, writtenWhat } from "../view/model-work.ts";
import type { PreviewOf } from "../view/preview-rows.ts";
import { suggestionsOf, tourHint } from "../view/suggestions.ts";
import { canGoOn, isHeld, isRunning, type Mail, type RunningCall, type View } from "../view/view.ts";
import { duration, elbow } from "./block-rows.ts";
import { dialogRows } from "./dialog-rows.ts";
import { paletteRows } from "./palette-rows.ts";
import { popupRows } from "./popup-rows.ts";

export interface Live {
  readonly rows: readonly Row[];
  /** The position of the cursor, from the first of them. */
  readonly cursor?: { readonly x: number; readonly y: number };
}

export interface Around {
  readonly texts: Texts;
  readonly previewOf: PreviewOf;
  readonly modelName: string;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const MOST_CALLS = 4;
const TAIL_ROWS = 3;

/** With fewer columns, the usual mode is not named. */
const NARROW = 60;
/** Rows from which on the prompt stands between two rules. */
const ROOMY = 9;
/** Rows from which on the demo has room for its suggestions. */
const SUGGESTING = 16;

export function liveRows(view: View, around: Around): Live {
  const columns = Math.max(10, view.columns - 1);
  const room = Math.max(4, view.rows - 2);
  const status = statusRows(view, columns, around);
  // No key counts any more: only calls that still have to end are shown.
  if (view.quitting) return { rows: isRunning(view) ? [...callRows(view, columns), ...status].slice(-room) : [] };
  const line = rule(columns, { style: "line" });
  if (view.popup !== undefined) {
    const { rows, cursor } = popupRows(view.popup, columns, room - status.length - 1, around.texts);
    return {
      rows: [line, ...rows, ...status],
      ...(cursor !== undefined && { cursor: { ...cursor, y: cursor.y + 1 } }),
    };
  }
  const asked = takesKeys(view);
  const lines: Row[] = asked || view.rows < ROOMY ? [] : [line];
  const prompt = asked
    ? { rows: [], cursor: { x: 0, y: 0 } }
    : promptRows(view, columns, Math.max(1, Math.floor(room / 3)), around.texts);
  const palette = asked ? [] : paletteRows(view, columns, room - prompt.rows.length - 4, around.texts);
  const below = [...lines, ...prompt.rows, ...lines, ...palette, ...status];
  const mail = [...suggestionRows(view, columns, around.texts), ...mailRows(view, columns, around.texts)];
  // Calls that run beside a request stay in sight, one row each.
  const beside = view.requests.length === 0 ? [] : callRows(view, columns, false);
  const left = room - below.length - mail.length - beside.length - 1;
  const dialog = dialogRows(view, columns, Math.max(3, left), around);
  const gap: Row[] = dialog.rows.length > 0 && left <= dialog.rows.length ? [] : [[]];
  const moving =
    dialog.rows.length > 0
      ? beside
      : [...reasoningRows(view, columns, around.texts), ...streamRows(view, columns), ...callRows(view, columns)];
  const above = [...moving, ...(dialog.rows.length > 0 ? [[], ...dialog.rows] : []), ...mail, ...gap];
  const kept = above.slice(Math.max(0, above.length - (room - below.length)));
  const rows = [...kept, ...below];
  const dialogAt = kept.length - mail.length - gap.length - dialog.rows.length;
  if (dialog.cursor !== undefined) return { rows, cursor: { x: dialog.cursor.x, y: dialogAt + dialog.cursor.y } };
  if (asked) return { rows };
  return { rows, cursor: { x: prompt.cursor.x, y: kept.length + lines.length + prompt.cursor.y } };
}

/** Of an answer that streams, the end: a table that is not complete may be long. */
const STREAM_ROWS = 8;

function streamRows(view: View, columns: number): Row[] {
  const { stream } = view;
  if (stream === undefined || stream.line.trim() === "") return [];
  const { rows } = markdownRows(stream.line.split("\n"), stream.from, columns - GUTTER);
  const gap: Row[] = stream.begun ? [] : [[]];
  const mark = stream.begun ? { text: "  " } : { text: "● ", style: "busy" };
  return [...gap, ...gutter(mark, rows.slice(-STREAM_ROWS))];
}

/** Reasoning while it streams: the end of it, on one line. */
function reasoningRows(view: View, columns: number, texts: Texts): Row[] {
  const text = sanitizeLine(newReasoning(view, ownAnswer(view.thread)).slice(-400), 400).trim();
  if (text === "") return [];
  const lead = `${texts.app.thought("")}: `;
  const words = text.split(" ");
  while (words.length > 1 && width(words.join(" ")) > columns - GUTTER - width(lead) - 2) words.shift();
  const end = words.join(" ");
  return [[{ text: `  ${fit(`${lead}${end === text ? "" : "… "}${end}`, columns - GUTTER)}`, style: "dim" }]];
}

function callRows(view: View, columns: number, withTails = true): Row[] {
  const shown = view.calls.slice(0, MOST_CALLS);
  const rows = shown.flatMap((call) => runningRows(view, call, columns, withTails ? tailOf(view.thread, call.id) : ""));
  const more = view.calls.length - shown.length;
  return more > 0 ? [...rows, [{ text: `  + ${more}`, style: "dim" }]] : rows;
}

function runningRows(view: View, call: RunningCall, columns: number, tail: string): Row[] {
  const took = duration(Math.max(0, view.now - call.startedAt));
  const [tool = "", ...rest] = sanitizeLine(call.label, 400).split(" ");
  const room = columns - GUTTER - width(tool) - width(took) - 2;
  const words = fit(rest.length === 0 ? "" : ` ${rest.join(" ")}`, Math.max(1, room));
  const head = sides(
    [{ text: `${frame(view)} `, style: "busy" }, { text: fit(tool, columns - GUTTER), style: "bold" }, { text: words }],
    [{ text: took, style: "dim" }],
    columns,
  );
  const lines = sanitize(tail).replace(/\n+$/, "").split("\n").filter(Boolean).slice(-TAIL_ROWS);
  return [head, ...elbow(lines.map((line): Row => [{ text: fit(line, columns - 2 * GUTTER), style: "dim" }]))];
}

/** Returns the inputs to type in the demo, or the next step of the tour. */
function suggestionRows(view: View, columns: number, texts: Texts): Row[] {
  const hint = tourHint(view, texts);
  if (hint !== undefined) return [[], [{ text: fit(`  ${hint}`, columns), style: "soft" }]];
  if (view.state !== "created" || view.rows < SUGGESTING) return [];
  const all = suggestionsOf(view, texts);
  if (all.length === 0 || (view.draft.text !== "" && !all.includes(view.draft.text))) return [];
  return [
    [],
    [{ text: fit(`  ${texts.demo.choose}`, columns), style: "dim" }],
    ...all.map((each): Row => {
      const here = each === view.draft.text;
      return [{ text: fit(`${here ? "❯ " : "  "}${each}`, columns), style: here ? "chosen" : "soft" }];
    }),
  ];
}

export function mailWord(view: View, { kind }: Mail, { mail }: Texts): string {
  if (kind === "steer") return mail.steer;
  return isHeld(view) ? mail.held : mail.queue;
}

function mailRows(view: View, columns: number, texts: Texts): Row[] {
  if (view.mail.length === 0) return [];
  const held = isHeld(view);
  const rows = view.mail.slice(-4).map((mail): Row => {
    const lead = `  ${mailWord(view, mail, texts)}: `;
    return [
      { text: lead, style: "stop" },
      { text: fit(sanitizeLine(mail.text, 400), columns - width(lead)), style: "dim" },
    ];
  });
  // Keys are the request's.
  if (takesKeys(view)) return rows;
  const queued = view.mail.some(({ kind }) => kind === "queue");
  const keys = [...(held && queued ? [texts.mail.sendsQueue] : []), texts.mail.takeBack].join(" · ");
  return [...rows, [{ text: `  ${fit(keys, columns - 2)}`, style: "dim" }]];
}

function promptRows(
  view: View,
  columns: number,
  most: number,
  texts: Texts,
): Live & { readonly cursor: { x: number; y: number } } {
  const { text, cursor } = view.draft;
  if (text === "") {
    const said = isRunning(view)
      ? view.stopping > 0
        ? texts.app.promptStopping
        : texts.app.promptRunning
      : canGoOn(view)
        ? texts.app.promptInterrupted
        : texts.app.prompt;
    return {
      rows: [
        [
          { text: "› ", style: "accent" },
          { text: fit(said, columns - 2), style: "dim" },
        ],
      ],
      cursor: { x: 2, y: 0 },
    };
  }
  return editorRows(text, cursor, columns, most);
}

/** Returns the rows around the cursor of a long list. */
export function editorRows(
  text: string,
  cursor: number,
  columns: number,
  most: number,
): Live & { readonly cursor: { x: number; y: number } } {
  const rowsOf = (part: string) => part.split("\n").flatMap((line) => chop(line, columns - 2));
  const rows = rowsOf(text);
  const before = rowsOf(text.slice(0, cursor));
  const at = before.length - 1;
  const from = Math.max(0, Math.min(at - most + 1, rows.length - most));
  const shown = rows.slice(from, from + most).map((row, index): Row => {
    const lead = index === 0 && from === 0 ? "› " : index === 0 ? "… " : "  ";
    return [{ text: lead, style: "accent" }, { text: row }];
  });
  return { rows: shown, cursor: { x: 2 + width(before[at] ?? ""), y: at - from } };
}

function frame(view: View): string {
  return FRAMES[Math.floor(view.now / 100) % FRAMES.length]!;
}

function statusRows(view: View, columns: number, { texts, modelName }: Around): Row[] {
  const { status } = texts;
  const armed =
    view.armed?.what === "quit" ? status.quitHint : view.armed?.what === "rewind" ? status.rewindHint : undefined;
  const running = isRunning(view);
  const elapsed = running && view.startedAt !== undefined ? [duration(Math.max(0, view.now - view.startedAt))] : [];
  const key = view.quitting
    ? []
    : view.stopping > 0 && running
      ? [status.escForces]
      : running || view.requests.length > 0
        ? [status.escInterrupts]
        : canGoOn(view)
          ? [status.enterGoesOn]
          : [];
  const parts = [...elapsed, ...key, ...(armed === undefined ? [] : [armed])];
  const lead: Span = running ? { text: `${frame(view)} `, style: "busy" } : { text: "· ", style: "status" };
  const word = stateWord(view, texts);
  const style = view.stopping > 0 || view.requests.length > 0 || canGoOn(view) ? "stop" : running ? "busy" : "status";
  const asks = view.mode === "ask";
  const modeWord = asks && columns < NARROW ? "" : `${status.mode[view.mode]} · `;
  const mode: Span = { text: modeWord, style: asks ? "status" : "bold" };
  const used = 2 + width(mode.text);
  let text = "";
  for (const part of parts) if (used + width(`${word}${text} · ${part}`) <= columns) text += ` · ${part}`;
  const left: Row = [lead, mode, { text: fit(word, columns - used), style }, { text, style: "status" }];
  const meter = meterWords(view, texts);
  const names = [[modelName], [modelName.slice(modelName.indexOf("/") + 1)], []];
  const ways = names.map((name) => [...name, ...meter].join(" · "));
  const right = ways.find((words) => widthOf(left) + 2 + width(words) <= columns) ?? "";
  return [sides(left, right === "" ? [] : [{ text: right, style: "status" }], columns)];
}

/** How much of the context the last request took, once one was made. */
function meterWords({ contextTokens, contextMost }: View, { status }: Texts): string[] {
  if (contextTokens === 0 || contextMost === undefined) return [];
  return [status.context(Math.min(100, Math.max(1, Math.round((100 * contextTokens) / contextMost))))];
}

/** A model that has said nothing for this long is worth a word. */
const SILENT_MS = 15_000;

function modelWord(view: View, { status, app }: Texts): string {
  const { stream, now, heardAt } = view;
  const { wait, writing } = modelWork(view);
  if (wait?.retry !== undefined) {
    const { dueAt, status: code, try: next, tries } = wait.retry;
    const seconds = Math.max(0, Math.ceil((dueAt - now) / 1_000));
    return status.retrying(seconds, code === undefined ? status.broken : String(code), next, tries);
  }
  if (wait?.reason === "summary") return status.summarising;
  if (writing !== undefined) return status.writing(sanitizeLine(writtenWhat(writing), 60), app.bytes(writing.bytes));
  if (heardAt > 0 && now - heardAt > SILENT_MS) return status.silent(duration(now - heardAt));
  return stream === undefined ? status.thinking : status.answering;
}

export function stateWord(view: View, texts: Texts): string {
  const { status } = texts;
  if (isRunning(view)) {
    if (view.stopping === 2) return status.forcing;
    if (view.stopping === 1) return status.stopping;
    if (view.requests.length > 0) return status.asking(view.requests.length);
    if (view.calls.length > 0) return status.working(view.calls.length);
    return modelWord(view, texts);
  }
  if (view.stopping > 0 && view.requests.length > 0) return status.stopping;
  if (view.requests.length > 0) return status.asking(view.requests.length);
  switch (view.state) {
    case "paused":
      return view.pauseType === "user_interrupt"
        ? status.interrupted
        : view.pauseType === "crash"
          ? status.crashed
          : status.paused;
    case "error":
      return view.thread.runs.at(-1)?.error?.code === "MAX_TURNS" ? status.turnsUsed : status.failed;
    case "terminated":
      return status.terminated;
    default:
      return status.idle;
  }
}
