// What waits for a thread that has come to rest is taken up.

import { report } from "../../hooks/call-hooks.ts";
import { type InputMail, inputFactsOf, read } from "../decide/mail.ts";
import { newRun } from "../decide/openings.ts";
import type { LiveThread } from "./live-thread.ts";
import { takeObserved } from "./observe.ts";

/** A run has ended, and more has come meanwhile. Nobody waits for this: what cannot be read is told to the log. */
export async function startWaiting(thread: LiveThread): Promise<void> {
  await takeObserved(thread).catch(() => {});
  await startQueued(thread).catch((error) => report({ place: thread.resting(), desk: thread.setup }, error));
}

/** Starts a run with the oldest input that waits, where the thread is idle and nobody must act first. */
export async function startQueued(thread: LiveThread): Promise<void> {
  if (thread.isWriting) return;
  const { setup, key } = thread;
  // Others may have moved it since.
  await thread.refresh().catch(() => {});
  if (thread.isGone) return;
  const loaded = await setup.store.load(key, Number.MAX_SAFE_INTEGER).catch(() => undefined);
  const command = loaded?.commands.find(({ kind }) => kind === "input");
  const { state, running, closing } = thread;
  const idle = state === "initialized" || state === "completed" || state === "created";
  if (command === undefined || !idle || running !== undefined || closing !== undefined) return;
  if (!thread.host.accepts() || thread.agent.absent) return;
  const mail = read<InputMail>(key, command);
  const { slots } = thread.host;
  const giveBack = slots.take(key.threadId);
  if (giveBack === undefined) return slots.later(key.threadId, () => startWaiting(thread));
  const place = thread.place(setup.clock.id(), 1);
  const begin = (messages: InputMail["messages"], at: number) =>
    inputFactsOf(place, command.key, "input", { ...mail, messages }, at);
  const run = thread.start(place, newRun(thread, place, mail.messages, begin));
  void run.result.then(giveBack);
  // Somebody took it back, or took it, in the meantime: the next one is due.
  void run.result.then((result) => {
    if (result.status !== "failed") return;
    const { code } = result.error;
    if (code === "INPUT_WITHDRAWN") void startQueued(thread);
    // It has never begun, the input waits as before, and nobody looks at this run.
    else if (code === "HOOK_FAILED" && thread.state !== "error") report({ place, desk: setup }, result.error);
  });
}
