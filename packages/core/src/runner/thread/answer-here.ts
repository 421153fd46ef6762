// An answer where the thread is ours, or rests: by the stretch that is under way, or by one of its own.

import { type BelayError, belayError, errorRecord } from "../../error.ts";
import { openRequests } from "../../journal/requests.ts";
import type { AnswerMail } from "../decide/mail.ts";
import { answering } from "../decide/openings.ts";
import { refusedFact } from "../decide/requests.ts";
import type { Execution } from "./execution.ts";
import type { LiveThread } from "./live-thread.ts";
import { isKnown } from "./remote-answer.ts";

/** How many requests are open after it; "busy" where somebody else has the thread. */
export type Answered = { readonly open: number } | "busy";

/** `key` is the command by which the answer was sent, where it was. Rejects with the refusal. */
export function answerHere(thread: LiveThread, mail: AnswerMail, key: string | undefined): Promise<Answered> {
  return thread.write(
    (live) => answerLive(live, mail, key),
    () => answerIdle(thread, mail, key),
  );
}

async function answerLive(live: Execution, mail: AnswerMail, key: string | undefined): Promise<Answered | undefined> {
  const { state } = live;
  if (state !== undefined && isKnown(state, mail)) return { open: openRequests(state).length };
  // It has the command, too: taken twice, it would be gone the second time.
  if (key !== undefined && state !== undefined) return "busy";
  return live.answer(mail);
}

async function answerIdle(thread: LiveThread, mail: AnswerMail, key: string | undefined): Promise<Answered> {
  let known: number | undefined;
  const open = answering(thread, mail, key);
  const execution = thread.startCalls((state, ...rest) => {
    known = isKnown(state, mail) ? openRequests(state).length : undefined;
    if (known !== undefined) throw belayError("ANSWER_TAKEN", { id: mail.id, by: "", at: "", how: "" });
    return open(state, ...rest);
  });
  const refusal = await execution.opening;
  if (refusal === undefined) return { open: openRequests(execution.state!).length };
  if (known !== undefined) return { open: known };
  // Somebody consumed our own command meanwhile: the journal says what became of it.
  if (refusal.code === "THREAD_BUSY" || (refusal.code === "INPUT_WITHDRAWN" && key !== undefined)) return "busy";
  if (key !== undefined && refusal.code.startsWith("ANSWER_")) await consume(thread, mail, key, refusal);
  throw refusal;
}

/** A command that nobody can take: left there, it would be tried again and again. */
async function consume(thread: LiveThread, mail: AnswerMail, key: string, refusal: BelayError): Promise<void> {
  const { id, answer } = mail;
  await thread.append((place) => [refusedFact(place, id, answer, errorRecord(refusal), key)]).catch(() => {});
}
