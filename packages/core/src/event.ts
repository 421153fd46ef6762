// The events of a run. Facts are the entries of the journal: each is durable before a reader sees it, and takes the
// next `seq`. Drafts carry the seq of the last fact and are never stored.

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
  /** The number of the model call's try that this belongs to, from 1. */
  readonly attempt: number;
  readonly agentName: string;
  readonly runPath: string;
}

export interface RunStartEvent extends EventBase {
  readonly type: "run-start";
  /** The fingerprint of the agent, if it is not on record yet. */
  readonly fingerprint?: Fingerprint;
  /** The input of a child, if it is not a message. */
  readonly input?: Json;
  /** Set if the child begins without the history under its path. */
  readonly fresh?: true;
}

export interface MessageEvent extends EventBase {
  readonly type: "message";
  readonly message: Message;
  /** The turn that the message belongs to; 0 for inputs. */
  readonly turn: number;
}

export interface ToolStartEvent extends EventBase {
  readonly type: "tool-start";
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  /** The model's arguments, read from the message that made the call, so that they are stored once. */
  readonly args: Json;
  /** The arguments that run, if a person or a hook changed them. */
  readonly ranArgs?: Json;
  /** Set if a hook and not a person changed them. */
  readonly changedBy?: "hook";
  /** The id of the permission rule that allows the call, if one does. */
  readonly rule?: string;
}

/** A step inside a call or a custom agent. Its result is never computed again. */
export interface StepEvent extends EventBase {
  readonly type: "step";
  readonly callId?: string;
  readonly address: string;
  readonly key: string;
  readonly value?: Json;
  /** The error that the step threw instead. */
  readonly error?: ErrorRecord;
}

export interface ToolEndEvent extends EventBase {
  readonly type: "tool-end";
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  readonly outcome: Outcome;
  /** The result. For an interrupted call the part it had yielded, for an error its message. */
  readonly output: Json;
  /** The shared values that the call set. */
  readonly values?: Patch;
  /**
   * Set if the call does not run now and runs on continue: a stop came before it started; or, with outcome unknown, a
   * crash cut it; or, with outcome interrupted, it resumes from its recorded steps.
   */
  readonly held?: true;
}

/** A call that a stop or a timeout left behind has ended. */
export interface ToolLateEvent extends EventBase {
  readonly type: "tool-late";
  /** The key of the row that brought it. */
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  readonly outcome: Outcome;
  readonly output: Json;
  /** `"replace"` if no answer was recorded after the interrupted result; otherwise it is a note of its own. */
  readonly as: "replace" | "note";
  /** The shared values that the call set. */
  readonly values?: Patch;
}

/** An input waits: a steer or an observation for the next model call, or an input for the next run. */
export interface InputQueuedEvent extends EventBase {
  readonly type: "input-queued";
  readonly id: string;
  readonly kind: "steer" | "input" | "observe";
}

/** A waiting input became part of the history, in the same append. */
export interface InputConsumedEvent extends EventBase {
  readonly type: "input-consumed";
  readonly id: string;
  readonly kind: "steer" | "input" | "observe";
}

export interface ActionEvent extends EventBase {
  readonly type: "action";
  readonly action: Action;
}

/**
 * An action of an agent, or of code inside it, besides its text. All but `interrupted` take effect when they are
 * recorded.
 */
export interface Action {
  /** With `data` it is the view of a whole pause, built by the root agent. */
  readonly interrupted?: Interrupt | InterruptView;
  /** Ends the whole run with this output. */
  readonly exit?: { readonly output: Json };
  /** Transfers the conversation to another agent, in the same history. */
  readonly transferToAgent?: { readonly name: string };
  /** Ends the nearest loop with this output. */
  readonly breakLoop?: { readonly output: Json };
  readonly customized?: Json;
}

/** A request was answered, expired or withdrawn. */
export interface RequestAnsweredEvent extends EventBase {
  readonly type: "request-answered";
  /** The id of the request. */
  readonly id: string;
  readonly by: string;
  readonly answer: Answer | { readonly type: "expire" } | { readonly type: "withdraw" };
  /** The sha256 digest of the call that an approval allows. */
  readonly digest?: string;
  /** Set if the answer counts and more approvals are needed. */
  readonly open?: true;
  /** Why the answer did not count. */
  readonly refused?: ErrorRecord;
  /** The rule that the answer leaves behind, and its reach. */
  readonly rule?: RememberedRule;
  readonly remember?: "thread" | "always";
  /** The key of the command that gave it, if no `command` fact holds that. */
  readonly key?: string;
  /** The caller's id. The same answer again under this id counts once. */
  readonly ref?: string;
}

/** The run continues with an agent that has changed. */
export interface DriftEvent extends EventBase {
  readonly type: "drift";
  readonly report: DriftReport;
  readonly fingerprint: Fingerprint;
}

