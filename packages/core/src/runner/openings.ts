// How a stretch of a run begins. Each opening looks at the thread as the store has it at that moment: what this
// session knew may be old.

import type { Agent } from "../agent.ts";
import { belayError } from "../error.ts";
import type { Fact } from "../event.ts";
import { type Drift, driftReport, driftWords } from "../fingerprint.ts";
import type { FramePlace } from "../frame.ts";
import type { Answer } from "../interrupt/answer.ts";
import { judgeAnswer } from "../interrupt/decision.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { openRequests } from "../journal/requests.ts";
import type { ThreadState } from "../journal/state.ts";
import { type StandardSchema, validate } from "../schema/schema.ts";
import type { DriveSetup } from "./drive.ts";
import type { Opening } from "./execution.ts";
import { driftFact, inputFacts, lostCalls, runStart, stateFact } from "./facts.ts";
import type { readInput } from "./input.ts";
import { answerFact, expiries, waitingEnds, withdrawals } from "./requests.ts";

type Inputs = ReturnType<typeof readInput>;

/** What openings need to know of who opens. */
export interface Opener {
  readonly agent: Agent<unknown, never>;
  readonly setup: Pick<DriveSetup, "clock" | "groups">;
  /** What the code behind open requests takes as their answers, by id. */
  readonly schemas: ReadonlyMap<string, StandardSchema>;
}

export function newRun(
  opener: Opener,
  place: FramePlace,
  inputs: (at: number) => readonly Fact[],
  id?: string,
): Opening {
  return (state) => {
    refuseIfAsked(state, id);
    refuseUnless(state, ["created", "initialized", "completed", "error"], "a new run");
    const { agent, setup } = opener;
    const { repair } = agent;
    const print = agent.fingerprint();
    const known = state.fingerprint !== undefined && driftReport(state.fingerprint, print) === undefined;
    const facts: Fact[] = [];
    if (state.state !== "initialized") facts.push(stateFact(place, "initialized"));
    facts.push(runStart(place, known ? undefined : print));
    facts.push(...lostCalls(place, state), ...withdrawals(place, state, "user"));
    const closing = hasOpenCalls(state) ? ({ mode: "rethink", repair } as const) : undefined;
    facts.push(stateFact(place, "running", id === undefined ? closing : { ...closing, id }));
    facts.push(...inputs(setup.clock.now()));
    return facts;
  };
}

export interface Going {
  readonly mode: "continue" | "rethink" | undefined;
  readonly inputs: Inputs;
  /** By request. */
  readonly answers: ReadonlyMap<string, Answer>;
  readonly drift: Drift;
  readonly by: string | undefined;
  /** The caller's id of the run() that asked for it. */
  readonly id?: string | undefined;
}

export function goOn(opener: Opener, place: FramePlace, going: Going): Opening {
  return async (state) => {
    refuseIfAsked(state, going.id);
    // First: who lost a race learns that, not what the winner made of the thread.
    if (state.run?.id !== place.runId || state.run.segment !== place.segment - 1) {
      throw belayError("TOKEN_SPENT", { threadId: place.threadId, segment: place.segment - 1 });
    }
    refuseUnless(state, ["paused", "running", "error"], "resume");
    for (const [id, answer] of going.answers) await checkAnswer(opener, state, id, answer);
    const { agent, setup } = opener;
    const now = setup.clock.now();
    const answers = [...going.answers].map(([id, answer]) => answerFact(place, state, id, answer, now, setup.groups));
    const expired = expiries(place, state, now).filter(({ id }) => !going.answers.has(id));
    const decided = new Set([...answers, ...expired].map(({ id }) => id));
    const open = openRequests(state).filter(({ id }) => !decided.has(id));
    const { mode, inputs, facts: changed } = newInput(opener, place, state, going, open, now);
    const { repair } = agent;
    const asked = going.id === undefined ? {} : { id: going.id };
    const facts: Fact[] = drift(agent, place, state, going.drift);
    if (state.state === "error") facts.push(stateFact(place, "initialized"), runStart(place));
    facts.push(...answers, ...expired, ...changed);
    if (mode === "rethink") facts.push(...lostCalls(place, state));
    facts.push(stateFact(place, "running", mode === "rethink" ? { mode, repair, ...asked } : { mode, ...asked }));
    facts.push(...inputFacts(place, inputs, now));
    return facts;
  };
}

