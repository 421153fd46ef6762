// The live handle on a thread. Invariants:
// 1. Refusals this session can know are thrown before anything changes (R4); guards flip at once, events follow.
// 2. At most one execution at a time, and it alone writes.
// 3. When idle it remembers where the thread stands, not what was said: the history is folded again when it is looked
//    at, where the store can be read without waiting.

import type { Agent } from "../agent.ts";
import { belayError } from "../error.ts";
import type { BelayEvent } from "../event.ts";
import type { FramePlace } from "../frame.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { fold } from "../journal/fold.ts";
import { newThread, type ThreadState } from "../journal/state.ts";
import { move, type PauseType, type SessionState } from "../lifecycle.ts";
import { addUsage, type Message } from "../message.ts";
import type { ThreadKey } from "../store/store.ts";
import { Drive, type DriveSetup } from "./drive.ts";
import { busy, Execution, type ExecutionHost, type Opening, type Receipt } from "./execution.ts";
import { lostCalls, runEnd, stateFact } from "./facts.ts";
import { Feed } from "./feed.ts";
import { type Input, readInput } from "./input.ts";
import { goOn, newRun } from "./openings.ts";
import { checkResume, type InterruptOptions, type ResumeOptions, readCursor, readStop } from "./options.ts";
import { loadThread, readFacts } from "./read-facts.ts";
import { LiveRun, type Run } from "./run.ts";

/** What the runner is to its sessions. */
export interface SessionHost {
  readonly setup: DriveSetup;
  running(execution: Execution): void;
  stopped(execution: Execution): void;
  closed(session: Session<unknown>): void;
}

interface Standing {
  readonly state: SessionState;
  readonly pauseType: PauseType | undefined;
  readonly interrupts: readonly Interrupt[];
  readonly runId: string | undefined;
  readonly segment: number;
}

export class Session<Out = string> {
  readonly threadId: string;
  readonly agent: Agent<Out, never>;
  readonly #host: SessionHost;
  readonly #key: ThreadKey;
  readonly #deps: unknown;
  readonly #feed: Feed;
  #standing: Standing = { state: "created", pauseType: undefined, interrupts: [], runId: undefined, segment: 0 };
  /** The fold: held while it is in use; after that only as long as memory is not needed elsewhere. */
  #fold: ThreadState | undefined;
  #idleFold: WeakRef<ThreadState> | undefined;
  #execution: Execution | undefined;
  /** Calls that were left behind and still run; they outlive the stretch that began them. */
  readonly #behind = new Set<string>();
  #closing: Promise<void> | undefined;

