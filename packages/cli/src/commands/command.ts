// What a command is given beside its arguments, and gives back: an exit code.

import type { Texts } from "../texts/texts.ts";

export interface CommandIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** How wide the terminal is; what is piped on is not cut. */
  readonly columns: number;
  readonly texts: Texts;
}

export interface CommandOptions {
  readonly dataFolder?: string;
  readonly json?: boolean;
}
