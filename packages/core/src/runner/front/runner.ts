// createRunner: agents and a store, and the verbs on the threads between them. The open sessions are in `open-sessions`. Long,
// and still one piece: a list of verbs, each a few lines.

import { type Agent, type Checkpoint, definitionOf } from "../../agent.ts";
import type { Moved } from "../../dispatch/dispatcher.ts";
import { pollingDispatcher } from "../../dispatch/polling-dispatcher.ts";
import { Troubles } from "../../dispatch/troubles.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { BelayEvent } from "../../event.ts";
import type { Answer } from "../../interrupt/answer.ts";
import type { Handle } from "../../interrupt/interrupt.ts";
import type { Json } from "../../json.ts";
import type { Message } from "../../message.ts";
import type { Verdict } from "../../permission/decide.ts";
import type { RememberedRule } from "../../permission/remembered.ts";
import { isMovable, type ThreadKey } from "../../store/store.ts";
import { checkHandle, readHandle } from "../decide/check-handle.ts";
import { labelCommand, plainCommand, signalCommand } from "../decide/command.ts";
import type { Receipt } from "../decide/ending.ts";
import { agentUnknown } from "../given/absent-agent.ts";
import { CHAT, type ChatOptions } from "../given/chat-options.ts";
import { anything, checkOptions } from "../given/check.ts";
import { COMMAND, type GuardOptions } from "../given/command-options.ts";
import type { Input } from "../given/input.ts";
import type { LabelChange } from "../given/label.ts";
import {
  type AnswerOptions,
  type BreakpointOptions,
  DRAIN,
  type DrainOptions,
  EFFECTS,
  type EffectsOptions,
  type EndOptions,
  type EnqueueOptions,
  type EventOptions,
  INPUT,
  type InterruptOptions,
  JOURNAL,
  type JournalOptions,
  type LookOptions,
  REMOVE_RULE,
  REPAIR,
  type RemoveRuleOptions,
  type ResumeOptions,
  RULES,
  type RunOptions,
  readBreakpoint,
  readId,
  type SendOptions,
  type SteerOptions,
  type TerminateOptions,
} from "../given/options.ts";
import { deleteThread } from "../past/delete-thread.ts";
import { type ForkOptions, forkThread, readFork } from "../past/fork.ts";
import { type PruneOptions, pruneThreads, readPrune } from "../past/prune.ts";
import { type Lost, repairThread } from "../past/repair.ts";
import { type Effect, effectsAfter } from "../read/effects.ts";
import { type HistoryPoint, historyPoints } from "../read/history-points.ts";
import { type JournalPage, readPage } from "../read/read-facts.ts";
import { readPast } from "../read/read-past.ts";
import type { Run } from "../read/run.ts";
import { resumeRun } from "../thread/begin-run.ts";
import type { Door } from "../thread/door.ts";
import type { LiveThread } from "../thread/live-thread.ts";
import { moveOn } from "../thread/move-on.ts";
import { newHandleOn } from "../thread/new-handle-on.ts";
import { withdraw } from "../thread/send.ts";
import { Slots } from "../thread/slots.ts";
import { startQueued } from "../thread/start-queued.ts";
import { submit } from "../thread/submit.ts";
import type { RunnerSetup } from "../write/desk.ts";
import { answerRequest } from "./answer.ts";
import { CHANGES, type ChangesOptions, readChanges, type ThreadChange } from "./changes.ts";
import { type Inbox, type InboxFilter, readInbox } from "./inbox.ts";
import { type Look, lookAtThread } from "./look-at-thread.ts";
import { nextLook } from "./next-look.ts";
import { OpenSessions, unlessBusy } from "./open-sessions.ts";
import { type DecidedPage, type FoundRequest, type RequestsFilter, readDecided, readRequest } from "./requests.ts";
import {
  type OpenOptions,
  type RunnerOptions,
  readAgents,
  readSetup,
  START,
  type StartOptions,
} from "./runner-options.ts";
import { type Chat, type Sent, sendTo } from "./send-to.ts";
import { type Session, threadOf } from "./session.ts";
import { readThreads, type ThreadFilter, type ThreadPage } from "./threads.ts";
import { WORK, type WorkOptions } from "./work.ts";

