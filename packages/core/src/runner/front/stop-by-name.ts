// A stop for a thread that any process may be running, or that rests: by its name.

import type { BelayError } from "../../error.ts";
import type { Loaded, ThreadKey, ThreadRow } from "../../store/store.ts";
import type { Receipt } from "../decide/ending.ts";
import type { InterruptOptions } from "../given/options.ts";
import { loadThread } from "../read/read-facts.ts";
import { stopElsewhere } from "../thread/stop-elsewhere.ts";
import type { DriveSetup } from "../write/drive.ts";
import type { OpenSessions } from "./open-sessions.ts";

type Sessions = Pick<OpenSessions<unknown, never>, "known" | "open" | "with">;

export async function stopByName(
  setup: DriveSetup,
  key: ThreadKey,
  sessions: Sessions,
  options: InterruptOptions,
): Promise<Receipt> {
  const { threadId } = key;
  const session = sessions.known(threadId);
  if (session?.state === "running") return session.interrupt(options);
  const end = await endOf(setup, key);
  const resting = await stopResting(sessions, threadId, options, end?.row);
  if (resting !== undefined) return resting;
  const receipt = await stopElsewhere(setup, key, options, end, (told) => joined(sessions, threadId, options, told));
  if (receipt.accepted) return receipt;
  // It came to rest before it heard of the stop: people may be asked for something. Who has gone on since means it.
  const { runId, segment } = receipt;
  const rests = await stopResting(sessions, threadId, { ...options, runId, segment }, (await endOf(setup, key))?.row);
  return rests?.accepted ? rests : receipt;
}

function endOf({ store }: DriveSetup, key: ThreadKey): Promise<Loaded | undefined> {
  return loadThread(store, key, "rest");
}

/** It is told of another one: its id is put on record beside that. */
async function joined(
  sessions: Sessions,
  threadId: string,
  { id, by = "user" }: InterruptOptions,
  told: Receipt,
): Promise<void> {
  if (id === undefined) return;
  // It was stopped, and that is told whatever comes of this: somebody may have gone on since, and this runner need not have its agent.
  const session = await sessions.open(threadId, {}).catch(() => undefined);
  await session?.wasStopped(id, by, told).catch(() => {});
}

/** Undefined where it does not rest. */
async function stopResting(
  sessions: Sessions,
  threadId: string,
  options: InterruptOptions,
  row: ThreadRow | undefined,
): Promise<Receipt | undefined> {
  if (row === undefined || row.lease !== undefined || (row.state !== "paused" && row.state !== "running")) {
    return undefined;
  }
  try {
    return await sessions.with(threadId, async () => {
      const session = await sessions.open(threadId, {});
      await session.refresh();
      return session.interrupt(options);
    });
  } catch (error) {
    // Somebody began to run it meanwhile.
    if ((error as Partial<BelayError>).code !== "THREAD_BUSY") throw error;
    return undefined;
  }
}
