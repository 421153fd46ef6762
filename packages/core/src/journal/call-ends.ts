// How open calls end. The phase of a call follows from the state. The phase and the cause give the end, by one table.
//
// 1. When nothing runs, every start has its end (0027). A held call has had its end; it gets another one only if its
//    own request is withdrawn.
// 2. A call that started never ends as not-executed.
// 3. Agents inside a call end with it, as `terminated`. The innermost come first.
//
// Two more ends are decided by the turn that runs the calls (`TurnCalls.holds`), because the state does not have them: a
// call that a stop met between the record of its start and its beginning is held as it was before (`heldOutcome`), and a
// call whose code left its record is held as interrupted.

import type { EventBase, Fact, ToolEndEvent } from "../event.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { addUsage } from "../message.ts";
import { isWithin } from "./reduce.ts";
import { openRequests } from "./requests.ts";
import type { CallState, Scope, ThreadState } from "./state.ts";

/**
 * Why calls end.
 * - `pause`: the segment ends by pause(), a request or a failure, or the thread is set aside.
 * - `let-go`: close(), drain(), or a pause that stays as it is.
 * - `stop`: a stop that withdraws requests, or new input beside requests that are kept.
 * - `closed`: the agent around them failed and may be tried again.
 * - `input`: a rethink, or another run.
 * - `over`: the run, or the agent around them, is over.
 * - `fork`: another thread begins from this state.
 */
export type Cause = (typeof causes)[number];
const causes = ["pause", "let-go", "stop", "closed", "input", "over", "fork"] as const;

/** One end for each cause. */
type Row<Causes extends readonly unknown[]> = { readonly [K in keyof Causes]: End };
type End = Pick<ToolEndEvent, "outcome" | "held"> | undefined;
const _ = undefined;
const N: End = { outcome: "not-executed" };
const U: End = { outcome: "unknown" };
const I: End = { outcome: "interrupted" };
const Uh: End = { outcome: "unknown", held: true };
const Ih: End = { outcome: "interrupted", held: true };

/**
 * By phase, one end for each cause. An `h` is for held: the call continues on resume(). On `input` the fold closes held
 * calls by the agent's `repair`; a fact would make `drop` impossible. A fork asks anew for open requests.
 */
// biome-ignore format: a table
const table = {
  //          pause let-go stop closed input over fork
  /** Held, never started, asks nothing. */
  fresh:     [  _,    _,    _,    _,    _,    _,   _ ],
  /** Held, its approval is open. */
  gated:     [  _,    _,    N,    N,    _,    N,   _ ],
  /** Held after a crash. */
  cut:       [  _,    _,    _,    _,    _,    _,   _ ],
  /** Cut, and a request asks for its outcome. */
  doubted:   [  _,    _,    U,    U,    _,    U,   _ ],
  /** Held, continues from its recorded steps. */
  resumable: [  _,    _,    _,    _,    _,    _,   _ ],
  /** Resumable, and a request of its code is open. */
  stranded:  [  _,    _,    I,    I,    _,    I,   _ ],
  /** Started, an agent inside has begun. */
  agent:     [  _,    _,    _,    _,    I,    I,   _ ],
  /** Started, a request of its code is open. */
  parked:    [  _,    _,    I,    I,    I,    I,   _ ],
  /** Started, a request of its code was answered after `from`; it has not continued. */
  answered:  [  Ih,   Ih,   Ih,   _,    I,    I,   Uh],
  /** Started, its request was withdrawn by an earlier fact of the same append. */
  forsaken:  [  Uh,   _,    U,    _,    U,    U,   I ],
  /** Started, none of these: it runs, or a crash cut it. */
  lost:      [  Uh,   _,    U,    _,    U,    U,   Uh],
} satisfies Record<string, Row<typeof causes>>;

export type Phase = keyof typeof table;

/** The agent that reports the ends. Agents at its path do not end. */
type Place = Pick<EventBase, "threadId" | "runId" | "segment" | "agentName" | "runPath">;

export interface CallEndsOptions {
  /** Limits the ends to the agents at these paths and below. */
  readonly within?: readonly string[] | undefined;
  /** The requests to withdraw. By default `stop`, `closed`, `input` and `over` withdraw all open ones, the others none. */
  readonly which?: readonly Interrupt[];
  /** The party that withdraws them; the runtime by default. */
  readonly by?: string;
  /** Facts of the same append: calls and agents that end in them have their end. */
  readonly ended?: readonly Fact[];
  /** The head of the thread before the segment. Without it no call counts as answered. */
  readonly from?: number;
  /** Ends all agents, also those outside of calls. Always true for `over`. */
  readonly forGood?: boolean;
}

