// createRunner: agents and a store, and what people may ask of the threads between them. Which sessions are open is beside
// it (open-sessions), like what each thing that is asked begins.

import type { Agent } from "../../agent.ts";
import { belayError } from "../../error.ts";
import type { BelayEvent } from "../../event.ts";
import { type Answer, readAnswer } from "../../interrupt/answer.ts";
import type { Handle } from "../../interrupt/interrupt.ts";
import type { RememberedRule } from "../../permission/remembered.ts";
import { isMovable, type ThreadKey, type ThreadRow } from "../../store/store.ts";
import { checkHandle, readHandle } from "../decide/check-handle.ts";
import { answerCommand, labelCommand } from "../decide/command.ts";
import type { Receipt } from "../decide/ending.ts";
import type { Input } from "../given/input.ts";
import type { LabelChange } from "../given/label.ts";
import type { AnswerOptions, DrainOptions, EndOptions, EventOptions, InterruptOptions } from "../given/options.ts";
import {
  checkRun,
  type ResumeOptions,
  type RunOptions,
  readDrain,
  readId,
  type SendOptions,
} from "../given/options.ts";
import { deleteThread } from "../past/delete-thread.ts";
import { type ForkOptions, forkThread } from "../past/fork.ts";
import { type PruneOptions, pruneThreads, readIdle } from "../past/prune.ts";
import { type Lost, repairThread } from "../past/repair.ts";
import type { Effect } from "../read/effects.ts";
import { type HistoryPoint, historyPoints } from "../read/history-points.ts";
import { loadThread } from "../read/read-facts.ts";
import { readPast } from "../read/read-past.ts";
import type { Run } from "../read/run.ts";
import type { LiveThread } from "../thread/live-thread.ts";
import { withdraw } from "../thread/send.ts";
import { stopAnywhere } from "../thread/stop-anywhere.ts";
import { type Door, submit } from "../thread/submit.ts";
import type { RunnerSetup } from "../write/desk.ts";
import { type Inbox, type InboxFilter, readInbox } from "./inbox.ts";
import { OpenSessions, unlessBusy } from "./open-sessions.ts";
import { type OpenOptions, type RunnerOptions, readAgents, readSetup } from "./runner-options.ts";
import type { Session } from "./session.ts";
import { readThreads, type ThreadFilter, type ThreadPage } from "./threads.ts";
import { Troubles } from "./troubles.ts";
import { type WorkOptions, workOn } from "./work.ts";

/** A thread that crashes its worker this often without getting any further is set aside. */
const MOST_CRASHES = 3;

/** Agents of several kinds: a run's output is one of theirs, and `deps` serves them all. */
export function createRunner<A extends Agent<unknown, never>>(
  options: Omit<RunnerOptions<never, never>, "agent" | "agents" | "deps"> & {
    readonly agents: readonly A[];
  } & NeededDeps<DepsOf<A>>,
): Runner<OutputOf<A>, DepsOf<A>>;
export function createRunner<Out = string, Deps = unknown>(
  options: RunnerOptions<Out, Deps> & NeededDeps<Deps>,
): Runner<Out, Deps>;
export function createRunner(options: object): unknown {
  return new Runner(options as RunnerOptions<unknown, unknown>);
}

/** `deps` may be left out only where no tool needs any. */
type NeededDeps<Deps> = [unknown] extends [Deps]
  ? { readonly deps?: Deps }
  : [Deps] extends [never]
    ? { readonly deps?: unknown }
    : { readonly deps: Deps };
type OutputOf<A> = A extends Agent<infer Out, never> ? Out : never;
type Needs<A> = A extends Agent<unknown, infer Deps> ? (deps: Deps) => void : never;
type DepsOf<A> = Needs<A> extends (deps: infer Deps) => void ? Deps : never;

/** How often a worker looks for threads that have had their time. */
const PRUNE_EVERY_MS = 60_000;

/** However little time a drain has. */
const LEAST_FOR_STORE_MS = 1_000;

export class Runner<Out = string, Deps = unknown> {
  readonly #tenant: string;
  readonly #ttlMs: number | undefined;
  #pruneAt = 0;
  /** Threads that go on here and are set aside if the process dies of it again. */
  readonly #lastTries = new Set<LiveThread>();
  readonly #prunes: Troubles;
  readonly #setup: RunnerSetup;
  /** Damaged requests that the log has heard of. */
  readonly #logged = new Set<string>();
  readonly #sessions: OpenSessions<Out, Deps>;

