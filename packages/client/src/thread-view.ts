// A thread as a screen shows it. Plain JSON data. Everything but `draft` derives from facts alone: two readers at the same
// `head` have equal views except `draft`, whatever cursor they joined at.

import type {
  DriftReport,
  Fact,
  Interrupt,
  Json,
  Message,
  PauseType,
  RememberedRule,
  SessionState,
  Usage,
} from "@belay/core";

type ToolEnd = Extract<Fact, { type: "tool-end" }>;
type RunEnd = Extract<Fact, { type: "run-end" }>;

/** How a call ended. */
export type Outcome = ToolEnd["outcome"];

/** An error as facts carry it. */
export type ErrorRecord = NonNullable<RunEnd["error"]>;

/** A breakpoint that a person set on a node of a graph. */
export type Breakpoint = Extract<Fact, { type: "breakpoint" }>["breakpoint"];

/** A thread as a screen shows it. */
export interface ThreadView {
  /** The seq of the last fact; the cursor to continue from. */
  readonly head: number;
  /** The seq of the first fact of this view: 1 if all facts are folded in. If it is greater, older facts are missing. */
  readonly first: number;
  readonly threadId: string | undefined;
  /** The name of the agent that began the thread. */
  readonly agent: string | undefined;
  /** The last state on record. `shownState(view)` also counts a lost owner. */
  readonly state: SessionState;
  /** Why the thread is paused; undefined if it is not. */
  readonly pauseType: PauseType | undefined;
  /** The present run, or the last one. */
  readonly runId: string | undefined;
  /** The segment of that run. */
  readonly segment: number;
  /**
   * The history of the root agent. A cut answer and its continuation are one message. Results carry the output of the tool,
   * not the words that a model reads. A late result that was added as a note is a message with one `result` part.
   */
  readonly messages: readonly Message[];
  /** All calls of all agents, in the order of their messages. */
  readonly calls: readonly CallView[];
  /** The interrupts of a pause, and every open request. Requests past their `expiresAt` stay until their end is on record. */
  readonly interrupts: readonly OpenInterrupt[];
  /** Inputs on record as waiting: steers, observed messages and inputs of the next run. */
  readonly waiting: readonly WaitingInput[];
  /** The usage of the present or last run, children included. */
  readonly usage: Usage;
  /** The usage of all runs. */
  readonly spent: Usage;
  /** Text and progress that are not on record yet. */
  readonly draft: DraftView;
  /** Every agent of the thread with its own history: the root first, then children in the order in which they began. */
  readonly agents: readonly AgentView[];
  /** Every request, open or decided, in the order in which they were raised. */
  readonly requests: readonly RequestView[];
  /** Every stop and pause by a person, with its receipt. */
  readonly stops: readonly StopView[];
  /** Every run with its segments. */
  readonly runs: readonly RunView[];
  /** The last change of the agent that a resume found. */
  readonly drift: { readonly seq: number; readonly at: number; readonly report: DriftReport } | undefined;
  /** The permission rules that people allowed for this thread. */
  readonly rules: readonly RememberedRule[];
  /** The breakpoints in the order in which people set or removed them. */
  readonly breakpoints: readonly Breakpoint[];
  /** The thread and the point that this one was forked from. */
  readonly forked: { readonly threadId: string; readonly seq: number } | undefined;
  /** The seq of the fact that last began or ended a segment. Drafts from before it are void. */
  readonly since: number;
}

/** One call of a tool, or of an agent as a tool. */
export interface CallView {
  readonly id: string;
  readonly tool: string;
  readonly address: string;
  /** The agent that made it, by path and by name. */
  readonly runPath: string;
  readonly agentName: string;
  /** The message that made it. */
  readonly messageId: string | undefined;
  /** The arguments that the model asked for. */
  readonly args: Json;
  /** The arguments that ran, if a person or a hook changed them. */
  readonly ranArgs?: Json;
  /** Set if a hook changed them. */
  readonly changedBy?: "hook";
  /**
   * `received`: on record, about to start · `asked`: waits for a person · `running` · `held`: runs on continue, and reads
   * "not executed" on new input · `ended`.
   */
  readonly state: "received" | "asked" | "running" | "held" | "ended";
  readonly outcome?: Outcome;
  /** The result; of an interrupted call its output so far; of an error its words. */
  readonly output?: Json;
  /** The permission rule that allowed it. */
  readonly rule?: string;
  /** The requests about it, or raised by its code, by id. */
  readonly requests: readonly string[];
  /** Of those, the open ones. */
  readonly open: readonly string[];
  /** The decision of the request before it: the approver, an edit, a rejection. */
  readonly decision?: Decision;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** A crash cut it at least once: its effect may have happened. */
  readonly cut?: true;
  /** It is held, and continues from its recorded steps. */
  readonly resumes?: true;
  /** A stop or a time-out left it behind, and it ended after all. */
  readonly late?: LateView;
  /** It was removed from the history, because none of its message's calls had started (`repair: "drop"`). */
  readonly dropped?: true;
  /** The keys of its recorded steps. */
  readonly steps: readonly string[];
  /** The position of the call, without its open requests. */
  readonly phase: "received" | "running" | "held" | "ended";
}

/** A result that arrived after its call was left behind. */
export interface LateView {
  readonly at: number;
  readonly outcome: Outcome;
  readonly output: Json;
  /** It took the place of the recorded result, or was added as a note: the model reads it once. */
  readonly as: "replace" | "note";
}

/** An approval that counts. */
export interface ApprovalView {
  readonly by: string;
  readonly at: number;
  readonly digest?: string;
}

/** Something that the thread waits for; a request also has the approvals given so far. */
export type OpenInterrupt = Interrupt & { readonly approvals: readonly ApprovalView[] };

