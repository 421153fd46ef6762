// Everything a run can say. Facts are the entries of the journal themselves: they are durable before anyone sees
// them, and each takes the next `seq`. The rest carries the seq of the last fact and is never stored.

import type { ErrorRecord } from "./error.ts";
import type { DriftReport, Fingerprint } from "./fingerprint.ts";
import type { Answer } from "./interrupt/answer.ts";
import type { Interrupt } from "./interrupt/interrupt.ts";
import type { InterruptView } from "./interrupt/view.ts";
import type { Json } from "./json.ts";
import type { PauseType, SessionState } from "./lifecycle.ts";
import type { Finish, Message, Outcome, Usage } from "./message.ts";
import type { RememberedRule } from "./permission/remembered.ts";

export interface EventBase {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  /** Which try of a model call this belongs to, from 1. */
  readonly attempt: number;
  readonly agentName: string;
  readonly runPath: string;
}

export interface RunStartEvent extends EventBase {
  readonly type: "run-start";
  /** What the agent is made of, where the thread does not know that yet. */
  readonly fingerprint?: Fingerprint;
  /** What a child was given, where that is no message. */
  readonly input?: Json;
  /** A child that remembers nothing of what was done under its path before. */
  readonly fresh?: true;
}

export interface MessageEvent extends EventBase {
  readonly type: "message";
  readonly message: Message;
  /** The turn it belongs to; 0 for inputs. */
  readonly turn: number;
}

export interface ToolStartEvent extends EventBase {
  readonly type: "tool-start";
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  /** Taken from the message that made the call, so it is stored once. */
  readonly args: Json;
  /** What runs, where a person or a hook changed it. */
  readonly ranArgs?: Json;
  /** Who changed it, where that was no person. */
  readonly changedBy?: "hook";
  /** The permission rule that lets it run, where one does. */
  readonly rule?: string;
}

/** A step inside a call or a custom agent: its outcome is never computed again. */
export interface StepEvent extends EventBase {
  readonly type: "step";
  readonly callId?: string;
  readonly address: string;
  readonly key: string;
  readonly value?: Json;
  /** What it threw instead. */
  readonly error?: ErrorRecord;
}

export interface ToolEndEvent extends EventBase {
  readonly type: "tool-end";
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  readonly outcome: Outcome;
  /** The result; for an interrupted call what it had yielded; for an error its words. */
  readonly output: Json;
  /** The shared values that it set. */
  readonly values?: Patch;
  /** It does not run now, and will on continue: a stop came before it started, or, with outcome unknown, a crash cut it, or, with outcome interrupted, it goes on from its recorded steps. */
  readonly held?: true;
}

/** A tool that a stop or a time-out left behind has ended after all. */
export interface ToolLateEvent extends EventBase {
  readonly type: "tool-late";
  /** The key of the command it came by. */
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  readonly outcome: Outcome;
  readonly output: Json;
  /** In place of the "interrupted" result while no answer was recorded after it, else as a note of its own. */
  readonly as: "replace" | "note";
  /** The shared values that it set. */
  readonly values?: Patch;
}

/** An input waits: a steer or what is only to be known for the next model call, an input for the next run. */
export interface InputQueuedEvent extends EventBase {
  readonly type: "input-queued";
  readonly id: string;
  readonly kind: "steer" | "input" | "observe";
}

/** It has become part of the history, in the same append. */
export interface InputConsumedEvent extends EventBase {
  readonly type: "input-consumed";
  readonly id: string;
  readonly kind: "steer" | "input" | "observe";
}

export interface ActionEvent extends EventBase {
  readonly type: "action";
  readonly action: Action;
}

/** What an agent, or code inside it, does besides speaking. All but the first take effect when they are recorded. */
export interface Action {
  /** With `data`, it is the view of a whole pause, by the root agent. */
  readonly interrupted?: Interrupt | InterruptView;
  /** Ends the whole run with this output. */
  readonly exit?: { readonly output: Json };
  /** From now on another agent has the word, in the same history. */
  readonly transferToAgent?: { readonly name: string };
  /** Ends the nearest loop with this output. */
  readonly breakLoop?: { readonly output: Json };
  readonly customized?: Json;
}

