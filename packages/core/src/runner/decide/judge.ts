// Which thread takes which command. Pure. It is asked before user code is asked about a command, and again when its append is
// made.

import { belayError } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import type { ThreadState } from "../../journal/state.ts";
import { type Command, type ResumeCommand, verbOf } from "./command.ts";
import { type Present, presentIn, refuseIfStale, stale } from "./stale.ts";

const LIVING: readonly string[] = ["created", "initialized", "running", "paused", "completed", "error"];

/**
 * The states in which a thread takes a command. Those that are not listed are judged by their subject, in every state. At rest,
 * `running` is the state of a thread that has crashed.
 */
const TAKEN_IN: { readonly [Verb in Command["do"]]?: readonly string[] } = {
  run: ["created", "initialized", "completed", "error"],
  resume: ["paused", "running", "error"],
  wake: ["paused"],
  handle: ["paused"],
  input: LIVING,
  breakpoint: LIVING,
  label: LIVING,
};

/** Throws the refusal of a command that the thread does not take. `place` is that of its append. */
export function judge(state: ThreadState, command: Command, place: FramePlace): void {
  const { threadId, run } = state;
  if (command.do === "resume") judgeResume(state, command, place);
  // Another process has written since: that process begins the code again.
  if (command.do === "wake" && command.head !== state.head) {
    throw belayError("TOKEN_SPENT", { threadId, segment: run?.segment ?? 0 });
  }
  judgeIn(threadId, command, presentIn(state), state.pauseType);
}

/** Throws the refusal of a command that no thread takes in this segment, or in this state. */
export function judgeIn(threadId: string, command: Command, present: Present, pauseType = "a pause"): void {
  if (command.do === "input") refuseIfStale(threadId, command, present);
  const { state, runId = "" } = present;
  const states = TAKEN_IN[command.do];
  if (states === undefined || states.includes(state)) return;
  if (state === "paused") throw belayError("NEED_RESUME", { threadId, pauseType });
  if (state === "running" && command.do === "handle") throw belayError("ALREADY_RUNNING", { threadId, runId });
  throw belayError("INVALID_STATE", { threadId, state, action: verbOf(command) });
}

/** Throws the refusal of a resume of another pause than the present one. */
function judgeResume(state: ThreadState, command: ResumeCommand, place: FramePlace): void {
  const { run, threadId } = state;
  const present = presentIn(state);
  refuseIfStale(threadId, command, present);
  const paused = state.state === "running" ? "crash" : state.pauseType;
  if (command.ofPause !== undefined && command.ofPause !== paused) throw stale(threadId, {}, present);
  // Judged before the state: a caller that lost a race gets this error, and not one about the state that the winner left.
  const segment = place.segment - 1;
  if (run?.id !== place.runId || run.segment !== segment) throw belayError("TOKEN_SPENT", { threadId, segment });
  const { tokenHash = state.tokenHash } = command;
  if (tokenHash !== state.tokenHash) throw belayError("TOKEN_UNKNOWN", { threadId });
}
