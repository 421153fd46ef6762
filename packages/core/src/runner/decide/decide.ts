// State + command → facts, or a refusal. Pure: no store, no clock, no session. It is asked when the append is made, so that
// of two commands at once the second sees the first. Invariants:
// 1. A command whose key is on record is not decided again. The next try of a refused one has another key.
// 2. A command leaves its key on record if it has a caller's id, or came by a row of the store.

import type { Definition } from "../../agent.ts";
import { BelayError, belayError } from "../../error.ts";
import type { Fact, LabelEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Groups } from "../../interrupt/decision.ts";
import { mergeLabels } from "../../journal/naming.ts";
import { openRequests } from "../../journal/requests.ts";
import type { Taken, ThreadState } from "../../journal/state.ts";
import { beginsSegment, type Command, isKept, isSignal, nextTry } from "./command.ts";
import type { Receipt } from "./ending.ts";
import { breakpointFact, commandFact, labelFact, ruleRemoved, samePause, stateFact } from "./facts.ts";
import { judge } from "./judge.ts";
import { nothingAsked, type Prepared } from "./prepared.ts";
import { receiptIn } from "./receipt.ts";
import { answerFact, expiries } from "./requests.ts";
import { resumeFacts } from "./resume.ts";
import { runFacts } from "./run.ts";
import { type AtRest, signalFacts } from "./signal.ts";

/** The most labels that a thread may have. */
const MOST_LABELS = 16;

export interface Context {
  readonly place: FramePlace;
  readonly now: number;
  readonly groups: Groups;
  /** Calls that people answered run, and nothing else does. */
  readonly callsRun: boolean;
  /** It came by a row of the store, which the append consumes. */
  readonly byRow: boolean;
  /** The results of user code, for the command and this state. */
  readonly prepared?: Prepared;
  /** The agent that begins a segment. */
  readonly agent?: Definition;
  /** The circumstances of a stop, a pause or a termination: those are decided for a thread at rest only. */
  readonly rest?: Omit<AtRest, "place" | "now" | "said">;
}

export type Decision =
  | { readonly facts: readonly Fact[] }
  /** To be decided again when no call of this tenure runs. */
  | { readonly wait: "calls" }
  | { readonly known: Taken }
  | { readonly refusal: BelayError };

export function decide(state: ThreadState, given: Command, context: Context): Decision {
  const command = context.byRow ? given : nextTry(state, given);
  const known = state.taken?.get(command.key);
  if (known !== undefined) return { known };
  const { prepared } = context;
  if (prepared?.refusal !== undefined) return { refusal: prepared.refusal };
  if (command.do === "handle" && context.callsRun) return { wait: "calls" };
  try {
    judge(state, command, context.place);
    const facts = factsOf(state, command, context);
    if (isSignal(command) || beginsSegment(command) || command.do === "input") return { facts };
    return { facts: isKept(command) || context.byRow ? [commandFact(context.place, command), ...facts] : facts };
  } catch (error) {
    if (error instanceof BelayError) return { refusal: error };
    throw error;
  }
}

/**
 * Returns the facts to append for a decision. A row whose command is refused, or was taken without it, is consumed by one more
 * `command` fact: left in the store, a worker would look at it again and again.
 */
export function recordOf(decision: Decision, command: Command, { place, byRow }: Context): readonly Fact[] {
  if ("facts" in decision) return decision.facts;
  if (!byRow || "wait" in decision) return [];
  return [commandFact(place, command, "refusal" in decision ? decision.refusal : undefined)];
}

/** Returns whether the thread has the subject of the command. A process that may have lost the thread must not deny it. */
export function hasSubject(state: ThreadState, command: Command): boolean {
  return command.do !== "answer" || (state.requests?.has(command.request) ?? false);
}

