// What is sent to a thread, whoever runs it, or nobody: a command, which has no effect until an append consumes it.

import { belayError } from "../../error.ts";
import { hooksNamed } from "../../hooks/hooks.ts";
import { readName } from "../../read-name.ts";
import type { Command, ThreadKey } from "../../store/store.ts";
import { initialized } from "../decide/idle.ts";
import type { InputMail } from "../decide/mail.ts";
import { type Input, readInput } from "../given/input.ts";
import { checkSend, isOwnKey, type SendOptions } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import type { LiveThread } from "./live-thread.ts";
import type { Tenure } from "./tenure.ts";

/** Resolves to its id when nothing can lose it. */
export async function send(
  thread: LiveThread,
  how: "steer" | "input" | "observe",
  input: Input,
  options: SendOptions,
): Promise<string> {
  thread.refuseIfClosed();
  checkSend(options, `${how === "input" ? "enqueue" : how}()`);
  const { state, setup } = thread;
  const { threadId } = thread.key;
  if (state === "terminated")
    throw belayError("INVALID_STATE", { threadId, state, action: how === "input" ? "enqueue()" : `${how}()` });
  const messages = readInput(input, setup.maxBytes);
  if (messages.length === 0) throw belayError("INPUT_EMPTY", { threadId });
  const { store, clock } = setup;
  const observed = how === "observe" ? { observed: true as const } : {};
  const mail: InputMail = { messages, ...(options.by !== undefined && { by: options.by }), ...observed };
  const kind = how === "input" ? how : "steer";
  const command: Command = { key: options.id ?? clock.id(), kind, body: JSON.stringify(mail), at: clock.now() };
  await onRecord(thread);
  if (!thread.isWriting) await thread.recall.read(Number.MAX_SAFE_INTEGER);
  const sent = await store.send(thread.key, command);
  // One that has yet to begin finds it in the store.
  if (sent && thread.running?.state !== undefined) thread.running.deliver(command);
  return command.key;
}

/** Takes back what was sent; false where it was consumed already, or is nothing that people say. */
export async function withdraw({ store }: Pick<Setup, "store">, key: ThreadKey, id: string): Promise<boolean> {
  return !isOwnKey(readName("id", id)) && store.withdraw(key, id);
}

/** A new thread has to be on record before anything can wait for it; a run may begin to put it there meanwhile. */
async function onRecord(thread: LiveThread): Promise<void> {
  // Answered calls run: the thread is there, and the stretch that waits for their end begins long after.
  if (thread.tenure?.mayCallModel === false) return;
  // A hook before the reply may be what sends: the run begins after the hook, and would be waited for in vain.
  if (hooksNamed(thread.setup.hooks, thread.agent.hooks, "beforeReply") === undefined) {
    for (let seen: Tenure | undefined | null = null; seen !== thread.running; ) {
      seen = thread.running;
      await thread.opening;
    }
  }
  if (thread.standing.state === "created") await initialize(thread);
}

/** Puts a new thread on record. Refused means that somebody else has done it. */
async function initialize(thread: LiveThread): Promise<void> {
  await thread.append(initialized).catch((error) => {
    if (!["INVALID_STATE_TRANSITION", "STORE_CONFLICT", "THREAD_BUSY"].includes(error.code)) throw error;
  });
}
