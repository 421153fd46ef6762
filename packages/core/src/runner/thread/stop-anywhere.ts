// A stop of a thread that this process may not have: it rests, or another process runs it.

import type { Loaded } from "../../store/store.ts";
import type { Receipt } from "../decide/ending.ts";
import type { InterruptOptions } from "../given/options.ts";
import { loadThread } from "../read/read-facts.ts";
import { stopElsewhere } from "./stop-elsewhere.ts";
import { onRecord, stopHere } from "./stop-here.ts";
import type { Door } from "./submit.ts";

export async function stopAnywhere(door: Door, options: InterruptOptions): Promise<Receipt> {
  const end = await endOf(door);
  const resting = await stopResting(door, options, end);
  if (resting !== undefined) return resting;
  const { setup, key } = door;
  const receipt = await stopElsewhere(setup, key, options, end, (told) => joined(door, options, told));
  if (receipt.accepted) return receipt;
  // The thread came to rest before its owner read the stop: requests may be open. A later segment is not meant.
  const { runId, segment } = receipt;
  const rests = await stopResting(door, { ...options, runId, segment }, await endOf(door));
  return rests?.accepted ? rests : receipt;
}

function endOf({ setup, key }: Door): Promise<Loaded | undefined> {
  return loadThread(setup.store, key, "rest");
}

/** Another stop ended the segment first: this one is put on record beside it. Its receipt stands whatever comes of that. */
async function joined(door: Door, { id, by = "user" }: InterruptOptions, told: Receipt): Promise<void> {
  if (id === undefined) return;
  const record = async (thread: Parameters<typeof onRecord>[0]) => {
    await thread.refresh();
    await onRecord(thread, id, by, told);
  };
  await door.here(record).catch(() => {});
}

/** Resolves to undefined if the thread does not rest. */
async function stopResting(
  door: Door,
  options: InterruptOptions,
  end: Loaded | undefined,
): Promise<Receipt | undefined> {
  const row = end?.row;
  if (row === undefined || row.lease !== undefined || (row.state !== "paused" && row.state !== "running")) {
    return undefined;
  }
  return door.here(async (thread) => {
    await thread.refresh();
    return stopHere(thread, options);
  });
}
