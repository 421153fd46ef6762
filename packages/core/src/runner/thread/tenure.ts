// The time in which this process holds the lease of a thread: it takes the lease, runs the agent or only the calls that
// people answered, records how that ended, and returns the lease. Invariants:
// 1. The code that ends it ends the Run and every receipt handed out for it. Every end is idempotent.
// 2. Input is appended first, then the stop counts: a stop in the same tick costs no model request.
// 3. The receipt of a stop comes when the work has stopped and that is recorded (X3).
// 4. A command is recorded before the end, or is for the next tenure: it is never taken and then forgotten.
// 5. A run that is asked for while answered calls run waits as `next`. A stop, a close and a termination meet both.
//
// Long, and still one piece: everything that may end it (the agent, a stop, a lost lease) must agree on one end.

import type { Agent, Ended } from "../../agent.ts";
import { type BelayError, belayError, UserInterrupt } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { Frame, type FramePlace } from "../../frame.ts";
import { report } from "../../hooks/call-hooks.ts";
import { overriding, type Stop, StopSignal, withdrawing } from "../../interrupt/stop-signal.ts";
import { openRequests } from "../../journal/requests.ts";
import type { ThreadState } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import { addUsage } from "../../message.ts";
import { runReply } from "../../reply.ts";
import type { Change, Command as Row } from "../../store/store.ts";
import { sayAfterStop, speakersOf } from "../decide/after-stop.ts";
import { prepare } from "../decide/check-answer.ts";
import type { Command } from "../decide/command.ts";
import { type Decision, decide, hasSubject, type Outcome, outcomeOf, recordOf } from "../decide/decide.ts";
import {
  type Circumstances,
  type Ending,
  endingOf,
  interruptOf,
  isAsked,
  leftOpen,
  type Receipt,
  receiptOf,
  resultOf,
} from "../decide/ending.ts";
import { commandFact, turnEnd } from "../decide/facts.ts";
import type { StopMail } from "../decide/mail.ts";
import type { Opening } from "../decide/opening.ts";
import { type InterruptOptions, readStop } from "../given/options.ts";
import type { LiveRun, RunResult } from "../read/run.ts";
import { busy, storeError } from "../read/store-error.ts";
import { type DeskHost, ThreadDesk } from "../write/desk.ts";
import type { HotSession } from "../write/hot.ts";
import { Mailbox } from "../write/mailbox.ts";

export interface TenureHost extends DeskHost {
  readonly hot: HotSession;
  readonly agent: Agent<unknown, never>;
  readonly deps: unknown;
  /** What a run() with this id gave before. */
  replay(id: string, run: LiveRun): void;
  /** The thread as it is now; `fresh` reads what others have written. */
  load(fresh: boolean, whole: boolean): Promise<ThreadState>;
  /** Called when the tenure is on record, and when it is over: before any reader can see either. */
  opened(tenure: Tenure, state: ThreadState): void;
  ended(tenure: Tenure, state: ThreadState | undefined): void;
  /** Gives back a lease that a stretch that failed had; where that fails, too, it is tried again before the next one. */
  letGo(fence?: number): Promise<void>;
  /** There is such a lease. */
  readonly isHolding: boolean;
}

export interface TenureOptions {
  readonly mayCallModel: boolean;
  /** The caller's id of the run() that began it. */
  readonly askedBy?: string | undefined;
  /** The row of the store that its first append consumes. */
  readonly row?: string | undefined;
}

const REOPEN_TRIES = 5;

