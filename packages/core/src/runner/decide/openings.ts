// The first facts of a segment. Each opening judges the thread as the store has it at that moment: the fold of the session may be
// old.

import type { Definition } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { Fact, Patch, StateEvent } from "../../event.ts";
import { type Drift, driftReport, driftWords } from "../../fingerprint.ts";
import type { FramePlace } from "../../frame.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { type Interrupt, isAtNode } from "../../interrupt/interrupt.ts";
import { vouched } from "../../interrupt/vouched.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { isWithin } from "../../journal/reduce.ts";
import { openRequests } from "../../journal/requests.ts";
import type { Scope, Taken, ThreadState } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import type { PauseType } from "../../lifecycle.ts";
import type { ThreadKey } from "../../store/store.ts";
import type { GuardOptions } from "../given/command-options.ts";
import type { readInput } from "../given/input.ts";
import { agentAt } from "./agent-at.ts";
import { type AnswerChecker, checkAnswer } from "./check-answer.ts";
import type { Caller } from "./command.ts";
import { commandFact, driftFact, inputFacts, runStart, samePause, stateFact } from "./facts.ts";
import { namedGraph } from "./graph-at.ts";
import { inputFactsOf, kindOf, queuedFacts, queuedMail, steersFor } from "./mail.ts";
import type { Opening } from "./opening.ts";
import { inputHooks } from "./reply-input.ts";
import { answerFact, expiries } from "./requests.ts";
import { refuseIfStale, stale } from "./stale.ts";
import { underWay } from "./under-way.ts";

type Inputs = ReturnType<typeof readInput>;

/** Thrown if the id of a run is on record: the caller follows that run. */
export class RunKnown extends Error {
  readonly taken: Taken;

  constructor(taken: Taken) {
    super("The run is on record.");
    this.taken = taken;
  }
}

export function newRun(
  opener: AnswerChecker,
  place: FramePlace,
  inputs: Inputs,
  factsOf: (inputs: Inputs, at: number) => readonly Fact[],
  { id, by }: Caller = {},
): Opening {
  const hooked = inputHooks(opener, place, inputs);
  const open = (state: ThreadState, made: Inputs): readonly Fact[] => {
    const { agent, setup } = opener;
    const { repair } = agent;
    const print = agent.fingerprint();
    const known = state.fingerprint !== undefined && driftReport(state.fingerprint, print) === undefined;
    // A run that failed may have left calls, agents and requests open: they end before the next run begins.
    const facts = state.scopes.size === 0 ? [] : callEnds(place, state, "input", { by: "user", forGood: true });
    if (state.state !== "initialized") facts.push(stateFact(place, "initialized"));
    facts.push(runStart(place, known ? undefined : print));
    const closing = hasOpenCalls(state) ? ({ mode: "rethink", repair } as const) : undefined;
    facts.push(
      stateFact(place, "running", id === undefined ? closing : { ...closing, id }),
      ...byFacts(place, { id, by }),
    );
    facts.push(...factsOf(made, setup.clock.now()));
    return facts;
  };
  return (state, _place, signal) => {
    refuseIfAsked(state, id);
    refuseUnless(state, ["created", "initialized", "completed", "error"], "a new run");
    const made = hooked(signal);
    return made instanceof Promise ? made.then((given) => open(state, given)) : open(state, made);
  };
}

/** Records the caller of a run or a resume, if it is named. The id alone stands in the `state` fact before. */
function byFacts(place: FramePlace, { id = `${place.runId}.${place.segment}`, by }: Caller): readonly Fact[] {
  return by === undefined ? [] : [commandFact(place, { key: keyOf.run(id), by })];
}

