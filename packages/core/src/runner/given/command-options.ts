// The options that verbs on a thread share (V2): the id of a command, its caller, how long it waits, the segment it is for.

import { type Checks, milliseconds, name, optional, text } from "./check.ts";

/** The options of every verb on a thread. */
export interface CommandOptions {
  /**
   * A name for this command, unique in its thread. The same command again under this id has the first outcome, from any
   * process, as long as the thread exists. A refusal is not remembered, except for a stop that met nothing.
   */
  readonly id?: string | undefined;
  /** The person or program that issues it. It is recorded. */
  readonly by?: string | undefined;
  /**
   * How long the command waits while another process has the thread and does not take it: five seconds by default. Then the
   * command is taken back, so that it cannot act later, and is refused with THREAD_BUSY. interrupt(), pause() and terminate()
   * ignore it; steer(), enqueue() and observe() do not wait.
   */
  readonly waitMs?: number | undefined;
  /** Ends the wait, not the command: the same `id` again finds its outcome. interrupt(), pause() and terminate() ignore it. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of verbs that may be meant for one segment of a run. If the thread has moved on, they are refused with STALE. */
export interface GuardOptions extends CommandOptions {
  readonly runId?: string | undefined;
  readonly segment?: number | undefined;
}

export const COMMAND: Checks<CommandOptions> = {
  id: name(),
  by: name(0),
  waitMs: milliseconds,
  signal: optional("an AbortSignal", (value) => value instanceof AbortSignal),
};

export const GUARD: Checks<GuardOptions> = {
  ...COMMAND,
  runId: text,
  segment: optional("a whole number", Number.isInteger),
};
