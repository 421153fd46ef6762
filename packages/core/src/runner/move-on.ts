// What a worker does with one thread.

import { answerHere } from "./answer-here.ts";
import { resumeRun } from "./begin-run.ts";
import { nodesWait, setAside } from "./idle.ts";
import type { LiveThread } from "./live-thread.ts";
import { type AnswerMail, read } from "./mailbox.ts";
import type { LiveRun } from "./run.ts";
import { startQueued } from "./start-queued.ts";

/** Goes on after a crash, or starts what waits, to the next end or pause. A thread that only crashes is set aside. */
export async function moveOn(thread: LiveThread, mostCrashes: number): Promise<void> {
  if (thread.execution !== undefined) return;
  await thread.calls?.over;
  if (thread.pauseType === "tool_interrupt" && thread.standing.interrupts.some(({ kind }) => kind === "node")) {
    // Answers do not speak for whoever is to go on past a node.
    await putAway(thread);
    await thread.calls?.over;
    await thread.append(nodesWait(thread.setup.clock.now()));
  } else if (thread.pauseType === "tool_interrupt") {
    await resumeRun(thread, {}).result;
  } else if (thread.pauseType === "crash") {
    const crashes = (await thread.recall.load(true)).crashes;
    if (crashes >= mostCrashes) return thread.append(setAside);
    await resumeRun(thread, {}).result;
  } else if (thread.state === "paused") {
    await putAway(thread);
  } else {
    await startQueued(thread);
  }
  for (let run = running(thread); run !== undefined; run = running(thread)) await run.result;
}

function running({ execution }: LiveThread): LiveRun | undefined {
  return execution?.run;
}

/** Answers that came too late for what a person has stopped since: left there, they would be looked at again and again. */
async function putAway(thread: LiveThread): Promise<void> {
  const { setup, key } = thread;
  const loaded = await setup.store.load(key, Number.MAX_SAFE_INTEGER);
  for (const command of loaded?.commands ?? []) {
    if (command.kind !== "answer") continue;
    await answerHere(thread, read<AnswerMail>(key, command), command.key).catch(() => {});
  }
}
