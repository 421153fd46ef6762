// Facts → journal → readers, in that order and nowhere else. Invariants:
// 1. A fact is in the store before anyone can see it (F1), and in the fold before anyone can act on it.
// 2. Appends are written one at a time; what is asked for meanwhile goes into the next one together. Each is decided
//    when it is written, not when it was asked for.
// 3. Nothing is written after an append failed; whoever waits for one never wakes (F6).
// 4. Nothing is written after the append that released the lease.
// 5. Whoever waits for an append wakes before the next one is made: what it does at once counts there, and what it asks
//    for meanwhile goes into it.
//
// By callbacks, and with one append in flight in fields: it is most of what a turn costs, and promises for each step of
// it were most of that.
//
// Long, and still one piece: these hold only as long as there is one writer.

import { BelayError, belayError } from "../../error.ts";
import type { BelayEvent, Draft, Fact } from "../../event.ts";
import type { Awaiting, Desk, Frame, FramePlace, HotCode, LateResult, Recording, Remembered } from "../../frame.ts";
import type { HookTable } from "../../hooks/hooks.ts";
import type { RequestState } from "../../interrupt/decision.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { encode } from "../../journal/codec.ts";
import { fold } from "../../journal/fold.ts";
import { isWithin, reduce } from "../../journal/reduce.ts";
import { openRequests } from "../../journal/requests.ts";
import { snapshotIfDue } from "../../journal/snapshot.ts";
import { type CallState, newThread, type Scope, type SetBreakpoint, type ThreadState } from "../../journal/state.ts";
import type { SessionState } from "../../lifecycle.ts";
import type { Log } from "../../log.ts";
import type { Message } from "../../message.ts";
import type { CheckedPermissions } from "../../permission/permissions.ts";
import type { PermissionRule } from "../../permission/rule.ts";
import { point } from "../../point.ts";
import type { Append, Appended, Command, Store, ThreadKey } from "../../store/store.ts";
import type { AnswerSchemas } from "../decide/answer-schemas.ts";
import type { LateMail } from "../decide/mail.ts";
import { asked } from "../decide/requests.ts";
import type { Setup } from "../given/setup.ts";
import type { Feed } from "../read/feed.ts";
import type { Recall } from "../read/recall.ts";
import { storeError } from "../read/store-error.ts";
import type { HotRoom } from "./hot.ts";
import type { LatePost } from "./late-post.ts";
import type { Mailbox } from "./mailbox.ts";

/** The setup of a runner with the two places that its writers fill. */
export interface DriveSetup extends Setup {
  readonly hot: HotRoom;
  readonly late: LatePost;
}

/** What a session hands to each of its drives. */
export interface DriveHost {
  readonly setup: DriveSetup;
  readonly key: ThreadKey;
  readonly feed: Feed;
  /** Calls of this thread that were left behind and still run. */
  readonly behind: string[];
  readonly hot: HotCode;
  /** What the code behind open requests takes as their answers, by id. */
  readonly schemas: AnswerSchemas;
  readonly recall: Recall;
}

