// Before the program ends: what runs here is stopped, so that it is on record as a stop, and not as a crash.

import { setTimeout as sleep } from "node:timers/promises";
import type { InterruptOptions, Runner, Session } from "@belay/core";
import { runBy } from "../commands/run-by.ts";

/** How long the end of the program waits for it. */
const LAST_STOP_MS = 1_500;

/** What runs in another terminal goes on there. */
export async function lastStop(runner: Runner, session: Session, options: InterruptOptions): Promise<void> {
  const stop = async () => {
    if ((await runBy(runner, session.threadId)) !== "others") await session.interrupt(options);
  };
  await Promise.race([stop().catch(() => {}), sleep(LAST_STOP_MS, undefined, { ref: false })]);
}
