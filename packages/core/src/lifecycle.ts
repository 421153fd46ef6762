// The states of a thread and the only moves between them.

import { belayError } from "./error.ts";

/** The state of a thread. docs/language.md lists the allowed moves. */
export type SessionState = "created" | "initialized" | "running" | "paused" | "completed" | "terminated" | "error";

/** Why a thread is paused. `"crash"` is derived: the thread was running, and no process holds its lease. */
export type PauseType = "user_interrupt" | "tool_interrupt" | "node_interrupt" | "manual" | "crash";

export const moves: Readonly<Record<SessionState, readonly SessionState[]>> = {
  created: ["initialized", "terminated", "error"],
  initialized: ["running", "terminated", "error"],
  running: ["paused", "completed", "error", "terminated"],
  paused: ["running", "terminated"],
  completed: ["initialized", "terminated"],
  error: ["initialized", "terminated"],
  terminated: [],
};

/** Returns `to`, or throws `INVALID_STATE_TRANSITION`. */
export function move(from: SessionState, to: SessionState): SessionState {
  if (!moves[from].includes(to)) throw belayError("INVALID_STATE_TRANSITION", { from, to });
  return to;
}