/** What new input does to the requests that are open (Q8). */
function newInput(
  { setup }: Opener,
  place: FramePlace,
  state: ThreadState,
  going: Going,
  open: readonly Interrupt[],
  now: number,
): { readonly mode: "continue" | "rethink"; readonly inputs: Inputs; readonly facts: readonly Fact[] } {
  const { inputs, answers, by = "user" } = going;
  // Answers are given to be heard: what is said beside them waits for the results.
  const mode = going.mode ?? (inputs.length > 0 && answers.size === 0 ? "rethink" : "continue");
  if (mode === "continue" || open.length === 0) return { mode, inputs, facts: [] };
  if (going.mode === undefined) {
    if (open.some(({ onNewInput }) => onNewInput === "answer")) {
      const [only] = open;
      if (open.length > 1) throw belayError("ANSWER_AMBIGUOUS", { threadId: place.threadId, open: open.length });
      const answer: Answer = { type: "respond", value: textOf(inputs), ...(going.by !== undefined && { by }) };
      const fact = answerFact(place, state, only!.id, answer, now, setup.groups);
      return { mode: "continue", inputs: [], facts: [fact] };
    }
    const dead = open.filter(({ onNewInput }) => onNewInput !== "keep");
    if (dead.length < open.length) {
      const facts = [...waitingEnds(place, state, undefined, dead), ...withdrawals(place, state, by, dead)];
      return { mode: "continue", inputs, facts };
    }
  }
  return { mode, inputs, facts: withdrawals(place, state, by, open) };
}

function textOf(inputs: Inputs): string {
  return inputs.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join("")).join("\n");
}

/** A person answers while the thread rests: the calls that it lets run do so, and nothing else. */
export function answering(
  opener: Opener,
  place: FramePlace,
  answers: ReadonlyMap<string, Answer>,
  more: { readonly ref?: string; readonly key?: string },
): Opening {
  return async (state) => {
    const { setup } = opener;
    const facts: Fact[] = [];
    for (const [id, answer] of answers) {
      await checkAnswer(opener, state, id, answer);
      facts.push(answerFact(place, state, id, answer, setup.clock.now(), setup.groups, more.key, more.ref));
    }
    return facts;
  };
}

/** Code that waits for a person has something to do: the pause is written once more, to have the thread for it. */
export function woken(place: FramePlace): Opening {
  return (state) => {
    refuseUnless(state, ["paused"], "going on");
    const { pauseType, interrupts, tokenHash, tokenUntil } = state;
    return [
      stateFact(place, "paused", {
        ...(pauseType !== undefined && { pauseType }),
        ...(interrupts.length > 0 && { interrupts }),
        ...(tokenHash !== undefined && { tokenHash }),
        ...(tokenUntil !== undefined && { tokenUntil }),
      }),
    ];
  };
}

/** What only code can say about an answer: the schema of the tool, or of the code that asks. Throws its refusal. */
export async function checkAnswer(opener: Opener, state: ThreadState, id: string, answer: Answer): Promise<void> {
  const { agent, setup, schemas } = opener;
  const request = state.requests?.get(id);
  judgeAnswer(state.threadId, id, request, answer, setup.clock.now(), setup.groups);
  const { interrupt } = request!;
  const schema = schemas.get(id);
  let problem: string | undefined;
  if (answer.type === "approve" && answer.args !== undefined && interrupt.key === undefined) {
    problem = await agent.argsProblem(interrupt, answer.args);
  } else if (answer.type === "respond" && schema !== undefined) {
    const checked = await validate(schema, answer.value);
    problem = checked.ok ? undefined : checked.problem;
  }
  if (problem !== undefined) throw belayError("ANSWER_INVALID", { id, problem });
}

function drift(agent: Agent<unknown, never>, place: FramePlace, state: ThreadState, wanted: Drift): Fact[] {
  const print = agent.fingerprint();
  const report = state.fingerprint === undefined ? undefined : driftReport(state.fingerprint, print);
  if (report === undefined) return [];
  const verdict = typeof wanted === "function" ? wanted(report) : wanted;
  if (verdict === "refuse" || verdict === false) {
    throw belayError("DRIFT_REFUSED", { threadId: place.threadId, changes: driftWords(report) });
  }
  return [driftFact(place, report, print)];
}

function refuseIfAsked({ threadId, asked }: ThreadState, id: string | undefined): void {
  const known = id === undefined ? undefined : asked?.get(id);
  if (known !== undefined) throw belayError("RUN_KNOWN", { threadId, id: id!, runId: known.runId });
}

function hasOpenCalls(state: ThreadState): boolean {
  for (const scope of state.scopes.values()) if (scope.calls.length > 0) return true;
  return false;
}

function refuseUnless(state: ThreadState, allowed: readonly string[], action: string): void {
  const { threadId, state: now } = state;
  if (allowed.includes(now)) return;
  if (now === "paused") throw belayError("NEED_RESUME", { threadId, pauseType: state.pauseType ?? "a pause" });
  throw belayError("INVALID_STATE", { threadId, state: now, action });
}
