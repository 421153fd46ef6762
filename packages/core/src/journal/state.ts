// The state of a thread, folded from its journal. Plain data: `reduce` is the only code that changes it.

import type { ErrorRecord } from "../error.ts";
import type { Action, Breakpoint, Patch } from "../event.ts";
import type { Fingerprint, LastDrift } from "../fingerprint.ts";
import type { RequestState } from "../interrupt/decision.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { InterruptView } from "../interrupt/view.ts";
import type { Json } from "../json.ts";
import type { PauseType, SessionState } from "../lifecycle.ts";
import type { CallPart, Message, ResultPart, Usage } from "../message.ts";
import type { RememberedRule } from "../permission/remembered.ts";

export interface ThreadState {
  readonly threadId: string;
  /** The seq of the last fact. */
  head: number;
  /** The agent that began the thread. */
  agent: string | undefined;
  state: SessionState;
  pauseType: PauseType | undefined;
  /** The interrupts that wait for resume(): stops and nodes. Open requests are in `requests`. */
  interrupts: readonly Interrupt[];
  /** The view of the present pause as its append recorded it. */
  view: InterruptView | undefined;
  tokenHash: string | undefined;
  tokenUntil: number | undefined;
  run: RunState | undefined;
  /** Times in a row that it was taken over after a crash without having got any further. */
  crashes: number;
  readonly scopes: Map<string, Scope>;
  /** Inputs on record as queued and not consumed. Undefined, like the next, while there are none. */
  queued: Set<string> | undefined;
  /** The commands on record, by key. */
  taken: Map<string, Taken> | undefined;
  /** Every request of the thread, by id; undefined, like the next two, while there is none. */
  requests: Map<string, RequestState> | undefined;
  /** The calls, custom agents and nodes that asked to be run again and wait for resume(); undefined while there are none. */
  reruns: Interrupt[] | undefined;
  /** The values that the agents of the thread share; undefined while there are none. */
  values: Patch | undefined;
  /** Rules that people let the thread remember. */
  rules: RememberedRule[] | undefined;
  /** The breakpoints that people set or removed, in their order; undefined while there are none. */
  breakpoints: SetBreakpoint[] | undefined;
  /** The title that a person gave it; null: a person removed it. Undefined, like the next, while no person has named it. */
  title: string | null | undefined;
  labels: Readonly<Record<string, string>> | undefined;
  /** The beginning of its first input: its title while no person has given it one. */
  beginning: string | undefined;
  /** The fingerprint of the agent at the last start or resume. */
  fingerprint: Fingerprint | undefined;
  /** The last change of the agent with which a run continued; undefined while there was none. */
  drift: LastDrift | undefined;
  /** Every call id of the thread: a provider that repeats one gets ours instead. */
  readonly callIds: Set<string>;
  /** It began with a snapshot: it has only the end of the visible messages. */
  readonly partial: boolean;
  /** It has only open calls and requests: enough to answer calls that wait for people. */
  readonly openOnly: boolean;
  /** The seq of the last snapshot. Not folded: the reader or writer of a snapshot sets it. */
  snapshotSeq: number;
}

/** `seq` is that of the fact: a breakpoint after a node does not stop a node that ended before it was set. */
export interface SetBreakpoint extends Breakpoint {
  readonly seq: number;
}

/** When a command was taken: its outcome is a fold of the facts of this segment up to `seq`. */
export interface Taken {
  readonly seq: number;
  readonly runId: string;
  readonly segment: number;
  /** Why it had no effect. */
  readonly refused?: ErrorRecord;
}

export interface RunState {
  readonly id: string;
  segment: number;
  /** The seq of its first fact. */
  readonly startSeq: number;
  usage: Usage;
  /** Its input is complete: later messages of people come on top of it. */
  underway: boolean;
}

