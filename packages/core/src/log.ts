// Problems beside a run that fail nothing and still need to be reported.

import type { BelayError } from "./error.ts";

/** A problem beside a run that failed nothing. */
export interface LogEntry {
  readonly level: "warn";
  readonly error: BelayError;
  /** This and the following fields are empty if the problem belongs to no known thread. */
  readonly threadId: string;
  readonly runId: string;
  readonly agentName: string;
  readonly runPath: string;
}

/** Receives problems beside a run. The default prints to the console. */
export type Log = (entry: LogEntry) => void;

export const consoleLog: Log = ({ error, threadId }) => {
  console.warn(`belay: ${error.message}${threadId === "" ? "" : ` (thread ${threadId})`}`);
};