export class Tenure {
  readonly #host: TenureHost;
  #place: FramePlace;
  readonly run: LiveRun;
  /** The caller's id of the run() that began it. */
  readonly askedBy: string | undefined;
  readonly signal = new StopSignal();
  /** Resolves when the stretch is on record, or to why it could not begin. */
  readonly opening: Promise<BelayError | undefined>;
  #opened: (error: BelayError | undefined) => void = () => {};
  #drive: ThreadDesk | undefined;
  #receipt: { readonly promise: Promise<Receipt>; readonly resolve: (receipt: Receipt) => void } | undefined;
  /** Who asked for a stop, where someone did: decides the kind of pause. */
  #asked: Stop | undefined;
  /** pause() was asked for. */
  #parking = false;
  /** pause() is being written, and leaves what people are asked. */
  #parked = false;
  /** Stops to put on record with the end: those with an id, and those that came by a row. */
  #stops: Map<string, { readonly by: string; readonly refusal: BelayError | undefined }> | undefined;
  #intent: "terminate" | "close" | undefined;
  #deadline: unknown;
  #over = false;
  readonly #mailbox: Mailbox;
  #unwatch: (() => void) | undefined;
  /** False: it runs the calls that people answered, and the thread stays paused. */
  readonly mayCallModel: boolean;
  /** The run that begins when these calls have ended. */
  next: Tenure | undefined;
  /** The head of the thread before it. */
  #from = 0;
  /** What hooks say about the stop. */
  #said: readonly Fact[] = [];
  /** Commands that are being taken. */
  #taking: Set<Promise<void>> | undefined;
  /** It has ended by a stop that keeps open requests, and there are some. */
  #keptRequests = false;
  /** Its end is being written: answers are for whoever comes next. */
  #closing = false;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  #isOver: () => void = () => {};