/** Somebody answered a request, or it ended otherwise. */
export interface RequestAnsweredEvent extends EventBase {
  readonly type: "request-answered";
  /** The request's. */
  readonly id: string;
  readonly by: string;
  readonly answer: Answer | { readonly type: "expire" } | { readonly type: "withdraw" };
  /** sha256 of what an approval allows. */
  readonly digest?: string;
  /** It counts, and more people must approve. */
  readonly open?: true;
  /** It did not count: why. */
  readonly refused?: ErrorRecord;
  /** The rule that it leaves behind, and for whom. */
  readonly rule?: RememberedRule;
  readonly remember?: "thread" | "always";
  /** The key of the command it came by. */
  readonly key?: string;
  /** The caller's id: answering again under it is answering once. */
  readonly ref?: string;
}

/** The run goes on with an agent that has changed. */
export interface DriftEvent extends EventBase {
  readonly type: "drift";
  readonly report: DriftReport;
  readonly fingerprint: Fingerprint;
}

/** What a person allowed for this thread is allowed no more. */
export interface RuleRemovedEvent extends EventBase {
  readonly type: "rule-removed";
  /** The rule's. */
  readonly id: string;
  readonly by: string;
}

/** From now on a graph stops at a node, or does not, whatever it was compiled with. */
export interface BreakpointEvent extends EventBase {
  readonly type: "breakpoint";
  readonly breakpoint: Breakpoint;
}

/** The thread has another title, or other labels. `null` removes one. */
export interface LabelEvent extends EventBase {
  readonly type: "label";
  readonly title?: string | null;
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly by: string;
}

export interface Breakpoint {
  readonly node: string;
  /** The name of its graph; any, where it is not said. */
  readonly graph?: string;
  readonly at: "before" | "after";
  /** Whether it stops there. */
  readonly stop: boolean;
  /** Only where what the node is given, or gave, has this in it. */
  readonly when?: Json;
}

/**
 * A command was taken: one with a caller's id, or one that came from another process. Its outcome is a fold of the facts up
 * to this one, so the same command again has the same outcome.
 */
export interface CommandEvent extends EventBase {
  readonly type: "command";
  /** Unique in its thread, and made of the verb and the caller's id. */
  readonly key: string;
  readonly by: string;
  /** Why it had no effect. */
  readonly refused?: ErrorRecord;
}

/** A stop, by its id, and the segment that it was for. */
export interface MissedStop {
  readonly id: string;
  readonly runId: string;
  readonly segment: number;
}

export interface StateEvent extends EventBase {
  readonly type: "state";
  readonly state: SessionState;
  readonly pauseType?: PauseType;
  /** What a pause waits for. */
  readonly interrupts?: readonly Interrupt[];
  /** sha256 of the token of this pause's handle. */
  readonly tokenHash?: string;
  /** Until when that token is good, where it has an end. */
  readonly tokenUntil?: number;
  /** On going on: whether open calls still run (continue) or are closed (rethink). */
  readonly mode?: "continue" | "rethink";
  /** The agents that a rethink is for, by path; all where it is not there. */
  readonly to?: readonly string[];
  /** What a person changes in the state of graphs, by their path. */
  readonly edits?: Readonly<Record<string, Patch>>;
  /** How a rethink closes calls that never started. */
  readonly repair?: "synthetic" | "drop";
  /** Ids of the stops that this answers. */
  readonly stops?: readonly string[];
  /** Stops of an earlier stretch, which came too late for it and hit nothing. */
  readonly missed?: readonly MissedStop[];
  /** The id under which a caller asked for this stretch: asking again is asking once. */
  readonly id?: string;
  /** Where a fork begins: everything before is another thread's past, up to `seq`. */
  readonly forked?: { readonly threadId: string; readonly seq: number };
}