export interface Going {
  readonly mode: "continue" | "rethink" | undefined;
  readonly inputs: Inputs;
  /** By request. */
  readonly answers: ReadonlyMap<string, Answer>;
  readonly drift: Drift;
  /** Narrows new input to one agent, by its path. */
  readonly to: string | undefined;
  /** The changes to the state of graphs. */
  readonly patch: Patch | undefined;
  /** The name of the caller: for the input, and for answers that name none. */
  readonly by: string | undefined;
  /** Groups of the caller beside those that the runner names. */
  readonly groups?: readonly string[] | undefined;
  /** The caller's id of the run() or resume() that asked for it. */
  readonly id?: string | undefined;
  /** The segment that it resumes, if the caller named one. */
  readonly guard?: GuardOptions;
  /** The sha256 of the token of the handle. */
  readonly tokenHash?: string | undefined;
  /** The pause that a worker continues. A later pause is for a person: the worker is refused with STALE. */
  readonly ofPause?: PauseType | undefined;
  /** The row of the store that brought the input. */
  readonly row?: string | undefined;
}

export function goOn(opener: AnswerChecker & { readonly key: ThreadKey }, place: FramePlace, asked: Going): Opening {
  const hooked = inputHooks(opener, place, asked.inputs);
  return async (state, _place, signal) => {
    let going = asked;
    refuseIfAsked(state, going.id);
    const { run } = state;
    const present = { runId: run?.id, segment: run?.segment ?? 0, state: state.state };
    refuseIfStale(state.threadId, going.guard ?? {}, present);
    const paused = state.state === "running" ? "crash" : state.pauseType;
    if (going.ofPause !== undefined && going.ofPause !== paused) throw stale(state.threadId, {}, present);
    refuseIfSpent(state, place, going.tokenHash);
    refuseUnless(state, ["paused", "running", "error"], "resume");
    if (going.row !== undefined) await refuseIfWithdrawn(opener, going.row);
    const given: (readonly [string, Answer])[] = [];
    for (const [id, answer] of going.answers) {
      const interrupt = state.requests?.get(id)?.interrupt ?? {};
      given.push([id, await vouched(opener.setup.memberOf, interrupt, signed(answer, going.by), going.groups)]);
    }
    for (const [id, answer] of given) await checkAnswer(opener, state, id, answer);
    const words = hooked(signal);
    if (words instanceof Promise) going = { ...asked, inputs: await words };
    const { agent, setup } = opener;
    const drifted = await drift(agent, place, state, going.drift);
    const now = setup.clock.now();
    const answers = given.map(([id, answer]) => answerFact(place, state, id, answer, now, setup.groups));
    const expired = expiries(place, state, now, going.answers);
    const decided = new Set([...answers, ...expired].map(({ id }) => id));
    // Input for some agents withdraws the requests of those agents.
    const { to: narrowed } = going;
    const open = openRequests(state).filter(
      ({ id }) =>
        !decided.has(id) && (narrowed === undefined || isWithin(state.requests!.get(id)!.runPath, [narrowed])),
    );
    const { mode, inputs, facts: changed } = await newInput(opener, place, state, going, open);
    const { repair } = agent;
    const called = going.id === undefined ? {} : { id: going.id };
    const facts: Fact[] = [...drifted];
    if (state.state === "error") facts.push(stateFact(place, "initialized"), runStart(place));
    facts.push(...answers, ...expired, ...changed);
    const paths = inputs.length > 0 ? listeners(agent, place, state, going.to) : undefined;
    const to = going.to === undefined ? {} : { to: paths ?? [going.to] };
    if (mode === "rethink") {
      facts.push(...callEnds(place, state, "input", { within: to.to, which: open, by: going.by ?? "user" }));
    }
    const edits = editsOf(agent, place, state, going);
    const moved = mode === "rethink" ? { mode, repair, ...to, ...edits, ...called } : { mode, ...edits, ...called };
    facts.push(stateFact(place, "running", moved), ...byFacts(place, going));
    facts.push(...(await unreadFacts(opener, place, state, going, paths ?? [], now)));
    if (going.row !== undefined) facts.push(...rowFacts(place, state, going.row, now));
    for (const runPath of paths ?? []) facts.push(...inputFacts({ ...place, runPath }, inputs, now, going.by));
    return facts;
  };
}

/** The facts by which an input that waited in the store resumes the thread; its messages come after them. */
function rowFacts(place: FramePlace, { queued }: ThreadState, id: string, now: number): readonly Fact[] {
  const told = queued?.has(id) ? [] : queuedFacts(place, [{ id, kind: "steer" }]);
  return [...told, ...inputFactsOf(place, id, "steer", { messages: [] }, now)];
}

