// Starts the inputs that wait for a thread, when it has come to rest.

import { report } from "../../hooks/call-hooks.ts";
import { keyOf } from "../../journal/taken.ts";
import { type InputMail, read } from "../decide/mail.ts";
import type { LiveThread } from "./live-thread.ts";
import { takeObserved } from "./observe.ts";

/** Takes up the commands that arrived during a run that has ended. No caller waits for this: failures go to the log. */
export async function startWaiting(thread: LiveThread): Promise<void> {
  await takeObserved(thread).catch(() => {});
  await startQueued(thread).catch((error) => report({ place: thread.resting(), desk: thread.setup }, error));
}

/** Starts a run with the oldest input that waits, if the thread is idle and no person has to act first. */
export async function startQueued(thread: LiveThread): Promise<void> {
  if (isIdle(thread)) await thread.stopped();
  if (thread.isWriting) return;
  const { setup, key } = thread;
  // Another process may have moved the thread since: then it is read, and its commands once more.
  let loaded = await thread.lookAgain();
  if (thread.isGone) return;
  loaded ??= await setup.store.load(key, Number.MAX_SAFE_INTEGER).catch(() => undefined);
  const command = loaded?.commands.find(({ kind }) => kind === "input");
  const { running, closing } = thread;
  if (command === undefined || !isIdle(thread) || running !== undefined || closing !== undefined) return;
  if (!thread.host.accepts() || thread.agent.absent) return;
  // Before it has a slot: it may be damaged.
  const { messages: inputs, by } = read<InputMail>(key, command);
  const { slots } = thread.host;
  const giveBack = slots.take(key.threadId);
  if (giveBack === undefined) return slots.later(key.threadId, () => startWaiting(thread));
  const place = thread.place(setup.clock.id(), 1);
  const caller = { key: keyOf.run(setup.clock.id()), ...(by !== undefined && { by }) };
  const run = thread.start(place, { do: "run", ...caller, inputs, row: command.key });
  void run.result.then((result) => {
    giveBack();
    if (result.status !== "failed") return;
    const { code } = result.error;
    // The input was withdrawn or consumed meanwhile: the next one is due.
    if (code === "INPUT_WITHDRAWN") void startQueued(thread);
    // The run has not begun, the input waits as before, and no caller has this run.
    else if (code === "HOOK_FAILED" && thread.state !== "error") report({ place, desk: setup }, result.error);
  });
}

function isIdle({ state }: LiveThread): boolean {
  return state === "initialized" || state === "completed" || state === "created";
}
