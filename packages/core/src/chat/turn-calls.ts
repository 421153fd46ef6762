// The calls of one turn. Invariants:
// 1. A start is recorded before the call starts, in the append of its cause: the message, or the end of
//    the call it waited for.
// 2. Nothing starts after a stop: whether a call may start is decided when its append is written, and again when it starts.
// 3. It ends when every call that started has ended, was left behind (X3), or waits for a person while nothing else
//    moves; the last is judged a macrotask after the last event.
// 4. Calls recorded as started are started before the next append is made (writer 5): it counts them.
// 5. A call that waits for a person holds up no other, unless that one is serial and comes after it.
//
// Long, and still one piece: the calls that may start, those that wait and the end of the turn are one count.

import { definitionOf, type MetCall } from "../agent.ts";
import { type BelayError, recordedWords } from "../error.ts";
import type { Action, Fact, ToolEndEvent } from "../event.ts";
import type { Frame, Recording } from "../frame.ts";
import { rerunAddress, rerunInterrupt } from "../interrupt/rerun.ts";
import type { StopListener } from "../interrupt/stop-signal.ts";
import { heldOutcome } from "../journal/history.ts";
import type { CallState } from "../journal/state.ts";
import type { Json } from "../json.ts";
import type { Outcome } from "../message.ts";
import { point } from "../point.ts";
import { type CallEnding, fittingResult, LiveCall } from "../tool/call.ts";
import type { ReadyCall } from "../tool/prepare-call.ts";
import { runChild } from "../workflow/child.ts";
import type { AnyAgent } from "../workflow/composite.ts";
import { metBy } from "./met-by.ts";
import type { AskingCall, NextCall } from "./open-call.ts";
import type { AfterTool } from "./tool-hooks.ts";

const none: readonly never[] = [];

/** The next step of a call after a person has decided. */
export type Resolve = (call: CallState) => NextCall | Promise<NextCall>;

export class TurnCalls implements Recording, StopListener {
  readonly #frame: Frame;
  readonly #graceMs: number;
  /** Recorded with the first starts. */
  #first: readonly Fact[];
  readonly #calls: readonly NextCall[];
  readonly #resolve: Resolve;
  /** How many of them are no longer waiting for their turn. */
  #begun = 0;
  #written = false;
  /** The questions of the turn are asked: once, also while its first call cannot start yet. */
  #asked = false;
  /** Decided by a person since: they go first. */
  #again: NextCall[] | undefined;
  /** Recorded as started, not started yet. */
  #due: ReadyCall[] | undefined;
  #running = 0;
  /** Wait for a person. */
  #asking: Set<CallState> | undefined;
  #parked: Set<LiveCall> | undefined;
  /** Have no result yet. */
  #open: number;
  /** Decisions that are being looked at, and appends of ours that are not written. */
  #pending = 0;
  #serialRunning = false;
  #listening = false;
  #judging = false;
  #over = false;
  /** Asked to be run again: held until resume(). */
  #reruns: CallState[] | undefined;
  #stopped: CallState[] | undefined;
  #finished: CallState[] | undefined;
  /** Recorded as started, and met by a stop before they did. */
  #heldBack: ReadyCall[] | undefined;
  /** Calls that were to continue in their place, and met a stop before they did. */
  #unmoved: CallState[] | undefined;
  /** Decided by a person, and met by a stop before that was looked at. */
  #unresolved: CallState[] | undefined;
  /** The reason why one of them cannot continue. */
  broken: BelayError | undefined;
  #brokenCalls: CallState[] | undefined;
  /** The pending facts of agents inside calls when a stop met them, and its effect on each, by the call. */
  #childFacts: readonly Fact[] = none;
  #inside: Map<string, readonly MetCall[]> | undefined;
  /** Their text. */
  partialText = "";
  readonly #done: (calls: TurnCalls) => void;
  /** Applies hooks to the output of a call. */
  readonly after: AfterTool | undefined;

  constructor(
    frame: Frame,
    calls: readonly NextCall[],
    graceMs: number,
    first: readonly Fact[],
    resolve: Resolve,
    done: (calls: TurnCalls) => void,
    after: AfterTool | undefined,
  ) {
    this.#frame = frame;
    this.#calls = calls.some(isUnderWay) ? underWayFirst(calls) : calls;
    this.#graceMs = graceMs;
    this.#first = first;
    this.#resolve = resolve;
    this.#done = done;
    this.after = after;
    this.#open = calls.length;
  }

