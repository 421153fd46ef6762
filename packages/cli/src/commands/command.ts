// The surroundings of a command beside its arguments, and its exit code.

import type { Texts } from "../texts/texts.ts";

export interface CommandIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** The width of the terminal; piped output is not cut. */
  readonly columns: number;
  readonly texts: Texts;
}

export interface CommandOptions {
  readonly dataFolder?: string;
  readonly json?: boolean;
}
