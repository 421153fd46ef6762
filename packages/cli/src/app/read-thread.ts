// The events of a thread, as a screen takes them: its past in one piece, then new events in batches, so that a burst of events
// delays no key.

import { setImmediate as breathe } from "node:timers/promises";
import type { BelayEvent, Session } from "@belay/core";

export interface ThreadReader {
  /** A fact of the past. */
  past(event: BelayEvent): void;
  /** That was all of it. */
  caughtUp(): void;
  live(event: BelayEvent): void;
}

/** Reads until the signal; `head` is the end of the past. */
export async function readThread(
  session: Session,
  head: number,
  signal: AbortSignal,
  reader: ThreadReader,
): Promise<void> {
  let past = head > 0;
  if (!past) reader.caughtUp();
  let breath = performance.now();
  for await (const event of session.events({ signal })) {
    if (signal.aborted) return;
    if (past) reader.past(event);
    else reader.live(event);
    if (past && event.seq >= head) {
      past = false;
      reader.caughtUp();
    }
    if (performance.now() - breath > 8) {
      await breathe();
      breath = performance.now();
    }
  }
}
