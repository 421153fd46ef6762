// Compares the shown text of a thread with the kept text.

import { type BelayEvent, type DeltaEvent, type Fact, isFact } from "../event.ts";
import { isBlank, messageText } from "../message.ts";

/** Why text that people saw need not be kept. */
export interface Excuses {
  /** The shown text when a process was lost, by number: it may have been on its way. */
  readonly lost: number;
  /** A person asked to drop it. */
  readonly rolledBack: boolean;
}

/** Text as it was streamed of a message that is not there yet. */
interface Seen {
  readonly text: string;
  readonly stretch: string;
  /** Its last piece was shown as this one. */
  readonly at: number;
}

/**
 * The last shown text of each message is the kept one, and no fact was shown that is not in the store. Text is dropped
 * only with a process, by another try in the same segment, or by a person's wish.
 */
export function shownProblems(shown: readonly BelayEvent[], facts: readonly Fact[], excuses: Excuses): string[] {
  const problems: string[] = [];
  const drafts = new Map<string, Seen>();
  const drop = (id: string, stretch: string | undefined, how: string) => {
    const draft = drafts.get(id);
    drafts.delete(id);
    if (draft === undefined || isBlank(draft.text) || draft.stretch === stretch) return;
    if (excuses.rolledBack || draft.at < excuses.lost) return;
    problems.push(`${JSON.stringify(draft.text)} was shown of ${id}, ${how}`);
  };
  const add = (event: DeltaEvent, at: number) => {
    const { messageId: id, offset } = event;
    if (offset === 0) drop(id, stretchOf(event), "which begins anew");
    const before = drafts.get(id)?.text ?? "";
    if (before.length !== offset) problems.push(`a piece of ${id} begins at ${offset}, not at ${before.length}`);
    drafts.set(id, { text: before + event.text, stretch: stretchOf(event), at });
  };
  for (const [at, event] of shown.entries()) {
    if (isFact(event)) {
      const stored = facts[event.seq - 1];
      if (stored?.type !== event.type)
        problems.push(`fact ${event.seq} was shown as ${event.type}, stored as ${stored?.type}`);
    } else if (event.type === "superseded") {
      drop(event.messageId, stretchOf(event), "and is superseded though nothing was lost");
    } else if (event.type === "text-delta") {
      add(event, at);
    }
    if (event.type !== "message" || event.message.role !== "assistant") continue;
    const { id } = event.message;
    const seen = drafts.get(id)?.text;
    const kept = messageText(event.message);
    if (seen !== undefined && seen !== kept)
      problems.push(`of ${id} ${JSON.stringify(seen)} was shown, ${JSON.stringify(kept)} is kept`);
    drafts.delete(id);
  }
  for (const fact of facts) if (fact.type === "message") drafts.delete(fact.message.id);
  for (const id of [...drafts.keys()]) drop(id, undefined, "and no message has it");
  return problems;
}

function stretchOf({ runId, segment }: BelayEvent): string {
  return `${runId} ${segment}`;
}
