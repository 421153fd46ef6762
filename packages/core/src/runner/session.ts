// The live handle on a thread. Invariants:
// 1. Refusals this session can know are thrown before anything changes (R4); guards flip at once, events follow.
// 2. At most one execution at a time, and it alone writes.
//
// Long, and still one piece: it is every public method of a session, and its guards; what they begin lives elsewhere.

import type { Agent, Checkpoint } from "../agent.ts";
import { type BelayError, belayError, errorRecord } from "../error.ts";
import type { BelayEvent, Fact } from "../event.ts";
import type { FramePlace } from "../frame.ts";
import { type Answer, readAnswer } from "../interrupt/answer.ts";
import { isExpired } from "../interrupt/decision.ts";
import { type Handle, type Interrupt, isRequest } from "../interrupt/interrupt.ts";
import type { Stop } from "../interrupt/stop-signal.ts";
import { shownMessages } from "../journal/history.ts";
import { openRequests } from "../journal/requests.ts";
import type { ThreadState } from "../journal/state.ts";
import { type Json, toJson } from "../json.ts";
import { move, type PauseType, type SessionState } from "../lifecycle.ts";
import type { Message } from "../message.ts";
import type { Verdict } from "../permission/decide.ts";
import type { RememberedRule } from "../permission/remembered.ts";
import type { Command, Loaded, ThreadKey } from "../store/store.ts";
import { sayOfIdleStop } from "./after-stop.ts";
import { AnswerSchemas } from "./answer-schemas.ts";
import type { AnswerChecker } from "./check-answer.ts";
import { Drive, type DriveSetup } from "./drive.ts";
import { interruptOf, newHandle, type Receipt } from "./ending.ts";
import { Execution, type ExecutionHost, type Opening } from "./execution.ts";
import { inputFacts, ruleRemoved, stateFact } from "./facts.ts";
import { Feed } from "./feed.ts";
import { HotSession } from "./hot.ts";
import {
  appendIdle,
  breakpointSet,
  type IdleFacts,
  initialized,
  newToken,
  nodesWait,
  setAside,
  stopWaiting,
  terminated,
} from "./idle.ts";
import { type Input, readInput } from "./input.ts";
import { type AnswerMail, type InputMail, inputFactsOf, read } from "./mailbox.ts";
import { ObserveHooks, observed, observedIn, readObserved } from "./observe.ts";
import { answering, goOn, newRun, woken } from "./openings.ts";
import {
  type AnswerOptions,
  type BreakpointOptions,
  checkResume,
  type InterruptOptions,
  type ResumeOptions,
  readBreakpoint,
  readCursor,
  readPatch,
  readStop,
} from "./options.ts";
import { readFacts } from "./read-facts.ts";
import { Recall, type Standing, standingOf } from "./recall.ts";
import { answerAnywhere, answerMail, isKnown } from "./remote-answer.ts";
import { recordedReceipt, stopElsewhere } from "./remote-stop.ts";
import { replay } from "./replay.ts";
import { refusedFact, waitingCalls } from "./requests.ts";
import { LiveRun, type Run } from "./run.ts";

/** What the runner is to its sessions. */
export interface SessionHost {
  readonly setup: DriveSetup;
  running(execution: Execution): void;
  stopped(execution: Execution): void;
  closed(session: Session<unknown>): void;
  /** False once it lets go of its threads: nothing begins any more. */
  accepts(): boolean;
}

export interface RunOptions {
  /** Asking twice under one id is asking once: while it runs that is the same run, and later what was recorded of it. */
  readonly id?: string;
}

export interface SendOptions {
  /** Sending twice under one id is sending once. */
  readonly id?: string;
  readonly by?: string;
}

export class Session<Out = string> {
  readonly threadId: string;
  readonly agent: Agent<Out, never>;
  readonly #host: SessionHost;
  readonly #key: ThreadKey;
  readonly #deps: unknown;
  readonly #feed: Feed;
  readonly #recall: Recall;
  #execution: Execution | undefined;
  /** Answered calls that run while the thread stays paused. */
  #calls: Execution | undefined;
  /** Calls that were left behind and still run; they outlive the stretch that began them. */
  readonly #behind: string[] = [];
  /** Code that waits for a person in memory. */
  readonly #hot: HotSession;
  /** What that code takes as answers, by request. */
  readonly #schemas = new AnswerSchemas();
  /** A stop of a thread that only waits is being written; who asks for another gets its receipt. */
  #stopping: Promise<Receipt> | undefined;
  #closing: Promise<void> | undefined;

