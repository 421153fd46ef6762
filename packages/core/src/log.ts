// What goes wrong beside a run and fails nothing: somebody has to hear of it all the same.

import type { BelayError } from "./error.ts";

/** Something that went wrong beside a run and failed nothing. */
export interface LogEntry {
  readonly level: "warn";
  readonly error: BelayError;
  /** This and the rest are empty where it happened to no thread that is known. */
  readonly threadId: string;
  readonly runId: string;
  readonly agentName: string;
  readonly runPath: string;
}

/** Receives what goes wrong beside a run. The console by default. */
export type Log = (entry: LogEntry) => void;

export const consoleLog: Log = ({ error, threadId }) => {
  console.warn(`belay: ${error.message}${threadId === "" ? "" : ` (thread ${threadId})`}`);
};