  constructor(host: TenureHost, place: FramePlace, run: LiveRun, { mayCallModel, askedBy, row }: TenureOptions) {
    this.#host = host;
    this.#place = place;
    this.run = run;
    this.askedBy = askedBy;
    this.mayCallModel = mayCallModel;
    this.over = new Promise((resolve) => (this.#isOver = resolve));
    const { store } = host.setup;
    this.#mailbox = new Mailbox(
      store,
      host.key,
      (mail, key) => this.#stopByRow(mail, key),
      () => this.#drive?.record({ facts: () => this.#news(), recorded: () => {} }),
      (command) => void this.take(command, true).catch(() => {}),
      (damage) => report({ place: this.#place, desk: host.setup }, damage),
    );
    if (row !== undefined) this.#mailbox.rows.add(row);
    this.opening = new Promise((resolve) => (this.#opened = resolve));
  }

  /** What waits, told once. Who has read only what is open does not know what was told: whoever goes on does. */
  #news(): readonly Fact[] {
    const { state } = this;
    return state?.openOnly ? [] : this.#mailbox.queued(this.#place, state?.queued);
  }

  get keptRequests(): boolean {
    return this.#keptRequests || (this.next?.keptRequests ?? false);
  }

  /** The thread's state once the tenure is on record. */
  get state(): ThreadState | undefined {
    return this.#drive?.state;
  }

  async start(opening: Opening): Promise<void> {
    let state: ThreadState;
    try {
      state = await this.#open(opening);
    } catch (error) {
      const { key } = this.#host;
      const closed = this.#intent === "close" && error instanceof UserInterrupt;
      return this.#fail(closed ? belayError("SESSION_CLOSED", { threadId: key.threadId }) : storeError(key, error));
    }
    let ended = await this.#runToEnd(state);
    const speakers = this.#speakers(ended, state);
    if (speakers !== undefined) ended = await this.#speak(ended, state, speakers);
    const { gone } = this.#host.hot;
    if (gone !== undefined && this.signal.stop !== undefined) await this.#untilGone(gone);
    if (!this.#over) this.#close(ended, state);
  }

  /** A stop is not told of before the processes of calls that only waited have ended, too. */
  async #untilGone(gone: Promise<unknown>): Promise<void> {
    const forced = { stopped: () => this.signal.forced && this.#host.hot.force() };
    forced.stopped();
    this.signal.on(forced);
    await gone;
    this.signal.off(forced);
  }

  /** Who has something to say about a person's stop; undefined where nobody has. */
  #speakers(ended: Ended, state: ThreadState): ReturnType<typeof speakersOf> | undefined {
    const stopped = ended.how === "stopped" || ended.how === "asking";
    if (!stopped || this.#over || this.#asked === undefined || this.#intent !== undefined) return undefined;
    if (this.#asked.keepsRequests && isAsked(state, ended.facts)) return undefined;
    const speakers = speakersOf(this.#host, this.#place, state, this.signal);
    return speakers.length === 0 ? undefined : speakers;
  }

  /** What the stop has cut is on record before hooks take their time; what they say is recorded with the stop. */
  async #speak(ended: Ended, state: ThreadState, speakers: ReturnType<typeof speakersOf>): Promise<Ended> {
    const { how, turn } = ended;
    if ((how !== "stopped" && how !== "asking") || this.#asked === undefined) return ended;
    const drive = this.#drive!;
    const cut = how === "stopped" && ended.facts.length > 0;
    if (cut) await new Promise<void>((recorded) => drive.record({ facts: () => ended.facts, recorded }));
    const now = this.#host.setup.clock.now();
    const at = turn ?? state.scopes.get(this.#place.runPath)?.turn ?? 0;
    const interrupt = interruptOf(this.#place, at, ended.calls, { asked: this.#asked, late: this.#late, now });
    const partialText = how === "stopped" ? ended.partialText : "";
    this.#said = await sayAfterStop(speakers, { interrupt, partialText, graceMs: this.#asked.graceMs });
    return cut ? { ...ended, facts: [] } : ended;
  }

  /** Answers that came while it settled down to wait for them let it go on. */
  async #runToEnd(state: ThreadState): Promise<Ended> {
    const drive = this.#drive!;
    for (;;) {
      // What is decided by now the agent reads from the fold.
      drive.unheard = false;
      const ended = await this.#runAgent(state);
      // What was sent before the pause lets it go on, also where no hint has told of it yet.
      if (ended.how === "asking" && openRequests(state).length > 0) await this.#mailbox.look();
      while (this.#taking?.size && !this.#over) await Promise.race([...this.#taking, this.over]);
      if (ended.how !== "asking" || !drive.unheard || this.#over) return ended;
      await this.#endTurn(drive, ended);
    }
  }

  /** What would be recorded with the pause, where there is none after all. */
  async #endTurn(drive: ThreadDesk, { facts, turn }: Ended): Promise<void> {
    if (facts.length > 0) await new Promise<void>((recorded) => drive.record({ facts: () => facts, recorded }));
    if (turn !== undefined)
      drive.publish({
        ...turnEnd(speaking(this.#place, drive.state), turn, this.#host.setup.clock.now()),
        seq: drive.head,
      });
  }

  /**
   * Applies a command between two appends. Resolves to undefined if this tenure ends first, or has to be over first. Rejects
   * with a refusal. `byRow`: it came by a row of the store, and a refusal is recorded for its sender.
   */
  take<C extends Command>(command: C, byRow = false): Promise<{ readonly outcome: Outcome<C> } | undefined> {
    const drive = this.#drive;
    if (drive === undefined || this.#closing || this.#over) return Promise.resolve(undefined);
    const taken = Promise.race([this.#take(drive, command, byRow), this.over.then(() => undefined)]);
    const done = () => void this.#taking?.delete(over);
    const over: Promise<void> = taken.then(done, done);
    this.#taking ??= new Set();
    this.#taking.add(over);
    return taken;
  }

  async #take<C extends Command>(
    drive: ThreadDesk,
    command: C,
    byRow: boolean,
  ): Promise<{ readonly outcome: Outcome<C> } | undefined> {
    let doubt: BelayError | undefined;
    // The append in flight may be what the command is about: the store shows a request before its owner has the answer of
    // the store. And this process may have lost the thread.
    if (!hasSubject(drive.state, command)) {
      doubt = await this.renew();
      await drive.writer.alone(() => []);
    }
    // A stop withdraws requests; it does not wait for user code that looks at an answer.
    const prepared = await this.signal.orStopped(prepare(this.#host, drive.state, command));
    if (prepared === undefined) return undefined;
    let decision: Decision = prepared;
    let facts: readonly Fact[] = [];
    await drive.writer.alone(() => {
      const context = { place: this.#place, now: this.#host.setup.clock.now(), groups: this.#host.setup.groups, byRow };
      const callsRun = !this.mayCallModel;
      if (!("refusal" in prepared)) decision = decide(drive.state, command, { ...context, callsRun });
      facts = recordOf(decision, command, { ...context, callsRun });
      return facts;
    });
    if ("wait" in decision) return undefined;
    // A refusal by row is proved by the append that records it.
    if ("refusal" in decision) throw byRow ? decision.refusal : (doubt ?? decision.refusal);
    return { outcome: outcomeOf(command, drive.state, facts) };
  }

  async #open(opening: Opening): Promise<ThreadState> {
    const host = this.#host;
    if (host.isHolding) await host.letGo();
    let state = await host.load(false, this.mayCallModel);
    for (let tries = 1; ; tries++) {
      if (this.#intent === "close") throw belayError("SESSION_CLOSED", { threadId: host.key.threadId });
      const begun = await this.#begin(opening, state);
      const { facts } = begun;
      state = begun.state;
      const failed = (error: BelayError) => this.#fail(error);
      const drive = new ThreadDesk(host, state, { agent: host.agent.name, failed, mailbox: this.#mailbox });
      const from = state.head;
      this.#from = from;
      const refusal = await drive.writer.open(facts, () => {
        this.#drive = drive;
        this.#mailbox.begunWith(facts);
        host.hot.check(from, state);
        host.feed.live = () => drive.head;
        host.opened(this, state);
        this.run.began(from);
      });
      if (refusal === undefined) break;
      if (refusal.why === "busy") throw busy(host.key.threadId, refusal.owner, refusal.until);
      // A new run is begun by the input that was taken back, answered calls by their answer; a steer is left out of the next try.
      if (refusal.why === "gone" && (!this.mayCallModel || this.#place.segment === 1)) {
        throw belayError("INPUT_WITHDRAWN", { threadId: host.key.threadId, ids: refusal.keys.join(", ") });
      }
      // It was there: somebody has deleted it.
      if (refusal.why === "conflict" && refusal.head < from) throw host.recall.gone();
      if (tries === REOPEN_TRIES) {
        throw belayError("STORE_CONFLICT", { threadId: host.key.threadId, expected: from, found: state.head });
      }
      state = await host.load(true, this.mayCallModel);
    }
    this.#openMail();
    if (this.#drive!.writer.mail) await this.#mailbox.look();
    this.#opened(undefined);
    return state;
  }

  /** Reads the commands that wait, and from now on each that comes. */
  #openMail(): void {
    const { store } = this.#host.setup;
    const look = (what?: Change): void => {
      if (what !== "append") void this.#mailbox.look();
    };
    this.#unwatch = store.watch(this.#host.key, look, "command");
  }

  /** Commands that this process has just sent: no need to wait for the store's hint. */
  deliver(command: Row): void {
    this.#mailbox.deliver([command]);
  }

  /** A stop of another process is for one segment: if that is over, it hits nothing else (S2). */
  #stopByRow({ runId, segment, options }: StopMail, key: string): void {
    const { clock } = this.#host.setup;
    const by = typeof options?.by === "string" ? options.by : "user";
    if (runId !== this.#place.runId || segment !== this.#place.segment) {
      this.#keep(key, by, belayError("STALE", { threadId: this.#place.threadId, runId, segment }));
      return;
    }
    this.#keep(key, by);
    if (this.#over) return;
    try {
      void this.interrupt(readStop(options, clock.now()), options);
    } catch {
      // A newer release may send options that are not known here: it is a stop all the same.
      void this.interrupt(readStop({}, clock.now()), {});
    }
  }

  #keep(key: string, by: string, refusal?: BelayError): void {
    this.#stops ??= new Map();
    if (!this.#stops.has(key)) this.#stops.set(key, { by, refusal });
  }

  /** A stop under this id that was for an earlier segment: sent again, it is not for this one either. */
  hasMissed(id: string): boolean {
    return this.#stops?.get(keyOf.stop(id))?.refusal !== undefined;
  }

  /** True when commands wait that nobody has consumed, as of the last append, or inputs have come since. */
  get mail(): boolean {
    return (this.#drive?.writer.mail ?? false) || this.#mailbox.hadInput;
  }

  /**
   * The facts to begin with, and the thread that they are for. A refusal is one of the thread as the store has it, whole:
   * what this session knew may be old, or only a part. What the thread's state does not allow is THREAD_BUSY while
   * someone else moves it.
   */
  async #begin(
    opening: Opening,
    state: ThreadState,
  ): Promise<{ readonly facts: readonly Fact[]; readonly state: ThreadState }> {
    const { head, openOnly } = state;
    try {
      return { facts: await opening(state, this.#at(state), this.signal), state };
    } catch (refusal) {
      const { key, recall } = this.#host;
      const row = (await recall.read(head))?.row;
      if (row?.lease !== undefined) throw busy(key.threadId, row.lease.owner, row.lease.until);
      if (row === undefined || (row.head === head && !openOnly)) throw refusal;
      const whole = await this.#host.load(true, true);
      return { facts: await opening(whole, this.#at(whole), this.signal), state: whole };
    }
  }

  /** Where it is: answered calls run in the stretch that the thread rests after, whichever that is by now. */
  #at({ run }: ThreadState): FramePlace {
    if (!this.mayCallModel && run !== undefined) this.#place = { ...this.#place, runId: run.id, segment: run.segment };
    return this.#place;
  }

  #runAgent(state: ThreadState): Promise<Ended> {
    const { agent, deps, setup } = this.#host;
    const scope = state.scopes.get(this.#place.runPath)!;
    const beginning = { mayCallModel: this.mayCallModel, from: this.#from };
    const frame = new Frame(this.#place, scope, this.signal, setup.clock, deps, this.#drive!, beginning);
    return runReply(agent, frame);
  }

  /** Asks for a stop; all callers get the same receipt. It meets a run that waits for these calls, too. */
  interrupt(stop: Stop, options: InterruptOptions): Promise<Receipt> {
    return eitherOf(this.next?.interrupt(stop, options), this.#interrupt(stop, options))!;
  }

  #interrupt(stop: Stop, options: InterruptOptions): Promise<Receipt> {
    const { id, mode = "now", timeoutMs, force = false } = options;
    if (id !== undefined) this.#keep(keyOf.stop(id), stop.by);
    const now = mode === "now" || force;
    if (this.#asked === undefined) this.#asked = stop;
    else if (now && this.signal.stop === undefined) this.#asked = overriding(this.#asked, stop);
    else if (this.#asked.keepsRequests && !stop.keepsRequests) {
      this.#asked = withdrawing(this.#asked);
      this.signal.withdraw();
    }
    if (now) this.signal.raise(this.#asked);
    else this.signal.haltAt(mode);
    if (force) this.signal.force();
    if (timeoutMs !== undefined) this.#escalateAfter(timeoutMs);
    const receipt = this.#waitForReceipt();
    // What was accepted then is the pause: the stop is for what that has left open.
    return this.#parked && !stop.keepsRequests ? receipt.then((told) => ({ ...told, accepted: false })) : receipt;
  }

  /** Parks at the next boundary, whichever it is. Calls that people have answered run: the thread is paused as it is. */
  pause(): Promise<Receipt> {
    if (this.next !== undefined) return this.next.pause();
    if (!this.mayCallModel) return this.#waitForReceipt();
    this.#parking = true;
    this.signal.haltAt("after-model");
    this.signal.haltAt("after-tools");
    return this.#waitForReceipt();
  }

  /** Lets go of the thread at the next boundary; it reads paused / crash, and goes on elsewhere. */
  drain(): Promise<Receipt> {
    // What people have allowed runs, whether or not it has begun: they were told so (Q3).
    if (!this.mayCallModel) return this.#waitForReceipt();
    this.#intent ??= "close";
    this.signal.haltAt("after-model");
    this.signal.haltAt("after-tools");
    return this.#waitForReceipt();
  }

  async terminate(stop: Stop): Promise<void> {
    const next = this.next?.terminate(stop);
    this.#intent = "terminate";
    this.signal.raise(stop);
    await Promise.all([next, this.#waitForReceipt()]);
  }

  /** Lets go of the thread: work in flight is aborted, what it gave is recorded, and the thread reads paused / crash. */
  async close(stop: Stop): Promise<void> {
    const next = this.next?.close(stop);
    this.#intent ??= "close";
    this.signal.raise(stop);
    await Promise.all([next, this.#waitForReceipt()]);
  }

  /** Gives no more grace to what it runs. */
  force(): void {
    this.next?.force();
    this.signal.force();
  }

  /** Has a run begin when these answered calls have ended. `says`: a person's words are in it, which are recorded in any case. */
  async precede(next: Tenure, opening: Opening, says: boolean): Promise<void> {
    this.next = next;
    await this.over;
    const result = await this.run.result;
    const isOver = result.status === "terminated" || (result.status === "interrupted" && !says);
    if (next.signal.stop === undefined || !isOver) return next.start(opening);
    // The stop met both: there is nothing left to begin.
    next.#finish(undefined, result, await this.#waitForReceipt());
    next.#opened(undefined);
  }

  /** Makes the lease last longer; a lost one ends the tenure. Resolves to an error if the store does not say whether it is lost. */
  async renew(): Promise<BelayError | undefined> {
    const drive = this.#drive;
    if (drive === undefined || this.#over) return undefined;
    const { store, leaseTtlMs } = this.#host.setup;
    let kept: boolean;
    try {
      kept = await store.renew(this.#host.key, drive.writer.fence, leaseTtlMs);
    } catch (error) {
      // The next append tells whether the store is gone; the lease is not lost before its time.
      return storeError(this.#host.key, error);
    }
    if (!kept && !this.#over && !drive.writer.isReleasing) {
      drive.writer.abandon();
      this.#fail(belayError("FENCED", { threadId: this.#host.key.threadId }));
    }
    return undefined;
  }

  #escalateAfter(ms: number): void {
    const { clock } = this.#host.setup;
    const due = clock.now() + ms;
    const set = this.#deadline as { due: number; timer: unknown } | undefined;
    if (set !== undefined && set.due <= due) return;
    if (set !== undefined) clock.clearTimeout(set.timer);
    const timer = clock.setTimeout(() => this.#asked && this.signal.raise(this.#asked), ms);
    this.#deadline = { due, timer };
  }

  #waitForReceipt(): Promise<Receipt> {
    if (this.#receipt === undefined) {
      let resolve: (receipt: Receipt) => void = () => {};
      const promise = new Promise<Receipt>((r) => (resolve = r));
      this.#receipt = { promise, resolve };
    }
    return this.#receipt.promise;
  }

  #close(ended: Ended, state: ThreadState): void {
    this.#closing = true;
    const place = this.#place;
    const { clock, tokenTtlMs } = this.#host.setup;
    const { mayCallModel } = this;
    let ending: Ending | undefined;
    let intent: Circumstances["intent"];
    let asked: Stop | undefined;
    let told = ended;
    const make = (): readonly Fact[] => {
      asked = this.#asked;
      this.#parked = asked === undefined && this.#parking && isAsked(state, ended.facts);
      const stopped = asked !== undefined || this.#parking;
      intent = this.#intent === "close" ? (stopped ? undefined : "let-go") : this.#intent;
      // What keeps the questions, and finds some, is a pause() in all but its haste and its words.
      const kept = asked?.keepsRequests && isAsked(state, ended.facts) ? asked : undefined;
      this.#keptRequests = kept !== undefined;
      if (kept !== undefined) {
        asked = undefined;
        told = leftOpen(ended, state);
      }
      const commands = [...(this.#stops ?? [])].map(([key, { by, refusal }]) =>
        commandFact(place, { key, by }, refusal),
      );
      const now = clock.now();
      ending = endingOf(told, place, state, {
        intent,
        asked,
        kept,
        commands,
        late: this.#late,
        said: this.#said,
        halts: this.#drive!.halts,
        now,
        tokenTtlMs,
        mayCallModel,
        from: this.#from,
      });
      return ending.facts;
    };
    const released = () => {
      const result = resultOf(this.#host.agent, told, place, state, intent, ending?.pause);
      // One that came while this was being written is for whoever comes next.
      const accepted = intent === undefined && asked !== undefined;
      this.#finish(state, result, receiptOf(told, place, this.#late, accepted));
    };
    // The turn ends after its own facts and before those that end the stretch.
    const { turn } = ended;
    const event = turn === undefined ? undefined : turnEnd(speaking(place, state), turn, clock.now());
    this.#drive!.writer.release(make, released, event && { event, before: () => ending?.tail ?? 0 });
  }

  get #late(): readonly string[] {
    return [...this.#host.behind];
  }

  /** Nothing more can be recorded: everything in flight is aborted, and the thread is as the store has it. */
  #fail(error: BelayError): void {
    if (this.#over) return;
    const { runId, segment } = this.#place;
    const usage = this.state?.run?.usage ?? addUsage(undefined, undefined);
    const fence = this.#drive?.writer.fence;
    this.#drive?.writer.abandon();
    // It may have the thread still: whoever goes on need not wait for the end of its lease.
    if (fence !== undefined && error.code !== "FENCED") void this.#host.letGo(fence);
    // First, so that receipts tell what is left behind by it.
    const { clock } = this.#host.setup;
    const blank = { reason: error.code, message: undefined, rollbackPartial: true, graceMs: 0 };
    this.signal.raise({ at: clock.now(), by: "error", ...blank });
    this.signal.force();
    // Stopped before it began: there is nothing to tell of but that.
    const accepted = error instanceof UserInterrupt;
    const receipt = { ...receiptOf(undefined, this.#place, this.#late), accepted };
    const known = error.code === "RUN_KNOWN" && this.askedBy !== undefined;
    this.#finish(undefined, known ? undefined : { runId, segment, usage, status: "failed", error }, receipt);
    if (known) this.#host.replay(this.askedBy, this.run);
    this.#host.feed.lookAgain();
    this.#opened(error);
  }

  /** Without a result the run's end is told by someone else. */
  #finish(state: ThreadState | undefined, result: RunResult<never> | undefined, receipt: Receipt): void {
    if (this.#over) return;
    this.#over = true;
    const deadline = this.#deadline as { timer: unknown } | undefined;
    if (deadline !== undefined) this.#host.setup.clock.clearTimeout(deadline.timer);
    this.#unwatch?.();
    this.#host.feed.live = undefined;
    this.#host.ended(this, state);
    this.#isOver();
    if (result !== undefined) this.run.ended(this.state?.head ?? 0, result);
    this.#receipt?.resolve(receipt);
  }
}

/** The agent that has the word there: it may have been handed over. */
function speaking(place: FramePlace, { scopes }: ThreadState): FramePlace {
  const active = scopes.get(place.runPath)?.active;
  return active === undefined ? place : { ...place, agentName: active };
}

/** A resume may come to nothing because the stop withdrew what it answers: then the stop did what it did to the calls. */
export function eitherOf(
  run: Promise<Receipt> | undefined,
  calls: Promise<Receipt> | undefined,
): Promise<Receipt> | undefined {
  if (run === undefined || calls === undefined) return run ?? calls;
  return run.then(async (told) => {
    if (told.accepted) return told;
    const ofCalls = await calls;
    return ofCalls.accepted ? ofCalls : told;
  });
}
