// Folds the open calls and requests of a thread that waits for people, from the message that made its calls: the cost of an
// answer does not depend on the history before it.

import { addUsage } from "../message.ts";
import { damageAt, decode, type Line } from "./codec.ts";
import { folded } from "./fold.ts";
import { reduce } from "./reduce.ts";
import { newScope, newThread, type ThreadState } from "./state.ts";

/** `named` has the title and labels: the lines that gave them are not read. */
export function openFold(
  threadId: string,
  lines: readonly Line[],
  named: { readonly title?: string; readonly labels: Readonly<Record<string, string>> } | undefined,
): ThreadState | undefined {
  const [first] = lines;
  if (first === undefined) return undefined;
  if (first.seq === 1) return folded(threadId, lines);
  const state: ThreadState = { ...newThread(threadId), partial: true, openOnly: true };
  state.head = first.seq - 1;
  state.title = named?.title ?? null;
  state.labels = named?.labels;
  // It was running then; the lines have its state of rest.
  state.state = "running";
  for (const line of lines) {
    for (const fact of decode(threadId, line)) {
      if (state.run === undefined) {
        const { runId: id, segment, seq, agentName } = fact;
        state.agent = agentName;
        state.run = { id, segment, startSeq: seq, usage: addUsage(undefined, undefined), underway: true };
      }
      // A resume in the same line: the pause before it is not in these.
      if (fact.type === "state" && fact.state === "running") state.state = "paused";
      try {
        reduce(state, fact);
      } catch (error) {
        throw damageAt(threadId, fact.seq, error);
      }
    }
  }
  // The scopes around an open call have begun, too.
  for (const path of [...state.scopes.keys()]) {
    for (let at = path.indexOf("/"); ; at = path.indexOf("/", at + 1)) {
      const around = at === -1 ? path : path.slice(0, at);
      const scope = state.scopes.get(around) ?? newScope(around);
      scope.runId ??= state.run?.id;
      state.scopes.set(around, scope);
      if (at === -1) break;
    }
  }
  return state;
}
