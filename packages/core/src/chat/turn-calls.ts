// The calls of one turn. Invariants:
// 1. A start is recorded before the call starts, in the append of what made it possible: the message, or the end of
//    the call it waited for.
// 2. Nothing starts after a stop: whether one may start is decided when its append is written, and again when it starts.
// 3. It ends when every call that started has ended or was left behind (X3).
// 4. Calls recorded as started are started before the next append is made (drive 5): it counts them.

import { noCalls, type StoppedCalls } from "../agent.ts";
import type { Fact } from "../event.ts";
import type { Frame, Recording } from "../frame.ts";
import type { Json } from "../json.ts";
import type { Outcome } from "../message.ts";
import { point } from "../point.ts";
import { type CallEnding, executeCall, type PreparedCall, type ReadyCall } from "../tool/call.ts";

const none: readonly never[] = [];

export class TurnCalls implements Recording {
  readonly #frame: Frame;
  readonly #graceMs: number;
  /** What is recorded with the first starts. */
  readonly #first: readonly Fact[];
  readonly #calls: readonly PreparedCall[];
  /** How many of them are no longer waiting. */
  #begun = 0;
  /** Recorded as started, not started yet. */
  #due: ReadyCall[] | undefined;
  #running = 0;
  #serialRunning = false;
  #stopped: string[] | undefined;
  #finished: string[] | undefined;
  /** Recorded as started, and met by a stop before they did. */
  #heldBack: PreparedCall[] | undefined;
  readonly #done: (calls: TurnCalls) => void;

  constructor(
    frame: Frame,
    calls: readonly PreparedCall[],
    graceMs: number,
    first: readonly Fact[],
    done: (calls: TurnCalls) => void,
  ) {
    this.#frame = frame;
    this.#calls = calls;
    this.#graceMs = graceMs;
    this.#first = first;
    this.#done = done;
  }

  /** Records `first` with the starts of all calls that can start, and runs the calls to their end. */
  start(): void {
    this.#frame.desk.record(this);
  }

  facts(): readonly Fact[] {
    return this.#first.concat(this.#starts());
  }

  recorded(): void {
    this.#launch();
  }

  /** True when every call has its result. */
  get complete(): boolean {
    return this.#begun === this.#calls.length && this.#heldBack === undefined;
  }

  /** What a stop must still record: calls whose start is on record go back to held. */
  holds(): readonly Fact[] {
    if (this.#heldBack === undefined) return none;
    return this.#heldBack.map(({ call }) =>
      this.#frame.toolEnd(call, call.cut ? "unknown" : "not-executed", null, true),
    );
  }

  summary(): StoppedCalls {
    const waiting = this.#calls.slice(this.#begun);
    const notStarted = [...(this.#heldBack ?? none), ...waiting].map(({ call }) => call.part.id);
    const { stopped, finished } = { stopped: this.#stopped ?? none, finished: this.#finished ?? none };
    if (notStarted.length + stopped.length + finished.length === 0) return noCalls;
    return { stopped, finished, notStarted };
  }

  #starts(): readonly Fact[] {
    if (this.#frame.signal.halts("after-model")) return none;
    let facts: Fact[] | undefined;
    for (; this.#begun < this.#calls.length; this.#begun++) {
      const next = this.#calls[this.#begun]!;
      if (!this.#canStart(next)) break;
      facts = added(facts, this.#frame.toolStart(next.call));
      if ("refusal" in next) {
        facts.push(this.#frame.toolEnd(next.call, "error", next.refusal, false));
        this.#finished = added(this.#finished, next.call.part.id);
        continue;
      }
      this.#due = added(this.#due, next);
      if (next.tool.serial) this.#serialRunning = true;
    }
    return facts ?? none;
  }

  #canStart(next: PreparedCall): boolean {
    if (this.#serialRunning) return false;
    if ("refusal" in next || !next.tool.serial) return true;
    return this.#running === 0 && this.#due === undefined;
  }

  #launch(): void {
    const due = this.#due;
    this.#due = undefined;
    if (due !== undefined) for (const ready of due) this.#begin(ready);
    if (this.#running === 0) this.#done(this);
  }

  #begin(ready: ReadyCall): void {
    point("tool:start", ready.call);
    if (this.#frame.signal.stop !== undefined) {
      this.#heldBack = added(this.#heldBack, ready);
      if (ready.tool.serial) this.#serialRunning = false;
      return;
    }
    this.#running += 1;
    executeCall(this.#frame, ready, this.#graceMs, new RunningCall(this, this.#frame, ready));
  }

  /** The facts of a call's end, with the starts that it makes possible. */
  endOf(ready: ReadyCall, outcome: Outcome, output: Json): readonly Fact[] {
    this.#running -= 1;
    const { call, tool } = ready;
    if (tool.serial) this.#serialRunning = false;
    if (outcome === "interrupted") this.#stopped = added(this.#stopped, call.part.id);
    else this.#finished = added(this.#finished, call.part.id);
    const end = this.#frame.toolEnd(call, outcome, output, false);
    const starts = this.#starts();
    return starts.length === 0 ? [end] : [end, ...starts];
  }
}

/** A call from its start until its end is on record. */
class RunningCall implements CallEnding, Recording {
  readonly #turn: TurnCalls;
  readonly #frame: Frame;
  readonly #ready: ReadyCall;
  #outcome: Outcome = "unknown";
  #output: Json = null;

  constructor(turn: TurnCalls, frame: Frame, ready: ReadyCall) {
    this.#turn = turn;
    this.#frame = frame;
    this.#ready = ready;
  }

  ended(outcome: Outcome, output: Json): void {
    this.#outcome = outcome;
    this.#output = output;
    this.#frame.desk.record(this);
  }

  facts(): readonly Fact[] {
    return this.#turn.endOf(this.#ready, this.#outcome, this.#output);
  }

  recorded(): void {
    this.#turn.recorded();
  }
}

/** Most lists here have one item, and an array that grows is made for many. */
function added<T>(list: T[] | undefined, item: T): T[] {
  if (list === undefined) return [item];
  list.push(item);
  return list;
}
