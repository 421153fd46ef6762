// Going on with what was answered, here or in another terminal, which may be running what was approved. Every terminal that
// shows the thread does: one of them is the first, and what it does is told to all of them as events.

import { setTimeout as sleep } from "node:timers/promises";
import type { BelayError, Session } from "@belay/core";

/** Said of a pause that somebody has gone on from. */
const OVER: ReadonlySet<string> = new Set(["TOKEN_SPENT", "INVALID_STATE", "INVALID_STATE_TRANSITION"]);
const TRY_EVERY_MS = 250;
const MOST_TRIES = 40;

/** As long as the thread is shown; gives what the person should know. */
export async function goOn(session: Session, isShown: () => boolean): Promise<BelayError | undefined> {
  for (let tries = 0; isShown() && session.state === "paused"; tries += 1) {
    const result = await session.resume().result;
    if (result.status !== "failed" || OVER.has(result.error.code)) return undefined;
    if (result.error.code !== "THREAD_BUSY" || tries > MOST_TRIES) return result.error;
    await sleep(TRY_EVERY_MS);
  }
  return undefined;
}
