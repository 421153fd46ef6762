// The ground under a running agent: its place, the stop signal, and the two ways out, `record` for facts and `publish`
// for drafts. An agent never saves. The owner of the frame does.
//
// This file is long and still one piece: the facts and drafts that a frame makes belong beside the interface that takes
// them.

import type { Clock } from "./clock.ts";
import type { ErrorRecord } from "./error.ts";
import type {
  Action,
  ActionEvent,
  DeltaEvent,
  Draft,
  EventBase,
  Fact,
  MessageEvent,
  ModelWaitEvent,
  Patch,
  RequestAnsweredEvent,
  RunEndEvent,
  RunStartEvent,
  StepEvent,
  SupersededEvent,
  ToolEndEvent,
  ToolInputDeltaEvent,
  ToolProgressEvent,
  ToolStartEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "./event.ts";
import { showText } from "./hooks/call-hooks.ts";
import type { Hook, HookTable } from "./hooks/hooks.ts";
import type { Decision, RequestState } from "./interrupt/decision.ts";
import type { Interrupt } from "./interrupt/interrupt.ts";
import type { StopSignal } from "./interrupt/stop-signal.ts";
import type { CallState, Scope, SetBreakpoint } from "./journal/state.ts";
import type { Json } from "./json.ts";
import type { Log } from "./log.ts";
import type { Message, Outcome, Usage } from "./message.ts";
import type { CheckedPermissions } from "./permission/permissions.ts";
import type { PermissionRule } from "./permission/rule.ts";
import type { StandardSchema } from "./schema/schema.ts";

const noBranches: readonly string[] = [];
/** The usage of a child is counted with its messages, so its `run-end` carries none. */
const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

type Bare<T extends EventBase> = Omit<T, keyof EventBase>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Facts to be appended, and the callback for when they are on record. */
export interface Recording {
  /** Makes the facts when their append is made, so that they follow from the state of that moment. */
  facts(): readonly Fact[];
  /** Called when the facts are in the store and in the fold. Never called if saving fails. */
  recorded(): void;
  /** Gives the recording an append of its own, so that the next decision sees this one on record. */
  readonly alone?: boolean;
}

/** An answer that streams. */
export interface Speech {
  /** Returns the text and reasoning so far, for a reader that joins in mid-answer. */
  soFar(): readonly Draft[];
}

/** The message that a delta belongs to. */
export interface DeltaOf {
  readonly messageId: string;
  /** The id of the cut message that it continues. */
  readonly continues?: string | undefined;
}

/** The interface by which an agent records facts, publishes drafts and reads the thread. */
export interface Desk {
  record(recording: Recording): void;
  publish(draft: Draft): void;
  /** Gives this answer so far to readers that join, until `hush`. */
  speak(speech: Speech): void;
  hush(speech: Speech): void;
  /** True while a reader follows drafts. */
  readonly watched: boolean;
  readonly head: number;
  /** The limit for each recorded value, in bytes of JSON. */
  readonly maxBytes: number;
  /**
   * Returns `wanted`, or a fresh id if the thread already has that one or has just given it to a requester other than
   * `by`.
   */
  callId(wanted: string, by: string): string;
  /**
   * Follows a call that was left behind. `late` resolves to its result, or to undefined if there is nothing to report.
   */
  leaveBehind(frame: Frame, call: CallState, late: Promise<LateResult | undefined>): void;
  /** Returns whether a row waits to enter this frame's history: a steer or a late result; with `only`, a steer. */
  hasMail(frame: Frame, only?: "steer"): boolean;
  /** Consumes those rows in an append of its own. */
  takeMail(frame: Frame): Promise<void>;
  /** Returns the scope at `path`, if the agent there has a history in this thread. */
  scope(path: string): Scope | undefined;
  /** Returns the scopes directly below `path` that began in this run. */
  begunBelow(path: string, runId: string): readonly Scope[];
  /**
   * Returns the messages that were sent to the whole while no agent inside it listened. The next agent that begins gets
   * them, in each of the branches that run at once. `branches` are the paths of the branches around it.
   */
  saidMeanwhile(place: FramePlace, branches: readonly string[]): readonly Message[];
  /** Returns the ids of open requests at or below `path`. */
  openBelow(path: string): readonly string[];
  /**
   * Returns the facts that withdraw the requests at or below `path` and end the calls that wait for them. With
   * `forGood` they end every call and agent that has begun there, except those that end in `facts`.
   */
  closedBelow(frame: Frame, path: string, forGood: boolean, facts?: readonly Fact[]): readonly Fact[];
  /** Returns a request of the thread by its id. */
  request(id: string): RequestState | undefined;
  /** The breakpoints that were set or removed at run time, in order. */
  readonly breakpoints: readonly SetBreakpoint[];
  /** Returns whether the code with an interrupt at this address asked to run again and waits for resume(). */
  isToRerun(address: string): boolean;
  /** Lists a node of a graph that waits for resume() with the pause that ends this segment, if a pause does. */
  halt(interrupt: Interrupt): void;
  /** Calls back when the decision on the request is on record. */
  await(id: string, awaiting: Awaiting): void;
  /** Code that waits for a person and stays in memory, by the address of its call. */
  readonly hot: HotCode;
  /** True if no person is available to ask. */
  readonly unattended: boolean;
  /** The runner's rules. */
  readonly permissions: CheckedPermissions | undefined;
  /** The runner's hooks. */
  readonly hooks: HookTable | undefined;
  /** Returns the `onText` hooks that threw in this run and are not called again. */
  mutedHooks(runId: string): Set<Hook>;
  /** The values that the agents of the thread share. */
  readonly values: Patch;
  /** Stops the run like a person's stop. */
  interrupt(stop: InsideStop): void;
  /** Receives problems that fail nothing. */
  readonly log: Log;
  /** Returns the rules that approvals left behind, for this thread and for good. */
  remembered(): Promise<Remembered>;
}

/** A stop requested by code inside the run. */
export interface InsideStop {
  readonly by: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface Awaiting {
  /** The code's own schema for an answer. It may be stricter than the recorded JSON Schema. */
  readonly schema?: StandardSchema | undefined;
  /** Returns false if the code can no longer use the decision. */
  decided(decision: Decision): boolean;
}

export interface Remembered {
  readonly thread: readonly PermissionRule[];
  readonly always: readonly PermissionRule[];
}

/** Code that waits for a person. It can move to another frame and continue, or be dropped. */
export interface Hot {
  /** Ends the code: its promise never settles and its signal fires, so that it can clean up. */
  drop(): void;
}

export interface HotCode {
  /** Keeps the code until it is taken or there is no more room. It calls `wake` when it has facts to record. */
  keep(address: string, hot: Hot): void;
  take(address: string): Hot | undefined;
  /** Reports that the code kept under `address` has facts to record. */
  wake(address: string): void;
  /** Waits for processes that dropped code started; `force` kills them. */
  leaves(gone: Promise<unknown>, force: () => void): void;
}

/** How this segment began, if it does not begin a new run. */
export interface Beginning {
  /** If false, only the calls that people answered run. */
  readonly mayCallModel: boolean;
  /** The head of the thread before this segment. Anything settled after it was settled by this segment. */
  readonly from: number;
}

export interface LateResult {
  readonly outcome: Outcome;
  readonly output: Json;
  /** The actions of the call besides its result. */
  readonly actions?: readonly Action[];
  /** The shared values that the call set. */
  readonly values?: Patch;
}

export interface FramePlace {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly agentName: string;
  readonly runPath: string;
}

export class Frame {
  readonly place: FramePlace;
  readonly scope: Scope;
  readonly signal: StopSignal;
  readonly clock: Clock;
  readonly deps: unknown;
  readonly desk: Desk;
  readonly beginning: Beginning;
  /** True if input for the run is input for this agent. */
  readonly hears: boolean;
  /** Paths of the parallel branches that it is, or that it lies in. */
  branches: readonly string[] = noBranches;
  /** True if it begins now: nothing of it is on record. */
  isNew = false;
  /** The hooks that see each piece of text; undefined if there are none. */
  onText: readonly Hook[] | undefined;

  constructor(
    place: FramePlace,
    scope: Scope,
    signal: StopSignal,
    clock: Clock,
    deps: unknown,
    desk: Desk,
    beginning: Beginning,
    hears = true,
  ) {
    this.place = place;
    this.scope = scope;
    this.signal = signal;
    this.clock = clock;
    this.deps = deps;
    this.desk = desk;
    this.beginning = beginning;
    this.hears = hears;
  }

  /** Returns a frame for an agent inside this one. */
  child(agentName: string, runPath: string, scope: Scope, hears: boolean): Frame {
    const { signal, clock, deps, desk, beginning } = this;
    return new Frame({ ...this.place, agentName, runPath }, scope, signal, clock, deps, desk, beginning, hears);
  }

  /** Returns the frame of the agent that the conversation was transferred to, or this frame. */
  get speaker(): Frame {
    const { scope, place, hears } = this;
    return scope.active === undefined ? this : this.child(scope.active, place.runPath, scope, hears);
  }

  /** Makes the fact by which a child begins. */
  childStart(agentName: string, runPath: string, input?: Json, fresh?: true): RunStartEvent {
    const { threadId, runId, segment } = this.place;
    const attempt = 1;
    const fact: Mutable<RunStartEvent> = {
      type: "run-start",
      seq: 0,
      at: 0,
      threadId,
      runId,
      segment,
      attempt,
      agentName,
      runPath,
    };
    if (input !== undefined) fact.input = input;
    if (fresh) fact.fresh = fresh;
    return fact;
  }

  childEnd(
    child: Pick<Frame, "place">,
    status: RunEndEvent["status"],
    more: Pick<RunEndEvent, "output" | "error" | "patch" | "values" | "outputKey">,
  ): RunEndEvent {
    const { threadId, runId, segment, agentName, runPath } = child.place;
    const { output, error, patch, values, outputKey } = more;
    const fact: Mutable<RunEndEvent> = {
      type: "run-end",
      seq: 0,
      at: 0,
      threadId,
      runId,
      segment,
      attempt: 1,
      agentName,
      runPath,
      status,
      usage: noUsage,
    };
    if (output !== undefined) fact.output = output;
    if (error !== undefined) fact.error = error;
    if (patch !== undefined) fact.patch = patch;
    if (values !== undefined) fact.values = values;
    if (outputKey !== undefined) fact.outputKey = outputKey;
    return fact;
  }

  acted(action: Action): ActionEvent {
    return { type: "action", action, ...this.#fact() };
  }

  /** Appends the facts. Resolves when they are on record. Never rejects: if saving fails, it never settles. */
  record(facts: () => readonly Fact[]): Promise<void> {
    return new Promise((recorded) => this.desk.record({ facts, recorded }));
  }

  message(message: Message, turn: number, attempt: number): MessageEvent {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    return { type: "message", seq: 0, at: 0, threadId, runId, segment, attempt, agentName, runPath, turn, message };
  }

  toolStart(call: CallState): ToolStartEvent {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    const { id: callId, tool, args } = call.part;
    const { address } = call;
    return {
      type: "tool-start",
      seq: 0,
      at: 0,
      threadId,
      runId,
      segment,
      attempt: 1,
      agentName,
      runPath,
      callId,
      tool,
      address,
      args,
    };
  }

  /** Makes the start of a call that a person or a hook changed, or that a rule allows. */
  changedStart(call: CallState, more: Pick<ToolStartEvent, "ranArgs" | "changedBy" | "rule">): ToolStartEvent {
    const start: Mutable<ToolStartEvent> = this.toolStart(call);
    const { ranArgs, changedBy, rule } = more;
    if (ranArgs !== undefined) start.ranArgs = ranArgs;
    if (changedBy !== undefined) start.changedBy = changedBy;
    if (rule !== undefined) start.rule = rule;
    return start;
  }

  raised(interrupted: Interrupt): ActionEvent {
    return { type: "action", action: { interrupted }, ...this.#fact() };
  }

  step(
    callId: string | undefined,
    address: string,
    key: string,
    outcome: { readonly value: Json } | { readonly error: ErrorRecord },
  ): StepEvent {
    return { type: "step", address, key, ...this.#fact(), ...outcome, ...(callId !== undefined && { callId }) };
  }

  /** Makes the withdrawal of a request whose call has ended. */
  withdrawn(id: string): RequestAnsweredEvent {
    return { type: "request-answered", id, by: "runtime", answer: { type: "withdraw" }, ...this.#fact() };
  }

  /** Makes the rejection of a request in an unattended run. */
  declined(id: string): RequestAnsweredEvent {
    const answer = { type: "reject" as const, reason: "nobody is there to ask (unattended)", by: "runtime" };
    return { type: "request-answered", id, by: "runtime", answer, ...this.#fact() };
  }

  toolEnd(call: CallState, outcome: Outcome, output: Json, held: boolean, values?: Patch): ToolEndEvent {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    const { id: callId, tool } = call.part;
    const { address } = call;
    const fact = {
      type: "tool-end" as const,
      seq: 0,
      at: 0,
      threadId,
      runId,
      segment,
      attempt: 1,
      agentName,
      runPath,
      callId,
      tool,
      address,
      outcome,
      output,
    };
    if (values !== undefined) return { values, ...fact };
    return held ? { held, ...fact } : fact;
  }

  turnStart(turn: number, attempt: number): void {
    if (this.desk.watched)
      this.desk.publish({ type: "turn-start", turn, ...this.#base(attempt) } satisfies TurnStartEvent);
  }

  turnEnd(turn: number): void {
    if (this.desk.watched) this.desk.publish({ type: "turn-end", turn, ...this.#base(1) } satisfies TurnEndEvent);
  }

  delta(type: DeltaEvent["type"], text: string, of: DeltaOf, offset: number, attempt: number): void {
    if (type === "text-delta" && this.onText !== undefined) {
      const { messageId } = of;
      showText(this, this.onText, this.desk.mutedHooks(this.place.runId), text, { messageId, offset });
    }
    if (this.desk.watched) this.desk.publish(this.deltaOf(type, text, of, offset, attempt));
  }

  deltaOf(type: DeltaEvent["type"], text: string, of: DeltaOf, offset: number, attempt: number): DeltaEvent {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    const { messageId, continues } = of;
    const seq = this.desk.head;
    const at = this.clock.now();
    const delta = {
      type,
      seq,
      at,
      threadId,
      runId,
      segment,
      attempt,
      agentName,
      runPath,
      text,
      messageId,
      offset,
    };
    return continues === undefined ? delta : { ...delta, continues };
  }

  progress(call: CallState, data: Json): void {
    if (!this.desk.watched) return;
    const { id: callId, tool } = call.part;
    const { address } = call;
    const draft: ToolProgressEvent = { type: "tool-progress", callId, tool, address, data, ...this.#base(1) };
    this.desk.publish(draft);
  }

  draft(draft: Bare<ToolInputDeltaEvent> | Bare<ModelWaitEvent>, attempt: number): void {
    if (this.desk.watched) this.desk.publish({ ...draft, ...this.#base(attempt) });
  }

  superseded(messageId: string, attempt: number): void {
    if (!this.desk.watched) return;
    this.desk.publish({ type: "superseded", messageId, ...this.#base(attempt) } satisfies SupersededEvent);
  }

  #fact(): EventBase {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    return { seq: 0, at: 0, threadId, runId, segment, attempt: 1, agentName, runPath };
  }

  #base(attempt: number): EventBase {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    return { seq: this.desk.head, at: this.clock.now(), threadId, runId, segment, attempt, agentName, runPath };
  }
}
