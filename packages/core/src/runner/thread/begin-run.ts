// Begins and resumes a run in this process. Refusals that the session can judge are thrown before anything changes (R4). The
// opening judges those that depend on the store.

import { belayError } from "../../error.ts";
import { keyOf } from "../../journal/taken.ts";
import { keyed, type ResumeCommand } from "../decide/command.ts";
import { refuseIfStale } from "../decide/stale.ts";
import type { CommandOptions } from "../given/command-options.ts";
import { type Input, readInput } from "../given/input.ts";
import { checkResume, type ResumeOptions, type RunOptions, readPatch } from "../given/options.ts";
import { LiveRun } from "../read/run.ts";
import type { LiveThread } from "./live-thread.ts";

/** Begins a new run. A thread that was paused by a person, by pause() or by a crash is resumed with the input. */
export function beginRun(thread: LiveThread, input: Input, options: RunOptions): LiveRun {
  thread.refuseIfClosed();
  const known = askedBefore(thread, options.id);
  if (known !== undefined) return known;
  thread.refuseIfBusy();
  const { state, pauseType, setup } = thread;
  const { threadId } = thread.key;
  if (state === "paused") {
    if (pauseType === "tool_interrupt" || pauseType === "node_interrupt") {
      throw belayError("NEED_RESUME", { threadId, pauseType });
    }
    return resumeRun(thread, { input, ...options });
  }
  if (state === "terminated") throw belayError("INVALID_STATE", { threadId, state, action: "run()" });
  const inputs = readInput(input, setup.maxBytes);
  if (inputs.length === 0) throw belayError("INPUT_EMPTY", { threadId });
  const runId = setup.clock.id();
  return thread.start(thread.place(runId, 1), { do: "run", ...callerOf(options, runId), inputs }, options);
}

/** Narrows a resume to the pause that has this token, or that a worker continues by itself; with the row of its input. */
export type OnlyPause = Pick<ResumeCommand, "tokenHash" | "ofPause" | "row">;

/** Begins the next segment of the last run. */
export function resumeRun(thread: LiveThread, options: ResumeOptions, only: OnlyPause = {}): LiveRun {
  const answers = checkResume(options, thread.setup.maxBytes);
  const known = askedBefore(thread, options.id);
  if (known !== undefined) return known;
  const { state } = thread;
  const { runId, segment } = thread.running?.run ?? thread.standing;
  refuseIfStale(thread.key.threadId, options, { runId, segment, state });
  thread.refuseIfBusy();
  if ((state !== "paused" && state !== "error") || runId === undefined) {
    throw belayError("INVALID_STATE", { threadId: thread.key.threadId, state, action: "resume()" });
  }
  const inputs = readInput(options.input, thread.setup.maxBytes);
  const { mode, drift = "warn", groups, to } = options;
  const patch = readPatch(options, thread.setup.maxBytes);
  const place = thread.place(runId, segment + 1);
  const asked = { mode, inputs, answers, drift, to, patch, groups, runId: options.runId, segment: options.segment };
  return thread.start(
    place,
    { do: "resume", ...callerOf(options, thread.setup.clock.id()), ...asked, ...only },
    options,
  );
}

function callerOf({ id, by }: CommandOptions, fresh: string) {
  return { ...keyed(keyOf.run(id ?? fresh), id), ...(by !== undefined && { by }) };
}

/** Returns the run that was begun under this id, or one that follows it; undefined if the id is not on record. */
function askedBefore(thread: LiveThread, id: string | undefined): LiveRun | undefined {
  if (id === undefined) return undefined;
  const { running, recall } = thread;
  if (running?.command.key === keyOf.run(id)) return running.run;
  const known = (running?.state ?? recall.now()).taken?.get(keyOf.run(id));
  if (known === undefined) return undefined;
  const { runId, segment } = known;
  if (running?.run.runId === runId) return running.run;
  const last = running === undefined && recall.standing.runId === runId;
  // Its process died: the same command again continues it. A run that a person stopped stays stopped.
  if (last && thread.pauseType === "crash") return resumeRun(thread, {}, { ofPause: "crash" });
  const run = new LiveRun(thread.key.threadId, runId, segment, thread.feed);
  thread.follow(known, run);
  return run;
}