/** A thread that crashes its worker this often without getting any further is set aside. */
const MOST_CRASHES = 3;

/**
 * Makes a runner: agents and a store, and the verbs on their threads. The store is in memory by default. With agents of
 * several kinds the output of a run is one of theirs, and `deps` serves them all.
 *
 * @example
 * ```ts
 * const runner = createRunner({ agent: helper, store: sqliteStore(new DatabaseSync("threads.db")) });
 * const session = await runner.open("thread-1");
 * const run = session.run("Book a table.");
 * for await (const event of run) if (event.type === "text-delta") process.stdout.write(event.text);
 * if ((await run.result).status === "interrupted") await session.resume().result;
 * ```
 */
export function createRunner<A extends Agent<unknown, never>>(
  options: Omit<RunnerOptions<never, never>, "agent" | "agents" | "deps"> & {
    readonly agents: readonly A[];
  } & NeededDeps<DepsOf<A>>,
): Runner<OutputOf<A>, DepsOf<A>>;
/** Makes a runner with one agent, or with several of one kind. */
export function createRunner<Out = string, Deps = unknown>(
  options: RunnerOptions<Out, Deps> & NeededDeps<Deps>,
): Runner<Out, Deps>;
export function createRunner(options: object): unknown {
  return new LiveRunner(options as RunnerOptions<unknown, unknown>);
}

/** `deps` may be left out only if no tool needs any. */
type NeededDeps<Deps> = [unknown] extends [Deps]
  ? { readonly deps?: Deps }
  : [Deps] extends [never]
    ? { readonly deps?: unknown }
    : { readonly deps: Deps };
type OutputOf<A> = A extends Agent<infer Out, never> ? Out : never;
type Needs<A> = A extends Agent<unknown, infer Deps> ? (deps: Deps) => void : never;
type DepsOf<A> = Needs<A> extends (deps: infer Deps) => void ? Deps : never;

/** How often a worker looks for threads to prune. */
const PRUNE_EVERY_MS = 60_000;

/** The least time that a drain has. */
const LEAST_FOR_STORE_MS = 1_000;

/**
 * Agents and a store, and the verbs on the threads between them. Made by `createRunner()`. Every verb of a session is here
 * too, with a thread id first, for a thread that any process may be running.
 */
export interface Runner<Out = string, Deps = unknown>
  extends Pick<LiveRunner<Out, Deps>, keyof LiveRunner<Out, Deps>> {}

export class LiveRunner<Out = string, Deps = unknown> {
  readonly #tenant: string;
  readonly #ttlMs: number | undefined;
  #pruneAt = 0;
  /** Threads that run here and are set aside if the process dies of them again. */
  readonly #lastTries = new Set<LiveThread>();
  readonly #slots: Slots;
  readonly #prunes: Troubles;
  readonly #moves: Troubles;
  readonly #setup: RunnerSetup;
  /** The damaged requests that were logged. */
  readonly #logged = new Set<string>();
  readonly #sessions: OpenSessions<Out, Deps>;
  /** Fires when the runner is closed. */
  readonly #ending = new AbortController();
  /** Fires when it takes on no more threads. */
  readonly #leaving = new AbortController();

  constructor(options: RunnerOptions<Out, Deps>) {
    const agents = readAgents(options);
    const { concurrency = Number.POSITIVE_INFINITY, ttlMs, deps } = options;
    const tenant = readId("tenant", options.tenant ?? "default");
    this.#tenant = tenant;
    this.#setup = readSetup(options);
    this.#prunes = new Troubles(this.#setup.log);
    this.#moves = new Troubles(this.#setup.log);
    this.#ttlMs = ttlMs;
    this.#slots = new Slots(concurrency);
    this.#sessions = new OpenSessions(this.#setup, tenant, agents, deps, this.#slots);
  }

