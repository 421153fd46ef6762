// An answer for a thread that another process is running: a durable command to its owner, and what became of it, read
// from what the owner records.

import { errorFromRecord } from "../../error.ts";
import type { RequestAnsweredEvent } from "../../event.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { judgeAnswer } from "../../interrupt/decision.ts";
import { fold } from "../../journal/fold.ts";
import { openRequests } from "../../journal/requests.ts";
import { newThread, type ThreadState } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import type { Command, ThreadKey } from "../../store/store.ts";
import type { AnswerMail } from "../decide/mail.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread, readFacts } from "../read/read-facts.ts";

/** How often to look, besides the store's hints, whether the owner is still there. */
const LOOK_MS = 250;

export function answerMail(id: string, answer: Answer, ref: string | undefined): AnswerMail {
  return { id, answer, ...(ref !== undefined && { ref }) };
}

/** Answers `here`, unless somebody else has the thread: then by a command, which `here` is told of where the owner is gone. */
export async function answerAnywhere(
  setup: Setup,
  key: ThreadKey,
  mail: AnswerMail,
  here: (sent: string | undefined) => Promise<{ readonly open: number } | "busy">,
): Promise<{ readonly open: number }> {
  let sent: Sent | undefined;
  for (;;) {
    const told = await here(sent?.key);
    if (told !== "busy") return told;
    if (sent === undefined) {
      const state = await foldThread(setup, key);
      if (isKnown(state, mail)) return { open: openRequests(state).length };
      // What cannot be taken is not sent.
      const request = state.requests?.get(mail.id);
      judgeAnswer(key.threadId, mail.id, request, mail.answer, setup.clock.now(), setup.groups);
      sent = {
        key: `answer:${mail.id}:${mail.ref ?? setup.clock.id()}`,
        after: mail.ref === undefined ? state.head : 0,
      };
    }
    const elsewhere = await answerElsewhere(setup, key, mail, sent);
    if (elsewhere !== undefined) return elsewhere;
  }
}

/** A command, and the seq after which the journal tells what became of it. */
interface Sent {
  readonly key: string;
  readonly after: number;
}

/** What became of it; undefined where the owner is gone, and the command waits for whoever comes next. Rejects with the owner's refusal. */
async function answerElsewhere(
  setup: Setup,
  key: ThreadKey,
  mail: AnswerMail,
  sent: Sent,
): Promise<{ readonly open: number } | undefined> {
  const { store, clock } = setup;
  const command: Command = { key: sent.key, kind: "answer", body: JSON.stringify(mail), at: clock.now() };
  await store.send(key, command);
  let wake: () => void = () => {};
  const unwatch = store.watch(key, () => wake());
  try {
    for (;;) {
      const told = new Promise<void>((resolve) => (wake = resolve));
      // The lease first: the append that ends the run gives it back.
      const lease = (await loadThread(store, key, Number.MAX_SAFE_INTEGER))?.row.lease;
      const facts = await readFacts(store, key, sent.after);
      const fact = facts.find((f): f is RequestAnsweredEvent => f.type === "request-answered" && f.key === sent.key);
      if (fact !== undefined) {
        const state = await foldThread(setup, key);
        // It may have come by another way under the same id, and count.
        if (fact.refused !== undefined && !isKnown(state, mail)) throw errorFromRecord(fact.refused);
        return { open: openRequests(state).length };
      }
      if (lease === undefined) return undefined;
      const timer = clock.setTimeout(() => wake(), LOOK_MS);
      await told;
      clock.clearTimeout(timer);
    }
  } finally {
    unwatch();
  }
}

/** Given before, under the same id of the caller's. */
export function isKnown(state: ThreadState, { id, ref }: AnswerMail): boolean {
  const taken = ref === undefined ? undefined : state.taken?.get(keyOf.answer(id, ref));
  return taken !== undefined && taken.refused === undefined;
}

async function foldThread({ store }: Setup, key: ThreadKey): Promise<ThreadState> {
  const state = newThread(key.threadId);
  fold(state, (await loadThread(store, key))?.lines ?? []);
  return state;
}
