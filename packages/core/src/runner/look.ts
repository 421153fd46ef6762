// What an agent says of its thread as it is: it is given a drive that nothing is written by.

import type { Checkpoint } from "../agent.ts";
import type { ThreadState } from "../journal/state.ts";
import { type Json, toJson } from "../json.ts";
import type { Verdict } from "../permission/decide.ts";
import { Drive } from "./drive.ts";
import type { LiveThread } from "./live-thread.ts";

/** What the rules say of a call. */
export async function lookAtCall(thread: LiveThread, tool: string, args: Json): Promise<Verdict> {
  // Somebody may have been allowed more meanwhile, elsewhere.
  const { live } = thread;
  const state = live?.state ?? (await thread.recall.load(live === undefined));
  return thread.agent.verdict(onlooker(thread, state), tool, toJson(args, "Arguments"));
}

/** Where the run of a graph stands. */
export async function lookAtGraph(thread: LiveThread): Promise<Checkpoint | undefined> {
  const { agent, execution, recall } = thread;
  const state = execution?.state ?? (await recall.load(!thread.isWriting));
  return agent.checkpoint?.(onlooker(thread, state), agent.name, state.interrupts);
}

function onlooker(thread: LiveThread, state: ThreadState): Drive {
  return new Drive(thread, thread.agent.name, state, () => {});
}
