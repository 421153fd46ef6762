// What a running agent stands on: who and where it is, the stop it must heed, and the only two ways out, `record` for
// facts and `publish` for drafts. An agent never saves; whoever made the frame does.
//
// Long, and still one piece: the facts and drafts that a frame makes stand beside the interface that takes them.

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

/** What the messages of a child cost is counted with them. */
const noBranches: readonly string[] = [];
const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

type Bare<T extends EventBase> = Omit<T, keyof EventBase>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One thing to write down. */
export interface Recording {
  /** Called when its turn to write has come, so it decides by the state of that moment. */
  facts(): readonly Fact[];
  /** They are in the store and in the fold. Never called where saving fails. */
  recorded(): void;
  /** Written alone: it, and what follows it, is decided by all that is on record. */
  readonly alone?: boolean;
}

/** An answer that streams. */
export interface Speech {
  /** Returns its text and reasoning so far, for a reader that joins in mid-answer. */
  soFar(): readonly Draft[];
}

/** The message of a delta. */
export interface DeltaOf {
  readonly messageId: string;
  /** The cut message that it continues. */
  readonly continues?: string | undefined;
}

/** What the owner of a frame does for it. */
export interface Desk {
  record(recording: Recording): void;
  publish(draft: Draft): void;
  /** Readers that join get this answer so far, until it is hushed. */
  speak(speech: Speech): void;
  hush(speech: Speech): void;
  /** True while someone listens to drafts. */
  readonly watched: boolean;
  readonly head: number;
  /** The most that one thing to be recorded may take, in bytes of JSON. */
  readonly maxBytes: number;
  /** `wanted`, or another id where the thread has that one already, or somebody beside `by`, who asks, was just given it. */
  callId(wanted: string, by: string): string;
  /** A call that was left behind; `late` is what it gives in the end, if there is anything to tell. */
  leaveBehind(frame: Frame, call: CallState, late: Promise<LateResult | undefined>): void;
  /** True when something waits to enter this frame's history: a steer, or, unless only those count, a late result. */
  hasMail(frame: Frame, only?: "steer"): boolean;
  /** Lets it in, in an append of its own. */
  takeMail(frame: Frame): Promise<void>;
  /** One agent's own history in this thread, where it has one. */
  scope(path: string): Scope | undefined;
  /** The agents directly below `path` that have begun in this run. */
  begunBelow(path: string, runId: string): readonly Scope[];
  /**
   * What people said to the whole while none of the agents inside it could hear it: it is for the next that begins, in
   * each of those that run at once. `branches` are the paths of those that it is inside.
   */
  saidMeanwhile(place: FramePlace, branches: readonly string[]): readonly Message[];
  /** Open requests of whatever lies at or below `path`. */
  openBelow(path: string): readonly string[];
  /** Nobody waits any more for what is asked at or below `path`: it is withdrawn, and calls that wait for it end; `forGood`, all that have begun there, calls and agents, but for those that end in `facts`. */
  closedBelow(frame: Frame, path: string, forGood: boolean, facts?: readonly Fact[]): readonly Fact[];
  /** A request of the thread. */
  request(id: string): RequestState | undefined;
  /** Where people want graphs to stop, or not to, in the order they said so. */
  readonly breakpoints: readonly SetBreakpoint[];
  /** True if the code with an interrupt at this address asked to be run again, and waits for resume(). */
  isToRerun(address: string): boolean;
  /** A node of a graph waits for somebody to go on: listed with the pause that this stretch ends in, if it does. */
  halt(interrupt: Interrupt): void;
  /** Calls back when the request is decided, and that is on record. */
  await(id: string, awaiting: Awaiting): void;
  /** Code that waits for a person and stays in memory, by the address of its call. */
  readonly hot: HotCode;
  /** Nobody is there to ask. */
  readonly unattended: boolean;
  /** The runner's rules. */
  readonly permissions: CheckedPermissions | undefined;
  /** The runner's hooks. */
  readonly hooks: HookTable | undefined;
  /** The `onText` hooks that threw in this run: they are not called again. */
  mutedHooks(runId: string): Set<Hook>;
  /** The values that the agents of the thread share. */
  readonly values: Patch;
  /** Stops the run as a person's stop does. */
  interrupt(stop: InsideStop): void;
  /** Where things go that fail nothing. */
  readonly log: Log;
  /** What people allowed: for this thread, and for good. */
  remembered(): Promise<Remembered>;
}

/** A stop by code of the run itself. */
export interface InsideStop {
  readonly by: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface Awaiting {
  /** What the code itself takes as an answer: it may ask for more than the recorded JSON Schema. */
  readonly schema?: StandardSchema | undefined;
  /** False where it can do nothing with it any more. */
  decided(decision: Decision): boolean;
}

export interface Remembered {
  readonly thread: readonly PermissionRule[];
  readonly always: readonly PermissionRule[];
}

/** Code that waits for a person: it can stand on another frame and go on, or be let go. */
export interface Hot {
  /** Never settles again; its signal fires, for it to clean up. */
  drop(): void;
}

export interface HotCode {
  /** Keeps it until somebody takes it, or there is no more room. `wake` is called through by it when it has something to do. */
  keep(address: string, hot: Hot): void;
  take(address: string): Hot | undefined;
  /** What is kept under `address` has something to record. */
  wake(address: string): void;
  /** Some was dropped, and the processes that it has started have yet to end; `force` makes them. */
  leaves(gone: Promise<unknown>, force: () => void): void;
}

/** How this stretch began, where that is not with a new run. */
export interface Beginning {
  /** False: only the calls that people answered run. */
  readonly mayCallModel: boolean;
  /** The head of the thread before it: what was settled later, was settled by this stretch. */
  readonly from: number;
}

export interface LateResult {
  readonly outcome: Outcome;
  readonly output: Json;
  /** What the call did besides. */
  readonly actions?: readonly Action[];
  /** The shared values that it set. */
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
  /** What people say to the run is said to this agent. */
  readonly hears: boolean;
  /** Paths of those that it is, or is inside, of agents that run at once. */
  branches: readonly string[] = noBranches;
  /** It begins now: nothing of what it did is on record. */
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

  /** A frame for an agent inside this one. */
  child(agentName: string, runPath: string, scope: Scope, hears: boolean): Frame {
    const { signal, clock, deps, desk, beginning } = this;
    return new Frame({ ...this.place, agentName, runPath }, scope, signal, clock, deps, desk, beginning, hears);
  }

  /** The frame of the one that has the word, where it was handed over. */
  get speaker(): Frame {
    const { scope, place, hears } = this;
    return scope.active === undefined ? this : this.child(scope.active, place.runPath, scope, hears);
  }

  /** The facts by which a child begins, and ends. */
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

  /** Settles when they are recorded. Never rejects: where saving fails, it never settles. */
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

  /** A start of what a person or a hook changed, or a rule allows. */
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

  /** The call that asked has ended: nobody waits for the answer. */
  withdrawn(id: string): RequestAnsweredEvent {
    return { type: "request-answered", id, by: "runtime", answer: { type: "withdraw" }, ...this.#fact() };
  }

  /** Nobody is there to ask. */
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
