// The options that verbs on a thread share (V2): the id of a command, its caller, how long it waits, the segment it is for.

import { belayError, shown } from "../../error.ts";
import type { KnownOptions } from "../../refuse-unknown.ts";
import { atLeastZero, name, text } from "./check.ts";

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

export const COMMAND: KnownOptions<CommandOptions> = { id: true, by: true, waitMs: true, signal: true };

export const GUARD: KnownOptions<GuardOptions> = { ...COMMAND, runId: true, segment: true };

/** Checks the options that every command has. */
export function checkCaller({ id, by, waitMs, signal }: CommandOptions): void {
  name("id", id);
  name("by", by, 0);
  atLeastZero("waitMs", waitMs);
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw belayError("OPTION_INVALID", { option: "signal", value: shown(signal), needed: "an AbortSignal" });
}

export function checkGuard(options: GuardOptions): void {
  checkCaller(options);
  text("runId", options.runId);
  if (options.segment === undefined || Number.isInteger(options.segment)) return;
  throw belayError("OPTION_INVALID", { option: "segment", value: shown(options.segment), needed: "a whole number" });
}