export interface RunEndEvent extends EventBase {
  readonly type: "run-end";
  readonly status: "completed" | "failed" | "terminated";
  readonly finish?: Finish;
  readonly usage: Usage;
  /** What the run gave, where that is not the text of its last message. */
  readonly output?: Json;
  readonly error?: ErrorRecord;
  /** What a node changes in the state of its graph. */
  readonly patch?: Patch;
  /** The shared values that it set. */
  readonly values?: Patch;
  /** The shared value that the output becomes. */
  readonly outputKey?: string;
}

/** Values of the top-level keys that changed. */
export type Patch = Readonly<Record<string, Json>>;

/** An event on record. Facts are numbered by `seq`, one after the other. */
export type Fact =
  | RunStartEvent
  | MessageEvent
  | ToolStartEvent
  | ToolEndEvent
  | ToolLateEvent
  | InputQueuedEvent
  | InputConsumedEvent
  | ActionEvent
  | StepEvent
  | RequestAnsweredEvent
  | CommandEvent
  | DriftEvent
  | RuleRemovedEvent
  | BreakpointEvent
  | LabelEvent
  | StateEvent
  | RunEndEvent;

export interface TurnStartEvent extends EventBase {
  readonly type: "turn-start";
  readonly turn: number;
}

export interface TurnEndEvent extends EventBase {
  readonly type: "turn-end";
  readonly turn: number;
}

export interface DeltaEvent extends EventBase {
  readonly type: "text-delta" | "reasoning-delta";
  readonly text: string;
  readonly messageId: string;
  /** Where `text` begins in the message's text (or reasoning) so far. A reader that joins in mid-answer gets all of it at 0. */
  readonly offset: number;
  /** The id of the cut message that this one continues. */
  readonly continues?: string;
}

export interface ToolProgressEvent extends EventBase {
  readonly type: "tool-progress";
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  readonly data: Json;
}

/** What was streamed of this message in an earlier attempt is void. */
export interface SupersededEvent extends EventBase {
  readonly type: "superseded";
  readonly messageId: string;
}

/** A piece of the arguments of a call that the model is still writing. */
export interface ToolInputDeltaEvent extends EventBase {
  readonly type: "tool-input-delta";
  /** The id that the provider gave the call; the recorded call may have another one. Empty if the model names none. */
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
  readonly messageId: string;
}

/** A model call waits: for a summary of the history, or for its next try. */
export interface ModelWaitEvent extends EventBase {
  readonly type: "model-wait";
  /** A turn of the conversation, or a summary that must exist before it. */
  readonly reason: "turn" | "summary";
  /** Set between two tries; `attempt` is the one that follows. */
  readonly retry?: ModelRetry;
}

export interface ModelRetry {
  /** When the next try begins, in milliseconds since 1970. */
  readonly dueAt: number;
  /** The number of the next try of this call, from 2, and how many are made at most. */
  readonly try: number;
  readonly tries: number;
  /** The HTTP status of the failed try, if it had one. */
  readonly status?: number;
  /** The words of the failed try. */
  readonly problem: string;
}

/** This reader fell behind; deltas are missing, facts follow. */
export interface GapEvent extends EventBase {
  readonly type: "gap";
}

/** An event that is not recorded: text as it streams, progress, the start and end of a turn. */
export type Draft =
  | TurnStartEvent
  | TurnEndEvent
  | DeltaEvent
  | ToolInputDeltaEvent
  | ToolProgressEvent
  | ModelWaitEvent
  | SupersededEvent
  | GapEvent;

/** Anything that happens on a thread: a fact, which is on record before it is seen, or a draft. */
export type BelayEvent = Fact | Draft;

export function isFact(event: BelayEvent): event is Fact {
  switch (event.type) {
    case "run-start":
    case "message":
    case "tool-start":
    case "tool-end":
    case "tool-late":
    case "input-queued":
    case "input-consumed":
    case "action":
    case "step":
    case "request-answered":
    case "command":
    case "drift":
    case "rule-removed":
    case "breakpoint":
    case "label":
    case "state":
    case "run-end":
      return true;
    default:
      return false;
  }
}