  /** The tenant whose threads it serves. */
  get tenant(): string {
    return this.#tenant;
  }

  /** Its name in the leases of its threads: no other runner has it, in this process or elsewhere. */
  get owner(): string {
    return this.#setup.owner;
  }

  /**
   * Returns the session on a thread: the same one each time while it is open here. A thread that is not there begins with its
   * first run. Another process may be running the thread: the session shows it as running, and follows it.
   */
  async open(threadId?: string, options: OpenOptions<Deps> = {}): Promise<Session<Out>> {
    return this.#sessions.openNow(threadId, options);
  }

  /**
   * Runs `input` on a new thread and resolves when the run has started. With an `id` the thread has that name, and the same
   * call again returns the same run.
   */
  async run(input: Input, options: RunOptions = {}): Promise<Run<Out>> {
    checkOptions("run()", options, COMMAND);
    if (options.id !== undefined) return this.start(options.id, input, options);
    const run = (await this.open()).run(input, options);
    await run.started;
    return run;
  }

  /** Calls session.run() for the thread with this name, and resolves when the run has started. Rejects if it is refused. */
  async start(threadId: string, input: Input, options: StartOptions<Deps> = {}): Promise<Run<Out>> {
    checkOptions("start()", options, START);
    const { agent, deps, ...given } = options;
    return this.#sessions.begin(threadId, { agent, deps }, "follow", (session) => session.run(input, given));
  }