/** Its sender may have taken it back. */
async function refuseIfWithdrawn(
  { setup, key }: { readonly setup: AnswerChecker["setup"]; readonly key: ThreadKey },
  row: string,
): Promise<void> {
  const waiting = await steersFor(setup.store, key);
  if (waiting.some((each) => each.key === row)) return;
  throw belayError("INPUT_WITHDRAWN", { threadId: key.threadId, ids: row });
}

/**
 * Returns the steers that no agent has read: they stand before the new input. They are for all agents, also if `to` narrows the
 * new input. A message that is only observed makes no agent begin anew.
 */
async function unreadFacts(
  { agent, setup, key }: AnswerChecker & { readonly key: ThreadKey },
  place: FramePlace,
  state: ThreadState,
  { to, row }: Going,
  paths: readonly string[],
  now: number,
): Promise<readonly Fact[]> {
  const all = to === undefined ? paths : listeners(agent, place, state, undefined);
  if (!paths.some((path) => all.includes(path))) return [];
  const unread = (await steersFor(setup.store, key)).filter((each) => each.key !== row);
  const facts: Fact[] = queuedFacts(
    place,
    unread.map(queuedMail).filter(({ id }) => !state.queued?.has(id)),
  );
  for (const runPath of all) {
    const isRoot = runPath === place.runPath;
    for (const { key: id, mail } of unread) {
      if (mail.observed && !isRoot && !paths.includes(runPath)) continue;
      const entering = inputFactsOf({ ...place, runPath }, id, kindOf(mail), mail, now);
      facts.push(...(isRoot ? entering : entering.filter(({ type }) => type === "message")));
    }
  }
  return facts;
}

/** Returns the graphs with a changed state: the named one, those that have stopped at a node, or the root. */
function editsOf(
  agent: Definition,
  place: FramePlace,
  state: ThreadState,
  { patch, to }: Going,
): Pick<StateEvent, "edits"> {
  if (patch === undefined) return {};
  const stopped = state.interrupts.filter(isAtNode).map(({ address }) => address.slice(0, address.lastIndexOf("/")));
  const paths = to !== undefined ? [namedGraph(agent, state, to)] : stopped.length > 0 ? stopped : [place.runPath];
  // A custom agent may run a graph that is not among its children.
  const other = paths.map((path) => agentAt(agent, path)).find((at) => at !== undefined && at.checkpoint === undefined);
  if (other !== undefined) {
    const needed = `for a graph, which ${other.name} is not: name one that this run is in by its path, with \`to\``;
    throw belayError("OPTION_INVALID", { option: "state", value: JSON.stringify(patch), needed });
  }
  return { edits: Object.fromEntries(paths.map((path) => [path, patch])) };
}

/** Returns the agents that new input is for: the root, if it is a chat agent, or else those that were cut in mid-turn (R1). */
function listeners(
  agent: Definition,
  place: FramePlace,
  state: ThreadState,
  to: string | undefined,
): readonly string[] {
  const { runPath: root, runId } = place;
  if (agent.chats && (to === undefined || to === root)) return [root];
  // A custom agent that has spoken reads no messages.
  const reads = ({ path, last }: Scope) => last !== "nothing" && agentAt(agent, path)?.chats !== false;
  const active = underWay(state, root, runId).filter(reads);
  const wanted = active
    .map(({ path }) => path)
    .filter((path) => (to === undefined ? !inCall(path) : isWithin(path, [to]) && !inCall(path.slice(to.length))));
  if (to !== undefined && wanted.length === 0) {
    const needed = active.map(({ path }) => path).join(", ") || "left out: no agent was cut in mid-turn";
    throw belayError("OPTION_INVALID", { option: "to", value: JSON.stringify(to), needed });
  }
  // Input for the root is recorded there, too: it is the history that callers see.
  return to === undefined ? [root, ...wanted] : wanted;
}

