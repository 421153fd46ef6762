// How the store in memory lists threads.

import type { SessionState } from "../lifecycle.ts";
import type { Append, Listed, Named, ThreadQuery } from "./store.ts";
import { haveWords, wordsOf } from "./words.ts";

interface ThreadInList {
  readonly threadId: string;
  readonly agent: string;
  readonly state: SessionState;
  readonly listed: Listed | undefined;
  readonly named: Named | undefined;
  words: readonly string[] | undefined;
}

/** Returns how a thread is listed after an append; undefined while no append has said how it is listed. */
export function listedAs(before: Listed | undefined, { listed, state }: Append): Listed | undefined {
  if (listed !== undefined) return { ...listed };
  if (before === undefined || (state === "paused") === (before.pauseType !== undefined)) return before;
  const { pauseType: _pauseType, ...rest } = before;
  return state === "paused" ? undefined : rest;
}

/** Whether a thread is one of those that a query asks for. */
export function matches(thread: ThreadInList, query: ThreadQuery): boolean {
  const { state, pauseType, agent, label = {}, words = [], threadIds } = query;
  if (threadIds !== undefined && !threadIds.includes(thread.threadId)) return false;
  if (state !== undefined && thread.state !== state) return false;
  if (pauseType === "unlisted" && (thread.listed !== undefined || thread.state !== "paused")) return false;
  if (pauseType !== undefined && pauseType !== "unlisted" && thread.listed?.pauseType !== pauseType) return false;
  if (agent !== undefined && thread.agent !== agent) return false;
  const labels = thread.named?.labels ?? {};
  for (const [key, value] of Object.entries(label))
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  if (words.length === 0) return true;
  thread.words ??= thread.named === undefined ? [] : wordsOf(thread.named);
  return haveWords(thread.words, words);
}
