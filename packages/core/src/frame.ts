// What a running agent stands on: who and where it is, the stop it must heed, and the only two ways out, `record` for
// facts and `publish` for drafts. An agent never saves; whoever made the frame does.

import type { Clock } from "./clock.ts";
import type {
  DeltaEvent,
  Draft,
  EventBase,
  Fact,
  MessageEvent,
  SupersededEvent,
  ToolEndEvent,
  ToolProgressEvent,
  ToolStartEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "./event.ts";
import type { StopSignal } from "./interrupt/stop-signal.ts";
import type { CallState, Scope } from "./journal/state.ts";
import type { Json } from "./json.ts";
import type { Message, Outcome } from "./message.ts";

/** One thing to write down. */
export interface Recording {
  /** Called when its turn to write has come, so it decides by the state of that moment. */
  facts(): readonly Fact[];
  /** They are in the store and in the fold. Never called where saving fails. */
  recorded(): void;
}

/** What the owner of a frame does for it. */
export interface Desk {
  record(recording: Recording): void;
  publish(draft: Draft): void;
  /** True while someone listens to drafts. */
  readonly watched: boolean;
  readonly head: number;
  /** The most that one result may take, in bytes of JSON. */
  readonly maxBytes: number;
  /** `wanted`, or another id where the thread has that one already. */
  callId(wanted: string): string;
  /** A call that was left behind; `late` is what it gives in the end, if there is anything to tell. */
  leaveBehind(frame: Frame, call: CallState, late: Promise<LateResult | undefined>): void;
  /** True when something waits to enter this frame's history: a steer, or, unless only those count, a late result. */
  hasMail(frame: Frame, only?: "steer"): boolean;
  /** Lets it in, in an append of its own. */
  takeMail(frame: Frame): Promise<void>;
}

export interface LateResult {
  readonly outcome: Outcome;
  readonly output: Json;
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

  constructor(place: FramePlace, scope: Scope, signal: StopSignal, clock: Clock, deps: unknown, desk: Desk) {
    this.place = place;
    this.scope = scope;
    this.signal = signal;
    this.clock = clock;
    this.deps = deps;
    this.desk = desk;
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

  toolEnd(call: CallState, outcome: Outcome, output: Json, held: boolean): ToolEndEvent {
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
    return held ? { ...fact, held } : fact;
  }

  turnStart(turn: number, attempt: number): void {
    if (this.desk.watched)
      this.desk.publish({ ...this.#base(attempt), type: "turn-start", turn } satisfies TurnStartEvent);
  }

  turnEnd(turn: number): void {
    if (this.desk.watched) this.desk.publish({ ...this.#base(1), type: "turn-end", turn } satisfies TurnEndEvent);
  }

  delta(type: DeltaEvent["type"], text: string, messageId: string, offset: number, attempt: number): void {
    if (!this.desk.watched) return;
    const { threadId, runId, segment, agentName, runPath } = this.place;
    const seq = this.desk.head;
    const at = this.clock.now();
    this.desk.publish({
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
    });
  }

  progress(call: CallState, data: Json): void {
    if (!this.desk.watched) return;
    const { id: callId, tool } = call.part;
    const { address } = call;
    const draft: ToolProgressEvent = { ...this.#base(1), type: "tool-progress", callId, tool, address, data };
    this.desk.publish(draft);
  }

  superseded(messageId: string, attempt: number): void {
    if (!this.desk.watched) return;
    this.desk.publish({ ...this.#base(attempt), type: "superseded", messageId } satisfies SupersededEvent);
  }

  #base(attempt: number): EventBase {
    const { threadId, runId, segment, agentName, runPath } = this.place;
    return { seq: this.desk.head, at: this.clock.now(), threadId, runId, segment, attempt, agentName, runPath };
  }
}
