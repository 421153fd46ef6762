// The two ways to have done with a thread: for good, or only here.

import type { BelayError } from "../../error.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { move } from "../../lifecycle.ts";
import { terminated } from "../decide/idle.ts";
import { type EndOptions, readEnd, readStop } from "../given/options.ts";
import type { LiveThread } from "./live-thread.ts";
import { stopElsewhere } from "./stop-elsewhere.ts";
import type { Door } from "./submit.ts";

/** Ends a thread for good, whichever process has it. Resolves when that is on record. */
export async function terminate(door: Door, options: EndOptions): Promise<void> {
  const { force } = readEnd(options, "terminate()");
  for (let again = false; ; again = true) {
    const isOver = await door.here((thread) => terminateHere(thread, force, again));
    if (isOver) return;
    await stopElsewhere(door.setup, door.key, { do: "terminate", options: { force } });
  }
}

/**
 * Stops now, for good: also a run that begins before that is on record. Resolves to false if another process has the thread.
 * `again`: another process may have ended it by the same command.
 */
async function terminateHere(thread: LiveThread, force: boolean, again: boolean): Promise<boolean> {
  if (again) await thread.refresh();
  if (again && thread.state === "terminated") return true;
  for (let wasBusy = false; ; ) {
    thread.refuseIfClosed();
    if (thread.isWriting) {
      const stop = stopFor(thread, "terminate", "user");
      const ending = thread.tenure?.terminate(stop);
      if (force) endGrace(thread);
      await ending;
      if (thread.state === "terminated") return true;
    }
    // One that came before waits for processes.
    const isWaiting = thread.state === "terminated" && thread.hot.gone !== undefined;
    if (force && isWaiting) break;
    move(thread.state, "terminated");
    try {
      await thread.append(terminated);
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
  const { force } = readEnd(options, "close()");
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
