// Signals that end a program without a screen. It first releases its work; a second signal ends it at once.

import { EXIT } from "./exit-codes.ts";

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;

export type EndingSignal = keyof typeof CODES;

export interface ToldToEnd {
  /** Its reason is the name of the signal. */
  readonly signal: AbortSignal;
  /** Undefined until then. */
  readonly code: number | undefined;
  /** Removes the listeners. After a signal they stay until the program ends: another signal would kill it. */
  end(): void;
}

export function toldToEnd(
  process: Pick<NodeJS.Process, "on" | "off" | "exit">,
  signals: readonly EndingSignal[],
): ToldToEnd {
  const told = new AbortController();
  let code: number | undefined;
  const listener = (signal: NodeJS.Signals) => {
    const name = signal as EndingSignal;
    if (code === undefined) {
      code = CODES[name];
      told.abort(name);
    }
    // A terminal that is closed says so several times: by the kernel, and by the shell.
    else if (name !== "SIGHUP") process.exit(CODES[name]);
  };
  for (const name of signals) process.on(name, listener);
  return {
    signal: told.signal,
    get code() {
      return code;
    },
    end() {
      if (code === undefined) for (const name of signals) process.off(name, listener);
    },
  };
}
