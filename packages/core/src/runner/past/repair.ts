// Makes a new thread of the readable part of a damaged one. The damaged thread stays as it is.

import { type BelayError, belayError } from "../../error.ts";
import type { ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import { readPast } from "../read/read-past.ts";
import { writeFork } from "./fork.ts";

/** The part that could not be read. */
export interface Lost {
  /** The seq of the first fact that is lost. */
  readonly from: number;
  /** How many facts are lost; undefined if the row of the thread cannot be read either. */
  readonly facts: number | undefined;
  readonly error: BelayError;
}

/** Makes `threadId` of the readable part of `of`, once; `checked` may refuse the agent first. */
export async function repairThread(
  setup: Setup,
  of: ThreadKey,
  threadId: string,
  checked: (agent: string) => void,
): Promise<Lost> {
  const past = await readPast(setup.store, of);
  const { damage, facts } = past;
  if (damage === undefined) throw belayError("THREAD_SOUND", { threadId: of.threadId });
  checked(past.agent);
  const refused = await writeFork(setup, of, threadId, past, facts.length).catch((error: unknown) => error);
  const rows = await setup.store.threads(of.tenant).catch(() => []);
  const made = rows.find((each) => each.threadId === threadId)?.parent;
  // Repaired under this id before: the same repair again has the same outcome.
  const isAgain = made?.threadId === of.threadId && made.seq === facts.length;
  if (refused !== undefined && !isAgain) throw refused;
  const row = rows.find((each) => each.threadId === of.threadId && !each.damaged);
  return { from: facts.length + 1, facts: row && row.head - facts.length, error: damage.error };
}
