// createRunner: agents and a store, and the threads between them.
//
// Long, and still one piece: it is every public method of a runner; what they begin lives elsewhere.

import type { Agent } from "../agent.ts";
import { builtIn } from "../built-in.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type BelayError, belayError } from "../error.ts";
import type { BelayEvent } from "../event.ts";
import { type HooksGiven, readHooks } from "../hooks/hooks.ts";
import { type Answer, readAnswer } from "../interrupt/answer.ts";
import type { Groups } from "../interrupt/decision.ts";
import type { Handle } from "../interrupt/interrupt.ts";
import { consoleLog, type Log } from "../log.ts";
import { type Permissions, readPermissions } from "../permission/permissions.ts";
import type { RememberedRule } from "../permission/remembered.ts";
import { memoryStore } from "../store/memory.ts";
import { ownerName } from "../store/owner.ts";
import type { Store, ThreadKey, ThreadRow } from "../store/store.ts";
import { type DriveSetup, storeError } from "./drive.ts";
import type { Effect } from "./effects.ts";
import { hashToken, type Receipt } from "./ending.ts";
import { busy } from "./execution.ts";
import { type ForkOptions, forkThread } from "./fork.ts";
import { type HistoryPoint, historyPoints } from "./history-points.ts";
import { HotRoom } from "./hot.ts";
import { type InboxFilter, type InboxItem, inboxOf } from "./inbox.ts";
import type { Input } from "./input.ts";
import { Leases } from "./leases.ts";
import type { SessionHost } from "./live-thread.ts";
import type { AnswerOptions, InterruptOptions, ResumeOptions, RunOptions, SendOptions } from "./options.ts";
import { type PruneOptions, pruneThreads, readIdle } from "./prune.ts";
import { loadThread } from "./read-facts.ts";
import { readPast } from "./read-past.ts";
import { answerAnywhere, answerMail } from "./remote-answer.ts";
import { stopElsewhere } from "./remote-stop.ts";
import { type Lost, repairThread } from "./repair.ts";
import type { Run } from "./run.ts";
import { Session } from "./session.ts";
import { type WorkHost, type WorkOptions, workOn } from "./work.ts";

/** A thread that crashes its worker this often without getting any further is set aside. */
const MOST_CRASHES = 3;

const MAX_BYTES = 32 * 1024 * 1024;

const MAX_HOT = 1_000;

export interface RunnerOptions<Out, Deps> {
  /** The agent, or several: the first is the one for new threads that name none. */
  readonly agent?: Agent<Out, Deps>;
  readonly agents?: readonly Agent<Out, Deps>[];
  /** In memory by default. */
  readonly store?: Store;
  /** Threads of one tenant are invisible to the others. */
  readonly tenant?: string;
  /** What tools find in ctx.deps; never recorded. */
  readonly deps?: Deps;
  /** How long a thread stays ours when this process is gone. */
  readonly leaseTtlMs?: number;
  /** The most that one input, or one result of a tool, may take, in bytes of JSON; 32 MiB by default. */
  readonly maxBytes?: number;
  /** Which calls may run, must be approved by a person, or never run; agents may say more. */
  readonly permissions?: Permissions;
  /** Nobody is there to ask: what would ask is denied. */
  readonly unattended?: boolean;
  /** Who belongs to the groups that requests name as approvers. */
  readonly groups?: Groups;
  /** How many tools that wait for a person stay in memory; the others begin again from their recorded steps. */
  readonly maxHot?: number;
  /** How long the handle of a pause is good; for ever by default. */
  readonly tokenTtlMs?: number;
  /** work() removes threads that have ended and were left alone for so long; by default none. */
  readonly ttlMs?: number;
  /** Called around what every agent does, outside of its own: one object of hooks, or several, the outermost first. */
  readonly hooks?: HooksGiven<Deps>;
  /** Told what goes wrong beside a run and fails nothing, such as a hook after a step; the console by default. */
  readonly log?: Log;
  readonly clock?: Clock;
}

export interface OpenOptions<Deps> {
  /** The name of the agent for a new thread. */
  readonly agent?: string;
  readonly deps?: Deps;
}

