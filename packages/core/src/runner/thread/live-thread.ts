// A thread in this process: its fold, its tenure, the code that waits in memory, and its feed. A session is its public face,
// and the files beside this one do the work of the session's verbs. Invariants:
// 1. At most one tenure at a time: only its writer writes.
// 2. Guards flip at once, events follow (R4).
// 3. A tenure, and code that waits here for a person, keep the session in memory. The runner refers to it weakly.

import type { Definition } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import type { Taken, ThreadState } from "../../journal/state.ts";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import type { StandardSchema } from "../../schema/schema.ts";
import type { Loaded, ThreadKey, ThreadRow } from "../../store/store.ts";
import { isSignal, type OpeningCommand, type SegmentCommand } from "../decide/command.ts";
import type { IdleFacts } from "../decide/idle.ts";
import { agentUnknown } from "../given/absent-agent.ts";
import type { Feed } from "../read/feed.ts";
import { Recall, type Standing, standingOf } from "../read/recall.ts";
import { LiveRun } from "../read/run.ts";
import type { Patience } from "../read/until-taken.ts";
import { appendIdle } from "../write/append-idle.ts";
import type { RunnerSetup } from "../write/desk.ts";
import { type HotHost, HotSession } from "../write/hot.ts";
import { follow } from "./follow.ts";
import { hasNotices, notify } from "./notify.ts";
import { OwnerSeen } from "./owner-seen.ts";
import type { Slots } from "./slots.ts";
import { Tenure, type TenureHost, type TenureOptions } from "./tenure.ts";

/** The parts of a runner that its sessions use. */
export interface SessionHost {
  readonly setup: RunnerSetup;
  running(tenure: Tenure): void;
  stopped(tenure: Tenure): void;
  /** Removes a session: the next call of open() makes another one. */
  closed(thread: LiveThread): void;
  /** Returns the feed of a thread. All of its sessions share one. */
  feed(threadId: string): Feed;
  /** Bounds the threads that run for work(), enqueue() and send(). */
  readonly slots: Slots;
  /** Returns false when the runner is letting go of its threads: no run begins any more. */
  accepts(): boolean;
  /** Returns the runs and resumes of a thread that were asked for and have not begun, in order. */
  ahead(threadId: string): readonly Promise<void>[];
}

export class LiveThread implements TenureHost, HotHost {
  readonly host: SessionHost;
  readonly setup: RunnerSetup;
  readonly key: ThreadKey;
  readonly agent: Definition;
  readonly deps: unknown;
  readonly feed: Feed;
  readonly recall: Recall;
  /** The time in which this process has the lease, or is about to take it. */
  tenure: Tenure | undefined;
  /** Calls that were left behind and still run. They outlive the segment that began them. */
  readonly behind: string[] = [];
  /** Another process that has the thread. */
  readonly #owner: OwnerSeen;
  /** Code that waits for a person in memory. */
  readonly hot: HotSession;
  /** The schemas of the answers that this code takes, by request. */
  readonly schemas = new Map<string, StandardSchema>();
  /** Settles when the session is closed. Undefined until close() is called. */
  closing: Promise<void> | undefined;
  /** True if the thread was deleted. */
  isGone = false;
  /** Called when a run has ended and inputs have arrived meanwhile. It belongs to the session, and so keeps it in memory. */
  readonly #moreCame: () => void;
  /** True if hooks are called for facts on record. */
  #isHeard: boolean | undefined;
  /** The fence of a lease that could not be returned. */
  #held: number | undefined;