interface Waiting extends Recording {
  /** Alone, and made anew without what its sender took back. */
  readonly mail?: boolean;
  /** The last append: gives the lease back. Called when it is in the fold, before anyone sees it. */
  released?(): void;
  /** Published among its facts, before the last `before()` of them. */
  readonly draft?: { readonly before: () => number; readonly event: Draft };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What every provider takes as the id of a call. */
const CALL_ID = /^[A-Za-z0-9_-]{1,40}$/;

const RETRY_AFTER_MS = [10, 100];

const nothing: readonly never[] = [];
const settled = Promise.resolve();

/** Of all drives of this process: an append must never have the id of another one, also of another drive on its thread. */
let appends = 0;

export class Drive implements Desk {
  readonly #setup: DriveSetup;
  readonly #key: ThreadKey;
  readonly #agent: string;
  readonly #feed: Feed;
  readonly #failed: (error: BelayError) => void;
  readonly state: ThreadState;
  #waiting: Waiting[] | undefined;
  /** The append in flight: who asked for it, its facts, what is sent, who is told, and how often it was tried. */
  #batch: Waiting[] | undefined;
  #facts: readonly Fact[] = nothing;
  #append: Append | undefined;
  #answered: ((appended: Appended) => void) | undefined;
  #unanswered: ((error: unknown) => void) | undefined;
  #tries = 0;
  #over = false;
  #fence = 0;
  /** An append was tried again: a refusal no longer says that it was not written, for others may have written after it. */
  #answerLost = false;
  readonly #behind: string[];
  /** Ids of calls that models have given in this stretch, and to whom, by its path. */
  #callIds: Map<string, string> | undefined;
  readonly #mailbox: Mailbox | undefined;
  /** Keys of commands that wait in the store: the append that records one consumes it. */
  readonly #rows: ReadonlySet<string> | undefined;
  readonly hot: HotCode;
  readonly #schemas: AnswerSchemas;
  readonly #recall: Recall;
  /** Who waits for the decision on a request, by its id. */
  #awaiting: Map<string, Awaiting> | undefined;
  /** Where nodes of graphs wait for somebody to go on, by address. */
  #halts: Map<string, Interrupt> | undefined;
  #below: { readonly head: number; readonly paths: ReadonlyMap<string, readonly string[]> } | undefined;
  /** A request was decided, and nobody who could act on it heard of it. */
  unheard = false;
  /** There are commands nobody has consumed, as of the last append. */
  mail = false;

  constructor(
    host: DriveHost,
    agent: string,
    state: ThreadState,
    failed: (error: BelayError) => void,
    rows: ReadonlySet<string> | undefined,
    mailbox?: Mailbox,
  ) {
    this.#rows = rows ?? mailbox?.rows;
    this.#setup = host.setup;
    this.#key = host.key;
    this.#agent = agent;
    this.state = state;
    this.#feed = host.feed;
    this.#failed = failed;
    this.#behind = host.behind;
    this.hot = host.hot;
    this.#schemas = host.schemas;
    this.#recall = host.recall;
    this.#mailbox = mailbox;
  }

  get head(): number {
    return this.state.head;
  }

  get maxBytes(): number {
    return this.#setup.maxBytes;
  }

  get watched(): boolean {
    return this.#feed.watched;
  }

  get fence(): number {
    return this.#fence;
  }

  /** It gives the lease back: the answer of the store tells whether it had it. */
  get isReleasing(): boolean {
    return this.#batch?.at(-1)?.released !== undefined;
  }

