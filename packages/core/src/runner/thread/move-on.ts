// Moves one thread for a worker.

import { belayError } from "../../error.ts";
import { waitsForResume } from "../../interrupt/interrupt.ts";
import type { PauseType } from "../../lifecycle.ts";
import { commandIn } from "../decide/command.ts";
import { restsOn, setAside } from "../decide/idle.ts";
import { type Known, type ResumeMail, resumeIn } from "../decide/mail.ts";
import type { LiveRun } from "../read/run.ts";
import { resumeRun } from "./begin-run.ts";
import { doorOf } from "./door.ts";
import type { LiveThread } from "./live-thread.ts";
import { startQueued } from "./start-queued.ts";
import { submit } from "./submit.ts";

/**
 * Continues a crashed thread, or starts the input that waits, up to the next end or pause. Throws if it could not, and if it
 * sets aside a thread that only crashes. `lastTries` are the threads here that the next crash sets aside. They run one by one,
 * each until it has made a step: of two at once, both would be counted as the one that killed the process.
 */
export async function moveOn(thread: LiveThread, mostCrashes: number, lastTries: Set<LiveThread>): Promise<void> {
  if (thread.running !== undefined) return;
  await thread.tenure?.over;
  const { threadId } = thread.key;
  const said = await inputFor(thread);
  const isToGoOn = thread.standing.interrupts.some((each) => waitsForResume(each) || each.kind === "manual");
  if (said !== undefined) {
    const { messages: input, by, mode } = said.mail;
    await ended(resumeRun(thread, { input, by, mode }, { ofPause: thread.pauseType, row: said.key }));
  } else if (thread.pauseType === "tool_interrupt" && isToGoOn) {
    // Answered requests do not resume a thread that a person has paused, or that stopped at a node.
    await putAway(thread);
    await thread.tenure?.over;
    await thread.append(restsOn(thread.setup.clock.now()));
  } else if (thread.pauseType === "tool_interrupt") {
    await ended(resumeRun(thread, {}, { ofPause: "tool_interrupt" }));
  } else if (thread.pauseType === "crash") {
    const { crashes } = await thread.recall.load(true);
    if (crashes >= mostCrashes) {
      await thread.append(setAside);
      throw belayError("THREAD_SET_ASIDE", { threadId, crashes });
    }
    const isLast = crashes === mostCrashes - 1;
    // A step on record ends the count of crashes. The beginning of a run is no step.
    const isStuck = ({ running }: LiveThread) => (running?.state?.crashes ?? mostCrashes) > 0;
    if (isLast && [...lastTries].some(isStuck)) return;
    if (isLast) lastTries.add(thread);
    try {
      await ended(resumeRun(thread, {}, { ofPause: "crash" }));
    } finally {
      lastTries.delete(thread);
    }
  } else if (thread.state === "paused") {
    await putAway(thread);
  } else {
    await startQueued(thread);
  }
  for (let run = runOf(thread); run !== undefined; run = runOf(thread)) await ended(run);
}

/** Throws the error of a failed run if it is not on record: the store failed. */
async function ended(run: Pick<LiveRun, "result">): Promise<void> {
  const result = await run.result;
  if (result.status === "failed" && result.error.code.startsWith("STORE_")) throw result.error;
}

function runOf({ running }: LiveThread): LiveRun | undefined {
  return running?.run;
}

/** Pauses that a person's words end. A crash is continued in any case: they wait as a steer. */
const FOR_WORDS: ReadonlySet<PauseType | undefined> = new Set(["user_interrupt", "manual", "tool_interrupt"]);

/** Returns the last input that is to resume the thread: those before it enter with it. Answers that wait come first. */
async function inputFor({ setup, key, pauseType }: LiveThread): Promise<Known<ResumeMail> | undefined> {
  if (!FOR_WORDS.has(pauseType)) return undefined;
  const loaded = await setup.store.load(key, Number.MAX_SAFE_INTEGER);
  const rows = loaded?.commands.filter(({ kind }) => kind === "answer") ?? [];
  const inputs = rows.map(resumeIn);
  const [last, mail] = [rows.at(-1), inputs.at(-1)];
  if (last === undefined || mail === undefined || inputs.includes(undefined)) return undefined;
  return { key: last.key, at: last.at, mail };
}

/** Consumes answers to requests that a person has stopped since. Left in the store, they would bring the worker back again and again. */
async function putAway(thread: LiveThread): Promise<void> {
  const { setup, key } = thread;
  const loaded = await setup.store.load(key, Number.MAX_SAFE_INTEGER);
  for (const command of loaded?.commands ?? []) {
    if (command.kind !== "answer" || resumeIn(command) !== undefined) continue;
    await submit(doorOf(thread), commandIn(key, command), {}, true).catch(() => {});
  }
}
