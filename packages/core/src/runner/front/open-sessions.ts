// The sessions of a runner. Invariants:
// 1. A thread has one session. A call of open() while it is open or being opened gets that one; while it is being closed,
//    the one after it.
// 2. Sessions are held weakly: one that no caller holds, and that does nothing, is forgotten.

import type { Agent } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { ThreadKey, ThreadRow } from "../../store/store.ts";
import { absentAgent, agentUnknown } from "../given/absent-agent.ts";
import { anything, type Checks, checkOptions } from "../given/check.ts";
import { END, type EndOptions, EVENTS, type EventOptions, readId } from "../given/options.ts";
import { Feed, type FeedHost } from "../read/feed.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Reader } from "../read/reader.ts";
import { firstLoad } from "../read/recall.ts";
import type { Run } from "../read/run.ts";
import { busy } from "../read/store-error.ts";
import type { SessionHost } from "../thread/live-thread.ts";
import type { Slots } from "../thread/slots.ts";
import type { Tenure } from "../thread/tenure.ts";
import type { RunnerSetup } from "../write/desk.ts";
import { Leases } from "./leases.ts";
import type { OpenOptions } from "./runner-options.ts";
import { LiveSession, type Session, threadOf } from "./session.ts";
import { WeakTable } from "./weak-table.ts";

const OPEN: Checks<OpenOptions<never>> = { agent: anything, deps: anything };

/**
 * `free`: a thread that another process has is refused with THREAD_BUSY, unless it is open here. `follow`: another process may
 * have it, and the session follows it. `resume`: the same, but a thread that does not exist is refused, and one that does is read
 * as far as a resume needs it.
 */
type Opening = "free" | "follow" | "resume";

export class OpenSessions<Out, Deps> {
  readonly #setup: RunnerSetup;
  readonly #tenant: string;
  readonly #agents: ReadonlyMap<string, Agent<Out, Deps>>;
  readonly #deps: Deps | undefined;
  readonly #leases: Leases;
  readonly #host: SessionHost;
  readonly #sessions = new WeakTable<Session<Out>>();
  /** Held weakly: readers keep their feed, and so does a session. */
  readonly #feeds = new WeakTable<Feed>();
  readonly #feedHost: FeedHost;
  /** The sessions with a thread that is being read. */
  readonly #openings = new Map<string, Promise<Session<Out>>>();
  /** The runs and resumes that were asked for and have not begun, by thread. */
  readonly #ahead = new Map<string, Set<Promise<void>>>();
  /** True if no run begins any more. */
  closed = false;

