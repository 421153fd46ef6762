// A real terminal for tests: the program runs in a pty, and what it draws is read from an emulated screen.
import { setTimeout as sleep } from "node:timers/promises";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

export interface Terminal {
  /** Everything that was drawn, scrolled-off rows included, with one blank between words, however they were broken. */
  text(): string;
  /** The bytes as they came. */
  readonly raw: string;
  press(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Waits until the text contains `wanted`, and returns it. */
  until(wanted: string | RegExp): Promise<string>;
  /** Resolves to the exit code when the program has ended. */
  readonly exited: Promise<number>;
  kill(): void;
}

export const ESC = "\u001b";
export const ENTER = "\r";
export const CTRL_C = "\u0003";
export const CTRL_D = "\u0004";

export function openTerminal(command: string, args: readonly string[], cwd: string): Terminal {
  const size = { cols: 90, rows: 30 };
  const screen = new xterm.Terminal({ ...size, scrollback: 1000, allowProposedApi: true });
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TERM: "xterm-256color", LANG: "C.UTF-8" };
  const pty = spawn(command, [...args], { ...size, cwd, env, name: "xterm-256color" });
  let raw = "";
  pty.onData((data) => {
    raw += data;
    screen.write(data);
  });
  const exited = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  const text = () => {
    const { active } = screen.buffer;
    const rows = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return rows.join(" ").replace(/\s+/g, " ").trim();
  };
  return {
    text,
    get raw() {
      return raw;
    },
    press: (keys) => pty.write(keys),
    resize(columns, rows) {
      screen.resize(columns, rows);
      pty.resize(columns, rows);
    },
    async until(wanted) {
      const found = () => (typeof wanted === "string" ? text().includes(wanted) : wanted.test(text()));
      for (const started = Date.now(); !found(); await sleep(10)) {
        if (Date.now() - started > 20_000) throw new Error(`${wanted} did not come. The screen:\n${text()}`);
      }
      return text();
    },
    exited,
    kill: () => pty.kill("SIGKILL"),
  };
}
