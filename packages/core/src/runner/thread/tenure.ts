// The time in which this process holds the lease of a thread. It takes the lease, runs the agent or only the answered
// calls, records the end, and returns the lease. A stop of a thread at rest does all of that in one append. Invariants:
// 1. The code that ends it ends the Run and every receipt handed out for it. Every end is idempotent.
// 2. Input is appended first, then the stop counts: a stop in the same tick costs no model request.
// 3. The receipt of a stop comes when the work has stopped and that is recorded (X3).
// 4. A command is recorded before the end, or is for the next tenure: it is never taken and then forgotten.
// 5. A run that is asked for while answered calls run waits as `next`. A stop, a close and a termination meet both.
//
// Long, and still one piece: the agent, a stop and a lost lease may each end it, and must agree on one end.

import type { Definition, Ended } from "../../agent.ts";
import { type BelayError, belayError, UserInterrupt } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { Frame, type FramePlace } from "../../frame.ts";
import { report } from "../../hooks/call-hooks.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { openRequests } from "../../journal/requests.ts";
import type { Taken, ThreadState } from "../../journal/state.ts";
import { addUsage } from "../../message.ts";
import { runReply } from "../../reply.ts";
import type { Change, Command as Row } from "../../store/store.ts";
import { sayAfterStop, speakersOf } from "../decide/after-stop.ts";
import {
  aimedAt,
  beginsSegment,
  type Command,
  isKept,
  isSignal,
  type OpeningCommand,
  type SignalCommand,
  signalCommand,
} from "../decide/command.ts";
import {
  type Context,
  type Decision,
  decide,
  hasSubject,
  type Outcome,
  outcomeOf,
  recordOf,
} from "../decide/decide.ts";
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
import { turnEnd } from "../decide/facts.ts";
import { placeIn } from "../decide/place-in.ts";
import { type Prepare, preparing } from "../decide/prepare.ts";
import type { Prepared } from "../decide/prepared.ts";
import { bestOf } from "../decide/receipt.ts";
import { isStale } from "../decide/stale.ts";
import type { LiveRun, RunResult } from "../read/run.ts";
import { busy, storeError } from "../read/store-error.ts";
import { type Patience, untilFree, WAIT_MS } from "../read/until-taken.ts";
import { type DeskHost, ThreadDesk } from "../write/desk.ts";
import type { HotSession } from "../write/hot.ts";
import { Mailbox } from "../write/mailbox.ts";
import { Stops } from "./stops.ts";

export interface TenureHost extends DeskHost {
  readonly hot: HotSession;
  readonly agent: Definition;
  readonly deps: unknown;
  /** Makes `run` follow the run that was begun under its id before. */
  follow(taken: Taken, run: LiveRun): void;
  /** Returns the thread as it is now. With `fresh`, it reads the facts that other processes have written. */
  load(fresh: boolean, whole: boolean): Promise<ThreadState>;
  /** Called when the tenure is on record, and when it is over, each before a reader can see it. */
  opened(tenure: Tenure, state: ThreadState): void;
  ended(tenure: Tenure, state: ThreadState | undefined): void;
  /** Returns the lease of a tenure that failed. If that fails too, the next tenure tries it again first. */
  letGo(fence?: number): Promise<void>;
  /** True while there is such a lease. */
  readonly isHolding: boolean;
  /** Reads the thread if another process has written to it. */
  lookAgain(): Promise<unknown>;
}

export interface TenureOptions {
  /** The command that begins it. */
  readonly command: OpeningCommand;
  /** True if a row of the store holds the command, which its first append consumes. */
  readonly byRow?: boolean;
  /** How long it waits while another process has the thread. */
  readonly patience?: Patience;
}

/** How the command that began it was decided. */
export type Opened = Exclude<Decision, { readonly wait: "calls" }>;

/** The outcome of a command, or the place on record of one that was taken before. */
type Answered<C extends Command> = { readonly outcome: Outcome<C> } | { readonly known: Taken };

/** Thrown if the command that would begin a tenure is on record. */
class OnRecord extends Error {
  readonly taken: Taken;