  constructor(
    setup: RunnerSetup,
    tenant: string,
    agents: ReadonlyMap<string, Agent<Out, Deps>>,
    deps: Deps | undefined,
    slots: Slots,
  ) {
    this.#setup = setup;
    this.#tenant = tenant;
    this.#agents = agents;
    this.#deps = deps;
    const { store, clock, owner, log } = setup;
    const place = { threadId: "", runId: "", agentName: "", runPath: "" };
    let told = false;
    const cannotRelay = () => {
      if (!told) log({ level: "warn", error: belayError("RELAY_UNAVAILABLE", {}), ...place });
      told = true;
    };
    this.#feedHost = { store, clock, owner, cannotRelay };
    this.#leases = new Leases(setup.clock, setup.leaseTtlMs);
    this.#host = {
      setup,
      running: (tenure) => this.#leases.add(tenure),
      stopped: (tenure) => this.#leases.remove(tenure),
      closed: (thread) => {
        const { threadId } = thread.key;
        const known = this.known(threadId);
        if (known !== undefined && threadOf(known) === thread) this.#sessions.delete(threadId);
      },
      feed: (threadId) => this.#feed(threadId),
      slots,
      accepts: () => !this.closed,
      ahead: (threadId) => this.ahead(threadId),
    };
  }

  /** Returns the session that is open here. */
  known(threadId: string): Session<Out> | undefined {
    return this.#sessions.get(threadId);
  }

  get running(): readonly Tenure[] {
    return this.#leases.running;
  }

  refuseIfClosed(): void {
    if (this.closed) throw belayError("RUNNER_CLOSED", {});
  }

  /** Opens a thread by id, as it is in the store now: other processes may have continued it, deleted it or made it again. */
  async openNow(threadId: string | undefined, options: OpenOptions<Deps>): Promise<Session<Out>> {
    checkOptions("open()", options, OPEN);
    const known = threadId === undefined ? undefined : this.known(threadId);
    if (known !== undefined) await threadOf(known).lookAgain();
    return this.open(threadId, options, "follow");
  }

  /** Opens a thread, and reads it if it was open already: other processes may have continued it. */
  async openFresh(threadId: string, options: OpenOptions<Deps>, how: Opening): Promise<Session<Out>> {
    const known = this.known(threadId);
    const session = await this.open(threadId, options, how);
    if (session === known) await threadOf(session).refresh();
    return session;
  }

  /** Opens a thread; resolves to undefined if another process has it, also if that began to run it meanwhile. */
  async openFree(threadId: string, options: OpenOptions<Deps> = {}): Promise<Session<Out> | undefined> {
    return this.open(threadId, options, "free").catch(unlessBusy);
  }

  async open(threadId: string | undefined, options: OpenOptions<Deps>, how: Opening): Promise<Session<Out>> {
    this.refuseIfClosed();
    const id = threadId === undefined ? this.#setup.clock.id() : threadId;
    readId("threadId", id);
    const known = this.known(id);
    const closing = known && threadOf(known).closing;
    if (closing !== undefined) {
      await closing;
      return this.open(id, options, how);
    }
    if (known !== undefined) {
      this.agentFor(id, known.agent.name, options.agent);
      return known;
    }
    // The thread is being opened: the caller gets that session when it is ready.
    const opening = this.#openings.get(id);
    if (opening !== undefined) {
      await opening.catch(() => {});
      return this.open(id, options, how);
    }
    const opened = this.#read(id, threadId === undefined, options, how);
    this.#openings.set(id, opened);
    try {
      return await opened;
    } finally {
      this.#openings.delete(id);
    }
  }

  async #read(threadId: string, isNew: boolean, options: OpenOptions<Deps>, how: Opening): Promise<Session<Out>> {
    const key = this.key(threadId);
    const toGoOn = how === "resume";
    const loaded = isNew ? undefined : await firstLoad(this.#setup.store, key, toGoOn);
    if (loaded === undefined && toGoOn) throw belayError("THREAD_UNKNOWN", { threadId });
    if (how === "free" && loaded?.row.lease !== undefined)
      throw busy(threadId, loaded.row.lease.owner, loaded.row.lease.until);
    const agent = this.agentFor(threadId, loaded?.row.agent, options.agent);
    const session = new LiveSession<Out>(this.#host, key, agent as Agent<Out, never>, options.deps ?? this.#deps);
    if (loaded !== undefined) await threadOf(session).recall.learn(loaded, toGoOn);
    this.refuseIfClosed();
    return this.#sessions.set(threadId, session);
  }

  #feed(threadId: string): Feed {
    return this.#feeds.get(threadId) ?? this.#feeds.set(threadId, new Feed(this.#feedHost, this.key(threadId)));
  }

  /** Returns the events of a thread, whichever process has it, until this runner is closed. */
  reader(threadId: string, options: EventOptions): Reader {
    checkOptions("events()", options, EVENTS);
    const { after = 0, signal } = options;
    return this.#feed(threadId).reader(after, signal, this);
  }

  /** Asks the session of a thread that any process may have. */
  on<T>(threadId: string, ask: (session: Session<Out>) => Promise<T>): Promise<T> {
    return this.with(threadId, async () => ask(await this.#any(threadId)));
  }

  /** Returns the session that is open here, or one that only reads and sends: it takes no lease, so any process may have the thread. */
  async #any(threadId: string): Promise<Session<Out>> {
    this.refuseIfClosed();
    const session = this.known(readId("threadId", threadId)) ?? (await this.openFree(threadId));
    if (session !== undefined) return session;
    // Its own agent, if this runner has it: the agent's hooks decide what is observed.
    const agent = await this.agentOf(threadId).catch(() => undefined);
    const onlooker = this.#onlooker(threadId, agent ?? this.firstAgent ?? absentAgent(""));
    await threadOf(onlooker).refresh();
    return onlooker;
  }

  /** The runs and resumes of a thread that were asked for and have not begun, in order. */
  ahead(threadId: string): readonly Promise<void>[] {
    return [...(this.#ahead.get(threadId) ?? [])];
  }

  /**
   * Begins a segment of a thread as it is in the store now. Resolves when the segment has started (V4). A stop from now on is for
   * that segment.
   */
  async begin(
    threadId: string,
    options: OpenOptions<Deps>,
    how: Opening,
    begin: (session: Session<Out>) => Run<Out>,
  ): Promise<Run<Out>> {
    readId("threadId", threadId);
    let begun = () => {};
    const ahead = this.#ahead.get(threadId) ?? new Set();
    const own = new Promise<void>((resolve) => (begun = resolve));
    this.#ahead.set(threadId, ahead.add(own));
    let run: Run<Out>;
    try {
      run = begin(await this.with(threadId, () => this.openFresh(threadId, options, how)));
    } finally {
      begun();
      ahead.delete(own);
      if (ahead.size === 0) this.#ahead.delete(threadId);
    }
    // No event is missed: the caller gets the run before the model is called.
    await run.started;
    return run;
  }

  /** Returns a session of the thread that has this name now: a known session may be of a thread that was deleted since. */
  async with<T>(threadId: string, ask: () => Promise<T>): Promise<T> {
    const known = this.known(threadId);
    try {
      return await ask();
    } catch (error) {
      const isGone = (error as Partial<BelayError>).code === "THREAD_UNKNOWN" && known !== this.known(threadId);
      if (known === undefined || !isGone) throw error;
      return ask();
    }
  }

  /** Returns a session with the thread's agent, also if another process has the thread. Throws THREAD_UNKNOWN. */
  async looker(threadId: string): Promise<Session<Out>> {
    this.refuseIfClosed();
    const agent = await this.agentOf(threadId);
    if (agent === undefined) throw belayError("THREAD_UNKNOWN", { threadId });
    return this.known(threadId) ?? this.#onlooker(threadId, agent);
  }

  /** Returns the agent that a thread has on record; undefined if there is no such thread. */
  async agentOf(threadId: string): Promise<Agent<Out, Deps> | undefined> {
    const row = await this.row(threadId);
    return row && this.agentFor(threadId, row.agent);
  }

  /** Returns a thread as the store lists it; undefined if there is none. */
  async row(threadId: string): Promise<ThreadRow | undefined> {
    return (await loadThread(this.#setup.store, this.key(threadId), Number.MAX_SAFE_INTEGER))?.row;
  }

  key(threadId: string): ThreadKey {
    return { tenant: this.#tenant, threadId: readId("threadId", threadId) };
  }

  /** Makes a session that begins no run: the thread may belong to another agent. */
  #onlooker(threadId: string, agent: Agent<Out, Deps> | Agent): Session<Out> {
    const host = { ...this.#host, accepts: () => false };
    return new LiveSession(host, this.key(threadId), agent as Agent<Out, never>, undefined);
  }

  /** Returns the agent that the thread has on record, or else the one that is asked for. */
  agentFor(threadId: string, recorded: string | undefined, given?: string): Agent<Out, Deps> {
    if (recorded !== undefined && given !== undefined && recorded !== given) {
      throw belayError("AGENT_MISMATCH", { threadId, recorded, given });
    }
    const first = this.firstAgent;
    const name = recorded ?? given ?? first?.name;
    if (name === undefined) throw agentUnknown();
    if (first === undefined) return absentAgent(name) as unknown as Agent<Out, Deps>;
    const agent = this.#agents.get(name);
    if (agent !== undefined) return agent;
    if (recorded !== undefined && this.#agents.size === 1) {
      throw belayError("AGENT_MISMATCH", { threadId, recorded, given: first.name });
    }
    throw belayError("AGENT_UNKNOWN", { agent: name, known: [...this.#agents.keys()].join(", ") });
  }

  /** Returns the names of the agents. */
  get agentNames(): readonly string[] {
    return [...this.#agents.keys()];
  }

  /** Returns the agent of new threads that name none. */
  get firstAgent(): Agent<Out, Deps> | undefined {
    const [first] = this.#agents.values();
    return first;
  }

  /** Closes all sessions. Runs are aborted and can be resumed elsewhere. The results of calls left behind are saved, or logged as lost. */
  async close(options: EndOptions): Promise<void> {
    checkOptions("close()", options, END);
    this.closed = true;
    await Promise.all(this.#sessions.values.map((session) => session.close(options)));
    await this.#setup.late.close();
    for (const feed of this.#feeds.values) feed.closed(this);
  }
}

/** True if another process has the thread. */
export function unlessBusy(error: BelayError): undefined {
  if (error.code !== "THREAD_BUSY") throw error;
}