  constructor(options: RunnerOptions<Out, Deps>) {
    const agents = readAgents(options);
    const { ttlMs, deps } = options;
    const tenant = readId("tenant", options.tenant ?? "default");
    this.#tenant = tenant;
    this.#setup = readSetup(options);
    this.#prunes = new Troubles(this.#setup.log);
    this.#ttlMs = ttlMs === undefined ? undefined : readIdle("ttlMs", ttlMs);
    this.#sessions = new OpenSessions(this.#setup, tenant, agents, deps);
  }

  /** Its name in the leases of what it runs: no other runner has it, in this process or elsewhere. */
  get owner(): string {
    return this.#setup.owner;
  }

  /** The session on a thread: the same one each time while it is open here. A thread that is not there begins with its first run. */
  async open(threadId?: string, options: OpenOptions<Deps> = {}): Promise<Session<Out>> {
    return this.#sessions.openNow(threadId, options);
  }

  /** Runs `input` on a new thread. With an id the thread has it too, so that asking twice is asking once. */
  async run(input: Input, options: RunOptions = {}): Promise<Run<Out>> {
    checkRun(options);
    return this.open(options.id).then((session) => session.run(input, options));
  }

  /** Goes on from a handle, in any process. Rejects where the store refuses; then nothing is spent. */
  async resume(handle: Handle, options: ResumeOptions = {}): Promise<Run<Out>> {
    const { threadId } = readHandle(handle);
    const over = this.#sessions.goOn(threadId);
    let session: Session<Out>;
    let run: Run<Out>;
    try {
      session = await this.#sessions.with(threadId, async () => {
        const known = this.#sessions.known(threadId);
        const opened = await this.#sessions.open(threadId, {}, true);
        if (known !== undefined) await opened.refresh();
        return opened;
      });
      const tokenHash = checkHandle(handle, session.standing, this.#setup.clock.now());
      run = session.resumeBy(tokenHash, options);
    } finally {
      over();
    }
    // Whoever has the run hears what is said from then on: nothing is waited for after this.
    const refusal = await session.opening;
    if (refusal !== undefined) throw refusal;
    return run;
  }

  /** Stops the thread's run, whichever process is running it; one that waits for people waits no more. */
  async interrupt(threadId: string, options: InterruptOptions = {}): Promise<Receipt> {
    const session = this.#sessions.known(threadId);
    return session?.state === "running" ? session.interrupt(options) : stopAnywhere(this.#door(threadId), options);
  }

  /** session.answer() for a request of any thread, whichever process has it. */
  async answer(id: string, given: Answer, options: AnswerOptions = {}): Promise<{ readonly open: number }> {
    this.#sessions.refuseIfClosed();
    checkRun(options);
    const answer = readAnswer(id, given, this.#setup.maxBytes);
    const command = answerCommand(id, answer, options.id, this.#setup.clock.id());
    const threadId = await this.#setup.store.requestThread(this.#tenant, id);
    if (threadId === undefined) throw belayError("ANSWER_UNKNOWN", { id });
    return submit(this.#door(threadId), command);
  }

  /** The door of a thread that any process may have. */
  #door(threadId: string): Door {
    const sessions = this.#sessions;
    return {
      setup: this.#setup,
      key: this.#key(threadId),
      here: (ask) =>
        sessions.with(threadId, async () => (await sessions.open(threadId, {}).catch(unlessBusy))?.ask(ask)),
    };
  }

  /** Open requests over all threads, the oldest first; those that cannot be read are its `damaged`. */
  async inbox(filter: InboxFilter = {}): Promise<Inbox> {
    this.#sessions.refuseIfClosed();
    return readInbox(this.#setup, this.#tenant, filter, this.#logged);
  }

  /** What people allowed for good, the oldest first; with a thread, what they allowed there. */
  async rules(options: { readonly threadId?: string } = {}): Promise<readonly RememberedRule[]> {
    this.#sessions.refuseIfClosed();
    const { threadId } = options;
    if (threadId !== undefined)
      return this.#sessions.with(threadId, async () => {
        const session = await this.#sessions.any(threadId);
        await session.refresh();
        return session.rules;
      });
    const rows = await this.#setup.store.rules(this.#tenant);
    return rows.map(({ body }) => JSON.parse(body) as RememberedRule);
  }

  /** Removes what people allowed for good, or, with a thread, what they allowed there; false where there is no such rule. */
  async removeRule(id: string, options: { readonly threadId?: string; readonly by?: string } = {}): Promise<boolean> {
    this.#sessions.refuseIfClosed();
    const { threadId, ...by } = options;
    if (threadId !== undefined)
      return this.#sessions.with(threadId, async () => (await this.#sessions.open(threadId, {})).removeRule(id, by));
    return this.#setup.store.removeRule(this.#tenant, id);
  }

  /** session.steer() for a thread that any process may be running. */
  async steer(threadId: string, input: Input, options: SendOptions = {}): Promise<{ readonly id: string }> {
    return this.#sessions.with(threadId, async () => (await this.#sessions.any(threadId)).steer(input, options));
  }

  /** session.enqueue() for a thread that any process may be running. */
  async enqueue(threadId: string, input: Input, options: SendOptions = {}): Promise<{ readonly id: string }> {
    const sent = await this.#sessions.with(threadId, async () =>
      (await this.#sessions.any(threadId)).enqueue(input, options),
    );
    // Whoever ran it may have ended just before it was sent.
    const loaded = await loadThread(this.#setup.store, this.#key(threadId), Number.MAX_SAFE_INTEGER);
    if (loaded !== undefined && isMovable(loaded.row, this.#setup.clock.now())) await this.#startQueued(threadId);
    return sent;
  }

  /** What was sent is sent: whoever has the thread by now starts it. */
  async #startQueued(threadId: string): Promise<void> {
    const session = await this.#sessions.open(threadId, {}).catch(unlessBusy);
    await session?.startQueued().catch(unlessBusy);
  }

  /** session.withdraw() for a thread that any process may be running. */
  async withdraw(threadId: string, id: string): Promise<boolean> {
    this.#sessions.refuseIfClosed();
    return withdraw(this.#setup, this.#key(threadId), id);
  }

  /** Facts of a thread from any cursor, then what happens; in any process. Ends with `signal`, or when the runner is closed. */
  events(threadId: string, options: EventOptions = {}): AsyncIterable<BelayEvent> {
    this.#sessions.refuseIfClosed();
    return this.#sessions.reader(threadId, options);
  }

  /**
   * Lists threads, the last changed first, a page at a time. `next` is the cursor of the page after it. A thread that changes
   * while a caller reads pages moves to the front.
   */
  async threads(filter: ThreadFilter = {}): Promise<ThreadPage> {
    return readThreads(this.#setup, this.#tenant, filter);
  }

  /** session.label() for a thread that any process may be running. */
  async label(threadId: string, change: LabelChange, options: SendOptions = {}): Promise<void> {
    this.#sessions.refuseIfClosed();
    const { store, clock } = this.#setup;
    const command = labelCommand(threadId, change, options, clock.id());
    const loaded = await loadThread(store, this.#key(threadId), Number.MAX_SAFE_INTEGER);
    if (loaded === undefined) throw belayError("THREAD_UNKNOWN", { threadId });
    await submit(this.#door(threadId), command);
  }

  /**
   * A new thread with the past of another one, up to a point; the other is only read. What ran at the point is cut off as
   * by a crash, what was asked of people is asked anew, and it rests until somebody acts. `effects` is what the other thread
   * has done to the world since.
   */
  async fork(
    threadId: string,
    options: ForkOptions,
  ): Promise<{ readonly session: Session<Out>; readonly effects: readonly Effect[] }> {
    this.#sessions.refuseIfClosed();
    const id = this.#newId(options?.as);
    const effects = await forkThread(this.#setup, this.#key(threadId), id, options, (agent) =>
      this.#sessions.agentFor(threadId, agent, undefined),
    );
    return { session: await this.#opened(id), effects };
  }

  /** What was said, done and decided, each with the point to fork at; of a damaged thread as far as it can be read. */
  async history(threadId: string): Promise<readonly HistoryPoint[]> {
    this.#sessions.refuseIfClosed();
    return historyPoints((await readPast(this.#setup.store, this.#key(threadId))).facts);
  }

  /** Of a thread that is damaged: what can be read of it as a thread of its own. The damaged one stays as it is. */
  async repair(
    threadId: string,
    options: { readonly as?: string | undefined } = {},
  ): Promise<{ readonly session: Session<Out>; readonly lost: Lost }> {
    this.#sessions.refuseIfClosed();
    const id = this.#newId(options.as);
    const lost = await repairThread(this.#setup, this.#key(threadId), id, (agent) =>
      this.#sessions.agentFor(threadId, agent, undefined),
    );
    return { session: await this.#opened(id), lost };
  }

  /** A thread that is new in the store: a session that waited for its first run may be open on it. */
  async #opened(threadId: string): Promise<Session<Out>> {
    const known = this.#sessions.known(threadId);
    const session = await this.#sessions.open(threadId, {});
    if (known === session) await session.refresh();
    return session;
  }

  #newId(as: string | undefined): string {
    return as === undefined ? this.#setup.clock.id() : readId("as", as);
  }

  #key(threadId: string): ThreadKey {
    return { tenant: this.#tenant, threadId };
  }

  /** Removes a thread and all of its past, but for what forks share. */
  async delete(threadId: string): Promise<void> {
    this.#sessions.refuseIfClosed();
    const session = this.#sessions.known(threadId);
    if (session?.state === "running") throw belayError("ALREADY_RUNNING", { threadId, runId: session.runId ?? "" });
    await session?.close();
    await deleteThread(this.#setup.store, this.#key(threadId));
  }

  /** Removes threads that have ended and were left alone for `idleMs`; gives their ids. */
  async prune(options: PruneOptions): Promise<readonly string[]> {
    this.#sessions.refuseIfClosed();
    const idleMs = readIdle("idleMs", options?.idleMs);
    return this.#prune(await this.#setup.store.threads(this.#tenant), { ...options, idleMs });
  }

  async #prune(rows: readonly ThreadRow[], options: PruneOptions): Promise<readonly string[]> {
    const { store, clock } = this.#setup;
    const removed = await pruneThreads(store, this.#tenant, rows, clock.now(), options);
    if (!options.dryRun) for (const id of removed) await this.#sessions.known(id)?.close();
    return removed;
  }

  async #movable(): Promise<readonly ThreadRow[]> {
    const { clock, store } = this.#setup;
    const now = clock.now();
    if (this.#ttlMs !== undefined && now >= this.#pruneAt) {
      this.#pruneAt = now + Math.min(this.#ttlMs / 4, PRUNE_EVERY_MS);
      const rows = await store.threads(this.#tenant);
      // What cannot be removed is no reason not to work.
      await this.#prune(rows, { idleMs: this.#ttlMs }).then(
        () => this.#prunes.over(),
        (error) => this.#prunes.tell(error),
      );
    }
    return (await store.threads(this.#tenant, now)).filter((row) => isMovable(row, now));
  }

  /** Moves threads that can move by themselves: crashed ones, and idle ones with an input waiting. Ends with `signal`. */
  work(options: WorkOptions = {}): Promise<void> {
    this.#sessions.refuseIfClosed();
    const sessions = this.#sessions;
    return workOn(
      {
        get closed() {
          return sessions.closed;
        },
        clock: this.#setup.clock,
        find: () => this.#movable(),
        move: (row) => this.#move(row),
        log: this.#setup.log,
      },
      options,
    );
  }

  async #move(row: ThreadRow): Promise<boolean> {
    const session = await this.#sessions.open(row.threadId, {});
    await session.refresh();
    await session.moveOn(MOST_CRASHES, this.#lastTries);
    if (session.pauseType === "crash") return false;
    // An input that a hook refuses waits as before, and would be tried again and again.
    const now = await loadThread(this.#setup.store, this.#key(row.threadId), Number.MAX_SAFE_INTEGER);
    return now?.row.head !== row.head;
  }

  /**
   * Lets go of all threads at their next safe point; what takes longer than `timeoutMs` is aborted. They go on elsewhere. For a
   * store that does not answer it waits as long again, and no longer: its leases lapse by themselves.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    const timeoutMs = readDrain(options);
    const { clock } = this.#setup;
    const sessions = this.#sessions;
    sessions.closed = true;
    const running = sessions.running.map((tenure) => tenure.drain());
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        timer = clock.setTimeout(resolve, Math.max(timeoutMs, LEAST_FOR_STORE_MS));
        // Also what a stop would wait for.
        void this.close({ force: true });
      };
      let timer = clock.setTimeout(abort, timeoutMs);
      Promise.all(running)
        .then(() => this.close())
        .finally(() => clock.clearTimeout(timer))
        .then(resolve, reject);
    });
  }

  /** Closes all sessions; runs in progress are aborted and can be resumed elsewhere. */
  async close(options: EndOptions = {}): Promise<void> {
    await this.#sessions.close(options);
  }
}