/** Returns the facts that end open calls and the agents inside them, then those that withdraw requests. */
export function callEnds(place: Place, state: ThreadState, cause: Cause, options: CallEndsOptions = {}): Fact[] {
  const all = [...state.scopes.values()].filter((scope) => isOpen(state, scope));
  if (all.length === 0 && state.requests === undefined) return [];
  const { within, from, by = "runtime", forGood = cause === "over" } = options;
  const isHere = (path: string) => within === undefined || isWithin(path, within);
  const open = () => openRequests(state).filter(({ id }) => isHere(state.requests!.get(id)!.runPath));
  const which = options.which ?? (endOf("parked", cause) === undefined ? [] : open());
  const scopes = all.filter(({ path }) => isHere(path));
  if (scopes.length === 0 && which.length === 0) return [];
  const waiting = new Set(which.flatMap(({ callId }) => callId ?? []));
  // The other requests stay open, and so do the calls that wait for them.
  const stays = (callId: string, phase: Phase) =>
    (cause === "stop" || cause === "closed") && asking.has(phase) && !waiting.has(callId);
  const ended = endedIn(options.ended);
  const { threadId, runId, segment, agentName } = place;
  const base = { seq: 0, at: 0, threadId, runId, segment, attempt: 1, agentName };
  const toolEnds = ({ path: runPath, calls }: Scope): ToolEndEvent[] =>
    calls.flatMap((call) => {
      const { id: callId, tool } = call.part;
      const phase = ended.has(callId) ? undefined : phaseOf(state, call, from);
      const end = phase === undefined || stays(callId, phase) ? undefined : endOf(phase, cause);
      if (end === undefined) return [];
      return [{ type: "tool-end", callId, tool, address: call.address, output: null, ...end, ...base, runPath }];
    });
  // An agent's path begins with the path of the agent around it: in descending order the innermost come first.
  scopes.sort((a, b) => (a.path < b.path ? 1 : -1));
  const calls = scopes.map(toolEnds);
  // No call with an agent inside is held.
  const over = calls.flat().map(({ address }) => `${address}/`);
  const ends = (path: string) => forGood || over.some((address) => path.startsWith(address));
  const facts = scopes.flatMap((scope, i): Fact[] => {
    const { path: runPath } = scope;
    if (!isRunning(state, scope) || runPath === place.runPath || ended.has(runPath) || !ends(runPath)) return calls[i]!;
    const name = runPath.slice(Math.max(runPath.lastIndexOf("/"), runPath.lastIndexOf(":")) + 1);
    const usage = addUsage(undefined, undefined);
    return [...calls[i]!, { type: "run-end", status: "terminated", usage, ...base, agentName: name, runPath }];
  });
  for (const { id } of which) {
    const { runPath } = state.requests!.get(id)!;
    facts.push({ type: "request-answered", id, by, answer: { type: "withdraw" }, ...base, runPath });
  }
  return facts;
}

/** Returns the end of a call in this phase; undefined if it has no fact. */
function endOf(phase: Phase, cause: Cause): End {
  return table[phase][causes.indexOf(cause)];
}

const asking: ReadonlySet<Phase> = new Set<Phase>(["gated", "doubted", "stranded", "parked"]);

/** Returns the phase of an open call; undefined if the call has ended. */
export function phaseOf(state: ThreadState, call: CallState, from = Number.POSITIVE_INFINITY): Phase | undefined {
  const { status, gate, doubt, steps = [] } = call;
  if (status === "ended") return undefined;
  const asks = steps.flatMap(({ requestId }) => requestId ?? []);
  const requestOf = (id = "") => state.requests?.get(id);
  const isAsking = [gate, doubt, ...asks].map(requestOf).some((known) => known && known.decision === undefined);
  if (status === "held") {
    if (call.resumes) return isAsking ? "stranded" : "resumable";
    if (call.cut) return isAsking ? "doubted" : "cut";
    return isAsking ? "gated" : "fresh";
  }
  if (hasAgent(state, call)) return "agent";
  if (isAsking) return "parked";
  if (steps.some(({ kind, settled = 0 }) => kind === "ask" && settled > from)) return "answered";
  return asks.some((id) => requestOf(id)?.decision?.how === "withdrawn") ? "forsaken" : "lost";
}

/** True if an agent has calls of its last turn, or is to end itself. */
function isOpen(state: ThreadState, scope: Scope): boolean {
  return scope.calls.length > 0 || isRunning(state, scope);
}

/** An agent inside another one that has begun in this run and has not ended. */
function isRunning({ run }: ThreadState, { path, runId, settled }: Scope): boolean {
  return path.includes("/") && runId !== undefined && runId === run?.id && settled === undefined;
}

/** True if the call is one to an agent that has begun. */
function hasAgent({ scopes }: ThreadState, { address }: CallState): boolean {
  if (scopes.size === 1) return false;
  for (const path of scopes.keys()) if (path.startsWith(`${address}/`)) return true;
  return false;
}

/** The calls, by id, and the agents, by path, that end in these facts. */
function endedIn(facts: readonly Fact[] = []): ReadonlySet<string> {
  return new Set(
    facts.flatMap((fact) => (fact.type === "tool-end" ? [fact.callId] : fact.type === "run-end" ? [fact.runPath] : [])),
  );
}