  constructor(taken: Taken) {
    super("The command is on record.");
    this.taken = taken;
  }
}

const REOPEN_TRIES = 5;

export class Tenure {
  readonly #host: TenureHost;
  #place: FramePlace;
  readonly run: LiveRun;
  #asked: TenureOptions;
  readonly #prepare: Prepare;
  readonly #stops: Stops;
  /** Resolves when the tenure is on record, or its command is refused or known. */
  readonly opening: Promise<Opened>;
  #opened!: (opened: Opened) => void;
  #drive: ThreadDesk | undefined;
  #over = false;
  readonly #mailbox: Mailbox;
  #unwatch: (() => void) | undefined;
  /** The run that begins when these calls have ended. */
  next: Tenure | undefined;
  /** The head of the thread before it. */
  #from = 0;
  /** Commands that are being taken. */
  #taking: Set<Promise<void>> | undefined;
  /** True while its end is being appended: answers are for the next tenure. */
  #closing = false;
  /** True while user code is asked about the command that begins it: nothing of it is on record, and nothing is on its way. */
  isAsking = false;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  #isOver!: () => void;

  constructor(host: TenureHost, place: FramePlace, run: LiveRun, asked: TenureOptions) {
    this.#host = host;
    this.#place = place;
    this.run = run;
    this.#asked = asked;
    this.over = new Promise((resolve) => (this.#isOver = resolve));
    const { store, clock } = host.setup;
    this.#stops = new Stops(clock);
    this.#prepare = preparing(host, asked.command, place, this.#stops.signal);
    this.#mailbox = new Mailbox(store, host.key, {
      take: (command) => this.#takeRow(command),
      news: () => this.#drive?.record({ facts: () => this.#news(), recorded: () => {} }),
      damaged: (damage) => report({ place: this.#place, desk: host.setup }, damage),
    });
    if (isSignal(asked.command)) void this.#stops.take(asked.command);
    if (asked.byRow) this.#mailbox.rows.push(asked.command.key);
    this.opening = new Promise((resolve) => (this.#opened = resolve));
  }

  /**
   * Returns the events for waiting commands that have none yet. A tenure that has read only the open requests cannot tell
   * which have one, and leaves that to the next tenure.
   */
  #news(): readonly Fact[] {
    const { state } = this;
    return state?.openOnly ? [] : this.#mailbox.queued(this.#place, state?.queued);
  }

  /** Returns the thread's state once the tenure is on record. */
  get state(): ThreadState | undefined {
    return this.#drive?.state;
  }

  /** The command that begins it. */
  get command(): OpeningCommand {
    return this.#asked.command;
  }

  /** False if it runs only answered calls: the thread stays paused. */
  get mayCallModel(): boolean {
    return beginsSegment(this.command);
  }

  async start(): Promise<void> {
    let state: ThreadState;
    try {
      state = await this.#open();
    } catch (error) {
      if (error instanceof OnRecord) return this.#follow(error.taken);
      const { key } = this.#host;
      const closed = this.#stops.intent === "close" && error instanceof UserInterrupt;
      return this.#fail(closed ? belayError("SESSION_CLOSED", { threadId: key.threadId }) : storeError(key, error));
    }
    if (isSignal(this.command)) return this.#rest(state);
    // Nothing runs before the lease is known to be valid: the answer of the store may have come late.
    const { writer } = this.#drive!;
    if (!writer.isHeld) await writer.alone(() => []);
    let ended = await this.#runToEnd(state);
    let said: readonly Fact[] = [];
    const speakers = this.#speakers(ended, state);
    if (speakers !== undefined) ({ ended, said } = await this.#speak(ended, state, speakers));
    const { gone } = this.#host.hot;
    if (gone !== undefined && this.#stops.signal.stop !== undefined) await this.#untilGone(gone);
    if (!this.#over) this.#close(ended, state, said);
  }

  /** Ends the code that waited in a thread at rest: the stop is on record, and the lease is returned. */
  async #rest(state: ThreadState): Promise<void> {
    const { hot } = this.#host;
    const opened = await this.opening;
    const receipt = outcomeOf(this.command, state, "facts" in opened ? opened.facts : []) as Receipt;
    if (receipt.accepted || state.state === "terminated") hot.dropAll();
    if (hot.gone !== undefined) await this.#untilGone(hot.gone);
    this.#finish(state, undefined, receipt);
    // Another process may have written since.
    void this.#host.lookAgain();
  }

  /** Waits for the processes of parked calls to end: the receipt of a stop comes after that. */
  async #untilGone(gone: Promise<unknown>): Promise<void> {
    const { signal } = this.#stops;
    const forced = { stopped: () => signal.forced && this.#host.hot.force() };
    forced.stopped();
    signal.on(forced);
    await gone;
    signal.off(forced);
  }

  /** Returns the agents with a hook for a person's stop, or undefined if there are none. */
  #speakers(ended: Ended, state: ThreadState): ReturnType<typeof speakersOf> | undefined {
    const { asked, intent, signal } = this.#stops;
    const stopped = ended.how === "stopped" || ended.how === "asking";
    if (!stopped || this.#over || asked === undefined || intent !== undefined) return undefined;
    if (asked.keepsRequests && isAsked(state, ended.facts)) return undefined;
    const speakers = speakersOf(this.#host, this.#place, state, signal);
    return speakers.length === 0 ? undefined : speakers;
  }

  /** Records the work that the stop has cut, then calls the hooks. Their messages are recorded with the stop. */
  async #speak(
    ended: Ended,
    state: ThreadState,
    speakers: ReturnType<typeof speakersOf>,
  ): Promise<{ readonly ended: Ended; readonly said: readonly Fact[] }> {
    const { how, turn } = ended;
    if ((how !== "stopped" && how !== "asking") || this.#stops.asked === undefined) return { ended, said: [] };
    const drive = this.#drive!;
    const cut = how === "stopped" && ended.facts.length > 0;
    if (cut) await new Promise<void>((recorded) => drive.record({ facts: () => ended.facts, recorded }));
    const { asked } = this.#stops;
    const now = this.#host.setup.clock.now();
    const at = turn ?? state.scopes.get(this.#place.runPath)?.turn ?? 0;
    const interrupt = interruptOf(this.#place, at, ended.calls, { asked, late: this.#late, now });
    const partialText = how === "stopped" ? ended.partialText : "";
    const said = await sayAfterStop(speakers, { interrupt, partialText, graceMs: asked.graceMs });
    return { ended: cut ? { ...ended, facts: [] } : ended, said };
  }

  /** Runs the agent until it ends. Answers that arrive before the pause is recorded continue the run. */
  async #runToEnd(state: ThreadState): Promise<Ended> {
    const drive = this.#drive!;
    for (;;) {
      // The agent reads earlier decisions from the fold.
      drive.unheard = false;
      const ended = await this.#runAgent(state);
      // An answer that was sent before the pause continues the run, also if the store has given no hint of it yet.
      if (ended.how === "asking" && openRequests(state).length > 0) await this.#mailbox.look();
      while (this.#taking?.size && !this.#over) await Promise.race([...this.#taking, this.over]);
      if (ended.how !== "asking" || !drive.unheard || this.#over) return ended;
      await this.#endTurn(drive, ended);
    }
  }

  /** Records the facts of the turn if no pause will. */
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
   * with a refusal. `byRow`: the command came by a row of the store, and a refusal is recorded for its sender.
   */
  take<C extends Command>(command: C, byRow = false): Promise<Answered<C> | undefined> {
    const drive = this.#drive;
    if (drive === undefined || this.#closing || this.#over) return Promise.resolve(undefined);
    const taken = Promise.race([this.#take(drive, command, byRow), this.over.then(() => undefined)]);
    const done = () => void this.#taking?.delete(over);
    const over: Promise<void> = taken.then(done, done);
    this.#taking ??= new Set();
    this.#taking.add(over);
    return taken;
  }

  async #take<C extends Command>(drive: ThreadDesk, command: C, byRow: boolean): Promise<Answered<C> | undefined> {
    let doubt: BelayError | undefined;
    // The append in flight may raise the request that the command answers: readers of the store see it before its owner has
    // the store's reply. Or this process may have lost the lease.
    if (!hasSubject(drive.state, command)) {
      doubt = await this.renew();
      await drive.writer.alone(() => []);
    }
    // A stop withdraws requests. It does not wait for user code that checks an answer.
    const { signal } = this.#stops;
    const prepared = await signal.orStopped(preparing(this.#host, command, this.#place, signal)(drive.state));
    if (prepared === undefined) return undefined;
    let decision: Decision = { facts: [] };
    let facts: readonly Fact[] = [];
    let isWithdrawn = false;
    await drive.writer.alone(() => {
      // Its sender took it back: it must not act any more (V1).
      isWithdrawn = byRow && !this.#mailbox.rows.includes(command.key);
      if (isWithdrawn) return [];
      const context = this.#context(prepared, byRow);
      decision = decide(drive.state, command, context);
      facts = recordOf(decision, command, context);
      return facts;
    });
    if (isWithdrawn || "wait" in decision) return undefined;
    // A refusal by row is proved by the append that records it.
    if ("refusal" in decision) throw byRow ? decision.refusal : (doubt ?? decision.refusal);
    const decided = decision as Decision;
    if ("known" in decided) return decided;
    return { outcome: outcomeOf(command, drive.state, facts) };
  }

  /** The circumstances in which a command is decided here, now. */
  #context(prepared: Prepared, byRow: boolean): Context {
    const { agent, setup } = this.#host;
    const { clock, groups } = setup;
    const callsRun = !this.mayCallModel && this.#drive !== undefined;
    const context = { place: this.#place, now: clock.now(), groups, agent, prepared, callsRun, byRow };
    if (!isSignal(this.command)) return context;
    const rest = { agent, tokenTtlMs: setup.tokenTtlMs, late: this.#late, ...this.#stops.atEnd(this.#place, false) };
    return { ...context, rest };
  }

  async #open(): Promise<ThreadState> {
    const host = this.#host;
    if (host.isHolding) await host.letGo();
    const isStop = isSignal(this.command);
    const isWhole = isStop || this.mayCallModel;
    let begins: readonly Fact[] = [];
    let state = await host.load(isStop, isWhole);
    for (let tries = 1; ; tries++) {
      if (this.#stops.intent === "close" && !isStop)
        throw belayError("SESSION_CLOSED", { threadId: host.key.threadId });
      let facts: readonly Fact[];
      try {
        facts = await this.#decide(state);
      } catch (refusal) {
        state = await this.#afterRefusal(refusal, state);
        continue;
      }
      const failed = (error: BelayError) => this.#fail(error);
      const drive = new ThreadDesk(host, state, {
        agent: host.agent.name,
        failed,
        mailbox: this.#mailbox,
        interrupt: (stop) => void this.stop(signalCommand("stop", stop, host.setup)),
      });
      const from = state.head;
      this.#from = from;
      const taken = () => {
        this.#drive = drive;
        this.#mailbox.begunWith(facts);
        host.hot.check(from, state);
        host.feed.begin(() => drive.head);
        host.opened(this, state);
        this.run.began(from, facts.findLast(({ type }) => type === "state")?.seq ?? state.head);
        begins = facts;
      };
      this.#closing = isStop;
      const refusal = await drive.writer.open(facts, taken, isStop);
      if (refusal === undefined) break;
      if (refusal.why === "busy") {
        state = await this.#whenFree(busy(host.key.threadId, refusal.owner, refusal.until));
        continue;
      }
      // The row that was taken back would begin this tenure. The next try leaves out any other one.
      if (refusal.why === "gone" && refusal.keys.includes(rowThatBegins(this.command))) {
        throw belayError("INPUT_WITHDRAWN", { threadId: host.key.threadId, ids: refusal.keys.join(", ") });
      }
      // The thread was deleted.
      if (refusal.why === "conflict" && refusal.head < from) throw host.recall.gone();
      if (tries === REOPEN_TRIES) {
        throw belayError("STORE_CONFLICT", { threadId: host.key.threadId, expected: from, found: state.head });
      }
      state = await host.load(true, isWhole);
    }
    if (!isStop) {
      this.#openMail();
      if (this.#drive!.writer.mail) await this.#mailbox.look();
    }
    this.#opened({ facts: begins });
    return state;
  }

  /**
   * Waits until no other process has the thread, `waitMs` at most, and returns its state then. Rejects at once if the other
   * process runs the thread: the state in the store decides (V1).
   */
  async #whenFree(refusal: BelayError): Promise<ThreadState> {
    if (!this.mayCallModel) throw refusal;
    const { key, setup } = this.#host;
    const { waitMs = WAIT_MS, signal } = this.#asked.patience ?? {};
    const state = await this.#host.load(true, true);
    const known = state.taken?.get(this.command.key);
    if (known !== undefined) throw new OnRecord(known);
    if (state.state === "running") {
      throw belayError("ALREADY_RUNNING", { threadId: key.threadId, runId: state.run?.id ?? "" });
    }
    const over = new AbortController();
    const ended = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    const isFree = await this.#stops.signal.orStopped(untilFree(setup, key, { waitMs, signal: ended }));
    over.abort();
    // A stop ends the wait, too: nothing of the run is on record.
    if (!isFree) throw refusal;
    return this.#host.load(true, true);
  }

  /** Reads each command that arrives from now on. */
  #openMail(): void {
    const { store } = this.#host.setup;
    const look = (what?: Change): void => {
      if (what !== "append") void this.#mailbox.look();
    };
    this.#unwatch = store.watch(this.#host.key, look, "command");
  }

  /** Takes a command that this process has just sent, without waiting for the store's hint. */
  deliver(command: Row): void {
    this.#mailbox.deliver([command]);
  }

  /** Takes a command of another process. A stop acts at once. */
  #takeRow(command: Command): void {
    if (this.#over) return;
    if (isSignal(command)) void this.stop(command);
    else void this.take(command, true).catch(() => {});
  }

  /** The receipt that all of its stops share. */
  get receipt(): Promise<Receipt> {
    return this.#stops.receipt;
  }

  /** True while it reads the rows that are sent to the thread. */
  get readsRows(): boolean {
    return this.#unwatch !== undefined;
  }

  /** Returns true if unconsumed commands waited at the last append, or inputs have arrived since. */
  get mail(): boolean {
    return (this.#drive?.writer.mail ?? false) || this.#mailbox.hadInput;
  }

  /**
   * Returns the thread for another try. A refusal counts only for the whole thread as the store has it: the state in this
   * session may be old, or only a part. While another process has the lease, the refusal is THREAD_BUSY.
   */
  async #afterRefusal(refusal: unknown, { head, openOnly }: ThreadState): Promise<ThreadState> {
    if (refusal instanceof OnRecord) throw refusal;
    const { key, recall } = this.#host;
    const row = (await recall.read(head))?.row;
    if (row?.lease !== undefined) return this.#whenFree(busy(key.threadId, row.lease.owner, row.lease.until));
    if (row === undefined || (row.head === head && !openOnly)) throw refusal;
    return this.#host.load(true, true);
  }

  /** Returns the first facts. Throws a refusal. */
  async #decide(state: ThreadState): Promise<readonly Fact[]> {
    if (!this.mayCallModel) this.#place = placeIn(state, this.#place);
    const { command } = this;
    if (isSignal(command))
      this.#asked = {
        ...this.#asked,
        command: aimedAt(command, { runId: state.run?.id, segment: state.run?.segment }),
      };
    this.isAsking = true;
    const prepared = await this.#prepare(state);
    this.isAsking = false;
    const decision = decide(state, this.command, this.#context(prepared, this.#asked.byRow ?? false));
    if ("refusal" in decision) throw decision.refusal;
    if ("known" in decision) throw new OnRecord(decision.known);
    return "facts" in decision ? decision.facts : [];
  }

  #runAgent(state: ThreadState): Promise<Ended> {
    const { agent, deps, setup } = this.#host;
    const scope = state.scopes.get(this.#place.runPath)!;
    const beginning = { mayCallModel: this.mayCallModel, from: this.#from };
    const frame = new Frame(this.#place, scope, this.#stops.signal, setup.clock, deps, this.#drive!, beginning);
    return runReply(agent, frame);
  }

  /**
   * Takes a stop, a pause or a termination: it meets the calls and a run that waits for them. All callers get the same receipt.
   * One for another segment has no effect (S2), and no receipt.
   */
  stop(command: SignalCommand): Promise<Receipt> | undefined {
    const next = this.next?.stop(command);
    const { key, by, options } = command;
    const { threadId } = this.#place;
    if (isStale(options, this.#place) || this.#stops.hasMissed(key)) {
      const { runId, segment } = options;
      if (isKept(command)) this.#stops.record(key, by, belayError("STALE", { threadId, runId, segment }));
      return next;
    }
    // Answered calls run to their end: their thread is paused already. After a stop at rest, a run was asked for: it is for that.
    const isForNext = command.do === "stop" && next !== undefined && isSignal(this.command);
    const isParked = isForNext || (command.do === "pause" && !this.mayCallModel);
    if (isForNext && options.force) this.#stops.signal.force();
    const own = isParked ? this.#stops.receipt : this.#stops.take(command);
    if (next === undefined) return own;
    // The run may come to nothing, because the stop withdrew the requests that it answers.
    return isParked ? next : next.then((ofRun) => bestOf([own], ofRun));
  }

  /** Lets go of the thread at the next boundary. It reads paused / crash, and continues elsewhere. */
  drain(): Promise<Receipt> {
    // Approved calls run, whether or not they have begun (Q3).
    return this.mayCallModel ? this.#stops.drain() : this.#stops.receipt;
  }

  /** Lets go of the thread: work in flight is aborted, its results are recorded, and the thread reads paused / crash. */
  async close(stop: Stop): Promise<void> {
    await Promise.all([this.next?.close(stop), this.#stops.close(stop)]);
  }

  /** Ends all grace. */
  force(): void {
    this.next?.force();
    this.#stops.signal.force();
  }

  /** Begins a run when these answered calls have ended. A person's words are recorded in any case. */
  async precede(next: Tenure): Promise<void> {
    this.next = next;
    await this.over;
    // Nothing ran: it was a stop, or its command was refused, or taken before by another process.
    if (isSignal(this.command) || this.state === undefined) return next.start();
    const result = await this.run.result;
    const isOver = result.status === "terminated" || (result.status === "interrupted" && !saysSomething(next.command));
    if (next.#stops.signal.stop === undefined || !isOver) return next.start();
    // The stop met both: there is nothing left to begin.
    next.#finish(undefined, result, await this.#stops.receipt);
    next.#opened({ facts: [] });
  }

  /** When its last append was prepared, which made the lease last from then on. */
  get appendedAt(): number | undefined {
    return this.#drive?.writer.appendedAt;
  }

  /** Renews the lease; a lost one ends the tenure. Resolves to an error if the store does not say whether it is lost. */
  async renew(): Promise<BelayError | undefined> {
    const drive = this.#drive;
    if (drive === undefined || this.#over || isSignal(this.command)) return undefined;
    let kept: boolean;
    try {
      kept = await drive.writer.renew();
    } catch (error) {
      // The next append shows whether the store is gone. The lease is valid until it expires.
      return storeError(this.#host.key, error);
    }
    if (!kept && !this.#over && !drive.writer.isReleasing) {
      drive.writer.abandon();
      this.#fail(belayError("FENCED", { threadId: this.#host.key.threadId }));
    }
    return undefined;
  }

  /** Records the end with the circumstances as of its append, and returns the lease. */
  #close(ended: Ended, state: ThreadState, said: readonly Fact[]): void {
    this.#closing = true;
    const place = this.#place;
    const { mayCallModel } = this;
    const { clock, tokenTtlMs } = this.#host.setup;
    let stops: Pick<Circumstances, "intent" | "asked"> | undefined;
    let cut = ended;
    let ending: Ending | undefined;
    const make = (): readonly Fact[] => {
      const { intent, asked, kept, pausedBy, by, commands } = this.#stops.atEnd(place, isAsked(state, ended.facts));
      stops = { intent, asked };
      cut = kept === undefined ? ended : leftOpen(ended, state);
      // Written out: every run ends here, and spreads cost as much as the rest of its end.
      ending = endingOf(cut, place, state, {
        agent: this.#host.agent,
        intent,
        asked,
        kept,
        pausedBy,
        by,
        commands,
        late: this.#late,
        said,
        halts: this.#drive!.halts,
        now: clock.now(),
        tokenTtlMs,
        mayCallModel,
        from: this.#from,
      });
      return ending.facts;
    };
    const released = () => {
      const { intent, asked } = stops!;
      const result = resultOf(cut, place, state, intent, ending!.pause);
      // A stop that arrived during the append is not accepted here: its caller applies it to the pause.
      const accepted = intent === undefined && asked !== undefined;
      this.#finish(state, result, receiptOf(cut, place, this.#late, accepted));
    };
    // The turn ends after its own facts and before those that end the segment.
    const { turn } = ended;
    const event = turn === undefined ? undefined : turnEnd(speaking(place, state), turn, clock.now());
    this.#drive!.writer.release(make, released, event && { event, before: () => ending?.tail ?? 0 });
  }

  get #late(): readonly string[] {
    return [...this.#host.behind];
  }

  /** Ends it if nothing more can be recorded: work in flight is aborted, and the thread is as the store has it. */
  #fail(error: BelayError): void {
    if (this.#over) return;
    const { runId, segment } = this.#place;
    const usage = this.state?.run?.usage ?? addUsage(undefined, undefined);
    const fence = this.#drive?.writer.fence;
    this.#drive?.writer.abandon();
    // It may still have the lease. Return it, so that the next owner need not wait until it expires.
    if (fence !== undefined && error.code !== "FENCED") void this.#host.letGo(fence);
    // The signal comes first: the receipt lists the calls that it leaves behind.
    const { signal } = this.#stops;
    const { clock } = this.#host.setup;
    const blank = { reason: error.code, message: undefined, rollbackPartial: true, graceMs: 0 };
    signal.raise({ at: clock.now(), by: "error", ...blank });
    signal.force();
    // A stop before the beginning is accepted, and its receipt is empty. One that met an answer is for the request.
    const accepted = this.mayCallModel && error instanceof UserInterrupt;
    const receipt = { ...receiptOf(undefined, this.#place, this.#late), accepted };
    this.#finish(undefined, { runId, segment, usage, status: "failed", error }, receipt);
    this.#host.feed.lookAgain();
    this.#opened({ refusal: error });
  }

  /** Ends it without a result: its command was taken before, under the same key. */
  #follow(known: Taken): void {
    this.#finish(undefined, undefined, receiptOf(undefined, this.#place, this.#late));
    if (this.mayCallModel) this.#host.follow(known, this.run);
    this.#host.feed.lookAgain();
    this.#opened({ known });
  }

  /** Ends the Run and the receipt. Without a result, the caller ends the Run. */
  #finish(state: ThreadState | undefined, result: RunResult<never> | undefined, receipt: Receipt): void {
    if (this.#over) return;
    this.#over = true;
    this.#unwatch?.();
    this.#host.feed.rest();
    this.#host.ended(this, state);
    this.#isOver();
    if (result !== undefined) this.run.ended(this.state?.head ?? 0, result);
    this.#stops.over(receipt);
  }
}

/** Returns the key of the row that brought the command, or its input. */
function rowThatBegins(command: OpeningCommand): string {
  return beginsSegment(command) ? (command.row ?? "") : command.key;
}

/** True for a command with a person's words or answers. */
function saysSomething(command: OpeningCommand): boolean {
  if (command.do === "wake") return false;
  return command.do !== "resume" || command.inputs.length > 0 || command.answers.size > 0;
}

/** Returns the place with the agent that speaks there: the run may have been handed over to it. */
function speaking(place: FramePlace, { scopes }: ThreadState): FramePlace {
  const active = scopes.get(place.runPath)?.active;
  return active === undefined ? place : { ...place, agentName: active };
}