  /** Records `first` with the starts of all calls that can start, and runs the calls to their end. */
  start(): void {
    // Nothing can move except by answers, and the requests are not raised yet: they are raised with the pause.
    if (this.#open > 0 && this.#calls.every(asks) && !this.#frame.signal.halts("after-model")) return this.#finish();
    this.#write();
  }

  /** Returns the facts to record with the end, if nothing was recorded before. */
  unwritten(): readonly Fact[] {
    return this.#written ? none : this.facts();
  }

  #write(): void {
    this.#written = true;
    this.#pending += 1;
    this.#frame.desk.record(this);
  }

  facts(): readonly Fact[] {
    const first = this.#first;
    this.#first = none;
    return first.concat(this.#starts());
  }

  recorded(): void {
    this.#pending -= 1;
    this.launch();
  }

  /** True when every call has its result. */
  get complete(): boolean {
    return this.#open === 0;
  }

  /** Returns the facts that a stop must still record: calls whose start is on record go back to held. */
  holds(): readonly Fact[] {
    if (this.#heldBack === undefined) return [...this.#childFacts, ...this.breaks()];
    const keeps = this.#frame.signal.stop?.keepsRequests;
    const held = this.#heldBack.flatMap(({ call, goesOn, resumes }) => {
      const outcome = heldOutcome({ cut: call.cut, resumes: goesOn === true || resumes === true });
      // One that continues, and waits for another answer, too, has its end: no answer can arrive, unless the request stays open.
      const waits = goesOn && call.steps?.some(({ kind, settled }) => kind === "ask" && settled === undefined);
      return waits && keeps ? [] : [this.#frame.toolEnd(call, outcome, null, !waits)];
    });
    return [...this.#childFacts, ...held, ...this.breaks()];
  }

  /** Calls whose code diverged from the record: they did nothing, and continue once their code is right. */
  breaks(): readonly Fact[] {
    return this.#brokenCalls?.map((call) => this.#frame.toolEnd(call, "interrupted", null, true)) ?? none;
  }

  /** Returns the calls that a stop met, those of agents inside them, too. */
  summary(): readonly MetCall[] {
    const left = this.#calls.slice(this.#begun).flatMap(({ call }) => (this.#asking?.has(call) ? [] : [call]));
    const met = metBy(this.#frame, this.#unmoved === undefined ? left : [...this.#unmoved, ...left]);
    const list = (how: MetCall["how"], calls: readonly CallState[] = none) => {
      for (const { part, address } of calls) met.push({ id: part.id, address, how });
    };
    list("finished", this.#finished);
    list("stopped", this.#stopped);
    list("stopped", this.#reruns);
    for (const { call } of this.#parked ?? none) list("stopped", [call]);
    for (const call of this.#asking ?? none) list(call.status === "started" ? "stopped" : "notStarted", [call]);
    list("notStarted", this.#unresolved);
    for (const { call } of [...(this.#heldBack ?? none), ...(this.#again ?? none)]) list("notStarted", [call]);
    for (const inside of this.#inside?.values() ?? none) met.push(...inside);
    return met;
  }

  stopped(): void {
    this.#settleDown();
  }

  #starts(): readonly Fact[] {
    if (this.#frame.signal.halts("after-model")) return none;
    let facts: Fact[] | undefined;
    if (!this.#asked) facts = this.#raises();
    const again = this.#again;
    if (again !== undefined) {
      this.#again = undefined;
      for (const next of again) facts = "waits" in next ? this.#ask(next, facts) : this.#take(next, facts);
    }
    for (; this.#begun < this.#calls.length; this.#begun++) {
      const next = this.#calls[this.#begun]!;
      if ("tool" in next && !next.goesOn && !this.#canStart(next)) break;
      facts = this.#take(next, facts);
    }
    return facts ?? none;
  }

  /** All questions of the turn are asked at once: a person need not answer one to see the next. */
  #raises(): Fact[] | undefined {
    this.#asked = true;
    let facts: Fact[] | undefined;
    for (const next of this.#calls) if ("waits" in next) facts = this.#ask(next, facts);
    return facts;
  }

  #ask(next: AskingCall, facts: Fact[] | undefined): Fact[] | undefined {
    this.#wait(next);
    return next.raise === undefined ? facts : added(facts, this.#frame.raised(next.raise));
  }

  /** Returns the facts of the present step of this call. */
  #take(next: NextCall, facts: Fact[] | undefined): Fact[] | undefined {
    const { call } = next;
    if ("waits" in next || "left" in next) return facts;
    if ("live" in next) {
      this.#adopt(next.live);
      return facts;
    }
    if ("outcome" in next) return this.#ends(call, next.outcome, next.output, facts);
    if ("refusal" in next) {
      return this.#ends(call, "error", next.refusal, added(facts, this.#frame.toolStart(call)));
    }
    if (!next.goesOn && !this.#canStart(next)) {
      this.#again = added(this.#again, next);
      return facts;
    }
    this.#due = added(this.#due, next);
    if (next.tool.serial) this.#serialRunning = true;
    // On record as started, if it only continues after a person's answer.
    if (next.goesOn) return facts;
    const plain = next.ranArgs === undefined && next.rule === undefined;
    return added(facts, plain ? this.#frame.toolStart(call) : this.#frame.changedStart(call, next));
  }

  #ends(call: CallState, outcome: Outcome, output: Json, facts: Fact[] | undefined): Fact[] {
    this.#open -= 1;
    this.#finished = added(this.#finished, call);
    return added(facts, this.#frame.toolEnd(call, outcome, output, false));
  }

  #canStart(next: ReadyCall): boolean {
    if (this.#serialRunning) return false;
    if (!next.tool.serial) return true;
    if (this.#running > 0 || this.#due !== undefined || (this.#parked?.size ?? 0) > 0) return false;
    for (const call of this.#asking ?? none)
      if (call.status === "started" || this.#isBefore(call, next.call)) return false;
    return true;
  }

  /** One that runs alone could not, as long as the end of a call that a crash cut was not on record. */
  #mayStart(): boolean {
    const waiting = [...(this.#again ?? none), ...this.#calls.slice(this.#begun, this.#begun + 1)];
    return waiting.some((next) => "tool" in next && this.#canStart(next));
  }

  #isBefore(a: CallState, b: CallState): boolean {
    const at = ({ part }: CallState) => this.#calls.findIndex(({ call }) => call.part.id === part.id);
    return at(a) < at(b);
  }

  /** True if some of them wait for a person, or for resume(). */
  get waitsForPeople(): boolean {
    return (
      this.#reruns !== undefined ||
      (this.#asking !== undefined && this.#asking.size > 0) ||
      (this.#parked !== undefined && this.#parked.size > 0)
    );
  }

  #wait({ call, waits }: AskingCall): void {
    this.#asking ??= new Set();
    this.#asking.add(call);
    const { desk } = this.#frame;
    for (const id of waits) desk.await(id, { decided: () => this.#decided(call) });
    this.#listen();
    // Since this was read from its record.
    if (waits.some((id) => desk.request(id)?.decision !== undefined)) this.#decided(call);
  }

  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    this.#frame.signal.on(this);
  }

  #decided(call: CallState): boolean {
    if (this.#over || this.#asking?.delete(call) !== true) return false;
    this.#pending += 1;
    // A schema that takes time holds up no stop: the call is held, with its decision.
    void this.#frame.signal.orStopped(Promise.resolve(this.#resolve(call))).then((next) => {
      this.#pending -= 1;
      if (this.#over) return;
      if (next === undefined) {
        this.#unresolved = added(this.#unresolved, call);
        return this.#settleDown();
      }
      this.#again = added(this.#again, next);
      this.#write();
    });
    return true;
  }

  /** Starts the calls that are recorded as started. */
  launch(): void {
    const due = this.#due;
    this.#due = undefined;
    if (due !== undefined) for (const ready of due) this.#begin(ready);
    if (this.#running === 0) this.#settleDown();
  }

  #begin(ready: ReadyCall): void {
    point("tool:start", ready.call);
    const { agent } = ready.tool;
    if (this.#frame.signal.stop !== undefined) {
      // A call to an agent continues in its place.
      if (agent !== undefined && ready.goesOn) this.#unmoved = added(this.#unmoved, ready.call);
      else this.#heldBack = added(this.#heldBack, ready);
      if (ready.tool.serial) this.#serialRunning = false;
      return;
    }
    this.#running += 1;
    if (agent !== undefined) return this.#beginAgent(ready, definitionOf(agent));
    const running = new RunningCall(this, this.#frame, ready.call, ready.tool.serial);
    running.ranArgs = ready.ranArgs;
    // Before it begins: it may park, or break, at once.
    running.live = new LiveCall(this.#frame, ready, this.#graceMs, running);
    running.live.start();
  }

  #beginAgent(ready: ReadyCall, agent: AnyAgent): void {
    const { call, tool, args, ranArgs } = ready;
    const path = `${call.address}/${agent.name}`;
    const value = (args as { readonly request: string }).request;
    const running = new RunningCall(this, this.#frame, call, tool.serial);
    running.ranArgs = ranArgs;
    void runChild(this.#frame, { agent, path, fresh: true, deaf: true }, { value }).then((end) => {
      this.#inside?.delete(call.part.id);
      if ("calls" in end) {
        this.#inside ??= new Map();
        this.#inside.set(call.part.id, end.calls);
      }
      switch (end.how) {
        case "completed":
          running.action = end.action;
          // Its last words were cut, and the rest fits on its own only.
          return running.ended("ok", fittingResult("ok", end.output, this.#frame.desk.maxBytes));
        case "failed":
          running.first = end.facts;
          running.failed = path;
          return running.ended("error", `${agent.name} failed: ${recordedWords(end.error.message)}`);
        case "asking":
          return this.#agentAsks(call, path, end.facts);
        case "stopped":
          this.#childFacts = [...this.#childFacts, ...end.facts];
          this.partialText += end.partialText;
          this.#running -= 1;
          // An agent that never began has nothing on record to continue from: its call is held like any other.
          if (this.#frame.desk.scope(path)?.runId === this.#frame.place.runId) {
            this.#stopped = added(this.#stopped, call);
          } else this.#heldBack = added(this.#heldBack, ready);
          if (tool.serial) this.#serialRunning = false;
          return this.#settleDown();
        default:
          return end satisfies never;
      }
    });
  }

  /** Raises its requests now: the other calls may take long. */
  #agentAsks(call: CallState, path: string, facts: readonly Fact[]): void {
    const wait = () => {
      this.#running -= 1;
      const known = this.#frame.scope.calls.find(({ part }) => part.id === call.part.id) ?? call;
      this.#wait({ call: known, waits: this.#frame.desk.openBelow(path) });
      this.#settleDown();
    };
    if (facts.length === 0) wait();
    else void this.#frame.record(() => facts).then(wait);
  }

  #adopt(live: LiveCall): void {
    this.#running += 1;
    if (live.isSerial) this.#serialRunning = true;
    const running = new RunningCall(this, this.#frame, live.call, live.isSerial);
    running.live = live;
    running.ranArgs = live.call.ranArgs;
    if (live.isParked) this.parked(live, true);
    live.adopt(this.#frame, running);
  }

  /** Nothing moves: it is over, or, where calls wait for people, it soon is. */
  #settleDown(): void {
    if (this.#over || this.#running > 0 || this.#due !== undefined || this.#pending > 0) return;
    const { signal } = this.#frame;
    if (signal.stop !== undefined || this.#open === 0 || !this.waitsForPeople) return this.#finish();
    if (this.#mayStart() && !signal.halts("after-model")) return this.#write();
    if (this.#judging) return;
    this.#judging = true;
    setImmediate(() => {
      this.#judging = false;
      const quiet = this.#running === 0 && this.#due === undefined && this.#pending === 0;
      if (quiet && !this.#over) this.#finish();
    });
  }

  #finish(): void {
    this.#over = true;
    if (this.#listening) this.#frame.signal.off(this);
    if (this.#frame.signal.stop === undefined) for (const live of this.#parked ?? none) live.leave();
    this.#done(this);
  }

  /** One that runs alone still does: those after it wait for its end. */
  parked(live: LiveCall, parked: boolean): void {
    if (this.#over) return;
    this.#parked ??= new Set();
    if (parked) {
      this.#parked.add(live);
      this.#running -= 1;
      this.#listen();
      this.#settleDown();
    } else if (this.#parked.delete(live)) {
      this.#running += 1;
    }
  }

  broke(error: BelayError, live: LiveCall, serial: boolean): void {
    this.broken ??= error;
    this.#brokenCalls = added(this.#brokenCalls, live.call);
    if (!this.#parked?.delete(live)) this.#running -= 1;
    if (serial) this.#serialRunning = false;
    this.#settleDown();
  }

  /** Returns the facts of a call that asks to be run again, with the starts that it makes possible. */
  rerunOf(call: CallState, serial: boolean, ranArgs: Json | undefined, extra: Json): readonly Fact[] {
    const frame = this.#frame;
    this.#running -= 1;
    if (serial) this.#serialRunning = false;
    const { id: callId, tool, args } = call.part;
    this.#reruns = added(this.#reruns, call);
    const { agentName: by } = frame.place;
    const of = { address: rerunAddress(call.address), by, callId, tool, args: ranArgs ?? args };
    const raised = frame.raised(rerunInterrupt(frame.place, frame.clock, extra, of));
    return [frame.toolEnd(call, "interrupted", null, true), raised, ...this.#starts()];
  }

  /** The facts of a call's end, with the starts that it makes possible. */
  endOf(
    call: CallState,
    serial: boolean,
    { outcome, output, values }: Pick<ToolEndEvent, "outcome" | "output" | "values">,
    more: readonly Fact[],
  ): readonly Fact[] {
    this.#running -= 1;
    this.#open -= 1;
    if (serial) this.#serialRunning = false;
    if (outcome === "interrupted") this.#stopped = added(this.#stopped, call);
    else this.#finished = added(this.#finished, call);
    const end = this.#frame.toolEnd(call, outcome, output, false, values);
    const starts = this.#starts();
    if (starts.length === 0 && more.length === 0) return [end];
    return [end, ...more, ...starts];
  }
}

/** A call from its start until its end is on record. */
class RunningCall implements CallEnding, Recording {
  readonly #turn: TurnCalls;
  readonly #frame: Frame;
  readonly #call: CallState;
  readonly #serial: boolean;
  live: LiveCall | undefined;
  /** The last facts of an agent inside it, and its action that ends the agents above. */
  first: readonly Fact[] | undefined;
  action: Action | undefined;
  /** The path of an agent inside it that has failed. */
  failed: string | undefined;
  /** The arguments that ran, if they differ from the model's. */
  ranArgs: Json | undefined;
  #outcome: Outcome = "unknown";
  #output: Json = null;

  constructor(turn: TurnCalls, frame: Frame, call: CallState, serial: boolean) {
    this.#turn = turn;
    this.#frame = frame;
    this.#call = call;
    this.#serial = serial;
  }

  ended(outcome: Outcome, output: Json): void {
    // It may have ended without the answer that it waited for.
    if (this.live?.isParked) this.#turn.parked(this.live, false);
    this.#outcome = outcome;
    this.#output = output;
    const { after } = this.#turn;
    if (after === undefined) return this.#frame.desk.record(this);
    void after(this.#call, this.ranArgs, outcome, output).then((made) => {
      this.#output = made;
      this.#frame.desk.record(this);
    });
  }

  late(outcome: Outcome, output: Json): Json | Promise<Json> {
    return this.#turn.after?.(this.#call, this.ranArgs, outcome, output, true) ?? output;
  }

  parked(parked: boolean): void {
    this.#turn.parked(this.live!, parked);
  }

  broke(error: BelayError): void {
    this.#turn.broke(error, this.live!, this.#serial);
  }

  again(extra: Json): void {
    if (this.live?.isParked) this.#turn.parked(this.live, false);
    const facts = () => this.#turn.rerunOf(this.#call, this.#serial, this.ranArgs, extra);
    this.#frame.desk.record({ facts, recorded: () => this.recorded() });
  }

  facts(): readonly Fact[] {
    // Other agents inside that one may have open requests, and no code continues them.
    const { desk } = this.#frame;
    const open = this.failed === undefined ? none : desk.closedBelow(this.#frame, this.failed, true, this.first);
    const result = { outcome: this.#outcome, output: this.#output };
    const values = this.#outcome === "ok" ? this.live?.ownValues : undefined;
    const end = this.#turn.endOf(this.#call, this.#serial, values ? { ...result, values } : result, this.#more());
    return this.first === undefined ? end : [...open, ...this.first, ...end];
  }

  /** Withdraws requests that no code waits for, and adds its other actions. */
  #more(): readonly Fact[] {
    const { live, action } = this;
    if (live === undefined) return action === undefined ? none : [this.#frame.acted(action)];
    const { asks } = live;
    const actions = this.#outcome === "ok" ? live.actions(this.#output) : undefined;
    if (asks.length === 0 && actions === undefined) return none;
    return [...asks.map((id) => this.#frame.withdrawn(id)), ...(actions ?? []).map((act) => this.#frame.acted(act))];
  }

  recorded(): void {
    this.#turn.launch();
  }
}

function asks(next: NextCall): boolean {
  return "waits" in next;
}

/** Most lists here have one item, and an array that grows is made for many. */
function added<T>(list: T[] | undefined, item: T): T[] {
  if (list === undefined) return [item];
  list.push(item);
  return list;
}

/** It has begun, and continues: a serial call before it that cannot begin yet does not hold it up. */
function isUnderWay(next: NextCall): boolean {
  return "live" in next || ("goesOn" in next && next.goesOn === true);
}

function underWayFirst(calls: readonly NextCall[]): readonly NextCall[] {
  return [...calls.filter(isUnderWay), ...calls.filter((next) => !isUnderWay(next))];
}
