// The sessions of a runner. Invariants:
// 1. A thread has one session. A call of open() while it is open or being opened gets that one; while it is being closed,
//    the one after it.
// 2. Sessions are held weakly: one that no caller holds, and that does nothing, is forgotten.

import type { Agent } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";
import type { ThreadKey } from "../../store/store.ts";
import { absentAgent, agentUnknown } from "../given/absent-agent.ts";
import { anything, type Checks, checkOptions } from "../given/check.ts";
import { END, type EndOptions, EVENTS, type EventOptions, readId } from "../given/options.ts";
import { Feed, type FeedHost } from "../read/feed.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Reader } from "../read/reader.ts";
import { firstLoad } from "../read/recall.ts";
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

interface Opening {
  /** Refuses a thread that does not exist, and reads one that does as far as a resume needs it. */
  readonly toGoOn?: boolean;
  /** Another process may have the thread: the session follows it. */
  readonly evenIfBusy?: boolean;
}

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
    return this.open(threadId, options, { evenIfBusy: true });
  }

  /** Opens a thread. By default, one that is not open yet and that another process has is refused with THREAD_BUSY. */
  async open(
    threadId: string | undefined,
    options: OpenOptions<Deps>,
    { toGoOn = false, evenIfBusy = false }: Opening = {},
  ): Promise<Session<Out>> {
    this.refuseIfClosed();
    const id = threadId === undefined ? this.#setup.clock.id() : threadId;
    readId("threadId", id);
    const known = this.known(id);
    const closing = known && threadOf(known).closing;
    if (closing !== undefined) {
      await closing;
      return this.open(id, options, { toGoOn, evenIfBusy });
    }
    if (known !== undefined) {
      this.agentFor(id, known.agent.name, options.agent);
      return known;
    }
    // The thread is being opened: the caller gets that session when it is ready.
    const opening = this.#openings.get(id);
    if (opening !== undefined) {
      await opening.catch(() => {});
      return this.open(id, options, { toGoOn, evenIfBusy });
    }
    const opened = this.#read(id, threadId === undefined, options, { toGoOn, evenIfBusy });
    this.#openings.set(id, opened);
    try {
      return await opened;
    } finally {
      this.#openings.delete(id);
    }
  }

  async #read(
    threadId: string,
    isNew: boolean,
    options: OpenOptions<Deps>,
    { toGoOn, evenIfBusy }: Required<Opening>,
  ): Promise<Session<Out>> {
    const key: ThreadKey = { tenant: this.#tenant, threadId };
    const loaded = isNew ? undefined : await firstLoad(this.#setup.store, key, toGoOn);
    if (loaded === undefined && toGoOn) throw belayError("THREAD_UNKNOWN", { threadId });
    if (!evenIfBusy && loaded?.row.lease !== undefined)
      throw busy(threadId, loaded.row.lease.owner, loaded.row.lease.until);
    const agent = this.agentFor(threadId, loaded?.row.agent, options.agent);
    const session = new LiveSession<Out>(this.#host, key, agent as Agent<Out, never>, options.deps ?? this.#deps);
    if (loaded !== undefined) await threadOf(session).recall.learn(loaded, toGoOn);
    this.refuseIfClosed();
    return this.#sessions.set(threadId, session);
  }

  #feed(threadId: string): Feed {
    const key: ThreadKey = { tenant: this.#tenant, threadId };
    return this.#feeds.get(threadId) ?? this.#feeds.set(threadId, new Feed(this.#feedHost, key));
  }

  /** Returns the events of a thread, whichever process has it, until this runner is closed. */
  reader(threadId: string, options: EventOptions): Reader {
    checkOptions("events()", options, EVENTS);
    const { after = 0, signal } = options;
    return this.#feed(readId("threadId", threadId)).reader(after, signal, this);
  }

  /** Returns the session that is open here, or one that only reads and sends: it takes no lease, so any process may have the thread. */
  async any(threadId: string): Promise<Session<Out>> {
    this.refuseIfClosed();
    const known = this.known(readId("threadId", threadId));
    if (known !== undefined) return known;
    const session = await this.open(threadId, {}).catch(unlessBusy);
    if (session !== undefined) return session;
    // Its own agent, if this runner has it: the agent's hooks decide what is observed.
    const agent = await this.agentOf(threadId).catch(() => undefined);
    const onlooker = this.onlooker(threadId, agent as Agent<Out, never> | undefined);
    await threadOf(onlooker).refresh();
    return onlooker;
  }

  /** The runs and resumes of a thread that were asked for and have not begun, in order. */
  ahead(threadId: string): readonly Promise<void>[] {
    return [...(this.#ahead.get(threadId) ?? [])];
  }

  /** Announces a run or a resume: a stop from now on is for the segment that it begins. Returns the call for when it has begun or is refused. */
  goOn(threadId: string): () => void {
    let begun = () => {};
    const ahead = this.#ahead.get(threadId) ?? new Set();
    const own = new Promise<void>((resolve) => (begun = resolve));
    this.#ahead.set(threadId, ahead.add(own));
    return () => {
      begun();
      ahead.delete(own);
      if (ahead.size === 0) this.#ahead.delete(threadId);
    };
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
    const known = this.known(threadId);
    if (known !== undefined) return known;
    return this.onlooker(threadId, agent as Agent<Out, never>);
  }

  /** Returns the agent that a thread has on record; undefined if there is no such thread. */
  async agentOf(threadId: string): Promise<Agent<Out, Deps> | undefined> {
    const key = { tenant: this.#tenant, threadId: readId("threadId", threadId) };
    const row = (await loadThread(this.#setup.store, key, Number.MAX_SAFE_INTEGER))?.row;
    return row && this.agentFor(threadId, row.agent, undefined);
  }

  /** Makes a session that begins no run: the thread may belong to another agent. */
  onlooker(threadId: string, agent = (this.firstAgent ?? absentAgent("")) as Agent<Out, never>): Session<Out> {
    const host = { ...this.#host, accepts: () => false };
    return new LiveSession(host, { tenant: this.#tenant, threadId }, agent, undefined);
  }

  /** Returns the agent that the thread has on record, or else the one that is asked for. */
  agentFor(threadId: string, recorded: string | undefined, given: string | undefined): Agent<Out, Deps> {
    if (recorded !== undefined && given !== undefined && recorded !== given) {
      throw belayError("AGENT_MISMATCH", { threadId, recorded, given });
    }
    const [first] = this.#agents.values();
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

/** True if another process has the thread, also if it began to run it meanwhile. */
export function unlessBusy(error: BelayError): undefined {
  if (error.code !== "THREAD_BUSY") throw error;
}
