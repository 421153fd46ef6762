// Going on with what was answered, here or in another terminal, which may be running what was approved. Every terminal that
// shows the thread does: one of them is the first, and what it does is told to all of them as events.

import { setTimeout as sleep } from "node:timers/promises";
import { type BelayError, type Message, messageText, type RunResult, type Session } from "@belay/core";

/** Said of a pause that somebody has gone on from. */
const OVER: ReadonlySet<string> = new Set(["TOKEN_SPENT", "INVALID_STATE", "INVALID_STATE_TRANSITION"]);
const TRY_EVERY_MS = 250;
const MOST_TRIES = 40;

/** As long as the thread is shown; `refuse` is told what the person should know. */
export async function goOn(session: Session, isShown: () => boolean, refuse: (error: BelayError) => void) {
  for (let tries = 0; isShown() && session.state === "paused"; tries += 1) {
    const result = await session.resume().result;
    if (result.status !== "failed" || OVER.has(result.error.code) || result.error.code === "ALREADY_RUNNING") return;
    if (result.error.code !== "THREAD_BUSY" || tries > MOST_TRIES) return refuse(result.error);
    await sleep(TRY_EVERY_MS);
  }
}

/**
 * What came of it. Where another terminal has gone on with the thread, this session learns that by being refused, while the
 * person has seen it on the screen: then it is begun again, from where the thread stands.
 */
export async function resultOf(begin: () => ReturnType<Session["run"]>): Promise<RunResult> {
  const result = await begin().result;
  return result.status === "failed" && OVER.has(result.error.code) ? begin().result : result;
}

/** Whether a person's words are among the messages; others may have spoken, too. */
export function isSaid(messages: readonly Message[], words: string | undefined): boolean {
  const said = messages.filter(({ origin }) => origin === "person").map(messageText);
  return `\n${said.join("\n")}\n`.includes(`\n${words}\n`);
}