  publish(draft: Draft): void {
    if (!this.#over) this.#feed.publish(draft);
  }

  callId(wanted: string, by: string): string {
    const given = this.#callIds?.get(wanted) ?? by;
    if (!CALL_ID.test(wanted) || this.state.callIds.has(wanted) || given !== by) {
      return `call_${this.#setup.clock.id()}`;
    }
    // Agents that run at once may be given the same one before either is on record; a second try of one may have it again.
    // One that is alone in its thread has nobody to share with.
    if (this.state.scopes.size < 2) return wanted;
    this.#callIds ??= new Map();
    this.#callIds.set(wanted, by);
    return wanted;
  }

  leaveBehind(frame: Frame, call: CallState, late: Promise<LateResult | undefined>): void {
    const { id: callId, tool } = call.part;
    this.#behind.push(callId);
    const { runId, agentName, runPath, segment } = frame.place;
    const { address } = call;
    const { since } = this.#recall;
    const gone = () => void this.#behind.splice(this.#behind.indexOf(callId), 1);
    void late.then(async (result) => {
      if (result === undefined) return gone();
      const mail: LateMail = { path: runPath, segment, callId, tool, address, ...result };
      const command: Command = {
        key: `late:${runId}:${address}:${callId}`,
        kind: "late",
        body: JSON.stringify(mail),
        at: this.#setup.clock.now(),
      };
      const place = { runId, agentName, runPath };
      const sent = await this.#setup.late.send({ key: this.#key, since, command, place, callId, tool });
      if (sent) this.#mailbox?.deliver([command]);
      gone();
    });
  }

  get unattended(): boolean {
    return this.#setup.unattended;
  }

  get hooks(): HookTable | undefined {
    return this.#setup.hooks;
  }

  get log(): Log {
    return this.#setup.log;
  }

  get permissions(): CheckedPermissions | undefined {
    return this.#setup.permissions;
  }

  scope(path: string): Scope | undefined {
    return this.state.scopes.get(path);
  }

  begunBelow(path: string, runId: string): readonly Scope[] {
    const begun: Scope[] = [];
    for (const below of this.#pathsBelow().get(path) ?? nothing) {
      const scope = this.state.scopes.get(below);
      if (scope?.runId === runId) begun.push(scope);
    }
    return begun;
  }

  /** By the path of those around them; made anew when something was recorded. To look through all of them for each of them took too long. */
  #pathsBelow(): ReadonlyMap<string, readonly string[]> {
    const { scopes, head } = this.state;
    if (this.#below?.head === head) return this.#below.paths;
    const paths = new Map<string, string[]>();
    for (const path of scopes.keys()) {
      const around = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
      const known = paths.get(around);
      if (known === undefined) paths.set(around, [path]);
      else known.push(path);
    }
    this.#below = { head, paths };
    return paths;
  }

  saidMeanwhile({ runId, runPath }: FramePlace, branches: readonly string[]): readonly Message[] {
    const [root = runPath] = runPath.split("/");
    const later = this.state.scopes.get(root)?.later ?? nothing;
    if (later.length === 0) return later;
    const heard = new Set<string>();
    // Another one that runs at the same time hears it for itself.
    const beside = (path: string) =>
      branches.some(
        (branch) => isWithin(path, [branch.slice(0, branch.lastIndexOf("/"))]) && !isWithin(path, [branch]),
      );
    for (const { path, runId: of, given } of this.state.scopes.values()) {
      if (path !== root && of === runId && !beside(path)) for (const { id } of given) heard.add(id);
    }
    return later.filter(({ id }) => !heard.has(id));
  }

  openBelow(path: string): readonly string[] {
    const below = `${path}/`;
    return openRequests(this.state).flatMap(({ id, address }) => (address.startsWith(below) ? [id] : []));
  }

  closedBelow({ place }: Frame, runPath: string, forGood: boolean, facts: readonly Fact[] = nothing): readonly Fact[] {
    if (this.state.requests === undefined && !forGood) return nothing;
    const cause = forGood ? "over" : "closed";
    return callEnds({ ...place, runPath }, this.state, cause, { within: [runPath], ended: facts });
  }

  request(id: string): RequestState | undefined {
    return this.state.requests?.get(id);
  }

  get breakpoints(): readonly SetBreakpoint[] {
    return this.state.breakpoints ?? nothing;
  }

  halt(interrupt: Interrupt): void {
    this.#halts ??= new Map();
    this.#halts.set(interrupt.address, interrupt);
  }

  get halts(): readonly Interrupt[] {
    return this.#halts === undefined ? nothing : [...this.#halts.values()];
  }

  await(id: string, awaiting: Awaiting): void {
    this.#awaiting ??= new Map();
    this.#awaiting.set(id, awaiting);
    if (awaiting.schema !== undefined) this.#schemas.set(id, awaiting.schema);
  }

  async remembered(): Promise<Remembered> {
    try {
      const thread = this.state.openOnly ? await rulesOf(this.#setup.store, this.#key) : (this.state.rules ?? []);
      const rows = await this.#setup.store.rules(this.#key.tenant);
      return { thread, always: rows.map(({ body }) => JSON.parse(body) as PermissionRule) };
    } catch (error) {
      this.#broke(error);
      return new Promise(() => {});
    }
  }

  hasMail(frame: Frame, only?: "steer"): boolean {
    const mailbox = this.#mailbox;
    if (mailbox === undefined) return false;
    const root = frame.hears;
    return only === "steer" ? root && mailbox.hasSteer : mailbox.has(frame.place.runPath, root, this.state.scopes);
  }

  takeMail(frame: Frame): Promise<void> {
    const { place, scope, clock } = frame;
    const root = frame.hears;
    const facts = () => kept(this.#mailbox?.take(place, scope, root, clock.now(), this.state) ?? [], place);
    return new Promise((recorded) => this.record({ facts, recorded, mail: true }));
  }

  /** The first append: takes the lease, or, with `release`, takes it and gives it back. Says why not, where it cannot. `taken` is called when it is in the fold, before anyone sees it. */
  async open(
    facts: readonly Fact[],
    taken: () => void,
    release = false,
  ): Promise<Exclude<Appended, { ok: true }> | undefined> {
    const { owner: take, leaseTtlMs: ttlMs } = this.#setup;
    const since = this.state.head === 0 ? undefined : this.#recall.since;
    const append = this.#prepare(facts, { take, ttlMs }, release, since);
    const appended = await new Promise<Appended>((answered, failed) => this.#put(append, answered, failed));
    if (!appended.ok) {
      if (this.#answerLost) throw doubtful(this.#key);
      return appended;
    }
    this.#fence = appended.fence;
    this.mail = appended.mail;
    if (append.expect === 0) this.#recall.since = append.at;
    if (append.snapshot !== undefined) this.state.snapshotSeq = append.expect;
    this.#apply(facts, { released: taken });
    return undefined;
  }

  record(recording: Waiting): void {
    if (this.#over) return;
    if (this.#waiting === undefined) this.#waiting = [recording];
    else this.#waiting.push(recording);
    if (this.#batch === undefined) this.#writeNext();
  }

  /** Writes what `facts` returns when its turn comes, in an append of its own: of two at once the second sees the first. */
  alone(facts: () => readonly Fact[]): Promise<void> {
    return new Promise((recorded) => this.record({ facts, recorded, alone: true }));
  }

  /** The last append of this drive. With no facts it only gives the lease back. */
  release(facts: () => readonly Fact[], released: () => void, draft?: Waiting["draft"]): void {
    this.record({ facts, released, draft, recorded: () => {} });
  }

  /** Ends it without a word to the store: the lease lapses, or is somebody else's. */
  abandon(): void {
    this.#over = true;
    this.#waiting = undefined;
  }

  #writeNext(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#over) {
      this.#batch = undefined;
      return;
    }
    const size = batchSize(waiting);
    this.#waiting = size === waiting.length ? undefined : waiting.slice(size);
    this.#writeBatch(size === waiting.length ? waiting : waiting.slice(0, size));
  }

  #writeBatch(batch: Waiting[]): void {
    this.#batch = batch;
    try {
      const last = batch[batch.length - 1]!;
      const facts = batch.length === 1 ? last.facts() : batch.flatMap((waiting) => waiting.facts());
      this.#facts = facts;
      if (facts.length > 0) {
        const writer = { fence: this.#fence, ttlMs: this.#setup.leaseTtlMs };
        this.#put(this.#prepare(facts, writer, last.released !== undefined), this.#appended, this.#broke);
      } else if (last.released !== undefined) {
        this.#setup.store.release(this.#key, this.#fence).then(() => this.#released(last), this.#broke);
      } else {
        this.#wake(batch);
      }
    } catch (error) {
      this.#broke(error);
    }
  }

  readonly #appended = (appended: Appended): void => {
    if (this.#over) return;
    const batch = this.#batch!;
    try {
      const last = batch[batch.length - 1]!;
      if (!appended.ok) {
        if (appended.why !== "gone" || !last.mail) throw refused(this.#key, this.#append!, appended);
        this.#mailbox?.drop(appended.keys);
        return this.#writeBatch(batch);
      }
      if (last.mail) this.#mailbox?.taken(this.#facts);
      this.mail = appended.mail;
      const append = this.#append!;
      if (append.snapshot !== undefined) this.state.snapshotSeq = append.expect;
      this.#apply(this.#facts, last);
      if (last.released !== undefined) this.abandon();
      else if (this.#setup.clock.now() - append.at >= this.#setup.leaseTtlMs) return this.#askWhose(batch);
      else if (appended.mail && this.#mailbox !== undefined) return this.#lookFirst(this.#mailbox, batch);
      this.#wake(batch);
    } catch (error) {
      this.#broke(error);
    }
  };

  /** From another process something may have come that no hint has told of yet: a steer given before this step ended enters before the next one. */
  #lookFirst(mailbox: Mailbox, batch: readonly Waiting[]): void {
    mailbox
      .look()
      .then(() => this.#over || this.#wake(batch))
      .then(undefined, this.#broke);
  }

  /** The answer took longer than the lease lasts, or this process stood still: nothing more is done before it is known that the thread is ours still. */
  #askWhose(batch: readonly Waiting[]): void {
    const { store, leaseTtlMs } = this.#setup;
    store
      .renew(this.#key, this.#fence, leaseTtlMs)
      .then((ours) => {
        if (this.#over) return;
        if (!ours) throw belayError("FENCED", { threadId: this.#key.threadId, owner: undefined });
        if (this.mail && this.#mailbox !== undefined) this.#lookFirst(this.#mailbox, batch);
        else this.#wake(batch);
      })
      .then(undefined, this.#broke);
  }

  #released(last: Waiting): void {
    if (last.draft !== undefined) this.publish({ ...last.draft.event, seq: this.head });
    last.released?.();
    this.abandon();
  }

  readonly #broke = (error: unknown): void => {
    if (this.#over) return;
    this.abandon();
    this.#failed(storeError(this.#key, error));
  };

  /** The batch stays in flight while its waiters wake, and those of them that wait by a promise wake in the microtasks before the next. */
  #wake(batch: readonly Waiting[]): void {
    for (const waiting of batch) waiting.recorded();
    this.#facts = nothing;
    this.#append = undefined;
    if (batch.length === 1 && this.#waiting === undefined) this.#batch = undefined;
    else void settled.then(this.#next);
  }

  readonly #next = (): void => this.#writeNext();

  #prepare(facts: readonly Fact[], writer: Append["writer"], release: boolean, since?: number): Append {
    const at = this.#setup.clock.now();
    const expect = this.state.head;
    let seq = expect;
    for (const fact of facts as readonly Mutable<Fact>[]) {
      seq += 1;
      fact.seq = seq;
      fact.at = at;
    }
    appends += 1;
    const appendId = `${this.#setup.owner}.${appends}`;
    const state = stateAfter(facts, this.state.state);
    const snapshot = release ? snapshotIfDue(this.state) : undefined;
    const requests = state === "paused" || mayAsk(facts) ? asked(this.state, facts, state === "paused") : undefined;
    const consume = consumption(facts, this.#rows);
    const count = facts.length;
    const body = encode(facts);
    const agent = this.#agent;
    // Most have nothing besides, and there are many of them.
    if ((snapshot ?? requests ?? consume ?? since) === undefined)
      return { appendId, expect, count, at, body, writer, release, agent, state };
    return {
      appendId,
      expect,
      count,
      at,
      body,
      writer,
      release,
      agent,
      state,
      consume,
      snapshot,
      rest: requests?.rest,
      raise: requests?.raise,
      close: requests?.close,
      remember: requests?.remember,
      since,
    };
  }

  #put(append: Append, answered: (appended: Appended) => void, failed: (error: unknown) => void): void {
    this.#append = append;
    this.#answered = answered;
    this.#unanswered = failed;
    this.#tries = 0;
    this.#send();
  }

  #send(): void {
    try {
      point("append:before", this.#append);
      this.#setup.store.append(this.#key, this.#append!).then(this.#heard, this.#lost);
    } catch (error) {
      this.#lost(error);
    }
  }

  readonly #heard = (appended: Appended): void => {
    point("append:after", this.#append);
    this.#answered!(appended);
  };

  /** An append whose answer was lost is tried again under the same id, which tells the store that it has it already. */
  readonly #lost = (error: unknown): void => {
    this.#answerLost = true;
    const wait = RETRY_AFTER_MS[this.#tries];
    if (wait === undefined || error instanceof BelayError || this.#over) return this.#unanswered!(error);
    this.#tries += 1;
    this.#setup.clock.setTimeout(() => this.#send(), wait);
  };

  #apply(facts: readonly Fact[], { released, draft }: Pick<Waiting, "released" | "draft">): void {
    for (const fact of facts) reduce(this.state, fact);
    released?.();
    this.#show(facts, draft);
    for (const fact of facts) if (fact.type === "request-answered") this.#decided(fact.id);
  }

  #decided(id: string): void {
    const decision = this.request(id)?.decision;
    if (decision === undefined) return;
    point("answer:taken", id);
    this.#schemas.delete(id);
    const awaiting = this.#awaiting?.get(id);
    this.#awaiting?.delete(id);
    if (decision.how !== "withdrawn" && awaiting?.decided(decision) !== true) this.unheard = true;
  }

  #show(facts: readonly Fact[], draft: Waiting["draft"]): void {
    if (!this.#feed.watched) return;
    if (draft === undefined) {
      for (const fact of facts) this.#feed.publish(fact);
    } else {
      const events: BelayEvent[] = [...facts];
      const at = facts.length - draft.before();
      events.splice(at, 0, { ...draft.event, seq: facts[0]!.seq - 1 + at });
      for (const event of events) this.#feed.publish(event);
    }
  }
}

/** Mail and answers are written alone; the append that gives the lease back ends its batch, whatever was asked for after it. */
function batchSize(waiting: readonly Waiting[]): number {
  for (let i = 0; i < waiting.length; i++) {
    const { mail, alone, released } = waiting[i]!;
    if (mail || alone) return Math.max(1, i);
    if (released !== undefined) return i + 1;
  }
  return waiting.length;
}

/** What is said to an agent inside others is said to the whole, which people see. */
function kept(facts: readonly Fact[], { runPath }: FramePlace): readonly Fact[] {
  const end = runPath.indexOf("/");
  if (end === -1) return facts;
  const root = runPath.slice(0, end);
  return facts.flatMap((fact): Fact[] =>
    fact.type === "message" ? [{ ...fact, agentName: root, runPath: root }, fact] : [fact],
  );
}

function mayAsk(facts: readonly Fact[]): boolean {
  for (const { type } of facts) if (type === "action" || type === "request-answered") return true;
  return false;
}

/** The commands that take effect by these facts. */
function consumption(facts: readonly Fact[], rows: ReadonlySet<string> | undefined): readonly string[] | undefined {
  let consume: string[] | undefined;
  for (const fact of facts) {
    if (fact.type === "input-consumed" || fact.type === "tool-late") {
      consume ??= [];
      consume.push(fact.id);
    } else if (fact.type === "command" && rows?.has(fact.key)) {
      consume ??= [];
      consume.push(fact.key);
    }
  }
  return consume?.length === 0 ? undefined : consume;
}

function stateAfter(facts: readonly Fact[], before: SessionState): SessionState {
  for (let i = facts.length - 1; i >= 0; i--) {
    const fact = facts[i]!;
    if (fact.type === "state") return fact.state;
  }
  return before;
}

function refused(key: ThreadKey, append: Append, appended: Exclude<Appended, { ok: true }>): BelayError {
  const { threadId } = key;
  switch (appended.why) {
    case "busy":
    case "fenced":
      return belayError("FENCED", { threadId, owner: appended.owner });
    case "conflict":
      return belayError("STORE_CONFLICT", { threadId, expected: append.expect, found: appended.head });
    case "gone":
      return belayError("INPUT_WITHDRAWN", { threadId, ids: appended.keys.join(", ") });
    case "orphan":
      return belayError("THREAD_UNKNOWN", { threadId: append.parent?.threadId ?? threadId });
    default:
      return appended satisfies never;
  }
}

function doubtful(key: ThreadKey): BelayError {
  const reason = "its answer was lost, and others have written since; whether this was taken is in the journal";
  return belayError("STORE_FAILED", { threadId: key.threadId, reason });
}

/** Where only what is open was read. */
async function rulesOf(store: Store, key: ThreadKey): Promise<readonly PermissionRule[]> {
  const state = newThread(key.threadId);
  fold(state, (await store.load(key))?.lines ?? []);
  return state.rules ?? [];
}