  constructor(host: SessionHost, key: ThreadKey, agent: Definition, deps: unknown, moreCame: () => void) {
    const { setup } = host;
    this.host = host;
    this.setup = setup;
    this.key = key;
    this.agent = agent;
    this.deps = deps;
    this.#moreCame = moreCame;
    this.hot = new HotSession(setup.hot, this);
    this.#owner = new OwnerSeen(setup, key, () => this.lookAgain());
    this.recall = new Recall(setup.store, key, { gone: () => this.#isGone(), saw: (row) => this.#saw(row) });
    this.feed = host.feed(key.threadId);
  }

  get state(): SessionState {
    if (this.running !== undefined) return this.running.state?.state ?? "running";
    const { state } = this.standing;
    return state === "running" && !this.isElsewhere ? "paused" : state;
  }

  /** True if another process was running the thread when this one last read it. */
  get isElsewhere(): boolean {
    return this.tenure === undefined && this.#owner.isThere;
  }

  get pauseType(): PauseType | undefined {
    if (this.running !== undefined) return undefined;
    const { state, pauseType } = this.standing;
    return state === "running" && !this.isElsewhere ? "crash" : pauseType;
  }

  get standing(): Standing {
    const state = this.live?.state;
    return state === undefined ? this.recall.standing : standingOf(state);
  }

  /** The tenure of the present run, or of the one that waits for answered calls to end. */
  get running(): Tenure | undefined {
    return this.tenure?.mayCallModel ? this.tenure : this.tenure?.next;
  }

  /** The tenure of the run, or of answered calls if there is no run. */
  get live(): Tenure | undefined {
    return this.running ?? this.tenure;
  }

  /** Resolves when no stop of the thread at rest is under way. */
  async stopped(): Promise<void> {
    while (this.tenure !== undefined && isSignal(this.tenure.command)) await this.tenure.over;
  }

  get isWriting(): boolean {
    return this.tenure !== undefined;
  }

  /** Resolves when the present segment is on record, or its command is refused or known. */
  get opening(): Tenure["opening"] {
    return this.running?.opening ?? Promise.resolve({ facts: [] });
  }

  refuseIfClosed(): void {
    if (this.closing !== undefined) throw belayError("SESSION_CLOSED", { threadId: this.key.threadId });
  }

  refuseIfBusy(): void {
    this.refuseIfClosed();
    if (!this.host.accepts()) throw belayError("RUNNER_CLOSED", {});
    if (this.agent.absent) throw agentUnknown(this.agent.name);
    if (this.running !== undefined) {
      throw belayError("ALREADY_RUNNING", { threadId: this.key.threadId, runId: this.running.run.runId });
    }
    if (this.isElsewhere && this.state === "running") {
      throw belayError("ALREADY_RUNNING", { threadId: this.key.threadId, runId: this.standing.runId ?? "" });
    }
  }

  place(runId: string, segment: number): FramePlace {
    const { name } = this.agent;
    return { threadId: this.key.threadId, runId, segment, agentName: name, runPath: name };
  }

  /** Returns the place of the last segment. */
  resting(): FramePlace {
    const { runId, segment } = this.standing;
    return this.place(runId ?? this.setup.clock.id(), Math.max(segment, 1));
  }

  /** Begins a segment. */
  start(place: FramePlace, command: SegmentCommand, patience?: Patience): LiveRun {
    const tenure = this.#tenureFor(place, { command, ...(patience !== undefined && { patience }) });
    // In a microtask: a stop in the same tick is seen before the first model call. Answered calls run to their end first.
    if (this.tenure !== undefined) void this.tenure.precede(tenure);
    else {
      this.tenure = tenure;
      queueMicrotask(() => void tenure.start());
    }
    return tenure.run;
  }

  /** Begins a tenure for answered calls, or for a stop. `byRow`: the append that begins it consumes the row of the command. */
  startAtRest(command: Exclude<OpeningCommand, SegmentCommand>, byRow = false): Tenure {
    const tenure = this.#tenureFor(this.resting(), { command, byRow });
    this.tenure = tenure;
    void tenure.start();
    return tenure;
  }

  #tenureFor(place: FramePlace, options: TenureOptions): Tenure {
    const run = new LiveRun(place.threadId, place.runId, place.segment, this.feed);
    const tenure = new Tenure(this, place, run, options);
    this.host.running(tenure);
    return tenure;
  }

  /** Makes one append without a run. */
  async append(make: IdleFacts, row?: string): Promise<void> {
    let head = 0;
    const seen: IdleFacts = (place, state) => {
      head = state.head;
      return make(place, state);
    };
    await appendIdle(this, this.resting(), this.recall, seen, row);
    this.#owner.saw(undefined);
    const now = this.recall.now();
    this.hot.check(head, now);
    this.hot.restsAt(now);
  }

  /** Reads the thread from the store. During a tenure of this process, only its writer changes the fold. */
  async refresh(): Promise<void> {
    if (!this.isWriting) await this.recall.load(true, () => !this.isWriting);
  }

  /**
   * Reads the thread if another process has written to it. Returns its row and its commands if no process has. Never rejects: if
   * the store fails, so does the next append.
   */
  async lookAgain(): Promise<Loaded | undefined> {
    if (this.isWriting) return undefined;
    try {
      const loaded = await this.recall.read(Number.MAX_SAFE_INTEGER);
      if (loaded === undefined || this.isWriting) return undefined;
      const { row } = loaded;
      if (row.head === this.standing.head) {
        this.#saw(row);
        return loaded;
      }
      if (row.head > this.standing.head) await this.refresh();
    } catch {
      // The next append finds out.
    }
    return undefined;
  }

  /** The store shows the thread as this session knows it, with this row. */
  #saw(row: ThreadRow | undefined): void {
    this.#owner.saw(this.standing.state === "running" ? row?.lease : undefined);
  }

