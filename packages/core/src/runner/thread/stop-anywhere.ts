// interrupt() and pause() of a thread that this process may not have: it rests, or another process runs it.

import { belayError } from "../../error.ts";
import { decode } from "../../journal/codec.ts";
import { keyOf } from "../../journal/taken.ts";
import type { Loaded } from "../../store/store.ts";
import type { Receipt } from "../decide/ending.ts";
import { commandFact } from "../decide/facts.ts";
import type { IdleFacts } from "../decide/idle.ts";
import type { StopVerb } from "../decide/mail.ts";
import type { InterruptOptions } from "../given/options.ts";
import { loadThread } from "../read/read-facts.ts";
import type { LiveThread } from "./live-thread.ts";
import { stopElsewhere } from "./stop-elsewhere.ts";
import { onRecord, orBehind, pauseHere, stopHere } from "./stop-here.ts";
import { type Door, doorOf } from "./submit.ts";

type Verb = Exclude<StopVerb, "terminate">;

/**
 * Stops or pauses the thread of a session. The signal of a run in this process is set before this returns (S1). If nothing is
 * under way here, the thread may run in another process.
 */
export function stopOf(thread: LiveThread, verb: Verb, options: InterruptOptions): Promise<Receipt> {
  const isHere = thread.tenure !== undefined || thread.host.goingOn(thread.key.threadId).length > 0;
  const here = inThisProcess[verb](thread, options);
  // A stop that withdraws requests finds out by its append whether another process has the thread.
  if (isHere || thread.stopping !== undefined) return here;
  // Read in this tick: the stop is for the segment that is there when it is asked for.
  const end = endOf(thread);
  return Promise.all([here, end]).then(([told, there]) =>
    told.accepted || there === undefined || !isNews(thread, there)
      ? remembered(doorOf(thread), verb, options, told)
      : orBehind(thread, stopAnywhere(doorOf(thread), verb, options, there)),
  );
}

/** Puts a stop with an id that met nothing on record: the same stop again meets nothing either (V2). */
async function remembered(door: Door, verb: Verb, options: InterruptOptions, told: Receipt): Promise<Receipt> {
  const { id, by = "user" } = options;
  if (told.accepted || id === undefined) return told;
  const key = keyOf.stop(id);
  const record: IdleFacts = (place, { threadId, state, head, taken }) => {
    if (head === 0 || taken?.has(key)) return [];
    const refusal = belayError("INVALID_STATE", {
      threadId,
      state,
      action: verb === "stop" ? "interrupt()" : "pause()",
    });
    return [commandFact(place, { key, by }, refusal)];
  };
  // If the thread runs by now, only `runId` and `segment` keep a repeat from it.
  await door.here(async (thread) => thread.isWriting || thread.append(record)).catch(() => {});
  return told;
}

const inThisProcess: Readonly<Record<Verb, (thread: LiveThread, options: InterruptOptions) => Promise<Receipt>>> = {
  stop: (thread, options) => stopHere(thread, options),
  pause: (thread, options) => pauseHere(thread, options),
};

/** Whether the store has more of the thread than this process knows. */
function isNews({ setup, standing }: LiveThread, { row }: Loaded): boolean {
  return row.lease === undefined ? row.head > standing.head : row.lease.owner !== setup.owner;
}

/** `end` is the end of the thread when the stop was asked for. */
export async function stopAnywhere(door: Door, verb: Verb, options: InterruptOptions, end?: Loaded): Promise<Receipt> {
  const there = end ?? (await endOf(door));
  const resting = await stopResting(door, verb, end === undefined ? options : aimed(options, end), there);
  if (resting !== undefined) return remembered(door, verb, options, resting);
  const { setup, key } = door;
  const joins = (told: Receipt) => joined(door, options, told);
  const receipt = await stopElsewhere(setup, key, { do: verb, options }, there, joins);
  if (receipt.accepted) return receipt;
  // The thread came to rest before its owner read the stop: requests may be open. A later segment is not meant.
  const { runId, segment } = receipt;
  const rests = await stopResting(door, verb, { ...options, runId, segment }, await endOf(door));
  return rests?.accepted ? rests : remembered(door, verb, options, receipt);
}

function endOf({ setup, key }: Pick<Door, "setup" | "key">): Promise<Loaded | undefined> {
  return loadThread(setup.store, key, "rest");
}

/** Names the segment that the stop met. */
function aimed(options: InterruptOptions, { row, lines }: Loaded): InterruptOptions {
  const last = lines.at(-1);
  if (last === undefined) return options;
  const { runId, segment } = decode(row.threadId, last).at(-1)!;
  return { ...options, runId: options.runId ?? runId, segment: options.segment ?? segment };
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
  verb: Verb,
  options: InterruptOptions,
  end: Loaded | undefined,
): Promise<Receipt | undefined> {
  const row = end?.row;
  if (row === undefined || row.lease !== undefined || (row.state !== "paused" && row.state !== "running")) {
    return undefined;
  }
  return door.here(async (thread) => {
    await thread.refresh();
    return inThisProcess[verb](thread, options);
  });
}
