// A new run, as facts. Pure.

import type { Definition } from "../../agent.ts";
import type { Fact } from "../../event.ts";
import { driftReport } from "../../fingerprint.ts";
import type { FramePlace } from "../../frame.ts";
import { callEnds } from "../../journal/call-ends.ts";
import type { ThreadState } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import type { RunCommand, SegmentCommand } from "./command.ts";
import { commandFact, inputFacts, runStart, stateFact } from "./facts.ts";
import { inputFactsOf } from "./mail.ts";
import type { Prepared } from "./prepared.ts";

/** The circumstances of a segment that begins. */
export interface Beginning {
  readonly place: FramePlace;
  readonly now: number;
  readonly agent: Definition;
  readonly prepared: Prepared;
}

/** Returns the first facts of a new run. The thread takes it: `judge` was asked. */
export function runFacts(
  state: ThreadState,
  command: RunCommand,
  { place, now, agent, prepared }: Beginning,
): readonly Fact[] {
  const { id, by, row } = command;
  const print = agent.fingerprint();
  const isKnown = state.fingerprint !== undefined && driftReport(state.fingerprint, print) === undefined;
  // A run that failed may have left calls, agents and requests open: they end before the next run begins.
  const facts = callEnds(place, state, "input", { by: "user", forGood: true });
  if (state.state !== "initialized") facts.push(stateFact(place, "initialized"));
  const isOpen = [...state.scopes.values()].some(({ calls }) => calls.length > 0);
  const closing = isOpen && ({ mode: "rethink", repair: agent.repair } as const);
  const running = stateFact(place, "running", { ...closing, ...(id !== undefined && { id }) });
  facts.push(runStart(place, isKnown ? undefined : print), running);
  const messages = prepared.inputs;
  if (row === undefined) facts.push(...callerFacts(place, command), ...inputFacts(place, messages, now, by));
  else facts.push(...inputFactsOf(place, row, "input", { messages, ...(by !== undefined && { by }) }, now));
  return facts;
}

/** Records the caller of a run or a resume, if it is named. The id alone stands in the `state` fact before. */
export function callerFacts(
  place: FramePlace,
  { id = `${place.runId}.${place.segment}`, by }: SegmentCommand,
): readonly Fact[] {
  return by === undefined ? [] : [commandFact(place, { key: keyOf.run(id), by })];
}