/** The outcome of each command, for its caller. */
interface Outcomes {
  /** The caller of a run or a resume has a Run. */
  readonly run: undefined;
  readonly resume: undefined;
  readonly wake: undefined;
  readonly input: { readonly id: string };
  /** How many requests are open after it. */
  readonly answer: { readonly open: number };
  readonly stop: Receipt;
  readonly pause: Receipt;
  readonly terminate: Receipt;
  readonly breakpoint: undefined;
  /** Whether there was such a rule. */
  readonly unrule: boolean;
  readonly label: undefined;
  /** The pause that the handle is for. */
  readonly handle: Pick<FramePlace, "runId" | "segment"> & Pick<ThreadState, "pauseType">;
}

export type Outcome<C extends Command = Command> = Outcomes[C["do"]];

type OutcomeOf<K extends keyof Outcomes> = (
  state: ThreadState,
  facts: readonly Fact[],
  command: Command,
) => Outcomes[K];

const receipt = ({ run }: ThreadState, facts: readonly Fact[]): Receipt =>
  receiptIn({ runId: run?.id, segment: run?.segment, seq: Number.POSITIVE_INFINITY }, facts);

const outcomes: { readonly [K in keyof Outcomes]: OutcomeOf<K> } = {
  run: () => undefined,
  resume: () => undefined,
  wake: () => undefined,
  input: (_state, _facts, { key }) => ({ id: key }),
  stop: receipt,
  pause: receipt,
  terminate: receipt,
  answer: (state) => ({ open: openRequests(state).length }),
  breakpoint: () => undefined,
  label: () => undefined,
  unrule: (_state, facts) => facts.some(({ type }) => type === "rule-removed"),
  handle: ({ run, pauseType }) => ({ runId: run!.id, segment: run!.segment, pauseType }),
};

/** Returns the outcome of a command in the state after the append that took it, in which it caused `facts`. */
export function outcomeOf<C extends Command>(command: C, state: ThreadState, facts: readonly Fact[]): Outcome<C> {
  return outcomes[command.do](state, facts, command) as Outcome<C>;
}

function factsOf(state: ThreadState, command: Command, context: Context): readonly Fact[] {
  const { place, now, groups, rest, agent, prepared = nothingAsked } = context;
  switch (command.do) {
    case "run":
      return runFacts(state, command, { place, now, agent: agent!, prepared });
    case "resume":
      return resumeFacts(state, command, { place, now, agent: agent!, groups, prepared });
    case "input":
      return onRecord(state, place);
    case "wake":
      return [samePause(place, state)];
    case "stop":
    case "pause":
    case "terminate":
      return signalFacts(state, command, { place, now, said: prepared.said ?? [], ...rest! });
    case "answer": {
      const { request, answer, key } = command;
      const fact = answerFact(place, state, request, answer, now, groups);
      // Without a `command` fact, the answer holds the key: if the reply of the store is lost, the caller finds its own answer.
      const isNamed = isKept(command) || context.byRow;
      return [isNamed ? fact : { key, ...fact }, ...expiries(place, state, now)];
    }
    case "breakpoint":
      return onRecord(state, place, breakpointFact(place, command.breakpoint));
    case "unrule": {
      const { rule, by } = command;
      return state.rules?.some(({ id }) => id === rule) ? [ruleRemoved(place, rule, by)] : [];
    }
    case "label": {
      const fact = labelFact(place, command, command.by);
      refuseTooMany(state, fact.labels ?? {});
      return onRecord(state, place, fact);
    }
    case "handle": {
      const { tokenHash, tokenUntil } = command;
      return [samePause(place, { ...state, tokenHash, tokenUntil })];
    }
    default:
      return command satisfies never;
  }
}

/** Puts a new thread on record, with facts that no run begins. Rows can wait for a thread that is on record. */
function onRecord({ state }: ThreadState, place: FramePlace, ...facts: readonly Fact[]): readonly Fact[] {
  return state === "created" ? [stateFact(place, "initialized"), ...facts] : facts;
}

function refuseTooMany({ threadId, labels }: ThreadState, change: NonNullable<LabelEvent["labels"]>): void {
  const count = Object.keys(mergeLabels(labels, change)).length;
  if (count > MOST_LABELS) throw belayError("LABELS_INVALID", { threadId, problem: `it would have ${count} labels` });
}
