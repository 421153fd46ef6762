// The row of a thread in lists after an append: copies from the journal, for finding threads.

import type { Fact } from "../../event.ts";
import { mergeLabels, namedAs, titleOf } from "../../journal/naming.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import type { Listed, Named } from "../../store/store.ts";

/**
 * Returns the pause and the run of a thread that is in state `next` after `facts`, or undefined if the store has them already.
 * The first append of a tenure says them in any case: a thread of an earlier release has none there.
 */
export function listedAfter(
  before: ThreadState,
  facts: readonly Fact[],
  next: SessionState,
  isFirst: boolean,
): Listed | undefined {
  let { pauseType } = before;
  let runId = before.run?.id;
  for (const fact of facts) {
    if (fact.type === "state") pauseType = fact.pauseType;
    else if (fact.type === "run-start" && !fact.runPath.includes("/")) runId = fact.runId;
  }
  const pause = next === "paused" ? pauseType : undefined;
  const known = before.state === "paused" ? before.pauseType : undefined;
  if (!isFirst && pause === known && runId === before.run?.id) return undefined;
  const listed: { pauseType?: PauseType; runId?: string } = {};
  if (pause !== undefined) listed.pauseType = pause;
  if (runId !== undefined) listed.runId = runId;
  return listed;
}

/**
 * Returns the title and labels of a thread after `facts`, or undefined if the store has them already. `known` has
 * those in the store; a thread of an earlier release has none there, and gets its title with the first append of its next
 * tenure.
 */
export function namedAfter(
  before: ThreadState,
  facts: readonly Fact[],
  known: Named | undefined,
  titles: boolean,
  isFirst: boolean,
): Named | undefined {
  const isLabelled = facts.some(({ type }) => type === "label");
  if (!isLabelled && (!isFirst || before.openOnly || known?.title !== undefined)) return undefined;
  let { title, labels, beginning } = before;
  for (const fact of facts) {
    if (fact.type === "label") {
      if (fact.title !== undefined) title = fact.title;
      if (fact.labels !== undefined) labels = mergeLabels(labels, fact.labels);
    } else if (fact.type === "message" && beginning === undefined && fact.message.origin === "person")
      beginning = titleOf(fact.message);
  }
  const named = namedAs({ title, labels, beginning }, titles);
  const isNew = isLabelled || named.title !== undefined || (known === undefined && labels !== undefined);
  return isNew ? named : undefined;
}
