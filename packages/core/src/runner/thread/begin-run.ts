// How a run begins, and how it goes on, in this process. Refusals that the session can know are thrown before anything
// changes (R4); what only the store knows is for the opening.

import { belayError } from "../../error.ts";
import { keyOf } from "../../journal/taken.ts";
import { inputFacts } from "../decide/facts.ts";
import { goOn, newRun } from "../decide/openings.ts";
import { type Input, readInput } from "../given/input.ts";
import { checkResume, type ResumeOptions, readPatch } from "../given/options.ts";
import { replay } from "../read/replay.ts";
import { LiveRun } from "../read/run.ts";
import type { LiveThread } from "./live-thread.ts";

/** A new run; while paused by a person, by pause() or by a crash it goes on with the input. `id` is the caller's. */
export function beginRun(thread: LiveThread, input: Input, id: string | undefined): LiveRun {
  thread.refuseIfClosed();
  if (id !== undefined) {
    const known = askedBefore(thread, id);
    if (known !== undefined) return known;
  }
  thread.refuseIfBusy();
  const { state, pauseType, setup } = thread;
  const { threadId } = thread.key;
  if (state === "paused") {
    if (pauseType === "tool_interrupt" || pauseType === "node_interrupt") {
      throw belayError("NEED_RESUME", { threadId, pauseType });
    }
    return resumeRun(thread, { input }, id);
  }
  if (state === "terminated") throw belayError("INVALID_STATE", { threadId, state, action: "run()" });
  const inputs = readInput(input, setup.maxBytes);
  if (inputs.length === 0) throw belayError("INPUT_EMPTY", { threadId });
  const place = thread.place(setup.clock.id(), 1);
  const begin = (made: typeof inputs, at: number) => inputFacts(place, made, at);
  return thread.start(place, newRun(thread, place, inputs, begin, id), id);
}

/** The next stretch of the last run: by the token with this hash, or not at all, where one is named. */
export function resumeRun(thread: LiveThread, options: ResumeOptions, id?: string, tokenHash?: string): LiveRun {
  const answers = checkResume(options, thread.setup.maxBytes);
  thread.refuseIfBusy();
  const { state } = thread;
  const { runId, segment } = thread.standing;
  if ((state !== "paused" && state !== "error") || runId === undefined) {
    throw belayError("INVALID_STATE", { threadId: thread.key.threadId, state, action: "resume()" });
  }
  const inputs = readInput(options.input, thread.setup.maxBytes);
  const { mode, drift = "warn", by, to } = options;
  const patch = readPatch(options, thread.setup.maxBytes);
  const place = thread.place(runId, segment + 1);
  const opening = goOn(thread, place, { mode, inputs, answers, drift, to, patch, by, id, tokenHash });
  return thread.start(place, opening, id, inputs.length > 0 || answers.size > 0);
}

/** What a run() with this id began: the run itself while it goes on, else what was recorded of it. Undefined where nothing did. */
function askedBefore(thread: LiveThread, id: string): LiveRun | undefined {
  const { running, recall, feed, key } = thread;
  if (running?.askedBy === id) return running.run;
  const known = (running?.state ?? recall.now()).taken?.get(keyOf.run(id));
  if (known === undefined) return undefined;
  const { runId, segment } = known;
  if (running?.run.runId === runId) return running.run;
  const last = running === undefined && recall.standing.runId === runId;
  // Its process died: asking again makes it go on. What a person stopped stays stopped.
  if (last && thread.pauseType === "crash") return resumeRun(thread, {});
  if (last && thread.state === "paused") {
    throw belayError("NEED_RESUME", { threadId: key.threadId, pauseType: thread.pauseType ?? "a pause" });
  }
  const run = new LiveRun(key.threadId, runId, segment, feed);
  void replay(thread.setup.store, key, known, run);
  return run;
}
