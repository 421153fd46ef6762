// The outcome of a command that is on record, for the caller that asks for it again (V2).

import { errorFromRecord } from "../../error.ts";
import { decode } from "../../journal/codec.ts";
import { folded } from "../../journal/fold.ts";
import type { Taken } from "../../journal/state.ts";
import { type Command, isSignal } from "../decide/command.ts";
import { type Outcome, outcomeOf } from "../decide/decide.ts";
import { receiptIn } from "../decide/receipt.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Door } from "./door.ts";

/** Returns the outcome in the state after the append that took the command. Throws its refusal; a stop has a receipt instead. */
export async function recorded<C extends Command>(
  { setup, key }: Pick<Door, "setup" | "key">,
  command: C,
  taken: Taken,
): Promise<Outcome<C>> {
  const { threadId } = key;
  if (taken.refused !== undefined && !isSignal(command)) throw errorFromRecord(taken.refused);
  const lines = ((await loadThread(setup.store, key))?.lines ?? []).filter((line) => line.seq <= taken.seq);
  if (isSignal(command)) {
    const facts = lines.flatMap((line) => decode(threadId, line, () => null));
    return receiptIn(taken, facts) as Outcome<C>;
  }
  const own = lines.at(-1);
  return outcomeOf(command, folded(threadId, lines), own === undefined ? [] : decode(threadId, own));
}