/** True for an agent inside a call: the agent that made the call speaks for it. */
function inCall(path: string): boolean {
  return /\/t\d+\/c\d+\//.test(path);
}

/** Judged first: a caller that lost a race gets this error, and not one about the state that the winner left. */
function refuseIfSpent({ run, tokenHash }: ThreadState, place: FramePlace, token: string | undefined): void {
  const { threadId, runId } = place;
  const segment = place.segment - 1;
  if (run?.id !== runId || run.segment !== segment) throw belayError("TOKEN_SPENT", { threadId, segment });
  if (token !== undefined && token !== tokenHash) throw belayError("TOKEN_UNKNOWN", { threadId });
}

function signed(answer: Answer, by: string | undefined): Answer {
  return answer.by === undefined && by !== undefined ? { ...answer, by } : answer;
}

/** What new input does to the requests that are open (Q8). */
async function newInput(
  opener: AnswerChecker,
  place: FramePlace,
  state: ThreadState,
  going: Going,
  open: readonly Interrupt[],
): Promise<{ readonly mode: "continue" | "rethink"; readonly inputs: Inputs; readonly facts: readonly Fact[] }> {
  const { inputs, answers, by = "user" } = going;
  // Answers let calls run: input beside them waits for the results.
  const mode = going.mode ?? (inputs.length > 0 && answers.size === 0 ? "rethink" : "continue");
  if (mode === "continue" || open.length === 0) return { mode, inputs, facts: [] };
  if (going.mode === undefined) {
    if (open.some(({ onNewInput }) => onNewInput === "answer")) {
      const [only] = open;
      if (open.length > 1) throw belayError("ANSWER_AMBIGUOUS", { threadId: place.threadId, open: open.length });
      const said = signed({ type: "respond", value: textOf(only!.id, inputs) }, going.by);
      const answer = await vouched(opener.setup.memberOf, only!, said, going.groups);
      await checkAnswer(opener, state, only!.id, answer);
      const { clock, groups } = opener.setup;
      return {
        mode: "continue",
        inputs: [],
        facts: [answerFact(place, state, only!.id, answer, clock.now(), groups)],
      };
    }
    const dead = open.filter(({ onNewInput }) => onNewInput !== "keep");
    if (dead.length < open.length) {
      const within = going.to === undefined ? undefined : [going.to];
      return { mode: "continue", inputs, facts: callEnds(place, state, "stop", { within, which: dead, by }) };
    }
  }
  return { mode, inputs, facts: [] };
}

function textOf(id: string, inputs: Inputs): string {
  const parts = inputs.flatMap((input) => input.parts);
  if (parts.some(({ type }) => type !== "text")) {
    throw belayError("ANSWER_INVALID", { id, problem: "more than text cannot answer a question" });
  }
  return inputs.map((input) => input.parts.map((part) => (part.type === "text" ? part.text : "")).join("")).join("\n");
}

/** Takes the lease for code that waits for a person and can continue: the pause is recorded once more. */
export const woken: Opening = (state, place) => {
  refuseUnless(state, ["paused"], "going on");
  return [samePause(place, state)];
};

async function drift(
  agent: Definition,
  place: FramePlace,
  state: ThreadState,
  wanted: Drift,
): Promise<readonly Fact[]> {
  const print = agent.fingerprint();
  const report = state.fingerprint === undefined ? undefined : driftReport(state.fingerprint, print);
  if (report === undefined) return [];
  const refused = (cause?: unknown) =>
    belayError("DRIFT_REFUSED", { threadId: place.threadId, changes: driftWords(report), report }, cause);
  let verdict: Awaited<ReturnType<Extract<Drift, (...args: never) => unknown>>>;
  try {
    verdict = typeof wanted === "function" ? await wanted(report) : wanted;
  } catch (error) {
    throw refused(error);
  }
  if (verdict === "refuse" || verdict === false) throw refused();
  return [driftFact(place, report, print)];
}

function refuseIfAsked({ taken }: ThreadState, id: string | undefined): void {
  const known = id === undefined ? undefined : taken?.get(keyOf.run(id));
  if (known !== undefined) throw new RunKnown(known);
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
