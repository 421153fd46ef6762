// The same for a screen reader or a kept output: lines that are written once, in order, and one line that is
// typed. Nothing is painted over, nothing spins, and every change of state is said.

import type { WriteStream } from "node:tty";
import { requestWords } from "../request-words.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { Row } from "../terminal/width.ts";
import { choicesOf, requestOf, ruleText } from "../view/dialog.ts";
import { previewRows } from "../view/preview-rows.ts";
import { suggestionsOf } from "../view/suggestions.ts";
import { isRunning, type View } from "../view/view.ts";
import { blockRows } from "./block-rows.ts";
import { type Around, mailWord, stateWord } from "./live-rows.ts";
import { popupRows } from "./popup-rows.ts";
import type { Screen } from "./screen.tsx";

const MOST_BLOCKS = 50;

export class PlainScreen implements Screen {
  readonly #out: WriteStream;
  readonly #around: Around;
  readonly #isDumb: boolean;
  #drawn = 0;
  #epoch = 0;
  #said = "";
  #asked = "";
  #line = "";
  #mailed: readonly string[] = [];

  /** `isDumb`: the line that is typed cannot be cleared, only left. */
  constructor(out: WriteStream, around: Around, isDumb = false) {
    this.#out = out;
    this.#around = around;
    this.#isDumb = isDumb;
  }

  draw(view: View): boolean {
    const { texts } = this.#around;
    const lines: string[] = [];
    if (view.epoch !== this.#epoch) this.#drawn = 0;
    this.#epoch = view.epoch;
    for (let left = MOST_BLOCKS; left > 0 && this.#drawn < view.transcript.length; left -= 1) {
      const block = view.transcript.at(this.#drawn);
      const lead =
        block.kind === "person" ? texts.plain.you : block.kind === "call" ? texts.plain.tool : this.#leadOf(view);
      const rows = blockRows(block, Number.POSITIVE_INFINITY, texts).map(textOf).filter(Boolean);
      lines.push(
        ...rows.map((row, at) =>
          at === 0 && lead !== "" ? `${lead} ${row.replace(/^[›✓✗●] /, "").trimStart()}` : row,
        ),
      );
      this.#drawn += 1;
    }
    if (this.#said === "") lines.push(...suggestionsOf(view, texts).map((each) => `${texts.demo.try} ${each}`));
    // The status beside a request or a list is said by them.
    const state = stateWord(view, texts);
    if (state !== this.#said && view.popup === undefined) lines.push(`${texts.plain.state} ${state}`);
    this.#said = state;
    lines.push(...this.#mail(view), ...this.#question(view));
    this.#write(lines, view);
    return this.#drawn === view.transcript.length;
  }

  redraw(view: View): void {
    this.#line = "";
    this.draw(view);
  }

  park(): void {
    this.#out.write("\n");
    this.#line = "";
  }

  setTheme(): void {}

  close(view: View): void {
    while (!this.draw({ ...view, popup: undefined, dialog: undefined })) {}
    this.#out.write("\n");
  }

  #leadOf(view: View): string {
    const block = view.transcript.at(this.#drawn);
    return block.kind === "answer" && block.first ? this.#around.texts.plain.agent : "";
  }

  /** Reports waiting inputs once, and again when they are held. */
  #mail(view: View): string[] {
    const { texts } = this.#around;
    const said = view.mail.map((mail) => `${mailWord(view, mail, texts)}: ${sanitizeLine(mail.text, 400)}`);
    const fresh = said.filter((line) => !this.#mailed.includes(line));
    this.#mailed = said;
    if (fresh.length === 0) return [];
    const { held, sendsQueue, takeBack } = texts.mail;
    return [...fresh, [...(fresh.some((line) => line.startsWith(held)) ? [sendsQueue] : []), takeBack].join(" · ")];
  }

  /** Reports open requests once. */
  #question(view: View): string[] {
    const { texts, previewOf } = this.#around;
    const { popup, dialog } = view;
    const asked =
      popup !== undefined
        ? `${popup.kind} ${"cursor" in popup ? popup.cursor : ""}`
        : `${dialog?.id} ${dialog?.mode} ${dialog?.cursor} ${dialog?.problem}`;
    if (asked === this.#asked) return [];
    const same = this.#asked.startsWith(`${dialog?.id} choose`) && dialog?.mode === "choose";
    this.#asked = asked;
    if (popup !== undefined) {
      const all = popupRows(popup, 200, 40, texts).rows.map(textOf);
      return all;
    }
    const request = requestOf(view);
    if (request === undefined || dialog === undefined) return [];
    const choices = choicesOf(request, texts);
    const choice = choices[dialog.cursor];
    const rule = choice === undefined ? undefined : ruleText(request, choice.does, texts);
    if (same) return [choice?.label ?? "", ...(rule === undefined ? [] : [sanitizeLine(rule, 400)])];
    return [
      sanitizeLine(requestWords(request, texts), 400),
      ...previewRows(request, Number.POSITIVE_INFINITY, previewOf, texts).map(textOf),
      ...(dialog.problem === undefined ? [] : [sanitizeLine(dialog.problem, 400)]),
      ...(dialog.mode === "choose"
        ? [texts.plain.choices, ...choices.map(({ key, label }) => `${key}: ${label}`)]
        : []),
    ];
  }

  #write(lines: readonly string[], view: View): void {
    const dialog = view.draft.text === "" ? view.dialog : undefined;
    const editor =
      view.popup !== undefined && "query" in view.popup
        ? view.popup.query
        : dialog !== undefined && dialog.mode !== "choose"
          ? dialog.editor
          : view.draft;
    const typed = editor.text.replaceAll("\n", " ⏎ ");
    const line = isRunning(view) && typed === "" ? "" : `> ${typed}`;
    if (lines.length === 0 && line === this.#line) return;
    const grows = lines.length === 0 && this.#line !== "" && line.startsWith(this.#line);
    // Text typed at the end is only appended: a screen reader reads it once.
    if (grows) this.#out.write(line.slice(this.#line.length));
    else {
      const cleared = !this.#isDumb ? "\r\u001b[K" : this.#line === "" ? "" : "\n";
      this.#out.write(`${cleared}${lines.map((each) => `${each}\n`).join("")}${line}`);
    }
    this.#line = line;
  }
}

function textOf(row: Row): string {
  return row
    .map(({ text }) => text)
    .join("")
    .trimEnd();
}
