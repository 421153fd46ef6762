// An answer for a thread that another process is running: a durable command to its owner, and what became of it, read
// from what the owner records.

import { errorFromRecord } from "../error.ts";
import type { RequestAnsweredEvent } from "../event.ts";
import type { Answer } from "../interrupt/answer.ts";
import { fold } from "../journal/fold.ts";
import { openRequests } from "../journal/requests.ts";
import { newThread } from "../journal/state.ts";
import type { Command, ThreadKey } from "../store/store.ts";
import type { DriveSetup } from "./drive.ts";
import type { AnswerMail } from "./mailbox.ts";
import { loadThread, readFacts } from "./read-facts.ts";

/** How often to look, besides the store's hints, whether the owner is still there. */
const LOOK_MS = 250;

export function answerMail(id: string, answer: Answer, ref: string | undefined): AnswerMail {
  return { id, answer, ...(ref !== undefined && { ref }) };
}

/** Answers `here`, unless somebody else has the thread: then by a command, which `here` is told of where the owner is gone. */
export async function answerAnywhere(
  setup: DriveSetup,
  key: ThreadKey,
  mail: AnswerMail,
  here: (sent: string | undefined) => Promise<{ readonly open: number } | "busy">,
): Promise<{ readonly open: number }> {
  let sent: string | undefined;
  for (;;) {
    const told = await here(sent);
    if (told !== "busy") return told;
    sent ??= `answer:${mail.id}:${mail.ref ?? setup.clock.id()}`;
    const elsewhere = await answerElsewhere(setup, key, mail, sent);
    if (elsewhere !== undefined) return elsewhere;
  }
}

/** What became of it; undefined where the owner is gone, and the command waits for whoever comes next. Rejects with the owner's refusal. */
async function answerElsewhere(
  setup: DriveSetup,
  key: ThreadKey,
  mail: AnswerMail,
  commandKey: string,
): Promise<{ readonly open: number } | undefined> {
  const { store, clock } = setup;
  const command: Command = { key: commandKey, kind: "answer", body: JSON.stringify(mail), at: clock.now() };
  await store.send(key, command);
  let wake: () => void = () => {};
  const unwatch = store.watch(key, () => wake());
  try {
    for (;;) {
      const told = new Promise<void>((resolve) => (wake = resolve));
      // The lease first: the append that ends the run gives it back.
      const lease = (await loadThread(store, key, Number.MAX_SAFE_INTEGER))?.row.lease;
      const answers = (await readFacts(store, key, 0)).filter((fact) => fact.type === "request-answered");
      const fact = answers.find((answer) => answer.key === commandKey);
      const refused = fact?.refused;
      if (refused !== undefined && !answers.some((answer) => isSame(answer, mail))) throw errorFromRecord(refused);
      if (fact !== undefined) return { open: await countOpen(setup, key) };
      if (lease === undefined) return undefined;
      const timer = clock.setTimeout(() => wake(), LOOK_MS);
      await told;
      clock.clearTimeout(timer);
    }
  } finally {
    unwatch();
  }
}

/** It came by another way under the same id, and counts. */
function isSame({ id, ref, refused }: RequestAnsweredEvent, mail: AnswerMail): boolean {
  return mail.ref !== undefined && refused === undefined && id === mail.id && ref === mail.ref;
}

async function countOpen({ store }: DriveSetup, key: ThreadKey): Promise<number> {
  const state = newThread(key.threadId);
  fold(state, (await loadThread(store, key))?.lines ?? []);
  return openRequests(state).length;
}
