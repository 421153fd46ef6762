// Which commands are on record. A journal of version 3 says so by `command` facts, except for the id of a run, which stands
// in the `state` fact that begins it, and for the key of an answer without an id, which stands in the answer. The versions
// before said all of it inside the facts that a command caused.

import { belayError, type ErrorRecord, errorRecord } from "../error.ts";
import type { EventBase, RequestAnsweredEvent, StateEvent } from "../event.ts";
import type { ThreadState } from "./state.ts";

/** The prefixes of command keys, by verb. A caller's id is unique in its thread for each of these. */
export const keyOf = {
  /** Of stop, pause and terminate. */
  stop: (id: string) => `stop:${id}`,
  /** Of run, resume and send. */
  run: (id: string) => `run:${id}`,
  answer: (request: string, id: string) => `answer:${request}:${id}`,
} as const;

type Place = Pick<EventBase, "seq" | "runId" | "segment">;

/** The first command under a key that had an effect counts. */
export function take(state: ThreadState, key: string, { seq, runId, segment }: Place, refused?: ErrorRecord): void {
  state.taken ??= new Map();
  const known = state.taken.get(key);
  if (known !== undefined && (known.refused === undefined || refused !== undefined)) return;
  state.taken.set(key, { seq, runId, segment, ...(refused !== undefined && { refused }) });
}

/** Commands that a `state` fact names: the ids of runs, and in version 2 those of stops. */
export function takeOld(state: ThreadState, fact: StateEvent): void {
  if (fact.id !== undefined) take(state, keyOf.run(fact.id), fact);
  for (const id of fact.stops ?? []) take(state, keyOf.stop(id), fact);
  for (const { id, runId, segment } of fact.missed ?? []) {
    const error = belayError("STALE", { threadId: state.threadId, runId, segment });
    take(state, keyOf.stop(id), { seq: fact.seq, runId, segment }, errorRecord(error));
  }
}

/** The command that an answer names. In version 2 it came by `key`, or its caller gave it the id `ref`. */
export function takeAnswer(state: ThreadState, fact: RequestAnsweredEvent): void {
  const { id, key, ref, refused } = fact;
  if (ref !== undefined) take(state, keyOf.answer(id, ref), fact, refused);
  if (key !== undefined) take(state, key, fact, refused);
}
