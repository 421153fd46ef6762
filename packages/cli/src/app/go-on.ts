// Resumes after an answer, given here or in another terminal, which may run the approved call. Every terminal that
// shows the thread tries: one of them is the first, and all of them get its events.

import { setTimeout as sleep } from "node:timers/promises";
import { type BelayError, type Message, messageText, type RunResult, type Session } from "@belay/core";

/** True for a pause that another process has resumed. */
const OVER: ReadonlySet<string> = new Set(["TOKEN_SPENT", "INVALID_STATE", "INVALID_STATE_TRANSITION"]);
const TRY_EVERY_MS = 250;
const MOST_TRIES = 40;

/** Runs as long as the thread is shown; `refuse` gets the errors that the person should see. */
export async function goOn(session: Session, isShown: () => boolean, refuse: (error: BelayError) => void) {
  for (let tries = 0; isShown() && session.state === "paused"; tries += 1) {
    const result = await session.resume().result;
    if (result.status !== "failed" || OVER.has(result.error.code) || result.error.code === "ALREADY_RUNNING") return;
    if (result.error.code !== "THREAD_BUSY" || tries > MOST_TRIES) return refuse(result.error);
    await sleep(TRY_EVERY_MS);
  }
}

/**
 * Returns the result. If another terminal has resumed the thread, this session learns that by a refusal, although the
 * person has seen it on the screen: then it begins again, from the present state of the thread.
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
