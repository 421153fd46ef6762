// How a stretch of a run ends: the facts of it, and what is told to those who wait for it. Data in, data out.

import { type Ended, noCalls, type StoppedCalls } from "../agent.ts";
import { builtIn } from "../built-in.ts";
import { belayError, errorRecord } from "../error.ts";
import type { Fact, StateEvent } from "../event.ts";
import type { FramePlace } from "../frame.ts";
import { turnAddress } from "../interrupt/address.ts";
import type { Handle, Interrupt } from "../interrupt/interrupt.ts";
import type { Stop } from "../interrupt/stop-signal.ts";
import type { ThreadState } from "../journal/state.ts";
import { type Json, toJson } from "../json.ts";
import type { SessionState } from "../lifecycle.ts";
import { addUsage, type Usage } from "../message.ts";
import { interruptedFact, runEnd, stateFact } from "./facts.ts";
import type { RunResult } from "./run.ts";

/** What a stop did. Call ids in `stopped` (cut off), `finished`, `notStarted` (held) and `late` (left behind, still running). */
export interface Receipt {
  readonly accepted: boolean;
  readonly runId: string | undefined;
  readonly segment: number | undefined;
  /** The text of the cut answer, as it is kept. */
  readonly partialText: string;
  readonly stopped: readonly string[];
  readonly finished: readonly string[];
  readonly notStarted: readonly string[];
  readonly late: readonly string[];
}

/** What decides, at the moment it is written, how the stretch ends. */
export interface Circumstances {
  /** For good, or letting go without a word; else by what the agent did and who asked for it. */
  readonly intent: "terminate" | "let-go" | undefined;
  /** The person's stop; without one a stopped run was parked by pause(). */
  readonly asked: Stop | undefined;
  /** Ids of the stops that this answers. */
  readonly stops: readonly string[];
  /** Calls that were left behind and still run. */
  readonly late: readonly string[];
  readonly now: number;
}

export interface Pause {
  readonly interrupt: Interrupt;
  readonly handle: Handle;
}

export interface Ending {
  readonly facts: readonly Fact[];
  /** How many of them, at the end, end the stretch; those before belong to its last turn. */
  readonly tail: number;
  readonly pause: Pause | undefined;
}

export function endingOf(ended: Ended, place: FramePlace, state: ThreadState, circumstances: Circumstances): Ending {
  const { intent, asked, stops } = circumstances;
  const usage = addUsage(state.run?.usage, usageOf(ended.facts));
  const move = (to: SessionState, more?: Partial<StateEvent>) =>
    stateFact(place, to, stops.length > 0 ? { ...more, stops } : more);
  const ends = (...facts: readonly Fact[]): Ending => ({
    facts: [...ended.facts, ...facts],
    tail: facts.length,
    pause: undefined,
  });
  if (intent === "terminate") return ends(runEnd(place, "terminated", usage), move("terminated"));
  switch (ended.how) {
    case "completed":
      return ends(
        runEnd(place, "completed", usage, { finish: ended.finish, ...recordedOutput(ended) }),
        move("completed"),
      );
    case "failed": {
      const end = runEnd(place, "failed", usage, { error: errorRecord(ended.error) });
      return ends(end, move("error", { attempt: ended.attempt ?? 1 }));
    }
    case "stopped": {
      if (intent === "let-go") return ends();
      const pauseType = asked === undefined ? "manual" : "user_interrupt";
      const turn = ended.turn ?? state.scopes.get(place.runPath)?.turn ?? 0;
      const interrupt = interruptOf(place, turn, ended.calls, circumstances);
      const token = builtIn("node:crypto").randomBytes(32).toString("hex");
      const { threadId, runId, segment } = place;
      const restartBlock = pauseType === "user_interrupt";
      const handle: Handle = { threadId, runId, segment, token, interruptType: pauseType, restartBlock };
      const { attempt } = ended;
      const paused = move("paused", { pauseType, interrupts: [interrupt], tokenHash: hashToken(token), attempt });
      return { ...ends(interruptedFact(place, interrupt), paused), pause: { interrupt, handle } };
    }
    default:
      return ended satisfies never;
  }
}

/** Where it is not the text, and can be written down. */
function recordedOutput({ output, text }: Extract<Ended, { how: "completed" }>): { readonly output?: Json } {
  if (output === text) return {};
  try {
    return { output: toJson(output, "The output of a run") };
  } catch {
    return {};
  }
}

function interruptOf(place: FramePlace, turn: number, calls: StoppedCalls, circumstances: Circumstances): Interrupt {
  const { runId, segment, runPath } = place;
  const { asked, late, now } = circumstances;
  const met = late.length + calls.stopped.length + calls.finished.length + calls.notStarted.length > 0;
  return {
    id: `${runId}.${segment}`,
    kind: asked === undefined ? "manual" : "user",
    address: turnAddress(runPath, turn),
    raisedAt: asked?.at ?? now,
    by: asked?.by ?? "user",
    ...(asked?.reason !== undefined && { reason: asked.reason }),
    ...(asked?.message !== undefined && { message: asked.message }),
    ...(met && { calls: { ...calls, late } }),
  };
}

/** What is told to whoever awaits the run, once its end is on record. */
export function resultOf(
  ended: Ended,
  place: FramePlace,
  state: ThreadState,
  intent: Circumstances["intent"],
  pause: Pause | undefined,
): RunResult<never> {
  const { runId, segment, threadId } = place;
  const usage = state.run?.usage ?? addUsage(undefined, undefined);
  const at = { runId, segment, usage };
  if (intent === "terminate") return { ...at, status: "terminated" };
  switch (ended.how) {
    case "completed": {
      // Written out: this is how most runs end, and a spread costs more than all else here.
      const { output, text, finish } = ended;
      return { runId, segment, usage, status: "completed", output: output as never, text, finish };
    }
    case "failed":
      return { ...at, status: "failed", error: ended.error };
    case "stopped": {
      if (pause === undefined) return { ...at, status: "failed", error: belayError("SESSION_CLOSED", { threadId }) };
      const { handle, interrupt } = pause;
      const { interruptType } = handle;
      const { partialText } = ended;
      return { ...at, status: "interrupted", interruptType, handle, interrupts: [interrupt], interrupt, partialText };
    }
    default:
      return ended satisfies never;
  }
}

export function receiptOf(ended: Ended | undefined, place: FramePlace, late: readonly string[]): Receipt {
  const { runId, segment } = place;
  if (ended?.how !== "stopped") return { accepted: false, runId, segment, partialText: "", ...noCalls, late };
  const { partialText, calls } = ended;
  return { accepted: true, runId, segment, partialText, ...calls, late };
}

function usageOf(facts: readonly Fact[]): Usage | undefined {
  let usage: Usage | undefined;
  for (const fact of facts) {
    if (fact.type === "message" && fact.message.usage) usage = addUsage(usage, fact.message.usage);
  }
  return usage;
}

export function hashToken(token: string): string {
  return builtIn("node:crypto").createHash("sha256").update(token).digest("hex");
}
