// What must hold of a thread's facts, and of what was shown of it, however it was cut.

import { type BelayEvent, type Fact, isFact } from "../event.ts";
import { moves, type SessionState } from "../lifecycle.ts";
import { messageText } from "../message.ts";

/** Facts without gaps, legal moves, and an end for every start. */
export function factProblems(facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  const running = new Map<string, string>();
  const told = new Map<string, string>();
  let state: SessionState = "created";
  for (const [i, fact] of facts.entries()) {
    if (fact.seq !== i + 1) problems.push(`fact ${i + 1} has seq ${fact.seq}`);
    if (fact.type === "tool-start") {
      if (told.has(fact.callId)) problems.push(`call ${fact.callId} starts again after ${told.get(fact.callId)}`);
      running.set(fact.callId, fact.address);
    }
    if (fact.type === "tool-end") {
      if (!fact.held && fact.outcome === "not-executed" && running.has(fact.callId)) {
        problems.push(`call ${fact.callId} began and is told as not executed`);
      }
      running.delete(fact.callId);
      if (!fact.held) told.set(fact.callId, fact.outcome);
    }
    if (fact.type !== "state") continue;
    // Running after running: somebody took over after a crash.
    const crashed: boolean = state === "running" && fact.state === "running";
    if (!crashed && !moves[state].includes(fact.state)) problems.push(`the state goes from ${state} to ${fact.state}`);
    state = fact.state;
    if (state === "paused" && running.size > 0)
      problems.push(`paused while ${[...running.keys()].join(", ")} have no end`);
  }
  if (state !== "running" && running.size > 0)
    problems.push(`ended while ${[...running.keys()].join(", ")} have no end`);
  return problems;
}

/** What was shown last of each message is what is kept of it, and no fact was shown that is not in the store. */
export function shownProblems(shown: readonly BelayEvent[], facts: readonly Fact[]): string[] {
  const problems: string[] = [];
  const text = new Map<string, string>();
  for (const event of shown) {
    if (isFact(event)) {
      const stored = facts[event.seq - 1];
      if (stored?.type !== event.type)
        problems.push(`fact ${event.seq} was shown as ${event.type}, stored as ${stored?.type}`);
      if (event.type !== "message" || event.message.role !== "assistant") continue;
      const { id } = event.message;
      const seen = text.get(id);
      const kept = messageText(event.message);
      if (seen !== undefined && seen !== kept)
        problems.push(`of ${id} ${JSON.stringify(seen)} was shown, ${JSON.stringify(kept)} is kept`);
      text.delete(id);
    } else if (event.type === "superseded") {
      text.delete(event.messageId);
    } else if (event.type === "text-delta") {
      const before = event.offset === 0 ? "" : (text.get(event.messageId) ?? "");
      if (before.length !== event.offset)
        problems.push(`a piece of ${event.messageId} begins at ${event.offset}, not at ${before.length}`);
      text.set(event.messageId, before + event.text);
    }
  }
  return problems;
}