  /** It is closed: it no longer reads the facts of other processes. */
  letLie(): void {
    this.#owner.end();
  }

  load(fresh: boolean, whole: boolean): Promise<ThreadState> {
    return whole ? this.recall.load(fresh) : this.recall.loadOpen(fresh);
  }

  follow(taken: Taken, run: LiveRun): void {
    void follow(this, taken, run);
  }

  opened(_tenure: Tenure, state: ThreadState): void {
    this.#owner.saw(undefined);
    this.recall.hold(state);
  }

  ended(tenure: Tenure, state: ThreadState | undefined): void {
    this.tenure = tenure.next;
    this.host.stopped(tenure);
    if (state !== undefined) this.hot.restsAt(state);
    // The tenure had the lease, and lost it.
    else if (tenure.state !== undefined) this.hot.dropAll();
    const known = state ?? tenure.state;
    if (known !== undefined) this.recall.settleOn(known);
    // It failed: another process may have the thread by now.
    if (state === undefined && tenure.state !== undefined && this.closing === undefined) void this.lookAgain();
    if (state?.state === "completed" && tenure.mail) this.#moreCame();
  }

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  async letGo(fence = this.#held): Promise<void> {
    if (fence === undefined) return;
    this.#held = fence;
    try {
      await this.setup.store.release(this.key, fence);
      if (this.#held === fence) this.#held = undefined;
    } catch {
      // The store still fails. The next tenure tries again, or the lease lapses.
    }
  }

  /** Calls the hooks for facts on record. */
  recorded(facts: readonly Fact[]): void {
    this.#isHeard ??= hasNotices(this);
    if (this.#isHeard) notify(this, facts);
  }

  /** Begins a tenure to record the results of code that waits for a person. */
  wake(): void {
    const { live } = this;
    if (live !== undefined) {
      // The present tenure may record them with its own facts. If it does not, the next one does.
      void live.over.then(() => this.hot.isWaiting && this.wake());
      return;
    }
    if (this.closing !== undefined || !this.host.accepts()) return;
    const key = `wake:${this.setup.clock.id()}`;
    const tenure = this.startAtRest({ do: "wake", key, by: "runtime", head: this.hot.head });
    // Another process has the thread, and begins the code again from its record.
    void tenure.opening.then((opened) => "refusal" in opened && this.hot.dropAll());
  }

  /** Ends the session: its thread was deleted. A thread made again under the same name is another one. */
  #isGone(): void {
    this.isGone = true;
    this.#owner.end();
    this.hot.dropAll();
    this.feed.gone(this);
    this.host.closed(this);
  }

  /** Watches for appends of other processes: then the code that waits here for a person continues there. */
  watch(): () => void {
    return this.setup.store.watch(this.key, () => void this.#dropIfMoved(), "append", true);
  }

  async #dropIfMoved(): Promise<void> {
    if (this.isWriting) return;
    const loaded = await this.recall.read(Number.MAX_SAFE_INTEGER).catch(() => undefined);
    if (!this.isWriting && loaded !== undefined && loaded.row.head > this.hot.head) this.hot.dropAll();
  }
}