/** One agent's own history. */
export interface Scope {
  readonly path: string;
  /** As people see it. */
  readonly messages: Message[];
  /** The words of hooks after stops, each after the message that was then the last; undefined while there are none. */
  said: Said[] | undefined;
  /** Those of them that models read: they enter the prompt before the next input. */
  remembered: Message[] | undefined;
  /** As a model sees it: valid for every provider in every state (H1), because a call enters together with its result. */
  readonly prompt: Message[];
  /** The last turn of this run that has a message. */
  turn: number;
  /** The turn after which the present allowance of turns began. */
  allowedFrom: number;
  /** Tries made at the turn after the last. */
  attempt: number;
  /** The kind of the last entry of the history, which decides the next step. */
  last: "nothing" | "input" | "calls" | "results" | "cut" | "answer";
  /** The calls of the last message, while one of them has no result. */
  calls: CallState[];
  /** The seq of the message that made them. */
  callsSeq: number;
  /** The agent that made them: it may have handed over since. */
  callsBy: string | undefined;
  /** Inputs that came while calls were open; they enter after the results. */
  readonly waiting: Message[];
  /** The run in which its agent was last started. */
  runId: string | undefined;
  /** Its input in that run: messages, or, for a child that takes none, a value. */
  given: Message[];
  /** On the root: inputs of people to the whole tree since then. */
  later: Message[];
  input: Json | undefined;
  /** On a child: its output; undefined while it has not ended. */
  ended: ChildEnded | undefined;
  /** The seq of the fact that it ended by, well or not. */
  settled: number | undefined;
  /** Its error, if the agent around it has continued all the same: then the error is its output. */
  failed: ErrorRecord | "again" | undefined;
  /** The agent that has the word after a hand-over. */
  active: string | undefined;
  /** An action that has not taken effect on the agents above yet. */
  action: Action | undefined;
  /** The segment in which a call that a crash had cut off began again, by call id. */
  again: { [callId: string]: number } | undefined;
  /** The steps of a custom agent's code, in the order of their outcomes. */
  steps: StepRecord[] | undefined;
  /** On a graph: the changes of its state by nodes and people. */
  state: Patch | undefined;
  /** Of a graph: each resume past nodes of it, and each change of its state by a person. */
  goneOn: GoneOn[] | undefined;
}

export interface Said {
  readonly message: Message;
  /** The id of the message before it; undefined at the beginning. */
  readonly after: string | undefined;
}

export interface ChildEnded {
  readonly output: Json;
  readonly action?: Action;
  readonly patch?: Patch;
  /** The seq of the fact. */
  readonly at: number;
}

export interface GoneOn {
  readonly at: number;
  /** Why they had stopped, and their addresses. */
  readonly past: readonly { readonly reason: string; readonly address: string }[];
  readonly edit?: Patch;
}

export interface CallState {
  readonly part: CallPart;
  readonly address: string;
  status: "held" | "started" | "ended";
  /** It ran before, and a crash cut it: held or not, it can never read "not executed". */
  cut: boolean;
  /** It is held, and ran up to a recorded point: it continues from there, also after an earlier crash. */
  resumes?: true;
  result: ResultPart | undefined;
  /** The arguments that run, if a person or a hook changed them. */
  ranArgs?: Json;
  /** The source of a change that no person made. */
  changedBy?: "hook";
  /** Its start was recorded, and a stop came before it began: hooks, rules and people are not asked again. */
  passed?: true;
  /** The request that it waits, or waited, for before it may run. */
  gate?: string;
  /** The request for its outcome. */
  doubt?: string;
  /** How often that was asked. */
  doubts?: number;
  /** The steps of the code inside it, in the order of their outcomes. */
  steps?: StepRecord[];
}

/** One recorded `ctx.step` or `ctx.ask`. */
export interface StepRecord {
  readonly key: string;
  readonly kind: "step" | "ask";
  /** On an ask: its request, and the digest of its question. */
  readonly requestId?: string;
  readonly digest?: string;
  /** Of a step. */
  readonly value?: Json;
  readonly error?: ErrorRecord;
  /** The seq of the fact that settled it; undefined while an ask is open. */
  settled: number | undefined;
}

export function newThread(threadId: string): ThreadState {
  return {
    threadId,
    head: 0,
    agent: undefined,
    state: "created",
    pauseType: undefined,
    interrupts: [],
    view: undefined,
    tokenHash: undefined,
    tokenUntil: undefined,
    run: undefined,
    crashes: 0,
    queued: undefined,
    taken: undefined,
    requests: undefined,
    reruns: undefined,
    values: undefined,
    rules: undefined,
    breakpoints: undefined,
    title: undefined,
    labels: undefined,
    beginning: undefined,
    fingerprint: undefined,
    drift: undefined,
    scopes: new Map(),
    callIds: new Set(),
    partial: false,
    openOnly: false,
    snapshotSeq: 0,
  };
}

export function newScope(path: string): Scope {
  return {
    path,
    messages: [],
    said: undefined,
    remembered: undefined,
    prompt: [],
    turn: 0,
    allowedFrom: 0,
    attempt: 0,
    last: "nothing",
    calls: [],
    callsSeq: 0,
    callsBy: undefined,
    waiting: [],
    runId: undefined,
    given: [],
    later: [],
    input: undefined,
    ended: undefined,
    settled: undefined,
    failed: undefined,
    active: undefined,
    action: undefined,
    again: undefined,
    steps: undefined,
    state: undefined,
    goneOn: undefined,
  };
}