export function createRunner<Out = string, Deps = unknown>(
  options: RunnerOptions<Out, Deps> & NeededDeps<Deps>,
): Runner<Out, Deps>;
/** Agents of several kinds: a run's output is one of theirs, and `deps` serves them all. */
export function createRunner<A extends Agent<unknown, never>>(
  options: Omit<RunnerOptions<never, never>, "agent" | "agents" | "deps"> & {
    readonly agents: readonly A[];
  } & NeededDeps<DepsOf<A>>,
): Runner<OutputOf<A>, DepsOf<A>>;
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

export class Runner<Out = string, Deps = unknown> {
  readonly #agents = new Map<string, Agent<Out, Deps>>();
  readonly #tenant: string;
  readonly #deps: Deps | undefined;
  readonly #ttlMs: number | undefined;
  readonly #setup: DriveSetup;
  readonly #leases: Leases;
  /** Sessions by thread, as long as someone has them. */
  readonly #sessions = new Map<string, WeakRef<Session<Out>>>();
  /** Sessions whose thread is still being read. */
  readonly #openings = new Map<string, Promise<Session<Out>>>();
  readonly #gone = new FinalizationRegistry<string>((threadId) => {
    if (this.#sessions.get(threadId)?.deref() === undefined) this.#sessions.delete(threadId);
  });
  readonly #host: SessionHost;
  #closed = false;

  constructor(options: RunnerOptions<Out, Deps>) {
    for (const agent of agentsOf(options)) {
      if (typeof agent?.run !== "function") {
        throw belayError("AGENT_INVALID", { agent: String(agent), problem: "it was not made by agent(…)" });
      }
      if (this.#agents.has(agent.name)) {
        throw belayError("AGENT_INVALID", { agent: agent.name, problem: "another agent of this runner has that name" });
      }
      this.#agents.set(agent.name, agent);
    }
    if (this.#agents.size === 0)
      throw belayError("AGENT_INVALID", { agent: "(none)", problem: "a runner needs an agent" });
    const clock = options.clock ?? systemClock;
    const leaseTtlMs = options.leaseTtlMs ?? 30_000;
    if (!(Number.isFinite(leaseTtlMs) && leaseTtlMs > 0)) {
      throw belayError("OPTION_INVALID", {
        option: "leaseTtlMs",
        value: String(leaseTtlMs),
        needed: "a number above 0",
      });
    }
    const maxBytes = options.maxBytes ?? MAX_BYTES;
    if (!(maxBytes > 0)) {
      throw belayError("OPTION_INVALID", { option: "maxBytes", value: String(maxBytes), needed: "a number above 0" });
    }
    this.#tenant = options.tenant ?? "default";
    this.#deps = options.deps;
    this.#ttlMs = options.ttlMs === undefined ? undefined : readIdle("ttlMs", options.ttlMs);
    const owner = ownerName(clock.id());
    this.#setup = {
      store: options.store ?? memoryStore({ clock }),
      clock,
      owner,
      leaseTtlMs,
      maxBytes,
      permissions: options.permissions === undefined ? undefined : readPermissions(options.permissions, "runner"),
      unattended: options.unattended ?? false,
      groups: readGroups(options.groups),
      tokenTtlMs: atLeastZero("tokenTtlMs", options.tokenTtlMs),
      hooks: readHooks(options.hooks),
      log: options.log ?? consoleLog,
      hot: new HotRoom(atLeastZero("maxHot", options.maxHot) ?? MAX_HOT),
    };
    this.#leases = new Leases(clock, leaseTtlMs);
    this.#host = {
      setup: this.#setup,
      running: (execution) => this.#leases.add(execution),
      stopped: (execution) => this.#leases.remove(execution),
      closed: (threadId) => this.#sessions.delete(threadId),
      accepts: () => !this.#closed,
    };
  }

  /** The session on a thread: the same one each time while it is open here. A thread that is not there begins with its first run. */
  async open(threadId?: string, options: OpenOptions<Deps> = {}): Promise<Session<Out>> {
    return this.#openId(threadId, options, false);
  }

  /** With `mustBe`, a thread that is not there is refused. */
  async #openId(threadId: string | undefined, options: OpenOptions<Deps>, mustBe: boolean): Promise<Session<Out>> {
    this.#refuseIfClosed();
    const id = threadId === undefined ? this.#setup.clock.id() : threadId;
    readId("threadId", id);
    const known = this.#sessions.get(id)?.deref();
    if (known?.closing !== undefined) {
      await known.closing;
      return this.#openId(id, options, mustBe);
    }
    if (known !== undefined) return this.#asked(known, options);
    // Whoever opens a thread that is being opened gets that session, and not before it is ready.
    const opening = this.#openings.get(id);
    if (opening !== undefined) {
      await opening.catch(() => {});
      return this.#openId(id, options, mustBe);
    }
    const opened = this.#read(id, threadId === undefined, options, mustBe);
    this.#openings.set(id, opened);
    try {
      return await opened;
    } finally {
      this.#openings.delete(id);
    }
  }

  async #read(threadId: string, isNew: boolean, options: OpenOptions<Deps>, mustBe: boolean): Promise<Session<Out>> {
    const key: ThreadKey = { tenant: this.#tenant, threadId };
    const loaded = isNew ? undefined : await loadThread(this.#setup.store, key, "rest");
    if (loaded === undefined && mustBe) throw belayError("THREAD_UNKNOWN", { threadId });
    if (loaded?.row.lease !== undefined) throw busy(threadId, loaded.row.lease.owner, loaded.row.lease.until);
    const agent = this.#agentFor(threadId, loaded?.row.agent, options.agent);
    const session = new Session<Out>(this.#host, key, agent as Agent<Out, never>, options.deps ?? this.#deps);
    if (loaded !== undefined) await session.glance(loaded);
    this.#refuseIfClosed();
    this.#sessions.set(threadId, new WeakRef(session));
    this.#gone.register(session, threadId);
    return session;
  }

  /** Runs `input` on a new thread. With an id the thread has it too, so that asking twice is asking once. */
  run(input: Input, options: RunOptions = {}): Promise<Run<Out>> {
    return this.open(options.id).then((session) => session.run(input, options));
  }

  /** Goes on from a handle, in any process. Rejects where the store refuses; then nothing is spent. */
  async resume(handle: Handle, options: ResumeOptions = {}): Promise<Run<Out>> {
    const { threadId, segment, token } = readHandle(handle);
    const known = this.#sessions.get(threadId)?.deref();
    const session = await this.#openId(threadId, {}, true);
    if (known !== undefined) await session.refresh();
    const standing = session.standing;
    if (standing.runId !== handle.runId || standing.segment !== segment || standing.tokenHash === undefined) {
      throw belayError("TOKEN_SPENT", { threadId, segment });
    }
    if (!isSameHash(standing.tokenHash, hashToken(token))) throw belayError("TOKEN_UNKNOWN", { threadId });
    const { tokenUntil } = standing;
    if (tokenUntil !== undefined && tokenUntil <= this.#setup.clock.now()) {
      throw belayError("TOKEN_EXPIRED", { threadId, until: new Date(tokenUntil).toISOString() });
    }
    const run = session.resumeBy(standing.tokenHash, options);
    const refusal = await session.opening;
    if (refusal !== undefined) throw refusal;
    return run;
  }

  /** Stops the thread's run, whichever process is running it; one that waits for people waits no more. */
  async interrupt(threadId: string, options: InterruptOptions = {}): Promise<Receipt> {
    const session = this.#sessions.get(threadId)?.deref();
    if (session?.state === "running") return session.interrupt(options);
    const resting = await this.#stopResting(threadId, options);
    if (resting !== undefined) return resting;
    const receipt = await stopElsewhere(this.#setup, { tenant: this.#tenant, threadId }, options);
    // It came to rest before it heard of the stop: people may be asked for something.
    return receipt.accepted ? receipt : ((await this.#stopResting(threadId, options)) ?? receipt);
  }

  /** Undefined where it does not rest. */
  async #stopResting(threadId: string, options: InterruptOptions): Promise<Receipt | undefined> {
    const row = (await loadThread(this.#setup.store, { tenant: this.#tenant, threadId }, Number.MAX_SAFE_INTEGER))?.row;
    if (row === undefined || row.lease !== undefined || (row.state !== "paused" && row.state !== "running")) {
      return undefined;
    }
    try {
      const session = await this.open(threadId);
      await session.refresh();
      return await session.interrupt(options);
    } catch (error) {
      // Somebody began to run it meanwhile.
      if ((error as Partial<BelayError>).code !== "THREAD_BUSY") throw error;
      return undefined;
    }
  }

  /** session.answer() for a request of any thread, whichever process has it. */
  async answer(id: string, given: Answer, options: AnswerOptions = {}): Promise<{ readonly open: number }> {
    this.#refuseIfClosed();
    const mail = answerMail(id, readAnswer(id, given), options.id);
    const threadId = await this.#setup.store.requestThread(this.#tenant, id);
    if (threadId === undefined) throw belayError("ANSWER_UNKNOWN", { id });
    return answerAnywhere(this.#setup, { tenant: this.#tenant, threadId }, mail, async (sent) => {
      const session = await this.open(threadId).catch(unlessBusy);
      return session === undefined ? "busy" : session.answerHere(mail, sent);
    });
  }

  /** Open requests over all threads, the oldest first. */
  async inbox(filter: InboxFilter = {}): Promise<InboxItem[]> {
    this.#refuseIfClosed();
    return inboxOf(await this.#setup.store.requests(this.#tenant), filter, this.#setup);
  }

  /** What people allowed for good, the oldest first; with a thread, what they allowed there. */
  async rules(options: { readonly threadId?: string } = {}): Promise<readonly RememberedRule[]> {
    this.#refuseIfClosed();
    if (options.threadId !== undefined) {
      const session = await this.#anySession(options.threadId);
      await session.refresh();
      return session.rules;
    }
    const rows = await this.#setup.store.rules(this.#tenant);
    return rows.map(({ body }) => JSON.parse(body) as RememberedRule);
  }

  /** Removes what people allowed for good, or, with a thread, what they allowed there; false where there is no such rule. */
  async removeRule(id: string, options: { readonly threadId?: string; readonly by?: string } = {}): Promise<boolean> {
    this.#refuseIfClosed();
    const { threadId, ...by } = options;
    if (threadId !== undefined) return (await this.open(threadId)).removeRule(id, by);
    return this.#setup.store.removeRule(this.#tenant, id);
  }

  /** session.steer() for a thread that any process may be running. */
  async steer(threadId: string, input: Input, options: SendOptions = {}): Promise<{ readonly id: string }> {
    return (await this.#anySession(threadId)).steer(input, options);
  }

  /** session.enqueue() for a thread that any process may be running. */
  async enqueue(threadId: string, input: Input, options: SendOptions = {}): Promise<{ readonly id: string }> {
    const session = await this.#anySession(threadId);
    const sent = await session.enqueue(input, options);
    // Whoever ran it may have ended just before it was sent.
    const loaded = await loadThread(this.#setup.store, { tenant: this.#tenant, threadId }, Number.MAX_SAFE_INTEGER);
    if (loaded !== undefined && isMovable(loaded.row, this.#setup.clock.now())) await this.#startQueued(threadId);
    return sent;
  }

  /** What was sent is sent: whoever has the thread by now starts it. */
  async #startQueued(threadId: string): Promise<void> {
    try {
      await (await this.open(threadId)).startQueued();
    } catch (error) {
      if ((error as Partial<BelayError>).code !== "THREAD_BUSY") throw error;
    }
  }

  /** session.withdraw() for a thread that any process may be running. */
  async withdraw(threadId: string, id: string): Promise<boolean> {
    this.#refuseIfClosed();
    return this.#setup.store.withdraw({ tenant: this.#tenant, threadId }, id);
  }

  /** Facts of a thread from any cursor, then what happens; in any process. */
  events(
    threadId: string,
    options: { readonly after?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<BelayEvent> {
    this.#refuseIfClosed();
    const session = this.#sessions.get(threadId)?.deref();
    return (session ?? this.#onlooker(threadId)).events(options);
  }

  /** All threads, the last changed first. */
  threads(): Promise<ThreadRow[]> {
    return this.#setup.store.threads(this.#tenant);
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
    this.#refuseIfClosed();
    const id = this.#newId(options?.as);
    const effects = await forkThread(this.#setup, this.#key(threadId), id, options, (agent) =>
      this.#agentFor(threadId, agent, undefined),
    );
    return { session: await this.#opened(id), effects };
  }

  /** What was said, done and decided, each with the point to fork at; of a damaged thread as far as it can be read. */
  async history(threadId: string): Promise<readonly HistoryPoint[]> {
    this.#refuseIfClosed();
    return historyPoints((await readPast(this.#setup.store, this.#key(threadId))).facts);
  }

  /** Of a thread that is damaged: what can be read of it as a thread of its own. The damaged one stays as it is. */
  async repair(
    threadId: string,
    options: { readonly as?: string } = {},
  ): Promise<{ readonly session: Session<Out>; readonly lost: Lost }> {
    this.#refuseIfClosed();
    const id = this.#newId(options.as);
    const lost = await repairThread(this.#setup, this.#key(threadId), id, (agent) =>
      this.#agentFor(threadId, agent, undefined),
    );
    return { session: await this.#opened(id), lost };
  }

  /** A thread that is new in the store: a session that waited for its first run may be open on it. */
  async #opened(threadId: string): Promise<Session<Out>> {
    const known = this.#sessions.get(threadId)?.deref();
    const session = await this.open(threadId);
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
    this.#refuseIfClosed();
    const session = this.#sessions.get(threadId)?.deref();
    if (session?.state === "running") throw belayError("ALREADY_RUNNING", { threadId, runId: session.runId ?? "" });
    await session?.close();
    const key = this.#key(threadId);
    const { store } = this.#setup;
    for (;;) {
      const loaded = await loadThread(store, key, Number.MAX_SAFE_INTEGER).catch(unlessDamaged);
      const { lease, head, queued, answered } = loaded?.row ?? {};
      if (lease !== undefined) throw busy(threadId, lease.owner, lease.until);
      // What waits for it goes with it; whoever begins to run it meanwhile keeps it.
      const isBare = loaded === undefined || queued || answered;
      const removed = await store.delete(key, isBare ? undefined : head).catch((error: unknown) => {
        throw storeError(key, error);
      });
      if (removed || isBare) return;
    }
  }

  /** Removes threads that have ended and were left alone for `idleMs`; gives their ids. */
  async prune(options: PruneOptions): Promise<readonly string[]> {
    this.#refuseIfClosed();
    const idleMs = readIdle("idleMs", options?.idleMs);
    return this.#prune(await this.threads(), { ...options, idleMs });
  }

  async #prune(rows: readonly ThreadRow[], options: PruneOptions): Promise<readonly string[]> {
    const { store, clock } = this.#setup;
    const removed = await pruneThreads(store, this.#tenant, rows, clock.now(), options);
    if (!options.dryRun) for (const id of removed) await this.#sessions.get(id)?.deref()?.close();
    return removed;
  }

  async #movable(): Promise<readonly ThreadRow[]> {
    const rows = await this.threads();
    // What cannot be removed is no reason not to work.
    if (this.#ttlMs !== undefined) await this.#prune(rows, { idleMs: this.#ttlMs }).catch(() => {});
    return rows.filter((row) => isMovable(row, this.#setup.clock.now()));
  }

  /** Moves threads that can move by themselves: crashed ones, and idle ones with an input waiting. Ends with `signal`. */
  work(options: WorkOptions = {}): Promise<void> {
    this.#refuseIfClosed();
    const { clock } = this.#setup;
    const isClosed = () => this.#closed;
    const host: WorkHost = {
      get closed() {
        return isClosed();
      },
      find: () => this.#movable(),
      move: (row) => this.#move(row),
      wait: (ms, signal) =>
        new Promise((resolve) => {
          const timer = clock.setTimeout(done, ms);
          function done() {
            clock.clearTimeout(timer);
            signal?.removeEventListener("abort", done);
            resolve();
          }
          signal?.addEventListener("abort", done, { once: true });
        }),
    };
    return workOn(host, options);
  }

  async #move(row: ThreadRow): Promise<boolean> {
    try {
      const session = await this.open(row.threadId);
      await session.refresh();
      await session.moveOn(MOST_CRASHES);
      return session.pauseType !== "crash";
    } catch {
      // Somebody else was faster, or the thread cannot be read: it is looked at again.
      return false;
    }
  }

  /** Lets go of all threads at their next safe point; what takes longer than `timeoutMs` is aborted. They go on elsewhere. */
  async drain(options: { readonly timeoutMs?: number } = {}): Promise<void> {
    this.#closed = true;
    const { clock } = this.#setup;
    const running = this.#leases.running.map((execution) => execution.drain());
    if (running.length > 0) {
      const abort = () => {
        void this.close();
        // Also of calls that a stop would wait for.
        for (const execution of this.#leases.running) execution.signal.force();
      };
      const timer = clock.setTimeout(abort, options.timeoutMs ?? 10_000);
      await Promise.all(running);
      clock.clearTimeout(timer);
    }
    await this.close();
  }

  /** Closes all sessions; runs in progress are aborted and can be resumed elsewhere. */
  async close(): Promise<void> {
    this.#closed = true;
    const open = [...this.#sessions.values()].map((ref) => ref.deref());
    await Promise.all(open.map((session) => session?.close()));
  }

  /** The session here, or one that only looks on and sends: it takes no lease, so any process may have the thread. */
  async #anySession(threadId: string): Promise<Session<Out>> {
    this.#refuseIfClosed();
    const known = this.#sessions.get(threadId)?.deref();
    if (known !== undefined) return known;
    try {
      return await this.open(threadId);
    } catch (error) {
      // Also where somebody began to run it while we looked.
      if ((error as Partial<BelayError>).code !== "THREAD_BUSY") throw error;
    }
    const session = this.#onlooker(threadId);
    await session.refresh();
    return session;
  }

  /** It begins nothing: the thread may be another agent's. */
  #onlooker(threadId: string): Session<Out> {
    const [agent] = this.#agents.values();
    const host = { ...this.#host, accepts: () => false };
    return new Session(host, { tenant: this.#tenant, threadId }, agent as Agent<Out, never>, undefined);
  }

  #asked(session: Session<Out>, options: OpenOptions<Deps>): Session<Out> {
    this.#agentFor(session.threadId, session.agent.name, options.agent);
    return session;
  }

  #agentFor(threadId: string, recorded: string | undefined, given: string | undefined): Agent<Out, Deps> {
    if (recorded !== undefined && given !== undefined && recorded !== given) {
      throw belayError("AGENT_MISMATCH", { threadId, recorded, given });
    }
    const [first] = this.#agents.values();
    const name = recorded ?? given ?? first!.name;
    const agent = this.#agents.get(name);
    if (agent !== undefined) return agent;
    if (recorded !== undefined && this.#agents.size === 1) {
      throw belayError("AGENT_MISMATCH", { threadId, recorded, given: first!.name });
    }
    throw belayError("AGENT_UNKNOWN", { agent: name, known: [...this.#agents.keys()].join(", ") });
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw belayError("RUNNER_CLOSED", {});
  }
}

function agentsOf<Out, Deps>(options: RunnerOptions<Out, Deps>): readonly Agent<Out, Deps>[] {
  const { agent, agents = [] } = (options ?? {}) as RunnerOptions<Out, Deps>;
  if (!Array.isArray(agents)) throw belayError("AGENT_INVALID", { agent: "(none)", problem: "agents is not a list" });
  return agent === undefined ? agents : [agent, ...agents];
}

function isMovable({ state, lease, damaged, queued, answered, rest }: ThreadRow, now: number): boolean {
  if (lease !== undefined || damaged) return false;
  switch (state) {
    case "running":
      return true;
    case "paused":
      return answered || (rest?.dueAt !== undefined && rest.dueAt <= now);
    case "completed":
    case "initialized":
      return queued;
    default:
      return false;
  }
}

function readId(option: string, id: unknown): string {
  if (typeof id === "string" && id !== "" && id.length <= 200) return id;
  throw belayError("OPTION_INVALID", { option, value: JSON.stringify(id), needed: "text of 1–200 characters" });
}

function unlessDamaged(error: BelayError): undefined {
  if (!error.code.startsWith("JOURNAL_")) throw error;
}

function unlessBusy(error: BelayError): undefined {
  if (error.code !== "THREAD_BUSY") throw error;
}

function isSameHash(a: string, b: string): boolean {
  return a.length === b.length && builtIn("node:crypto").timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function readGroups(groups: Groups = {}): Groups {
  for (const [name, members] of Object.entries(groups)) {
    if (Array.isArray(members) && members.every((member) => typeof member === "string")) continue;
    throw belayError("OPTION_INVALID", { option: `groups.${name}`, value: String(members), needed: "a list of ids" });
  }
  return groups;
}

function atLeastZero(option: string, value: number | undefined): number | undefined {
  if (value === undefined || (typeof value === "number" && value >= 0)) return value;
  throw belayError("OPTION_INVALID", { option, value: String(value), needed: "a number, 0 or more" });
}

function readHandle(handle: Handle): Handle {
  const given = handle as Partial<Handle> | null | undefined;
  if (typeof given !== "object" || given === null)
    throw belayError("HANDLE_INVALID", { problem: `it is ${String(given)}` });
  for (const field of ["threadId", "runId", "token"] as const) {
    if (typeof given[field] !== "string") throw belayError("HANDLE_INVALID", { problem: `it has no ${field}` });
  }
  if (!Number.isInteger(given.segment)) throw belayError("HANDLE_INVALID", { problem: "it has no segment" });
  return handle;
}