  /** Made by runner.open(). */
  constructor(host: SessionHost, key: ThreadKey, agent: Agent<Out, never>, deps: unknown) {
    this.#host = host;
    this.#key = key;
    this.threadId = key.threadId;
    this.agent = agent;
    this.#deps = deps;
    const { store } = host.setup;
    this.#feed = new Feed(
      (after) => readFacts(store, key, after),
      (changed) => store.watch(key, changed),
    );
  }

  get state(): SessionState {
    if (this.#execution !== undefined) return this.#execution.state?.state ?? "running";
    return this.#standing.state === "running" ? "paused" : this.#standing.state;
  }

  /** Why it is paused; undefined when it is not. */
  get pauseType(): PauseType | undefined {
    if (this.#execution !== undefined) return undefined;
    return this.#standing.state === "running" ? "crash" : this.#standing.pauseType;
  }

  /** What a pause waits for. */
  get interrupts(): readonly Interrupt[] {
    return this.#execution === undefined ? this.#standing.interrupts : [];
  }

  /** The present run, or the last one. */
  get runId(): string | undefined {
    return this.#execution?.run.runId ?? this.#standing.runId;
  }

  /** The history of the root agent. */
  get messages(): readonly Message[] {
    const state = this.#execution?.state ?? this.#remembered() ?? this.#refold();
    return state.scopes.get(this.agent.name)?.messages.slice() ?? [];
  }

  /** Starts a run. While paused by a person, by pause() or by a crash it goes on with the input. */
  run(input: Input): Run<Out> {
    this.#refuseIfBusy();
    const { state, pauseType } = this;
    const { threadId } = this;
    if (state === "paused") {
      if (pauseType === "tool_interrupt" || pauseType === "node_interrupt") {
        throw belayError("NEED_RESUME", { threadId, pauseType });
      }
      return this.resume({ input });
    }
    if (state === "terminated") throw belayError("INVALID_STATE", { threadId, state, action: "run()" });
    const inputs = readInput(input);
    if (inputs.length === 0) throw belayError("INPUT_EMPTY", { threadId });
    const { clock } = this.#host.setup;
    const place = this.#place(clock.id(), 1);
    return this.#start(
      place,
      newRun(place, this.agent.repair, inputs, () => clock.now()),
    );
  }

  /** Goes on after a pause or an error: with input by reasoning again, without from exactly where it stopped. */
  resume(options: ResumeOptions = {}): Run<Out> {
    checkResume(options);
    this.#refuseIfBusy();
    const { state, threadId } = this;
    const { runId, segment } = this.#standing;
    if ((state !== "paused" && state !== "error") || runId === undefined) {
      throw belayError("INVALID_STATE", { threadId, state, action: "resume()" });
    }
    const inputs = readInput(options.input);
    const mode = options.mode ?? (inputs.length > 0 ? "rethink" : "continue");
    const { clock } = this.#host.setup;
    const place = this.#place(runId, segment + 1);
    return this.#start(
      place,
      goOn(place, { mode, repair: this.agent.repair, inputs }, () => clock.now()),
    );
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
      const { runId, segment } = options;
      const other =
        (runId !== undefined && runId !== execution?.run.runId) ||
        (segment !== undefined && segment !== execution?.run.segment);
      if (execution === undefined || other) return Promise.resolve(this.#notAccepted());
      return execution.interrupt(stop, options.mode ?? "now", options.timeoutMs, options.force ?? false);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Parks at the next step boundary; nothing is aborted. */
  pause(): Promise<Receipt> {
    return this.#execution?.pause() ?? Promise.resolve(this.#notAccepted());
  }

  /** Stops now, for good. */
  async terminate(): Promise<void> {
    this.#refuseIfClosed();
    if (this.#execution !== undefined) {
      await this.#execution.terminate(this.#stop("terminate"));
      if (this.state === "terminated") return;
    }
    move(this.state, "terminated");
    await this.#terminateIdle();
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
    await this.#execution?.close(this.#stop("close"));
    this.#fold = undefined;
    this.#host.closed(this as Session<unknown>);
  }

  /** Reads the thread from the store; the runner does this when it opens a session. */
  async refresh(): Promise<void> {
    // While a run of ours writes, it alone changes the fold.
    if (this.#execution !== undefined) return;
    await this.#load(true, () => this.#execution === undefined);
  }

  /** Resolves when the present stretch is on record, or to why it could not begin. */
  get opening(): Execution["opening"] {
    return this.#execution?.opening ?? Promise.resolve(undefined);
  }

  /** Where the thread stands, for checking a handle. */
  get standing(): {
    readonly state: SessionState;
    readonly runId: string | undefined;
    readonly segment: number;
    readonly tokenHash: string | undefined;
  } {
    const { runId, segment } = this.#standing;
    return { state: this.state, runId, segment, tokenHash: (this.#remembered() ?? this.#refold()).tokenHash };
  }

  #start(place: FramePlace, opening: Opening): Run<Out> {
    const run = new LiveRun(this.threadId, place.runId, place.segment, this.#feed);
    const execution = new Execution(this.#executionHost(), place, run);
    this.#execution = execution;
    this.#host.running(execution);
    // In a microtask: a stop in the same tick is seen before the first model call.
    queueMicrotask(() => void execution.start(opening));
    return run;
  }

  #executionHost(): ExecutionHost {
    return {
      setup: this.#host.setup,
      key: this.#key,
      agent: this.agent,
      deps: this.#deps,
      feed: this.#feed,
      behind: this.#behind,
      load: (fresh) => this.#load(fresh),
      opened: (_execution, state) => {
        this.#fold = state;
      },
      ended: (execution, state) => {
        this.#execution = undefined;
        this.#host.stopped(execution);
        // Where it failed the store may know more; whoever writes next finds out by its refusal.
        const known = state ?? execution.state;
        if (known !== undefined) this.#settleOn(known);
      },
    };
  }

  async #terminateIdle(): Promise<void> {
    const { setup } = this.#host;
    const { runId, segment } = this.#standing;
    const place = this.#place(runId ?? setup.clock.id(), Math.max(segment, 1));
    const state = await this.#readAll();
    const paused = state.state === "paused" || state.state === "running";
    move(paused ? "paused" : state.state, "terminated");
    const usage = state.run?.usage ?? addUsage(undefined, undefined);
    const end = paused ? [...lostCalls(place, state), runEnd(place, "terminated", usage)] : [];
    const drive = new Drive(setup, this.#key, this.agent.name, state, this.#feed, () => {});
    const refusal = await drive.open([...end, stateFact(place, "terminated")], () => this.#settleOn(state), true);
    if (refusal?.why === "busy") throw busy(this.threadId, refusal.owner, refusal.until);
    if (refusal?.why === "conflict") {
      throw belayError("STORE_CONFLICT", { threadId: this.threadId, expected: state.head, found: refusal.head });
    }
  }

  /** The fold, brought up to date where `fresh` asks for it, unless `may` says at the end that it must not. */
  async #load(fresh: boolean, may = () => true): Promise<ThreadState> {
    const known = this.#remembered();
    if (known !== undefined && !fresh) return known;
    if (known === undefined) {
      const state = await this.#readAll();
      if (may()) this.#settleOn(state);
      return state;
    }
    const loaded = await loadThread(this.#host.setup.store, this.#key, known.head);
    if (!may()) return known;
    // Others may have read the same lines meanwhile.
    const news = loaded?.lines.filter((line) => line.seq > known.head) ?? [];
    this.#fold = undefined;
    this.#idleFold = undefined;
    fold(known, news); // Where it throws, half of a line may be in it: it is not looked at again.
    this.#settleOn(known);
    return known;
  }

  async #readAll(): Promise<ThreadState> {
    const state = newThread(this.threadId);
    fold(state, (await loadThread(this.#host.setup.store, this.#key))?.lines ?? []);
    return state;
  }

  #remembered(): ThreadState | undefined {
    return this.#fold ?? this.#idleFold?.deref();
  }

  #remember(state: ThreadState): void {
    if (this.#host.setup.store.linesSync === undefined) this.#fold = state;
    else this.#idleFold = new WeakRef(state);
  }

  #refold(): ThreadState {
    const state = newThread(this.threadId);
    const lines = this.#host.setup.store.linesSync?.(this.#key);
    if (lines === undefined) return state;
    fold(state, lines);
    this.#remember(state);
    return state;
  }

  #settleOn(state: ThreadState): void {
    this.#standing = standingOf(state);
    this.#fold = undefined;
    this.#remember(state);
  }

  #place(runId: string, segment: number): FramePlace {
    const { name } = this.agent;
    return { threadId: this.threadId, runId, segment, agentName: name, runPath: name };
  }

  #stop(reason: string): ReturnType<typeof readStop> {
    return readStop({ reason }, this.#host.setup.clock.now());
  }

  #notAccepted(): Receipt {
    const { runId, segment } = this.#standing;
    const none = { partialText: "", stopped: [], finished: [], notStarted: [], late: [...this.#behind] };
    return { accepted: false, runId, segment: runId === undefined ? undefined : segment, ...none };
  }

  #refuseIfClosed(): void {
    if (this.#closing !== undefined) throw belayError("SESSION_CLOSED", { threadId: this.threadId });
  }

  #refuseIfBusy(): void {
    this.#refuseIfClosed();
    if (this.#execution !== undefined) {
      throw belayError("ALREADY_RUNNING", { threadId: this.threadId, runId: this.#execution.run.runId });
    }
  }
}

function standingOf({ state, pauseType, interrupts, run }: ThreadState): Standing {
  return { state, pauseType, interrupts, runId: run?.id, segment: run?.segment ?? 0 };
}
