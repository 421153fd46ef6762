// Sends steers and inputs to a thread, in whatever state it is. They are rows of the store, and have no effect until an append
// consumes them.

import { hooksNamed } from "../../hooks/hooks.ts";
import { decode } from "../../journal/codec.ts";
import { readName } from "../../read-name.ts";
import type { ThreadKey } from "../../store/store.ts";
import { type InputCommand, rowOf } from "../decide/command.ts";
import { judgeIn } from "../decide/judge.ts";
import type { Present } from "../decide/stale.ts";
import { isOwnKey } from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { endOf, loadThread } from "../read/read-facts.ts";
import type { LiveThread } from "./live-thread.ts";
import type { Tenure } from "./tenure.ts";
import { written } from "./written.ts";

/** Sends an input to a thread. Resolves to its id when the store has it. */
export async function sendInput(thread: LiveThread, command: InputCommand): Promise<{ readonly id: string }> {
  thread.refuseIfClosed();
  const { setup, key, state } = thread;
  const { id } = command;
  const isMeant = command.runId !== undefined || command.segment !== undefined;
  try {
    judgeIn(key.threadId, command, isMeant ? await presentOf(thread) : { runId: undefined, segment: 0, state });
  } catch (refusal) {
    if (id !== undefined && (await wasSent(thread, id))) return { id };
    throw refusal;
  }
  await onRecord(thread, command);
  if (!thread.isWriting) await thread.recall.read(Number.MAX_SAFE_INTEGER);
  const row = rowOf(command, setup.clock.now());
  const sent = await setup.store.send(key, row);
  // A tenure that has not begun yet finds it in the store.
  if (sent && thread.running?.state !== undefined) thread.running.deliver(row);
  return { id: row.key };
}

/** The segment that the thread is in: of this process, or as the store has it. */
async function presentOf({ running, state, setup, key }: LiveThread): Promise<Present> {
  const loaded = running === undefined ? await loadThread(setup.store, key, "rest") : undefined;
  const { runId, segment = 0 } = running?.run ?? (loaded && endOf(loaded)) ?? {};
  return { runId, segment, state: loaded?.row.state ?? state };
}

/** Returns true if an input was sent under this id before, whether or not it is consumed. */
async function wasSent({ setup, key }: LiveThread, id: string): Promise<boolean> {
  const loaded = await loadThread(setup.store, key);
  const facts = (loaded?.lines ?? []).flatMap((line) => decode(key.threadId, line));
  const isConsumed = facts.some((fact) => fact.type === "input-consumed" && fact.id === id);
  return isConsumed || (loaded?.commands.some((command) => command.key === id) ?? false);
}

/** Takes a steer or an input back. Resolves to false if it was consumed already, or if the id is that of another command. */
export async function withdraw({ store }: Pick<Setup, "store">, key: ThreadKey, id: string): Promise<boolean> {
  return !isOwnKey(readName("id", id)) && store.withdraw(key, id);
}

/** Puts a new thread on record, so that rows can wait for it. A run that begins meanwhile may do so first. */
async function onRecord(thread: LiveThread, command: InputCommand): Promise<void> {
  // Answered calls run, and the run that waits for their end may begin long after. A stop may meet a thread without a record.
  if (thread.tenure?.mayCallModel === false && thread.standing.state !== "created") return;
  // A `beforeReply` hook may be the sender. The run begins after the hook, so waiting for it would never end.
  if (hooksNamed(thread.setup.hooks, thread.agent.hooks, "beforeReply") === undefined) {
    for (let seen: Tenure | undefined | null = null; seen !== thread.running; ) {
      seen = thread.running;
      await thread.opening;
    }
  }
  if (thread.standing.state !== "created") return;
  // A thread that another process has put on record since is left as it is.
  const { opened } = await written(thread, command, false);
  if ("refusal" in opened && !["STORE_CONFLICT", "THREAD_BUSY"].includes(opened.refusal.code)) throw opened.refusal;
}
