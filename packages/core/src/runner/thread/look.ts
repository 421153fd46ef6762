// Asks an agent about the present state of its thread, with a desk that records nothing.

import type { Checkpoint } from "../../agent.ts";
import type { ThreadState } from "../../journal/state.ts";
import { type Json, toJson } from "../../json.ts";
import type { Verdict } from "../../permission/decide.ts";
import { agentAt } from "../decide/agent-at.ts";
import { likelyGraph, namedGraph } from "../decide/graph-at.ts";
import type { LookOptions } from "../given/options.ts";
import { ThreadDesk } from "../write/desk.ts";
import type { LiveThread } from "./live-thread.ts";

/** Returns the verdict of the rules on a call. */
export async function lookAtCall(thread: LiveThread, tool: string, args: Json): Promise<Verdict> {
  // Another process may have recorded a rule meanwhile.
  const { live } = thread;
  const state = live?.state ?? (await thread.recall.load(live === undefined));
  return thread.agent.verdict(onlooker(thread, state), tool, toJson(args, "Arguments"));
}

/** Returns the checkpoint of a graph: of the one that is named, of the root, or of the innermost one in which a request waits. */
export async function lookAtGraph(thread: LiveThread, { to }: LookOptions): Promise<Checkpoint | undefined> {
  const { agent, running, recall } = thread;
  const state = running?.state ?? (await recall.load(!thread.isWriting));
  const path = to === undefined ? likelyGraph(agent, state) : namedGraph(agent, state, to);
  if (path === undefined) return undefined;
  return agentAt(agent, path)?.checkpoint?.(onlooker(thread, state), path, state.interrupts);
}

function onlooker(thread: LiveThread, state: ThreadState): ThreadDesk {
  return new ThreadDesk(thread, state, { agent: thread.agent.name, failed: () => {} });
}
