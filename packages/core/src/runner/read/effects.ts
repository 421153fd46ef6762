// Effects outside of the thread: calls that began, and steps inside them, as far as the journal has them.

import type { Fact } from "../../event.ts";
import type { Json } from "../../json.ts";
import type { Outcome } from "../../message.ts";

/** A call, or (with a `key`) a step inside one or inside a custom agent, that took effect or may have. */
export interface Effect {
  /** The seq by which it is on record. */
  readonly seq: number;
  readonly at: number;
  readonly address: string;
  readonly callId?: string;
  readonly tool?: string;
  /** The arguments that ran. */
  readonly args?: Json;
  /** The step's. */
  readonly key?: string;
  /** Unknown also while it has no end on record. */
  readonly outcome: Extract<Outcome, "ok" | "error" | "interrupted" | "unknown">;
}

/** Returns the calls and steps that took effect after `point`, or may have: those that began or ended there. */
export function effectsAfter(facts: readonly Fact[], point: number): readonly Effect[] {
  const running = new Map<string, Effect>();
  const effects: Effect[] = [];
  for (const fact of facts) {
    const { seq, at } = fact;
    if (fact.type === "tool-start") {
      const { callId, tool, address, args, ranArgs = args } = fact;
      running.set(callId, { seq, at, address, callId, tool, args: ranArgs, outcome: "unknown" });
    } else if (fact.type === "tool-end" || fact.type === "tool-late") {
      const begun = running.get(fact.callId);
      const outcome = tookEffect(fact.outcome);
      if (begun === undefined || outcome === undefined) continue;
      if (fact.type === "tool-end") running.delete(fact.callId);
      if (seq > point) effects.push({ ...begun, seq, at, outcome });
    } else if (fact.type === "step" && seq > point) {
      const { address, callId, key, error } = fact;
      // The text of an agent's instructions, which is no step of code.
      if (address === `${fact.runPath}/${key}`) continue;
      const outcome = error === undefined ? "ok" : "error";
      effects.push({ seq, at, address, ...(callId !== undefined && { callId }), key, outcome });
    }
  }
  // A call without an end on record may still be running.
  return [...effects, ...running.values()].sort((a, b) => a.seq - b.seq);
}

function tookEffect(outcome: Outcome): Effect["outcome"] | undefined {
  switch (outcome) {
    case "ok":
    case "error":
    case "interrupted":
    case "unknown":
      return outcome;
    case "rejected":
    case "not-executed":
      return undefined;
    default:
      return outcome satisfies never;
  }
}
