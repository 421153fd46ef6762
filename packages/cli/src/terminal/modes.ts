// The modes of a terminal while the app has it: keys unread by the terminal itself, pastes marked, the ESC key distinct from
// the first byte of other keys if the terminal can do that (kitty keyboard protocol). Invariants:
// 1. Whatever ends the program (its end, a signal, an exception), the terminal is as it was.
// 2. While it is stopped (Ctrl-Z) the terminal is as it was, and when it continues the modes are set again.
// SIGKILL cannot be seen; `reset` or `stty sane` is for that.

import type { ReadStream, WriteStream } from "node:tty";

const PASTE_ON = "\u001b[?2004h";
/** The terminal reports when it gets and loses the focus. */
const FOCUS_ON = "\u001b[?1004h";
/** Turns "disambiguate escape codes" on and asks whether it is on; a terminal without the protocol answers nothing. */
const KITTY_ON = "\u001b[>1u\u001b[?u";
const KITTY_OFF = "\u001b[<u";
/** Also ends a drawing that was cut short, and any colour. */
const RESTORE = "\u001b[?2026l\u001b[?1004l\u001b[?2004l\u001b[?25h\u001b[0m";

export interface TerminalKind {
  /** A terminal without modes: it would print the sequences. */
  readonly isDumb: boolean;
  readonly mayKnowKitty: boolean;
}

export interface ModeEvents {
  /** Asked to stop by another process, or by a terminal that has no raw mode. */
  interrupted(): void;
  /** The terminal is ours again after Ctrl-Z. */
  continued(): void;
  /** After a signal, or without its terminal: ends soon, with this exit code. A second SIGTERM ends it at once. */
  asked(code: number): void;
  /** Before the program is ended by a signal or an error: leaves the last lines as they are to stay. */
  ending(): void;
}

const ENDING_SIGNALS = { SIGTERM: 143, SIGHUP: 129, SIGQUIT: 131 } as const;

export class TerminalModes {
  readonly #stdin: ReadStream;
  readonly #stdout: WriteStream;
  readonly #events: ModeEvents;
  readonly #kind: TerminalKind;
  #on = false;
  #asked = false;
  readonly #undo: (() => void)[] = [];

  constructor(stdin: ReadStream, stdout: WriteStream, events: ModeEvents, kind: TerminalKind) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#events = events;
    this.#kind = kind;
  }

  /** Takes the terminal, until `release()`. */
  take(): void {
    this.#listen("exit", () => this.#leave());
    this.#listen("uncaughtException", (error) => this.#fatal(error));
    this.#listen("unhandledRejection", (error) => this.#fatal(error));
    this.#listen("SIGTERM", () =>
      this.#asked ? this.#end(ENDING_SIGNALS.SIGTERM) : this.#ask(ENDING_SIGNALS.SIGTERM),
    );
    this.#listen("SIGHUP", () => this.#ask(ENDING_SIGNALS.SIGHUP));
    this.#listen("SIGQUIT", () => this.#end(ENDING_SIGNALS.SIGQUIT));
    this.#listen("SIGINT", () => this.#events.interrupted());
    this.#listen("SIGTSTP", () => this.#stop());
    this.#listen("SIGCONT", () => this.#continue());
    for (const stream of [this.#stdin, this.#stdout]) {
      const gone = () => this.#ask(ENDING_SIGNALS.SIGHUP);
      stream.on("error", gone);
      this.#undo.push(() => stream.off("error", gone));
    }
    this.#enter();
  }

  /** Gives it back. */
  release(): void {
    this.#leave();
    for (const undo of this.#undo.splice(0)) undo();
    // Writes to a terminal that is gone are dropped.
    for (const stream of [this.#stdin, this.#stdout]) stream.on("error", () => {});
  }

  /** Ctrl-Z: every process of this job stops, and the shell has the terminal. */
  suspend(): void {
    process.kill(0, "SIGTSTP");
  }

  #enter(): void {
    this.#on = true;
    this.#stdin.setRawMode(true);
    this.#stdin.resume();
    this.#tell(PASTE_ON + FOCUS_ON + (this.#kind.mayKnowKitty ? KITTY_ON : ""));
  }

  /** Safe to call at any time, any number of times. */
  #leave(): void {
    if (!this.#on) return;
    this.#on = false;
    try {
      this.#stdin.setRawMode(false);
      this.#stdin.pause();
      this.#tell(this.#kind.mayKnowKitty ? KITTY_OFF + RESTORE : RESTORE);
    } catch {
      // The terminal is gone: there is nothing to restore.
    }
  }

  #tell(sequence: string): void {
    if (!this.#kind.isDumb) this.#stdout.write(sequence);
  }

  #stop(): void {
    this.#leave();
    process.kill(process.pid, "SIGSTOP");
  }

  #continue(): void {
    // A shell that put us into the background has the terminal still; it continues us again with fg.
    this.#leave();
    this.#enter();
    this.#events.continued();
  }

  /** A terminal that is closed says so several times: by the kernel, by the shell, by each write. Once is meant. */
  #ask(code: number): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#events.asked(code);
  }

  #end(code: number): void {
    try {
      this.#events.ending();
    } catch {
      // It ends all the same.
    }
    process.exit(code);
  }

  #fatal(error: unknown): void {
    try {
      this.#events.ending();
    } catch {
      // The first error is reported.
    }
    this.#leave();
    process.stderr.write(`\n${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  }

  #listen(event: string, listener: (value: unknown) => void): void {
    process.on(event, listener);
    this.#undo.push(() => process.off(event, listener));
  }
}
