// Before the program ends, its runs are stopped, so that they are on record as stopped, and not as crashed. Open requests stay
// open: the end of a program is not an answer, and a plain stop would withdraw them.

import { setTimeout as sleep } from "node:timers/promises";
import type { InterruptOptions, Receipt, Runner, Session } from "@belay/core";
import { runBy } from "./run-by.ts";

/** How long the end of the program waits for it. */
const LAST_STOP_MS = 1_500;

interface LastStopOptions extends InterruptOptions {
  readonly graceMs: number;
}

/**
 * A run of another terminal continues there. Resolves to the receipt of a stop; undefined if none was needed, or it takes too
 * long.
 */
export async function lastStop(
  runner: Runner,
  session: Session,
  options: LastStopOptions,
): Promise<Receipt | undefined> {
  const stop = async () => {
    if ((await runBy(runner, session.threadId)) === "others") return undefined;
    return session.interrupt({ ...options, requests: "keep" });
  };
  return Promise.race([stop().catch(() => undefined), sleep(LAST_STOP_MS, undefined, { ref: false })]);
}