/** A rule that a person left for this thread was removed. */
export interface RuleRemovedEvent extends EventBase {
  readonly type: "rule-removed";
  /** The id of the rule. */
  readonly id: string;
  readonly by: string;
}

/** A breakpoint was set or removed at run time. It overrides the compiled graph. */
export interface BreakpointEvent extends EventBase {
  readonly type: "breakpoint";
  readonly breakpoint: Breakpoint;
}

/** The title or the labels of the thread changed. `null` removes one. */
export interface LabelEvent extends EventBase {
  readonly type: "label";
  readonly title?: string | null;
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly by: string;
}

export interface Breakpoint {
  readonly node: string;
  /** The name of the graph; undefined for any. */
  readonly graph?: string;
  readonly at: "before" | "after";
  /** Whether the graph stops there. */
  readonly stop: boolean;
  /** Stops only if the input, or the output, of the node contains this value. */
  readonly when?: Json;
}

/**
 * A command was taken: one with a caller's id, or one from another process. Its outcome is folded from the facts up to
 * this one, so the same command again has the same outcome.
 */
export interface CommandEvent extends EventBase {
  readonly type: "command";
  /** Unique in its thread; made of the verb and the caller's id. */
  readonly key: string;
  readonly by: string;
  /** Why it had no effect. */
  readonly refused?: ErrorRecord;
}

/** A stop, by its id, and the segment that it was meant for. */
export interface MissedStop {
  readonly id: string;
  readonly runId: string;
  readonly segment: number;
}

export interface StateEvent extends EventBase {
  readonly type: "state";
  readonly state: SessionState;
  readonly pauseType?: PauseType;
  /** The interrupts that the pause waits for. */
  readonly interrupts?: readonly Interrupt[];
  /** sha256 of the token of this pause's handle. */
  readonly tokenHash?: string;
  /** When the token expires, if it does. */
  readonly tokenUntil?: number;
  /** How the run resumes: open calls still run (continue), or are closed (rethink). */
  readonly mode?: "continue" | "rethink";
  /** The paths of the agents that a rethink is for; undefined for all. */
  readonly to?: readonly string[];
  /** A person's changes to the state of graphs, by path. */
  readonly edits?: Readonly<Record<string, Patch>>;
  /** How a rethink closes calls that never started. */
  readonly repair?: "synthetic" | "drop";
  /** The ids of the stops that this state change settles. */
  readonly stops?: readonly string[];
  /** Stops meant for an earlier segment, which arrived too late and had no effect. */
  readonly missed?: readonly MissedStop[];
  /** The caller's id for this segment. The same request again under it starts nothing new. */
  readonly id?: string;
  /** Set on a fork: all earlier facts are those of another thread, up to `seq`. */
  readonly forked?: { readonly threadId: string; readonly seq: number };
}

export interface RunEndEvent extends EventBase {
  readonly type: "run-end";
  readonly status: "completed" | "failed" | "terminated";
  readonly finish?: Finish;
  readonly usage: Usage;
  /** The output of the run, if it is not the text of its last message. */
  readonly output?: Json;
  readonly error?: ErrorRecord;
  /** The changes of a node to the state of its graph. */
  readonly patch?: Patch;
  /** The shared values that the agent set. */
  readonly values?: Patch;
  /** The name of the shared value that the output becomes. */
  readonly outputKey?: string;
}

/** The new values of the top-level keys that changed. */
export type Patch = Readonly<Record<string, Json>>;

/** An event on record. Facts are numbered by `seq`, without gaps. */
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
  /**
   * The offset of `text` in the text (or reasoning) of the message so far. A reader that joins in mid-answer gets all
   * of it at 0.
   */
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

/** The text that an earlier attempt streamed of this message is void. */
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
  /** Whether the call is a turn of the conversation, or a summary that must exist before one. */
  readonly reason: "turn" | "summary";
  /** Set between two tries. `attempt` is the number of the next one. */
  readonly retry?: ModelRetry;
}

export interface ModelRetry {
  /** When the next try begins, in milliseconds since 1970. */
  readonly dueAt: number;
  /** The number of the next try of this call, from 2, and the most that are made. */
  readonly try: number;
  readonly tries: number;
  /** The HTTP status of the failed try, if it had one. */
  readonly status?: number;
  /** The message of the failed try. */
  readonly problem: string;
}

/** This reader fell behind; deltas are missing, facts follow. */
export interface GapEvent extends EventBase {
  readonly type: "gap";
}

/** The process that ran the thread is gone: the run has crashed, and waits for a resume or a worker. */
export interface OwnerLostEvent extends EventBase {
  readonly type: "owner-lost";
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
  | GapEvent
  | OwnerLostEvent;

/** An event of a thread: a fact, which is on record before a reader sees it, or a draft. */
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