/** A request with everything that happened to it. */
export interface RequestView extends OpenInterrupt {
  readonly runPath: string;
  /** Undefined while it is open. */
  readonly decision?: Decision;
  /** Answers that did not count: the person, the time and the reason. */
  readonly refused: readonly { readonly by: string; readonly at: number; readonly error: ErrorRecord }[];
}

/** How a request ended. */
export interface Decision {
  readonly how: "approved" | "rejected" | "responded" | "expired" | "withdrawn";
  readonly by: string;
  readonly at: number;
  readonly note?: string;
  /** The arguments of an approval with changes. */
  readonly args?: Json;
  readonly reason?: string;
  readonly value?: Json;
  readonly digest?: string;
  /** The rule that it left behind. */
  readonly rule?: RememberedRule;
}

/** An input on record as waiting. */
export interface WaitingInput {
  readonly id: string;
  readonly kind: "steer" | "input" | "observe";
  readonly at: number;
}

/** The receipt of a stop. Lists have call ids. */
export interface StopView {
  readonly id: string;
  readonly seq: number;
  /** `user`: a stop. `manual`: a pause, or a stop that kept open requests. */
  readonly kind: "user" | "manual";
  readonly runId: string;
  readonly segment: number;
  readonly by: string;
  readonly reason?: string;
  readonly message?: string;
  /** When the stop was asked for, and when its end was on record. The difference is its latency. */
  readonly askedAt: number;
  readonly recordedAt: number;
  /** The text that the stop kept. */
  readonly partialText: string;
  readonly stopped: readonly string[];
  readonly finished: readonly string[];
  readonly notStarted: readonly string[];
  readonly late: readonly string[];
}

/** One run, from its input to its end. */
export interface RunView {
  readonly runId: string;
  readonly startedAt: number;
  readonly segments: readonly SegmentView[];
  readonly usage: Usage;
  readonly status?: RunEnd["status"];
  readonly finish?: NonNullable<RunEnd["finish"]>;
  readonly error?: ErrorRecord;
  /** The output, if it is not the text of the last message. */
  readonly output?: Json;
}

/** The part of a run between two pauses. */
export interface SegmentView {
  readonly segment: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** How it ended. `paused` / `crash`: its owner was lost, and another process continued. */
  readonly ended?: SessionState;
  readonly pauseType?: PauseType;
  /** The text of the answers that were cut in it. */
  readonly kept: string;
}

/** One agent with its own history. */
export interface AgentView {
  /** The root's path is its name; a child's path has more parts. */
  readonly path: string;
  /** The agent that speaks now: a transfer changes it. */
  readonly agentName: string;
  readonly state: "running" | "completed" | "failed" | "terminated";
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly input?: Json;
  readonly output?: Json;
  readonly error?: ErrorRecord;
  readonly messages: readonly Message[];
  /** Messages of `onInterrupt` hooks, each with the id of the message that it follows. */
  readonly said: readonly { readonly message: Message; readonly after: string | undefined }[];
  /** The history without those. */
  readonly history: readonly Message[];
  /** The last message is an answer that was cut. */
  readonly cut: boolean;
  /** The calls of the last answer, by id, while one of them has no result. */
  readonly group: readonly string[];
  /** Inputs that came meanwhile. They follow the results. */
  readonly pending: readonly Message[];
  /** The seq of its last answer. Drafts from before it are void. */
  readonly answered: number;
  /** The call that it ran in has ended: at the next call with that address it begins with an empty history. */
  readonly over?: true;
}

/** The part of the view that is not on record yet. It is lost on reload and differs between readers. */
export interface DraftView {
  /** Answers that stream now: at most one for each agent. */
  readonly answers: readonly DraftAnswer[];
  /** Output of running calls. */
  readonly progress: readonly DraftProgress[];
  /** Turns under way. */
  readonly turns: readonly { readonly runPath: string; readonly turn: number; readonly at: number }[];
  /** A model call waits: for a summary, or for its next try. */
  readonly wait?: Omit<Extract<import("@belay/core").Draft, { type: "model-wait" }>, "type">;
  /** Text may be missing. */
  readonly gap: boolean;
  /** When the lease of the owner was found lapsed: the process is gone, and the thread reads paused / crash. */
  readonly ownerLost?: number;
}

/** An answer as far as it has streamed. */
export interface DraftAnswer {
  readonly messageId: string;
  readonly runPath: string;
  readonly agentName: string;
  readonly attempt: number;
  readonly text: string;
  readonly reasoning: string;
  /** The cut message that it continues. */
  readonly continues?: string;
  /** How many characters of `text` were lost on the way. */
  readonly missing: number;
  /** Text of earlier attempts, which is void. */
  readonly superseded: readonly string[];
  /** Arguments that the model is writing. */
  readonly inputs: readonly { readonly callId: string; readonly tool: string; readonly text: string }[];
  readonly at: number;
}

/** The last progress of a running call. */
export interface DraftProgress {
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  /** The last pieces, the oldest first. */
  readonly data: readonly Json[];
}

export const emptyDraft: DraftView = { answers: [], progress: [], turns: [], gap: false };

const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

/** The view of a thread of which nothing was read. */
export const emptyThread: ThreadView = {
  head: 0,
  first: 1,
  threadId: undefined,
  agent: undefined,
  state: "created",
  pauseType: undefined,
  runId: undefined,
  segment: 0,
  messages: [],
  calls: [],
  interrupts: [],
  waiting: [],
  usage: noUsage,
  spent: noUsage,
  draft: emptyDraft,
  agents: [],
  requests: [],
  stops: [],
  runs: [],
  drift: undefined,
  rules: [],
  breakpoints: [],
  forked: undefined,
  since: 0,
};