  /**
   * Calls session.resume() for a thread, and resolves when the segment has started. Rejects if it is refused; then nothing
   * is spent. A handle resumes the pause that it was issued for, and no other; a thread id resumes the present one.
   */
  async resume(from: Handle | string, options: ResumeOptions = {}): Promise<Run<Out>> {
    if (typeof from === "string") return this.#sessions.begin(from, {}, "resume", (session) => session.resume(options));
    const { threadId } = readHandle(from);
    return this.#sessions.begin(threadId, {}, "resume", (session) => {
      const thread = threadOf(session);
      const tokenHash = checkHandle(from, thread.standing, this.#setup.clock.now());
      return resumeRun(thread, options, { tokenHash });
    });
  }

  /** session.interrupt() for a thread that any process may be running. Open requests are withdrawn. */
  async interrupt(threadId: string, options: InterruptOptions = {}): Promise<Receipt> {
    return submit(this.#door(threadId), signalCommand("stop", options, this.#setup));
  }

  /** session.pause() for a thread that any process may be running. */
  async pause(threadId: string, options: GuardOptions = {}): Promise<Receipt> {
    return submit(this.#door(threadId), signalCommand("pause", options, this.#setup));
  }

  /** session.terminate() for a thread that any process may be running. */
  async terminate(threadId: string, options: TerminateOptions = {}): Promise<void> {
    const command = signalCommand("terminate", options, this.#setup);
    if (this.#sessions.known(threadId)?.state !== "running") await this.#refuseUnknown(threadId);
    await submit(this.#door(threadId), command);
  }

  async #refuseUnknown(threadId: string): Promise<void> {
    this.#sessions.refuseIfClosed();
    if ((await this.#sessions.row(threadId)) === undefined) throw belayError("THREAD_UNKNOWN", { threadId });
  }

  /** session.answer() for a request of any thread, whichever process has it. */
  answer(id: string, given: Answer, options: AnswerOptions = {}): Promise<{ readonly open: number }> {
    return answerRequest(this.#setup, id, given, options, async () => {
      this.#sessions.refuseIfClosed();
      const threadId = await this.#setup.store.requestThread(this.#tenant, id);
      if (threadId === undefined) throw belayError("ANSWER_UNKNOWN", { id });
      return this.#door(threadId);
    });
  }

  /** The door of a thread that any process may have. */
  #door(threadId: string): Door {
    const sessions = this.#sessions;
    return {
      setup: this.#setup,
      key: sessions.key(threadId),
      byWorker: this.#startsNothing,
      get thread() {
        const session = sessions.known(threadId);
        return session && threadOf(session);
      },
      ahead: () => sessions.ahead(threadId),
      here: (ask) =>
        sessions.with(threadId, async () => {
          const session = await sessions.openFree(threadId);
          return session && ask(threadOf(session));
        }),
    };
  }

  /** Lists open requests over all threads, the oldest first, a page at a time; those that cannot be read are `damaged`. */
  async inbox(filter: InboxFilter = {}): Promise<Inbox> {
    this.#sessions.refuseIfClosed();
    return readInbox(this.#setup, this.#tenant, filter, this.#logged);
  }

  /** Lists the requests that were decided, the last decided first, a page at a time: approved, rejected, answered, expired or withdrawn. */
  async requests(filter: RequestsFilter): Promise<DecidedPage> {
    this.#sessions.refuseIfClosed();
    return readDecided(this.#setup, this.#tenant, filter);
  }

  /** Returns one request, open or decided; undefined if there is none. */
  async request(id: string): Promise<FoundRequest | undefined> {
    this.#sessions.refuseIfClosed();
    return readRequest(this.#setup, this.#tenant, id);
  }

  /** Returns the rules that people have allowed for all threads, the oldest first; with a thread, those of that thread. */
  async rules(options: { readonly threadId?: string } = {}): Promise<readonly RememberedRule[]> {
    this.#sessions.refuseIfClosed();
    checkOptions("rules()", options, RULES);
    const { threadId } = options;
    if (threadId !== undefined)
      return this.#sessions.on(threadId, async (session) => {
        await threadOf(session).refresh();
        return session.rules;
      });
    const rows = await this.#setup.store.rules(this.#tenant);
    return rows.map(({ body }) => JSON.parse(body) as RememberedRule);
  }

  /** Removes a rule for all threads, or, with a thread, one of that thread. Resolves to false if there is no such rule. */
  async removeRule(id: string, options: RemoveRuleOptions = {}): Promise<boolean> {
    this.#sessions.refuseIfClosed();
    checkOptions("removeRule()", options, REMOVE_RULE);
    const { threadId, ...caller } = options;
    if (threadId === undefined) return this.#setup.store.removeRule(this.#tenant, id);
    await this.#refuseUnknown(threadId);
    const command = plainCommand({ do: "unrule", rule: id }, caller, this.#setup.clock.id());
    return submit(this.#door(threadId), command, options);
  }

  /** session.setBreakpoint() by thread id. */
  async setBreakpoint(threadId: string, options: BreakpointOptions): Promise<void> {
    this.#sessions.refuseIfClosed();
    const agent = (await this.#sessions.agentOf(threadId)) ?? this.#sessions.firstAgent;
    if (agent === undefined || definitionOf(agent).absent) throw agentUnknown(agent?.name);
    const breakpoint = readBreakpoint(definitionOf(agent), options, this.#setup.maxBytes);
    const command = plainCommand({ do: "breakpoint", breakpoint }, options, this.#setup.clock.id());
    await submit(this.#door(threadId), command, options);
  }

  /** session.handle() by thread id: a new handle on the present pause. The one before it is void. */
  async handle(threadId: string): Promise<Handle> {
    await this.#refuseUnknown(threadId);
    return newHandleOn(this.#door(threadId));
  }

  /** Returns a thread as the store has it, whichever process runs it; undefined if there is none. */
  async look(threadId: string): Promise<Look | undefined> {
    return lookAtThread(this.#setup, this.#key(threadId));
  }

  /** Returns facts of a thread in order, as JSON. Throws THREAD_UNKNOWN. */
  async journal(threadId: string, options: JournalOptions = {}): Promise<JournalPage> {
    checkOptions("journal()", options, JOURNAL);
    const { after = 0, limit = 1_000 } = options;
    return readPage(this.#setup.store, this.#key(threadId), after, limit);
  }

  /** Returns the calls and steps that took effect after a seq, or may have: a fork at that seq does not undo them. */
  async effects(threadId: string, options: EffectsOptions): Promise<readonly Effect[]> {
    checkOptions("effects()", options, EFFECTS);
    return effectsAfter((await readPast(this.#setup.store, this.#key(threadId))).facts, options.after);
  }

  /** session.checkpoint() by thread id, whichever process runs it. Throws THREAD_UNKNOWN. */
  async checkpoint(threadId: string, options: LookOptions = {}): Promise<Checkpoint | undefined> {
    return (await this.#sessions.looker(threadId)).checkpoint(options);
  }

  /** session.permission() by thread id, whichever process runs it. Throws THREAD_UNKNOWN. */
  async permission(threadId: string, tool: string, args: Json): Promise<Verdict> {
    return (await this.#sessions.looker(threadId)).permission(tool, args);
  }

  /** Returns the names of its agents. New threads that name none get the first. */
  agents(): readonly string[] {
    return this.#sessions.agentNames;
  }

  /** session.steer() for a thread that any process may be running. */
  async steer(threadId: string, input: Input, options: SteerOptions = {}): Promise<{ readonly id: string }> {
    return this.#sessions.on(threadId, (session) => session.steer(input, options));
  }

  /** session.observe() for a thread that any process may be running. */
  async observe(
    threadId: string,
    message: string | Pick<Message, "parts">,
    options: SendOptions = {},
  ): Promise<{ readonly id?: string }> {
    return this.#sessions.on(threadId, (session) => session.observe(message, options));
  }

  /** session.enqueue() for a thread that any process may be running. */
  async enqueue(threadId: string, input: Input, options: EnqueueOptions = {}): Promise<{ readonly id: string }> {
    checkOptions("enqueue()", options, INPUT.enqueue);
    const { start = this.#setup.start ?? "worker" } = options;
    const sent = await this.#sessions.on(threadId, (session) => session.enqueue(input, { ...options, start }));
    if (start === "worker" || this.#startsNothing) return sent;
    // The run may have ended just before the input was sent.
    const row = await this.#sessions.row(threadId);
    if (row === undefined || !isMovable(row, this.#setup.clock.now())) return sent;
    // If another process has the thread by now, that starts the input.
    const session = await this.#sessions.openFree(threadId);
    if (session !== undefined) await startQueued(threadOf(session)).catch(unlessBusy);
    return sent;
  }

  /**
   * Sends an input to a thread in whatever state it is, as a chat box does: it starts a run, resumes a paused one, steers a
   * running one, or answers. Resolves when the input is on record or waits in the store. A thread that is not there begins
   * with it; `agent` names its agent.
   */
  async send(
    threadId: string,
    input: Input,
    options: ChatOptions & { readonly agent?: string | undefined } = {},
  ): Promise<Sent> {
    this.#sessions.refuseIfClosed();
    checkOptions("send()", options, { ...CHAT, agent: anything });
    const { agent, ...given } = options;
    const chat: Chat = {
      door: this.#door(threadId),
      slots: this.#slots,
      on: (ask) => this.#sessions.on(threadId, (session) => ask(threadOf(session))),
      run: (said, more) => this.start(threadId, said, { ...more, agent }),
      resume: (more) => this.resume(threadId, more),
      enqueue: async (said, more) => {
        // A thread that is not there begins with this agent.
        if (agent !== undefined) await this.#sessions.openFree(threadId, { agent });
        return this.enqueue(threadId, said, more);
      },
    };
    return sendTo(chat, input, given);
  }

  /** True without agents: other processes start everything. */
  get #startsNothing(): boolean {
    return this.#sessions.agentNames.length === 0;
  }

  /** session.withdraw() for a thread that any process may be running. */
  async withdraw(threadId: string, id: string): Promise<boolean> {
    return withdraw(this.#setup, this.#key(threadId), id);
  }

  /**
   * Returns the facts of a thread after any cursor, then live events, in any process. Ends with `signal`, when the runner is closed,
   * or when the thread is deleted.
   */
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

  /**
   * Follows all threads of the tenant: `sync`, then hints from any process that a thread has changed. Hints are lossy and merge.
   * Ends with `signal`, or when the runner is closed.
   */
  changes(options: ChangesOptions = {}): AsyncIterable<ThreadChange> {
    this.#sessions.refuseIfClosed();
    checkOptions("changes()", options, CHANGES);
    const { signal } = options;
    const ending = signal === undefined ? this.#ending.signal : AbortSignal.any([signal, this.#ending.signal]);
    return readChanges(this.#setup, this.#tenant, ending);
  }

  /** session.label() for a thread that any process may be running. */
  async label(threadId: string, change: LabelChange, options: SendOptions = {}): Promise<void> {
    const command = labelCommand(threadId, change, options, this.#setup.clock.id());
    await this.#refuseUnknown(threadId);
    await submit(this.#door(threadId), command, options);
  }

  /**
   * Makes a new thread with the past of another one, up to a point. The other thread is only read. Calls that ran at the point
   * are cut as by a crash, open requests are raised anew, and the fork rests until a person acts. `effects` lists the calls and
   * steps of the other thread that took effect after the point.
   */
  async fork(
    threadId: string,
    options: ForkOptions,
  ): Promise<{ readonly session: Session<Out>; readonly effects: readonly Effect[] }> {
    const id = this.#newId(readFork(options).as);
    const effects = await forkThread(this.#setup, this.#key(threadId), id, options, (agent) =>
      this.#sessions.agentFor(threadId, agent),
    );
    return { session: await this.#sessions.openFresh(id, {}, "free"), effects };
  }

  /** Returns the messages, calls and decisions of a thread, each with the point to fork at; of a damaged thread as far as it can be read. */
  async history(threadId: string): Promise<readonly HistoryPoint[]> {
    return historyPoints((await readPast(this.#setup.store, this.#key(threadId))).facts);
  }

  /** Makes a new thread of the readable part of a damaged one, which stays as it is. */
  async repair(
    threadId: string,
    options: { readonly as?: string | undefined } = {},
  ): Promise<{ readonly session: Session<Out>; readonly lost: Lost }> {
    checkOptions("repair()", options, REPAIR);
    const id = this.#newId(options.as);
    const lost = await repairThread(this.#setup, this.#key(threadId), id, (agent) =>
      this.#sessions.agentFor(threadId, agent),
    );
    return { session: await this.#sessions.openFresh(id, {}, "free"), lost };
  }

  #newId(as: string | undefined): string {
    return as === undefined ? this.#setup.clock.id() : readId("as", as);
  }

  /** Returns the key of a thread, for a verb that a closed runner refuses. */
  #key(threadId: string): ThreadKey {
    this.#sessions.refuseIfClosed();
    return this.#sessions.key(threadId);
  }

  /** Removes a thread and its past, except for lines that forks share. */
  async delete(threadId: string): Promise<void> {
    const key = this.#key(threadId);
    const session = this.#sessions.known(threadId);
    if (session?.state === "running") throw belayError("ALREADY_RUNNING", { threadId, runId: session.runId ?? "" });
    await session?.close();
    await deleteThread(this.#setup.store, key);
  }

  /** Removes threads that have ended and were not written to for `idleMs`. Resolves to their ids. */
  async prune(options: PruneOptions): Promise<readonly string[]> {
    this.#sessions.refuseIfClosed();
    const { store, clock } = this.#setup;
    const removed = await pruneThreads(store, this.#tenant, clock.now(), readPrune(options));
    if (!options.dryRun) for (const id of removed) await this.#sessions.known(id)?.close();
    return removed;
  }

  /** Prunes old threads now and then. A failure does not keep the worker from its work. */
  async #pruneNow(): Promise<void> {
    const { clock } = this.#setup;
    if (this.#ttlMs === undefined || clock.now() < this.#pruneAt) return;
    this.#pruneAt = clock.now() + Math.min(this.#ttlMs / 4, PRUNE_EVERY_MS);
    try {
      await this.prune({ idleMs: this.#ttlMs });
      this.#prunes.over();
    } catch (error) {
      this.#prunes.tell(error);
    }
  }

  /**
   * Moves the threads of its tenant that can move by themselves: crashed ones, idle ones with an input waiting, and those whose
   * requests are answered or expired. Ends with `signal`. `createWorker()` of `@belay/core/dispatch` serves all tenants.
   */
  async work(options: WorkOptions = {}): Promise<void> {
    this.#sessions.refuseIfClosed();
    if (this.#startsNothing) throw agentUnknown();
    checkOptions("work()", options, WORK);
    const { concurrency = 4, signal, pollMs } = options;
    const { clock, log, store } = this.#setup;
    const due: typeof store.due = async (...query) => {
      await this.#pruneNow();
      return store.due(...query);
    };
    const loop = pollingDispatcher({ due }, { pollMs, clock, log, tenant: this.#tenant });
    const leaving = this.#leaving.signal;
    const ending = signal === undefined ? leaving : AbortSignal.any([signal, leaving]);
    const move = async ({ threadId }: { readonly threadId: string }) => {
      try {
        const moved = await this.move(threadId);
        this.#moves.over();
        return moved;
      } catch (error) {
        this.#moves.tell(error, threadId);
        throw error;
      }
    };
    // More than the runner may run at once would only wait.
    await loop.serve(move, { concurrency: Math.min(concurrency, this.#slots.limit), signal: ending });
  }

  /**
   * Looks at a thread and moves it, if it can move, to its next end or pause. Returns when it has to be looked at again; rejects
   * if the thread could not be read or written. For engines, which call it by way of `createWorker()`.
   */
  async move(threadId: string): Promise<Moved> {
    this.#sessions.refuseIfClosed();
    if (this.#startsNothing) throw agentUnknown();
    const { clock, leaseTtlMs } = this.#setup;
    const sessions = this.#sessions;
    readId("threadId", threadId);
    const giveBack = await this.#slots.free(threadId);
    try {
      const before = await sessions.row(threadId);
      if (before === undefined) return {};
      if (!isMovable(before, clock.now())) return nextLook(before, clock.now(), leaseTtlMs);
      const session = await sessions.openFresh(threadId, {}, "free").catch(unlessBusy);
      if (session !== undefined) await moveOn(threadOf(session), MOST_CRASHES, this.#lastTries).catch(unlessOutrun);
      const after = await sessions.row(threadId);
      return after === undefined ? {} : nextLook(after, clock.now(), leaseTtlMs, before);
    } finally {
      giveBack();
    }
  }

  /**
   * Lets go of all threads at their next safe point, so that other processes continue them. Work that takes longer than
   * `timeoutMs` is aborted. A store that does not answer is waited for as long again, and no longer: the leases lapse.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    checkOptions("drain()", options, DRAIN);
    const { timeoutMs = 10_000 } = options;
    const { clock } = this.#setup;
    const sessions = this.#sessions;
    sessions.closed = true;
    this.#leaving.abort();
    const running = sessions.running.map((tenure) => tenure.drain());
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        timer = clock.setTimeout(resolve, Math.max(timeoutMs, LEAST_FOR_STORE_MS));
        // Also the calls that a stop would wait for.
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
    this.#leaving.abort();
    this.#ending.abort();
    await this.#sessions.close(options);
  }
}

/** Another process was faster, or this one has released the thread. */
function unlessOutrun(error: unknown): void {
  const { code } = error as Partial<BelayError>;
  if (!["ALREADY_RUNNING", "FENCED", "SESSION_CLOSED", "STALE", "STORE_CONFLICT", "THREAD_BUSY"].includes(code ?? ""))
    throw error;
}
