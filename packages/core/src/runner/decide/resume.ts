// The next segment of a run, as facts. Pure: user code was asked before, for this state (`prepare`).

import type { Definition } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { Fact, StateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { type Groups, isExpired } from "../../interrupt/decision.ts";
import { type Interrupt, isAtNode } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { isWithin } from "../../journal/reduce.ts";
import { openRequests } from "../../journal/requests.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";
import { agentAt } from "./agent-at.ts";
import type { ResumeCommand } from "./command.ts";
import { inputFacts, runStart, stateFact } from "./facts.ts";
import { namedGraph } from "./graph-at.ts";
import { inputFactsOf, kindOf, queuedFacts, queuedMail } from "./mail.ts";
import { answerFact, expiries } from "./requests.ts";
import { type Beginning, callerFacts } from "./run.ts";
import { underWay } from "./under-way.ts";

/** Returns the first facts of the segment. Throws a refusal. The thread takes the command: `judge` was asked. */
export function resumeFacts(
  state: ThreadState,
  command: ResumeCommand,
  { place, now, agent, groups, prepared }: Beginning & { readonly groups: Groups },
): readonly Fact[] {
  const { to, by } = command;
  const facts: Fact[] = [...prepared.drifted];
  if (state.state === "error") facts.push(stateFact(place, "initialized"), runStart(place));
  const open = undecided(state, command, now);
  const answers = prepared.answers.map(([id, answer]) => answerFact(place, state, id, answer, now, groups));
  facts.push(...answers, ...expiries(place, state, now));
  const { mode, question, dead } = effectOf(state.threadId, command, prepared.inputs.length > 0, open);
  const inputs = question === undefined ? prepared.inputs : [];
  if (question !== undefined) facts.push(answerFact(place, state, question.id, prepared.reply!, now, groups));
  if (dead !== undefined) {
    const within = to === undefined ? undefined : [to];
    facts.push(...callEnds(place, state, "stop", { within, which: dead, by: by ?? "user" }));
  }
  const paths = inputs.length > 0 ? listeners(agent, place, state, to) : [];
  const narrowed = to === undefined ? {} : { to: inputs.length > 0 ? paths : [to] };
  if (mode === "rethink") {
    facts.push(...callEnds(place, state, "input", { within: narrowed.to, which: open, by: by ?? "user" }));
  }
  const closing = mode === "rethink" && { repair: agent.repair, ...narrowed };
  const called = command.id !== undefined && { id: command.id };
  const running = { mode, ...closing, ...editsOf(agent, place, state, command), ...called };
  facts.push(stateFact(place, "running", running), ...callerFacts(place, command));
  facts.push(...unreadFacts(agent, place, state, command, paths, prepared.unread, now));
  if (command.row !== undefined) facts.push(...rowFacts(place, state, command.row, now));
  for (const runPath of paths) facts.push(...inputFacts({ ...place, runPath }, inputs, now, by));
  return facts;
}

/** Returns the open requests that neither an answer of the command nor their deadline decides. With `to`, those of that agent. */
export function undecided(state: ThreadState, { answers, to }: ResumeCommand, now: number): readonly Interrupt[] {
  return openRequests(state).filter((request) => {
    if (answers.has(request.id) || isExpired(request, now)) return false;
    return to === undefined || isWithin(state.requests!.get(request.id)!.runPath, [to]);
  });
}

/** The effect of new input on open requests (Q8). */
interface Effect {
  readonly mode: "continue" | "rethink";
  /** The one open question, if the words answer it. */
  readonly question?: Interrupt;
  /** The requests that it withdraws while others are kept. */
  readonly dead?: readonly Interrupt[];
}

/** Throws ANSWER_AMBIGUOUS if words are to answer one of several requests. */
export function effectOf(
  threadId: string,
  { mode: wanted, answers }: ResumeCommand,
  hasInput: boolean,
  open: readonly Interrupt[],
): Effect {
  // Answers let calls run: input beside them waits for the results.
  const mode = wanted ?? (hasInput && answers.size === 0 ? "rethink" : "continue");
  if (wanted !== undefined || mode === "continue" || open.length === 0) return { mode };
  if (open.some(({ onNewInput }) => onNewInput === "answer")) {
    if (open.length > 1) throw belayError("ANSWER_AMBIGUOUS", { threadId, open: open.length });
    return { mode: "continue", question: open[0]! };
  }
  const dead = open.filter(({ onNewInput }) => onNewInput !== "keep");
  return dead.length < open.length ? { mode: "continue", dead } : { mode };
}

/** The facts by which an input that waited in the store resumes the thread; its messages come after them. */
function rowFacts(place: FramePlace, { queued }: ThreadState, id: string, now: number): readonly Fact[] {
  const announced = queued?.has(id) ? [] : queuedFacts(place, [{ id, kind: "steer" }]);
  return [...announced, ...inputFactsOf(place, id, "steer", { messages: [] }, now)];
}

/**
 * Returns the facts of steers that no agent has read: they stand before the new input. They are for all agents, also if `to`
 * narrows the new input. A message that is only observed makes no agent begin anew.
 */
function unreadFacts(
  agent: Definition,
  place: FramePlace,
  state: ThreadState,
  { to }: ResumeCommand,
  paths: readonly string[],
  unread: Beginning["prepared"]["unread"],
  now: number,
): readonly Fact[] {
  const all = to === undefined || paths.length === 0 ? paths : listeners(agent, place, state, undefined);
  if (!paths.some((path) => all.includes(path))) return [];
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
  { patch, to }: ResumeCommand,
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
