// The two ways to have done with a thread: for good, or only here.

import type { BelayError } from "../../error.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { keyOf } from "../../journal/taken.ts";
import { move } from "../../lifecycle.ts";
import { commandFact } from "../decide/facts.ts";
import { terminated } from "../decide/idle.ts";
import { refuseIfStale } from "../decide/stale.ts";
import { checkTerminate, type EndOptions, readEnd, readStop, type TerminateOptions } from "../given/options.ts";
import { untilTaken } from "../read/until-taken.ts";
import type { LiveThread } from "./live-thread.ts";
import { stopElsewhere } from "./stop-elsewhere.ts";
import type { Door } from "./submit.ts";

/** Ends a thread for good, whichever process has it. Resolves when that is on record. */
export async function terminate(door: Door, options: TerminateOptions): Promise<void> {
  checkTerminate(options);
  const { setup, key } = door;
  const { id = setup.clock.id(), by = "user" } = options;
  const isNamed = options.id !== undefined || options.by !== undefined;
  const command: Termination = { key: keyOf.stop(id), by, isNamed };
  for (let again = false; ; again = true) {
    const isOver = await door.here((thread) => terminateHere(thread, command, options, again));
    if (isOver) return;
    const order = { do: "terminate", options: { ...options, id } } as const;
    const { runId, segment = 0, accepted } = await stopElsewhere(setup, key, order);
    refuseIfStale(key.threadId, options, { runId, segment, state: "running" });
    if (!accepted) await untilTaken(setup, key, keyOf.stop(id), Number.MAX_SAFE_INTEGER);
  }
}

interface Termination {
  readonly key: string;
  readonly by: string;
  /** Its caller gave an id or a name: it is put on record. */
  readonly isNamed: boolean;
}

/**
 * Stops now, for good: also a run that begins before that is on record. Resolves to false if another process has the thread.
 * `again`: another process may have ended it by the same command.
 */
async function terminateHere(
  thread: LiveThread,
  { key, by, isNamed }: Termination,
  options: TerminateOptions,
  again: boolean,
): Promise<boolean> {
  const { force = false } = options;
  if (again) await thread.refresh();
  const { taken } = thread.live?.state ?? thread.recall.now();
  if ((isNamed && taken?.has(key)) || (again && thread.state === "terminated")) return true;
  for (let wasBusy = false; ; ) {
    thread.refuseIfClosed();
    const { runId, segment } = thread.running?.run ?? thread.standing;
    refuseIfStale(thread.key.threadId, options, { runId, segment, state: thread.state });
    if (thread.isWriting) {
      const stop = stopFor(thread, "terminate", by);
      const ending = thread.tenure?.terminate(stop, isNamed ? key : undefined);
      if (force) endGrace(thread);
      await ending;
      if (thread.state === "terminated") return true;
    }
    // An earlier termination waits for processes.
    const isWaiting = thread.state === "terminated" && thread.hot.gone !== undefined;
    if (force && isWaiting) break;
    move(thread.state, "terminated");
    try {
      await thread.append(terminated(by, (place) => (isNamed ? [commandFact(place, { key, by })] : [])));
      break;
    } catch (error) {
      const { code } = error as Partial<BelayError>;
      const isBusy = code === "THREAD_BUSY";
      // Another append came first, such as an answer. The lease may be our own, and returned by now.
      if (isBusy && wasBusy && !thread.isWriting) return false;
      if (code !== "STORE_CONFLICT" && !isBusy) throw error;
      wasBusy = isBusy;
    }
  }
  if (force) endGrace(thread);
  await thread.hot.gone;
  return true;
}

/** Lets go of it without ending it: what runs is aborted, and can go on elsewhere. */
export function letGo(thread: LiveThread, options: EndOptions): Promise<void> {
  const { force } = readEnd(options);
  thread.closing ??= close(thread);
  if (force) {
    thread.hot.dropAll();
    endGrace(thread);
  }
  return thread.closing;
}

/** Of what runs, and of the processes of what only waited and was dropped. */
function endGrace({ tenure, hot }: LiveThread): void {
  tenure?.force();
  hot.force();
}

async function close(thread: LiveThread): Promise<void> {
  const stop: Stop = { ...stopFor(thread, "close", "runtime"), keepsRequests: true };
  await thread.tenure?.close(stop);
  thread.hot.dropAll();
  thread.recall.forget();
  thread.feed.closed(thread);
  // The program may end after this: its processes do so before.
  await thread.hot.gone;
  thread.host.closed(thread);
}

function stopFor({ setup }: LiveThread, reason: string, by: string): Stop {
  return readStop({ reason, by }, setup.clock.now());
}
