// Reads all facts of a thread; of a damaged one, those before the damage.

import { belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { damageAt, type Line } from "../../journal/codec.ts";
import { LineReader } from "../../journal/line-reader.ts";
import { reduce } from "../../journal/reduce.ts";
import { newThread } from "../../journal/state.ts";
import type { Past, Store, ThreadKey } from "../../store/store.ts";
import { storeError } from "./store-error.ts";

export interface ReadPast {
  /** The name of its agent. */
  readonly agent: string;
  readonly lines: readonly Line[];
  /** All of these lines, in order. */
  readonly facts: readonly Fact[];
  readonly damage?: NonNullable<Past["damage"]>;
}

/** Reads the past of a thread. Throws THREAD_UNKNOWN. Damage does not throw: it is part of the result. */
export async function readPast(store: Store, key: ThreadKey): Promise<ReadPast> {
  const { threadId } = key;
  const past = await store.past(key).catch((error: unknown) => {
    throw storeError(key, error);
  });
  if (past === undefined) throw belayError("THREAD_UNKNOWN", { threadId });
  const state = newThread(threadId);
  const facts: Fact[] = [];
  const reader = new LineReader(threadId);
  const lines: Line[] = [];
  let { damage } = past;
  for (const line of past.lines) {
    try {
      const read = reader.read(line);
      for (const fact of read) reduce(state, fact);
      facts.push(...read);
      lines.push(line);
    } catch (error) {
      damage = { seq: line.seq, error: damageAt(threadId, line.seq, error) };
      break;
    }
  }
  const agent = past.agent ?? state.agent ?? facts[0]?.agentName ?? "";
  return { agent, lines, facts, ...(damage && { damage }) };
}
