// For tests only: a real terminal. The program runs in a pty, and its screen is read from an emulator.

import { setTimeout as sleep } from "node:timers/promises";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

export interface TerminalOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly columns?: number;
  readonly rows?: number;
}

export const ESC = "\u001b";
export const ENTER = "\r";
export const TAB = "\t";
export const CTRL_C = "\u0003";
export const CTRL_D = "\u0004";
export const CTRL_S = "\u0013";
export const CTRL_U = "\u0015";
export const CTRL_Z = "\u001a";
export const ALT_UP = `${ESC}[1;3A`;

const PATIENCE_MS = 30_000;

export type Terminal = ReturnType<typeof openTerminal>;

export function openTerminal(command: string, args: readonly string[], options: TerminalOptions) {
  const { columns: cols = 90, rows = 30 } = options;
  const screen = new xterm.Terminal({ cols, rows, scrollback: 20_000, allowProposedApi: true });
  const env = { PATH: process.env.PATH, TERM: "xterm-256color", LANG: "en_US.UTF-8", ...options.env };
  const pty = spawn(command, [...args], { cols, rows, cwd: options.cwd, env, name: env.TERM });
  let raw = "";
  let parsed = Promise.resolve();
  /** How often the screen has changed. */
  let changes = 0;
  pty.onData((data) => {
    raw += data;
    parsed = new Promise((resolve) =>
      screen.write(data, () => {
        changes += 1;
        resolve();
      }),
    );
  });
  // A terminal answers when it is asked about itself.
  screen.onData((data) => pty.write(data));
  let code: number | undefined;
  const exited = new Promise<number>((resolve) =>
    pty.onExit(({ exitCode }) => {
      code = exitCode;
      resolve(exitCode);
    }),
  );
  const lines = (from: number, to: number) =>
    Array.from(
      { length: to - from },
      (_, at) => screen.buffer.active.getLine(from + at)?.translateToString(true) ?? "",
    );
  /** Returns the rows of the screen. */
  const view = () => lines(screen.buffer.active.baseY, screen.buffer.active.baseY + screen.rows);
  /** Everything that was drawn, scrolled-off rows included, with one blank between words, however they were broken. */
  const text = () => lines(0, screen.buffer.active.length).join(" ").replace(/\s+/g, " ").trim();
  let endedAt: number | undefined;
  const wait = async (found: () => boolean, wanted: unknown) => {
    let seen: number | undefined;
    // A screen that has not changed is not read again: with all that has scrolled off it is long.
    const isThere = () => {
      if (seen === changes) return false;
      seen = changes;
      return found();
    };
    for (const started = Date.now(); !isThere(); await sleep(5)) {
      // The last output may still be on its way.
      if (code !== undefined) endedAt ??= Date.now();
      const over = endedAt !== undefined && Date.now() - endedAt > 1_000;
      if (over || Date.now() - started > PATIENCE_MS) {
        throw new Error(
          `${wanted} did not come${code === undefined ? "" : `; it ended with ${code}`}. The screen:\n${view().join("\n")}`,
        );
      }
    }
    await parsed;
  };
  const matches = (said: string, wanted: string | RegExp) =>
    typeof wanted === "string" ? said.includes(wanted) : wanted.test(said);
  return {
    pid: pty.pid,
    exited,
    screen,
    view,
    text,
    /** The bytes as they came. */
    get raw() {
      return raw;
    },
    press: (keys: string) => pty.write(keys),
    resize(columns: number, tall: number) {
      screen.resize(columns, tall);
      changes += 1;
      pty.resize(columns, tall);
    },
    /** Waits until everything that was drawn contains `wanted`. */
    async until(wanted: string | RegExp) {
      await wait(() => matches(text(), wanted), wanted);
      return text();
    },
    /** Waits until the screen as it is contains `wanted`. */
    async untilSeen(wanted: string | RegExp) {
      const seen = () => view().join(" ").replace(/\s+/g, " ");
      await wait(() => matches(seen(), wanted), wanted);
      return seen();
    },
    /** Waits until the screen as it is has it no more. */
    async untilGone(wanted: string | RegExp) {
      const seen = () => view().join(" ").replace(/\s+/g, " ");
      await wait(() => !matches(seen(), wanted), `the end of ${wanted}`);
    },
    /** Closes the terminal under the program. */
    hangUp: () => (pty as unknown as { destroy(): void }).destroy(),
    kill: (signal = "SIGKILL") => {
      if (code === undefined) pty.kill(signal);
    },
  };
}
