// The screen of a terminal. Finished text is written once and belongs to the terminal's own scroll-back; live rows are
// Ink's, and are painted over. A text of any length costs its own drawing and no more.

import { PassThrough } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { type Instance, render, Text, useCursor, useStdout } from "ink";
import type { Row } from "../terminal/width.ts";
import type { View } from "../view/view.ts";
import { blockRows } from "./block-rows.ts";
import { type Around, type Live, liveRows } from "./live-rows.ts";
import { type Look, paint, type ThemeName } from "./theme.ts";

export interface Screen {
  /** Draws new rows; false if there are more than should be drawn at once. */
  draw(view: View): boolean;
  /** Draws everything again: the terminal was resized, or another program had it. */
  redraw(view: View): void;
  /** Leaves the terminal to the shell for a while. */
  park(): void;
  setTheme(theme: ThemeName): void;
  /** Leaves the transcript, and removes the live rows. */
  close(view: View): void;
}

/** The number of rows of the transcript that are written at once: keys are read in between. */
const MOST_ROWS = 120;

const ERASE_LINE_ABOVE = "\u001b[2K\u001b[1A\u001b[2K\u001b[G";

type Write = (text: string) => void;

export class InkScreen implements Screen {
  readonly #stdout: WriteStream;
  readonly #around: Around;
  readonly #ink: Instance;
  #look: Look;
  #write: Write = () => {};
  #drawn = 0;
  #epoch = 0;
  #closed = false;
  /** The rows that moved when it was last drawn. */
  #live: readonly Row[] = [];

  constructor(stdout: WriteStream, view: View, around: Around, look: Look) {
    this.#stdout = stdout;
    this.#around = around;
    this.#look = look;
    this.#ink = render(this.#tree(view), {
      stdout,
      // Ink draws only: keys are ours, and it is given none.
      stdin: new PassThrough() as unknown as ReadStream,
      exitOnCtrlC: false,
      patchConsole: false,
      maxFps: 1_000,
    });
  }

  draw(view: View): boolean {
    if (this.#closed) return true;
    // One write for both: no line appears twice, or not at all.
    this.#stdout.cork();
    try {
      if (view.epoch !== this.#epoch) this.#clear(view);
      const rows = this.#fresh(view);
      this.#ink.rerender(this.#tree(view));
      if (rows.length > 0) this.#write(`${rows.join("\n")}\n`);
    } finally {
      this.#stdout.uncork();
    }
    return this.#drawn === view.transcript.length;
  }

  redraw(view: View): void {
    if (this.#closed) return;
    const columns = Math.max(10, view.columns - 1);
    this.#stdout.cork();
    try {
      this.#wipe();
      const blocks = view.transcript.slice(Math.max(0, this.#drawn - 60)).slice(0, 60);
      const rows = blocks.flatMap((block) => blockRows(block, columns, this.#around.texts));
      this.#ink.rerender(this.#tree(view));
      // No more than fits above the rows that move: a row that scrolls off would stand in the scroll-back twice.
      const fits = Math.max(0, view.rows - 1 - this.#live.length);
      const shown = fits === 0 ? [] : rows.slice(-fits);
      this.#write(shown.map((row) => `${paint(row, this.#look)}\n`).join(""));
    } finally {
      this.#stdout.uncork();
    }
  }

  /** Shows another thread: the transcript of the last one scrolls away. */
  #clear(view: View): void {
    this.#epoch = view.epoch;
    this.#drawn = 0;
    this.#stdout.write("\n".repeat(view.rows));
    this.#wipe();
  }

  #wipe(): void {
    this.#ink.clear();
    // Erases by going down, not all at once: some terminals keep a copy of a screen that is cleared.
    this.#stdout.write("\u001b[H\u001b[J");
  }

  park(): void {
    this.#ink.clear();
  }

  setTheme(theme: ThemeName): void {
    if (this.#look.theme !== "none") this.#look = { ...this.#look, theme };
  }

  close(view: View): void {
    if (this.#closed) return;
    while (!this.draw(view)) {}
    this.#closed = true;
    // Ink may have a frame that it has not written yet: it writes the last one as it ends, an empty line, and not before.
    this.#ink.rerender(<Text />);
    this.#ink.unmount();
    this.#stdout.write(ERASE_LINE_ABOVE);
  }

  #fresh(view: View): string[] {
    const columns = Math.max(10, view.columns - 1);
    const rows: string[] = [];
    while (this.#drawn < view.transcript.length && rows.length < MOST_ROWS) {
      const block = view.transcript.at(this.#drawn);
      for (const row of blockRows(block, columns, this.#around.texts)) rows.push(paint(row, this.#look));
      this.#drawn += 1;
    }
    return rows;
  }

  #tree(view: View) {
    const live = liveRows(view, this.#around);
    this.#live = live.rows;
    return <LiveRows live={live} look={this.#look} onWrite={(write) => (this.#write = write)} />;
  }
}

function LiveRows(props: { readonly live: Live; readonly look: Look; readonly onWrite: (write: Write) => void }) {
  const { live, look, onWrite } = props;
  const { write } = useStdout();
  const { setCursorPosition } = useCursor();
  onWrite(write);
  setCursorPosition(live.cursor);
  return <Text>{live.rows.map((row) => paint(padded(row), look)).join("\n")}</Text>;
}

/** Ink drops a row that is empty. */
function padded(row: Row): Row {
  return row.length === 0 ? [{ text: " " }] : row;
}
