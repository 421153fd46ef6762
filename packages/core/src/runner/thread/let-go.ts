// The two ways to have done with a thread: for good, or only here.

import type { BelayError } from "../../error.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { move } from "../../lifecycle.ts";
import { terminated } from "../decide/idle.ts";
import { type EndOptions, readEnd, readStop } from "../given/options.ts";
import type { LiveThread } from "./live-thread.ts";

/** Stops now, for good: also what begins before that is on record. */
export async function terminate(thread: LiveThread, options: EndOptions): Promise<void> {
  const { force } = readEnd(options, "terminate()");
  for (let wasBusy = false; ; ) {
    thread.refuseIfClosed();
    if (thread.isWriting) {
      const stop = stopFor(thread, "terminate", "user");
      const ending = thread.tenure?.terminate(stop);
      if (force) endGrace(thread);
      await ending;
      if (thread.state === "terminated") return;
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
      // Somebody was faster, as one who answers is. What runs may be our own, and over by now; else it runs elsewhere.
      if (code !== "STORE_CONFLICT" && !(isBusy && (thread.isWriting || !wasBusy))) throw error;
      wasBusy = isBusy;
    }
  }
  if (force) endGrace(thread);
  await thread.hot.gone;
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
