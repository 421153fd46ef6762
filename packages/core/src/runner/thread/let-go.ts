// close(): this process lets go of a thread, which can continue elsewhere.

import type { Stop } from "../../interrupt/stop-signal.ts";
import { checkOptions } from "../given/check.ts";
import { END, type EndOptions, readStop } from "../given/options.ts";
import type { LiveThread } from "./live-thread.ts";

/** Lets go of the thread without ending it: work in flight is aborted. */
export function letGo(thread: LiveThread, options: EndOptions): Promise<void> {
  checkOptions("close()", options, END);
  thread.closing ??= close(thread);
  if (options.force) {
    thread.hot.dropAll();
    // No grace for the work that runs, nor for the processes of code that was dropped.
    thread.tenure?.force();
    thread.hot.force();
  }
  return thread.closing;
}

async function close(thread: LiveThread): Promise<void> {
  const stop: Stop = {
    ...readStop({ reason: "close", by: "runtime" }, thread.setup.clock.now()),
    keepsRequests: true,
  };
  await thread.tenure?.close(stop);
  thread.hot.dropAll();
  thread.recall.forget();
  thread.letLie();
  thread.feed.closed(thread);
  // The program may end after this: its processes do so before.
  await thread.hot.gone;
  thread.host.closed(thread);
}