  /** Made by runner.open(). */
  constructor(host: SessionHost, key: ThreadKey, agent: Agent<Out, never>, deps: unknown) {
    this.#host = host;
    this.#key = key;
    this.threadId = key.threadId;
    this.agent = agent;
    this.#deps = deps;
    const { store, hot } = host.setup;
    this.#hot = new HotSession(
      hot,
      () => this.#wake(),
      () => store.watch(key, () => void this.#dropIfMoved(), "append", true),
    );
    this.#recall = new Recall(store, key);
    this.#feed = new Feed(
      (after) => readFacts(store, key, after),
      (changed) => store.watch(key, changed),
    );
  }

  get state(): SessionState {
    if (this.#execution !== undefined) return this.#execution.state?.state ?? "running";
    const { state } = this.standing;
    return state === "running" ? "paused" : state;
  }

  /** Why it is paused; undefined when it is not. */
  get pauseType(): PauseType | undefined {
    if (this.#execution !== undefined) return undefined;
    const { state, pauseType } = this.standing;
    return state === "running" ? "crash" : pauseType;
  }

  /** What a pause waits for; while it runs, what it asks people meanwhile. */
  get interrupts(): readonly Interrupt[] {
    const now = this.#host.setup.clock.now();
    const running = this.#execution;
    const all = running === undefined ? this.standing.interrupts : running.state ? openRequests(running.state) : [];
    return all.filter((interrupt) => !isExpired(interrupt, now));
  }

  /** The present run, or the last one. */
  get runId(): string | undefined {
    return this.#execution?.run.runId ?? this.#recall.standing.runId;
  }

  /** The history of the root agent. */
  get messages(): readonly Message[] {
    const state = this.#recall.whole((this.#execution ?? this.#calls)?.state);
    const scope = state.scopes.get(this.agent.name);
    return scope === undefined ? [] : shownMessages(scope);
  }

  /** Starts a run. While paused by a person, by pause() or by a crash it goes on with the input. */
  run(input: Input, options: RunOptions = {}): Run<Out> {
    const { id } = options;
    this.#refuseIfClosed();
    if (id !== undefined) {
      const known = this.#asked(id);
      if (known !== undefined) return known;
    }
    this.#refuseIfBusy();
    const { state, pauseType } = this;
    const { threadId } = this;
    if (state === "paused") {
      if (pauseType === "tool_interrupt" || pauseType === "node_interrupt") {
        throw belayError("NEED_RESUME", { threadId, pauseType });
      }
      return this.#goOn({ input }, id);
    }
    if (state === "terminated") throw belayError("INVALID_STATE", { threadId, state, action: "run()" });
    const inputs = readInput(input, this.#host.setup.maxBytes);
    if (inputs.length === 0) throw belayError("INPUT_EMPTY", { threadId });
    const { clock } = this.#host.setup;
    const place = this.#place(clock.id(), 1);
    const begin = (made: typeof inputs, at: number) => inputFacts(place, made, at);
    return this.#start(place, newRun(this.#checker(), place, inputs, begin, id), id);
  }

  /** Goes on after a pause or an error: with input by reasoning again, without from exactly where it stopped. */
  resume(options: ResumeOptions = {}): Run<Out> {
    return this.#goOn(options, undefined);
  }

  /** resume() by a handle, for the runner: by the token with this hash, or not at all. */
  resumeBy(tokenHash: string, options: ResumeOptions): Run<Out> {
    return this.#goOn(options, undefined, tokenHash);
  }

  #goOn(options: ResumeOptions, id: string | undefined, tokenHash?: string): Run<Out> {
    const answers = checkResume(options);
    this.#refuseIfBusy();
    const { state, threadId } = this;
    const { runId, segment } = this.standing;
    if ((state !== "paused" && state !== "error") || runId === undefined) {
      throw belayError("INVALID_STATE", { threadId, state, action: "resume()" });
    }
    const inputs = readInput(options.input, this.#host.setup.maxBytes);
    const { mode, drift = "warn", by, to } = options;
    const patch = readPatch(options);
    const place = this.#place(runId, segment + 1);
    const opening = goOn(this.#checker(), place, { mode, inputs, answers, drift, to, patch, by, id, tokenHash });
    return this.#start(place, opening, id, inputs.length > 0 || answers.size > 0);
  }

  /**
   * Says something to an open request. The call that it lets run does so at once; the model is not called: the run goes on
   * with resume(), by itself where it has not paused yet, or by runner.work(). Rejects with ANSWER_ where it does not
   * count; then the request is as it was.
   */
  async answer(id: string, given: Answer, options: AnswerOptions = {}): Promise<{ readonly open: number }> {
    this.#refuseIfClosed();
    const mail = answerMail(id, readAnswer(id, given), options.id);
    return answerAnywhere(this.#host.setup, this.#key, mail, (key) => this.answerHere(mail, key));
  }

  /** For the runner: answers where the thread is ours, or rests; "busy" where somebody else has it. `key` is the command by which the answer was sent. */
  async answerHere(mail: AnswerMail, key: string | undefined): Promise<{ readonly open: number } | "busy"> {
    for (;;) {
      this.#refuseIfClosed();
      // Answered calls that run hold up the stretch that is to come.
      const live = this.#calls ?? this.#execution;
      const told = live === undefined ? await this.#answerIdle(mail, key) : await this.#answerLive(live, mail, key);
      if (told !== undefined) return told;
    }
  }

  /** By the stretch that is under way here; undefined where that is over. */
  async #answerLive(
    live: Execution,
    mail: AnswerMail,
    key: string | undefined,
  ): Promise<{ readonly open: number } | "busy" | undefined> {
    await live.opening;
    const { state } = live;
    if (state !== undefined && isKnown(state, mail)) return { open: openRequests(state).length };
    // It has the command, too: taken twice, it would be gone the second time.
    if (key !== undefined && state !== undefined) return "busy";
    const told = await live.answer(mail);
    if (told === undefined) await live.over;
    return told;
  }

  /** By a stretch of its own, while the thread rests; undefined where it no longer does. */
  async #answerIdle(
    mail: AnswerMail,
    key: string | undefined,
  ): Promise<{ readonly open: number } | "busy" | undefined> {
    let known: number | undefined;
    const open = answering(this.#checker(), mail, key);
    const execution = this.#startCalls((state, ...rest) => {
      known = isKnown(state, mail) ? openRequests(state).length : undefined;
      if (known !== undefined) throw belayError("ANSWER_TAKEN", { id: mail.id, by: "", at: "", how: "" });
      return open(state, ...rest);
    });
    const refusal = await execution.opening;
    if (refusal === undefined) return { open: openRequests(execution.state!).length };
    if (known !== undefined) return { open: known };
    // Somebody consumed our own command meanwhile: the journal says what became of it.
    if (refusal.code === "THREAD_BUSY" || (refusal.code === "INPUT_WITHDRAWN" && key !== undefined)) return "busy";
    if (key !== undefined && refusal.code.startsWith("ANSWER_")) await this.#consume(mail, key, refusal);
    throw refusal;
  }

  /** A command that nobody can take: left there, it would be tried again and again. */
  async #consume(mail: AnswerMail, key: string, refusal: BelayError): Promise<void> {
    await this.#appendIdle((place) => [refusedFact(place, mail.id, mail.answer, errorRecord(refusal), key)]).catch(
      () => {},
    );
  }

  /** A new handle on the present pause; the one before it is void. */
  async handle(): Promise<Handle> {
    this.#refuseIfBusy();
    await this.#calls?.over;
    this.#refuseIfBusy();
    const { clock, tokenTtlMs } = this.#host.setup;
    let handle: Handle | undefined;
    await this.#appendIdle(
      newToken((place, state) => {
        const { pauseType = "manual", interrupts } = state;
        const made = newHandle(place, pauseType, { now: clock.now(), tokenTtlMs });
        handle = made.handle;
        return stateFact(place, "paused", { pauseType, ...(interrupts.length > 0 && { interrupts }), ...made.token });
      }),
    );
    return handle!;
  }

  /** What the rules say of a call: whether it would run, be asked for or be denied, and which rule says so. */
  async permission(tool: string, args: Json): Promise<Verdict> {
    // Somebody may have been allowed more meanwhile, elsewhere.
    const live = this.#execution ?? this.#calls;
    const state = live?.state ?? (await this.#recall.load(live === undefined));
    const drive = new Drive(this.#executionHost(), this.agent.name, state, () => {});
    return this.agent.verdict(drive, tool, toJson(args, "Arguments"));
  }

  /** What people allowed for this thread. */
  get rules(): readonly RememberedRule[] {
    return (this.#execution?.state ?? this.#recall.now()).rules?.slice() ?? [];
  }

  /** Takes back what people allowed for this thread; false where there is no such rule. */
  async removeRule(id: string, options: { readonly by?: string } = {}): Promise<boolean> {
    this.#refuseIfClosed();
    const { by = "user" } = options;
    for (;;) {
      const live = this.#calls ?? this.#execution;
      if (live === undefined) return this.#removeIdle(id, by);
      await live.opening;
      const removed = await live.removeRule(id, by);
      if (removed !== undefined) return removed;
      await live.over;
    }
  }

  async #removeIdle(id: string, by: string): Promise<boolean> {
    let known = false;
    const remove: IdleFacts = (place, { rules, state, threadId }) => {
      known = rules?.some((rule) => rule.id === id) ?? false;
      if (!known) throw belayError("INVALID_STATE", { threadId, state, action: "removeRule()" });
      return [ruleRemoved(place, id, by)];
    };
    await this.#appendIdle(remove).catch((error: Partial<BelayError>) => {
      if (known || error.code !== "INVALID_STATE") throw error;
    });
    return known;
  }

  /** From now on graphs of this thread stop at a node, or do not; it counts until something else is said of that node. */
  async setBreakpoint(options: BreakpointOptions): Promise<void> {
    const breakpoint = readBreakpoint(options);
    for (;;) {
      this.#refuseIfClosed();
      const live = this.#calls ?? this.#execution;
      if (live === undefined) return this.#appendIdle(breakpointSet(breakpoint));
      await live.opening;
      if (await live.setBreakpoint(breakpoint)) return;
      await live.over;
    }
  }

  /** Where the run of a graph stands; undefined where the agent is none, or has not begun. */
  async checkpoint(): Promise<Checkpoint | undefined> {
    const live = this.#execution ?? this.#calls;
    const state = this.#execution?.state ?? (await this.#recall.load(live === undefined));
    const look = new Drive(this.#executionHost(), this.agent.name, state, () => {});
    return this.agent.checkpoint?.(look, this.agent.name, state.interrupts);
  }

  /** resume() for a thread that a person interrupted. */
  resumeWithInput(input?: Input): Run<Out> {
    this.#refuseIfClosed();
    const { state, pauseType, threadId } = this;
    if (state !== "paused") throw belayError("INVALID_STATE", { threadId, state, action: "resumeWithInput()" });
    if (pauseType !== "user_interrupt") {
      throw belayError("INVALID_PAUSE_TYPE", { threadId, pauseType: pauseType ?? "nothing", needed: "user_interrupt" });
    }
    return this.resume(input === undefined ? {} : { input });
  }

  /** Stops the run. The signal is set before this returns; the receipt comes when the work has stopped and that is recorded. */
  interrupt(options: InterruptOptions = {}): Promise<Receipt> {
    try {
      const stop = readStop(options, this.#host.setup.clock.now());
      const execution = this.#execution;
      const { id, runId, segment } = options;
      if (id !== undefined && (execution?.state ?? this.#recall.now()).stops?.has(id)) {
        return this.#orBehind(recordedReceipt(this.#host.setup.store, this.#key, id));
      }
      const at = execution?.run ?? this.standing;
      const other = (runId !== undefined && runId !== at.runId) || (segment !== undefined && segment !== at.segment);
      if (other) return Promise.resolve(this.#notAccepted());
      // Answered calls that a resume() waits for are stopped with it.
      const calls = this.#calls?.interrupt(stop, options);
      const receipt = execution?.interrupt(stop, options) ?? calls;
      if (receipt === undefined) return this.#stopResting(stop, options, this.#notAccepted());
      // It came while the pause was being written: it is for the pause.
      return receipt.then((told) => (told.accepted ? told : this.#stopResting(stop, options, told)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Where nothing runs, and people are asked for something; else it is as `told`. */
  #stopResting(stop: Stop, options: InterruptOptions, told: Receipt): Promise<Receipt> {
    if (this.#isWriting || this.state !== "paused" || !openNow(this.standing)) return Promise.resolve(told);
    this.#stopping ??= this.#stopWaiting(stop, options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** Nothing runs, and people are asked for something: they need not answer any more. */
  async #stopWaiting(stop: Stop, options: InterruptOptions, words?: readonly Fact[]): Promise<Receipt> {
    const { clock, tokenTtlMs } = this.#host.setup;
    const told = (place: FramePlace, state: ThreadState) => {
      const turn = state.scopes.get(place.runPath)?.turn ?? 0;
      const calls = waitingCalls(state);
      return interruptOf(place, turn, calls, { asked: stop, late: [...this.#behind], now: clock.now() });
    };
    // Hooks are asked once, however often it has to be written.
    const said =
      words ?? (await sayOfIdleStop(this.#checker(), this.#resting(), stop, () => this.#recall.load(true), told));
    const stops = options.id === undefined ? [] : [options.id];
    let receipt: Receipt = this.#notAccepted();
    try {
      await this.#appendIdle(
        stopWaiting(stop, stops, said, (place, state) => {
          const calls = waitingCalls(state);
          const interrupt = told(place, state);
          const { token } = newHandle(place, "user_interrupt", { now: clock.now(), tokenTtlMs });
          receipt = { ...receipt, accepted: true, runId: place.runId, segment: place.segment, ...calls };
          const more = { pauseType: "user_interrupt" as const, interrupts: [interrupt], ...token };
          return { interrupt, fact: stateFact(place, "paused", more) };
        }),
      );
    } catch (error) {
      const { code } = error as Partial<BelayError>;
      if (code === "INVALID_STATE") return this.#notAccepted();
      // Somebody was faster: it runs, here or elsewhere, or something was answered.
      if (code !== "STORE_CONFLICT" && code !== "THREAD_BUSY") throw error;
      // Who goes on after a stop means it.
      if (this.#execution !== undefined) return this.#notAccepted();
      if (this.#calls !== undefined) return this.#calls.interrupt(stop, options);
      if (code === "STORE_CONFLICT") return this.#stopWaiting(stop, options, said);
      return this.#orBehind(stopElsewhere(this.#host.setup, this.#key, options));
    }
    this.#hot.dropAll();
    return receipt;
  }

  /** Parks at the next step boundary; nothing is aborted. */
  pause(): Promise<Receipt> {
    return (this.#execution ?? this.#calls)?.pause() ?? Promise.resolve(this.#notAccepted());
  }

  /** Says something to the run without stopping it: it enters before the next model call. With nothing running it waits for the next run. */
  async steer(input: Input, options: SendOptions = {}): Promise<{ readonly id: string }> {
    return { id: (await this.#send("steer", input, options)).key };
  }

  /** An input for the next run: it starts at once when the thread is idle; after a stop or a failure it waits until the person acts. */
  async enqueue(input: Input, options: SendOptions = {}): Promise<{ readonly id: string }> {
    const command = await this.#send("input", input, options);
    await this.startQueued();
    return { id: command.key };
  }

  /**
   * Adds something to the history that is to be known and not to be answered: at once where nothing runs and nothing is
   * open, else before the next model call. Resolves when nothing can lose it; to no id where a hook let it go.
   */
  async observe(
    message: string | Pick<Message, "parts">,
    options: SendOptions = {},
  ): Promise<{ readonly id?: string }> {
    this.#refuseIfClosed();
    const hooks = new ObserveHooks(this.#host.setup, this.agent as Agent<unknown, never>, this.#resting(), this.#deps);
    const made = await hooks.before(readObserved(message));
    if (made === null) return {};
    const { key: id } = await this.#send("observe", [made], options);
    await this.#takeObserved();
    await hooks.after(id, made);
    return { id };
  }

  /** Takes a steer or an enqueued input back; false when it was consumed already. */
  async withdraw(id: string): Promise<boolean> {
    this.#refuseIfClosed();
    return this.#host.setup.store.withdraw(this.#key, id);
  }

  /** Stops now, for good. */
  async terminate(): Promise<void> {
    this.#refuseIfClosed();
    if (this.#isWriting) {
      const stop = this.#stop("terminate", "user");
      await Promise.all([this.#execution?.terminate(stop), this.#calls?.terminate(stop)]);
      if (this.state === "terminated") return;
    }
    move(this.state, "terminated");
    await this.#appendIdle(terminated);
  }

  /** Facts after `after` (all by default), then what happens live. Ends with `signal`, never by itself. */
  events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<BelayEvent> {
    return this.#feed.reader(readCursor(options.after), options.signal);
  }

  /** Lets go of the thread without ending it. A run in progress is aborted and can be resumed elsewhere. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Settles when it is closed; undefined while nobody has asked for that. */
  get closing(): Promise<void> | undefined {
    return this.#closing;
  }

  async #close(): Promise<void> {
    const stop = this.#stop("close", "runtime");
    await Promise.all([this.#execution?.close(stop), this.#calls?.close(stop)]);
    this.#hot.dropAll();
    this.#recall.forget();
    this.#host.closed(this as Session<unknown>);
  }

  /** Reads the thread from the store; the runner does this when it opens a session. */
  async refresh(): Promise<void> {
    // While a run of ours writes, it alone changes the fold.
    if (this.#isWriting) return;
    await this.#recall.load(true, () => !this.#isWriting);
  }

  /** The seq of the last fact in the store, the facts after one, and word of more: for hub(). */
  async head(): Promise<number> {
    return (await this.#host.setup.store.load(this.#key, Number.MAX_SAFE_INTEGER))?.row.head ?? 0;
  }

  factsAfter(after: number): Promise<readonly Fact[]> {
    return readFacts(this.#host.setup.store, this.#key, after);
  }

  watch(changed: () => void): () => void {
    return this.#host.setup.store.watch(this.#key, changed, "append", true);
  }

  /** Resolves when the present stretch is on record, or to why it could not begin. */
  get opening(): Execution["opening"] {
    return this.#execution?.opening ?? Promise.resolve(undefined);
  }

  /** Where the thread stands, for checking a handle. */
  get standing(): Standing {
    const state = (this.#execution ?? this.#calls)?.state;
    return state === undefined ? this.#recall.standing : standingOf(state);
  }

  /** Learns where the thread stands without reading its past. */
  glance(loaded: Loaded): Promise<void> {
    return this.#recall.glance(loaded);
  }

  /** For a worker: goes on after a crash, or starts what waits, to the next end or pause. A thread that only crashes is set aside. */
  async moveOn(mostCrashes: number): Promise<void> {
    if (this.#execution !== undefined) return;
    await this.#calls?.over;
    if (this.pauseType === "tool_interrupt" && this.standing.interrupts.some(({ kind }) => kind === "node")) {
      // Answers do not speak for whoever is to go on past a node.
      await this.#putAway();
      await this.#calls?.over;
      await this.#appendIdle(nodesWait(this.#host.setup.clock.now()));
    } else if (this.pauseType === "tool_interrupt") {
      await this.resume().result;
    } else if (this.pauseType === "crash") {
      const crashes = (await this.#recall.load(true)).crashes;
      if (crashes >= mostCrashes) return this.#appendIdle(setAside);
      await this.resume().result;
    } else if (this.state === "paused") {
      await this.#putAway();
    } else {
      await this.startQueued();
    }
    for (let run = this.#running(); run !== undefined; run = this.#running()) await run.result;
  }

  /** Answers that came too late for what a person has stopped since: left there, they would be looked at again and again. */
  async #putAway(): Promise<void> {
    const loaded = await this.#host.setup.store.load(this.#key, Number.MAX_SAFE_INTEGER);
    for (const command of loaded?.commands ?? []) {
      if (command.kind !== "answer") continue;
      await this.answerHere(read<AnswerMail>(this.#key, command), command.key).catch(() => {});
    }
  }

  #running(): LiveRun | undefined {
    return this.#execution?.run;
  }

  /** What a run() with this id began: the run itself while it goes on, else what was recorded of it. Undefined where nothing did. */
  #asked(id: string): Run<Out> | undefined {
    const execution = this.#execution;
    if (execution?.askedBy === id) return execution.run;
    const known = (execution?.state ?? this.#recall.now()).asked?.get(id);
    if (known === undefined) return undefined;
    const { runId, segment } = known;
    if (execution?.run.runId === runId) return execution.run;
    const last = execution === undefined && this.#recall.standing.runId === runId;
    // Its process died: asking again makes it go on. What a person stopped stays stopped.
    if (last && this.pauseType === "crash") return this.resume();
    if (last && this.state === "paused") {
      throw belayError("NEED_RESUME", { threadId: this.threadId, pauseType: this.pauseType ?? "a pause" });
    }
    const run = new LiveRun(this.threadId, runId, segment, this.#feed);
    void replay(this.#host.setup.store, this.#key, known, run);
    return run;
  }

  /** `says`: a person's words are in it, which are heard whatever happens. */
  #start(place: FramePlace, opening: Opening, id?: string, says = true): Run<Out> {
    const run = new LiveRun(this.threadId, place.runId, place.segment, this.#feed);
    const execution = new Execution(this.#executionHost(), place, run, id);
    this.#execution = execution;
    this.#host.running(execution);
    // In a microtask: a stop in the same tick is seen before the first model call. Answered calls run to their end first.
    if (this.#calls === undefined) queueMicrotask(() => void execution.start(opening));
    else void this.#startAfter(this.#calls, execution, opening, says);
    return run;
  }

  async #startAfter(calls: Execution, execution: Execution, opening: Opening, says: boolean): Promise<void> {
    await calls.over;
    const { status } = await calls.run.result;
    // A stop that met both has ended the one: there is nothing to begin.
    const ended = status === "terminated" || (status === "interrupted" && !says);
    if (execution.signal.stop !== undefined && ended) return execution.endAs(calls);
    await execution.start(opening);
  }

  /** A stretch for open calls only. */
  #startCalls(opening: Opening): Execution {
    const place = this.#resting();
    const run = new LiveRun(this.threadId, place.runId, place.segment, this.#feed);
    const execution = new Execution(this.#executionHost(), place, run, undefined, "calls");
    this.#calls = execution;
    this.#host.running(execution);
    void execution.start(opening);
    return execution;
  }

  /** Code that waits for a person has something to record. */
  #wake(): void {
    if (this.#isWriting) {
      // Whatever is under way takes it along, or leaves it to us.
      void (this.#execution ?? this.#calls)!.over.then(() => this.#hot.isWaiting && this.#wake());
      return;
    }
    if (this.#closing !== undefined || !this.#host.accepts()) return;
    const execution = this.#startCalls(unmoved(woken, this.#hot.head));
    // Whoever has the thread now begins the code again from its record.
    void execution.opening.then((refusal) => refusal !== undefined && this.#hot.dropAll());
  }

  /** Somebody may have written: what waits here for a person then goes on elsewhere. */
  async #dropIfMoved(): Promise<void> {
    if (this.#isWriting) return;
    const loaded = await this.#host.setup.store.load(this.#key, Number.MAX_SAFE_INTEGER).catch(() => undefined);
    if (!this.#isWriting && loaded !== undefined && loaded.row.head > this.#hot.head) this.#hot.dropAll();
  }

  get #isWriting(): boolean {
    return this.#execution !== undefined || this.#calls !== undefined;
  }

  #checker(): AnswerChecker {
    const { setup } = this.#host;
    return { agent: this.agent as Agent<unknown, never>, setup, deps: this.#deps, schemas: this.#schemas };
  }

  /** The stretch that the thread rests after. */
  #resting(): FramePlace {
    const { runId, segment } = this.standing;
    return this.#place(runId ?? this.#host.setup.clock.id(), Math.max(segment, 1));
  }

  #executionHost(): ExecutionHost {
    return {
      setup: this.#host.setup,
      key: this.#key,
      agent: this.agent,
      deps: this.#deps,
      feed: this.#feed,
      behind: this.#behind,
      hot: this.#hot,
      schemas: this.#schemas,
      replay: (id, run) => {
        const known = this.#recall.now().asked?.get(id);
        if (known !== undefined) void replay(this.#host.setup.store, this.#key, known, run);
      },
      load: (fresh, only) => (only === "calls" ? this.#recall.loadOpen(fresh) : this.#recall.load(fresh)),
      opened: (_execution, state) => {
        this.#recall.hold(state);
      },
      ended: (execution, state) => {
        if (execution === this.#calls) this.#calls = undefined;
        else this.#execution = undefined;
        this.#host.stopped(execution);
        if (state !== undefined) this.#hot.restsAt(state);
        // It had the thread, and lost it.
        else if (execution.state !== undefined) this.#hot.dropAll();
        // Where it failed the store may know more; whoever writes next finds out by its refusal.
        const known = state ?? execution.state;
        if (known !== undefined) this.#recall.settleOn(known);
        if (state?.state === "completed" && execution.mail) void this.#startWaiting();
      },
    };
  }

  async #send(how: "steer" | "input" | "observe", input: Input, options: SendOptions): Promise<Command> {
    this.#refuseIfClosed();
    const { threadId, state } = this;
    if (state === "terminated")
      throw belayError("INVALID_STATE", { threadId, state, action: how === "input" ? "enqueue()" : `${how}()` });
    const messages = readInput(input, this.#host.setup.maxBytes);
    if (messages.length === 0) throw belayError("INPUT_EMPTY", { threadId });
    const { store, clock } = this.#host.setup;
    const observed = how === "observe" ? { observed: true as const } : {};
    const mail: InputMail = { messages, ...(options.by !== undefined && { by: options.by }), ...observed };
    const kind = how === "input" ? how : "steer";
    const command: Command = { key: options.id ?? clock.id(), kind, body: JSON.stringify(mail), at: clock.now() };
    // A new thread has to be on record before anything can wait for it; a run may begin to put it there meanwhile.
    for (let seen: Execution | undefined | null = null; seen !== this.#execution; ) {
      seen = this.#execution;
      await this.opening;
    }
    if (this.state === "created") await this.#initialize();
    if (await store.send(this.#key, command)) this.#execution?.deliver(command);
    return command;
  }

  /** A run has ended, and more has come meanwhile. */
  async #startWaiting(): Promise<void> {
    await this.#takeObserved().catch(() => {});
    await this.startQueued();
  }

  /** What waits to be known enters a history that rests. Refused means that somebody takes it along. */
  async #takeObserved(): Promise<void> {
    const { store, clock } = this.#host.setup;
    const rests = () => !this.#isWriting && (this.state === "initialized" || this.state === "completed");
    if (!rests() || !this.#host.accepts() || this.#closing !== undefined) return;
    try {
      const commands = await observedIn(store, this.#key);
      if (commands.length > 0 && rests()) await this.#appendIdle(observed(this.#key, commands, clock.now()));
    } catch (error) {
      const { code } = error as Partial<BelayError>;
      if (code !== "INVALID_STATE" && code !== "STORE_CONFLICT" && code !== "THREAD_BUSY") throw error;
    }
  }

  /** Puts a new thread on record. Refused means that somebody else has done it. */
  async #initialize(): Promise<void> {
    await this.#appendIdle(initialized).catch((error) => {
      if (!["INVALID_STATE_TRANSITION", "STORE_CONFLICT", "THREAD_BUSY"].includes(error.code)) throw error;
    });
  }

  /** Starts a run with the oldest input that waits, where the thread is idle and nobody must act first. For the runner. */
  async startQueued(): Promise<void> {
    if (this.#isWriting) return;
    // Others may have moved it since.
    await this.refresh().catch(() => {});
    const loaded = await this.#host.setup.store.load(this.#key, Number.MAX_SAFE_INTEGER).catch(() => undefined);
    const command = loaded?.commands.find(({ kind }) => kind === "input");
    const idle = this.state === "initialized" || this.state === "completed" || this.state === "created";
    if (command === undefined || !idle || this.#execution !== undefined || this.#closing !== undefined) return;
    if (!this.#host.accepts()) return;
    const { clock } = this.#host.setup;
    const place = this.#place(clock.id(), 1);
    const mail = read<InputMail>(this.#key, command);
    const begin = (messages: InputMail["messages"], at: number) =>
      inputFactsOf(place, command.key, "input", { ...mail, messages }, at);
    const run = this.#start(place, newRun(this.#checker(), place, mail.messages, begin));
    // Somebody took it back, or took it, in the meantime: the next one is due.
    void run.result.then((result) => {
      if (result.status === "failed" && result.error.code === "INPUT_WITHDRAWN") void this.startQueued();
    });
  }

  /** One append without a run. */
  async #appendIdle(make: IdleFacts): Promise<void> {
    const host = this.#executionHost();
    let head = 0;
    const seen: IdleFacts = (place, state) => {
      head = state.head;
      return make(place, state);
    };
    await appendIdle(host, this.#resting(), this.#recall, seen);
    const now = this.#recall.now();
    this.#hot.check(head, now);
    this.#hot.restsAt(now);
  }

  #place(runId: string, segment: number): FramePlace {
    const { name } = this.agent;
    return { threadId: this.threadId, runId, segment, agentName: name, runPath: name };
  }

  #stop(reason: string, by: string): ReturnType<typeof readStop> {
    return readStop({ reason, by }, this.#host.setup.clock.now());
  }

  /** What another process tells of a stop does not know of the calls that still run in this one. */
  async #orBehind(told: Promise<Receipt>): Promise<Receipt> {
    const receipt = await told;
    return { ...receipt, late: [...new Set([...receipt.late, ...this.#behind])] };
  }

  #notAccepted(): Receipt {
    const { runId, segment } = this.standing;
    const none = { partialText: "", stopped: [], finished: [], notStarted: [], late: [...this.#behind] };
    return { accepted: false, runId, segment: runId === undefined ? undefined : segment, ...none };
  }

  #refuseIfClosed(): void {
    if (this.#closing !== undefined) throw belayError("SESSION_CLOSED", { threadId: this.threadId });
  }

  #refuseIfBusy(): void {
    this.#refuseIfClosed();
    if (!this.#host.accepts()) throw belayError("RUNNER_CLOSED", {});
    if (this.#execution !== undefined) {
      throw belayError("ALREADY_RUNNING", { threadId: this.threadId, runId: this.#execution.run.runId });
    }
  }
}

/** Where somebody has written since, whoever has the thread begins that code again. */
function unmoved(opening: Opening, head: number): Opening {
  return (state, ...rest) => {
    if (state.head === head) return opening(state, ...rest);
    throw belayError("TOKEN_SPENT", { threadId: state.threadId, segment: state.run?.segment ?? 0 });
  };
}

function openNow({ interrupts }: Standing): boolean {
  return interrupts.some(isRequest);
}
