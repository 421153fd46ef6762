// Writes the facts of one thread: to the store, then to the fold, then to readers. Invariants:
// 1. A fact is in the store before a reader can see it (F1), and in the fold before any code can act on it.
// 2. One append is in flight at a time. Recordings that arrive meanwhile share the next append. The facts of a recording
//    are decided when they are written, not when the recording arrives.
// 3. Nothing is written after an append failed. A caller that waits for a failed append never resumes (F6).
// 4. Nothing is written after the append that released the lease.
// 5. The callers that wait for an append resume before the next append is made. It counts the work that they start at
//    once, and it includes the facts that they record at once.
// 6. Code acts on the record only while the lease is known to be valid. A lease is proved by an append or a renewal, for its
//    time from the moment at which that was sent. Callers that resume later, and code that gets a decision later, wait for
//    a renewal: a process that stood still and lost the thread starts nothing (F3, thread/stood-still.test.ts).
//
// Callbacks and fields in place of promises: see append-in-flight.ts.
//
// Long, and one piece: these rules hold only while a thread has one writer.

import { type BelayError, belayError } from "../../error.ts";
import type { BelayEvent, Draft, Fact } from "../../event.ts";
import type { Recording } from "../../frame.ts";
import type { Decision } from "../../interrupt/decision.ts";
import { reduce } from "../../journal/reduce.ts";
import type { ThreadState } from "../../journal/state.ts";
import { point } from "../../point.ts";
import type { StandardSchema } from "../../schema/schema.ts";
import type { Append, Appended, ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import type { Feed } from "../read/feed.ts";
import type { Recall } from "../read/recall.ts";
import { storeError } from "../read/store-error.ts";
import { AppendInFlight } from "./append-in-flight.ts";
import { appendOf, type FirstAppend } from "./append-of.ts";
import type { Mailbox } from "./mailbox.ts";

/** The parts of a thread that its writers use. */
export interface WriterHost {
  readonly setup: Setup;
  readonly key: ThreadKey;
  readonly feed: Feed;
  /** The schemas that running code has for the answers to its open requests, by id. */
  readonly schemas: Map<string, StandardSchema>;
  readonly recall: Recall;
  /** Called with facts that are on record. */
  recorded?(facts: readonly Fact[]): void;
}

export interface WriterOptions {
  /** The name of the thread's agent. */
  readonly agent: string;
  /** Called once, if the store fails or the lease is lost. */
  readonly failed: (error: BelayError) => void;
  readonly mailbox?: Mailbox | undefined;
  /** Keys of commands that wait in the store, in place of those of the mailbox. */
  readonly rows?: readonly string[] | undefined;
  /** Called when the decision on a request is recorded. */
  readonly decided?: (id: string, decision: Decision) => void;
}

interface Waiting extends Recording {
  /** Consumes commands, in an append of its own. Like `alone`, it is made again without the commands that their sender withdrew. */
  readonly mail?: boolean;
  /** Marks the last append, which returns the lease. Called when its facts are in the fold, before readers see them. */
  released?(): void;
  /** Published among the facts, before the last `before()` of them. */
  readonly draft?: { readonly before: () => number; readonly event: Draft };
}

const nothing: readonly never[] = [];
const settled = Promise.resolve();

/** Writes one thread, from the append that takes its lease to the append that returns it. */
export class Writer {
  readonly #host: WriterHost;
  readonly #options: WriterOptions;
  readonly state: ThreadState;
  readonly #inFlight: AppendInFlight;
  /** The recordings of the append in flight, and their facts. */
  #batch: Waiting[] | undefined;
  #facts: readonly Fact[] = nothing;
  /** The recordings that wait for the next append. */
  #waiting: Waiting[] | undefined;
  #over = false;
  #fence = 0;
  /** Commands wait in the store that no append has consumed, as of the last append. */
  mail = false;
  /** When the last append was prepared. */
  appendedAt: number | undefined;
  /** When the append or the renewal was sent that proved the lease last. */
  #provedAt = 0;

  constructor(host: WriterHost, state: ThreadState, options: WriterOptions) {
    this.#host = host;
    this.#options = options;
    this.state = state;
    this.#inFlight = new AppendInFlight(host.setup.store, host.setup.clock, host.key);
  }

  get fence(): number {
    return this.#fence;
  }

  /** True while the last append is in flight: the answer of the store decides whether this writer had the lease. */
  get isReleasing(): boolean {
    return this.#batch?.at(-1)?.released !== undefined;
  }

  publish(draft: Draft): void {
    if (!this.#over) this.#host.feed.publish(draft);
  }

  /**
   * Makes the first append, which takes the lease; with `release`, takes and returns it. Resolves to the refusal, if there
   * is one. `taken` is called when the facts are in the fold, before readers see them.
   */
  async open(
    facts: readonly Fact[],
    taken: () => void,
    release = false,
  ): Promise<Exclude<Appended, { ok: true }> | undefined> {
    const { owner: take, leaseTtlMs: ttlMs } = this.#host.setup;
    const since = this.state.head === 0 ? undefined : this.#host.recall.since;
    const append = this.#prepare(facts, { take, ttlMs }, release, { since });
    const appended = await new Promise<Appended>((answered, failed) => this.#inFlight.send(append, answered, failed));
    if (!appended.ok) {
      if (this.#inFlight.answerLost) throw doubtful(this.#host.key);
      return appended;
    }
    this.#fence = appended.fence;
    this.mail = appended.mail;
    this.appendedAt = append.at;
    this.#provedAt = append.at;
    if (append.expect === 0) this.#host.recall.since = append.at;
    if (append.named !== undefined) this.#host.recall.named = append.named;
    if (append.snapshot !== undefined) this.state.snapshotSeq = append.expect;
    this.#apply(facts, { released: taken });
    this.#giveDecisions(facts);
    return undefined;
  }

  /** Writes the facts of `recording` with the next append. Does nothing when the writer is over. */
  record(recording: Waiting): void {
    if (this.#over) return;
    if (this.#waiting === undefined) this.#waiting = [recording];
    else this.#waiting.push(recording);
    if (this.#batch === undefined) this.#writeNext();
  }

  /** Writes the result of `facts` in an append of its own: of two at once, the second is decided by the fold after the first. */
  alone(facts: () => readonly Fact[]): Promise<void> {
    return new Promise((recorded) => this.record({ facts, recorded, alone: true }));
  }

  /** Makes the last append, which returns the lease. Without facts it only returns the lease. */
  release(facts: () => readonly Fact[], released: () => void, draft?: Waiting["draft"]): void {
    this.record({ facts, released, draft, recorded: () => {} });
  }

  /** Renews the lease. Resolves to false if it is lost. */
  async renew(): Promise<boolean> {
    const { store, clock, leaseTtlMs } = this.#host.setup;
    const at = clock.now();
    const isOurs = await store.renew(this.#host.key, this.#fence, leaseTtlMs);
    if (isOurs) this.#provedAt = at;
    return isOurs;
  }

  /** Ends the writer without a call to the store: the lease lapses, or another process has it. */
  abandon(): void {
    this.#over = true;
    this.#waiting = undefined;
    this.#inFlight.abandon();
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
        const writer = { fence: this.#fence, ttlMs: this.#host.setup.leaseTtlMs };
        this.#inFlight.send(this.#prepare(facts, writer, last.released !== undefined), this.#appended, this.broke);
      } else if (last.released !== undefined) {
        this.#host.setup.store.release(this.#host.key, this.#fence).then(() => this.#released(last), this.broke);
      } else {
        this.#resume(batch, undefined);
      }
    } catch (error) {
      this.broke(error);
    }
  }

  readonly #appended = (appended: Appended, append: Append): void => {
    if (this.#over) return;
    const batch = this.#batch!;
    try {
      const last = batch[batch.length - 1]!;
      if (!appended.ok) {
        if (appended.why !== "gone" || !(last.mail || last.alone)) throw refused(this.#host.key, append, appended);
        this.#options.mailbox?.withdrawn(appended.keys);
        return this.#writeBatch(batch);
      }
      this.appendedAt = append.at;
      this.#provedAt = append.at;
      if (last.mail) this.#options.mailbox?.taken(this.#facts);
      this.mail = appended.mail;
      if (append.snapshot !== undefined) this.state.snapshotSeq = append.expect;
      if (append.named !== undefined) this.#host.recall.named = append.named;
      this.#apply(this.#facts, last);
      if (last.released === undefined) return this.#resume(batch, appended.mail ? this.#options.mailbox : undefined);
      this.abandon();
      this.#wake(batch);
    } catch (error) {
      this.broke(error);
    }
  };

  /** Resumes the callers of a batch. First renews a lease that may have ended, and reads the commands in `mailbox`. */
  #resume(batch: readonly Waiting[], mailbox: Mailbox | undefined): void {
    if (mailbox === undefined && this.isHeld) this.#wake(batch);
    else this.#askFirst(batch, mailbox).then(undefined, this.broke);
  }

  /**
   * Asks the store before the callers resume, until an answer comes while the lease is valid. Another process may have sent
   * commands without a hint yet: a steer sent before this step ended enters before the next step.
   */
  async #askFirst(batch: readonly Waiting[], mailbox: Mailbox | undefined): Promise<void> {
    const { threadId } = this.#host.key;
    let unread = mailbox;
    while (!this.#over) {
      if (!this.isHeld) {
        if (!(await this.renew())) throw belayError("FENCED", { threadId, owner: undefined });
      } else if (unread !== undefined) {
        await unread.look();
        unread = undefined;
      } else {
        return this.#wake(batch);
      }
    }
  }

  /** True while the lease is valid, by the clock of this process. A clock that was set back proves nothing. */
  get isHeld(): boolean {
    const age = this.#host.setup.clock.now() - this.#provedAt;
    return age >= 0 && age < this.#host.setup.leaseTtlMs;
  }

  #released(last: Waiting): void {
    if (last.draft !== undefined) this.publish({ ...last.draft.event, seq: this.state.head });
    last.released?.();
    this.abandon();
  }

  /** Ends the writer with an error of the store. */
  readonly broke = (error: unknown): void => {
    if (this.#over) return;
    this.abandon();
    this.#options.failed(storeError(this.#host.key, error));
  };

  /**
   * Resumes the callers of a batch. The batch stays in flight meanwhile: a caller that awaits a promise resumes in the
   * microtasks before the next append.
   */
  #wake(batch: readonly Waiting[]): void {
    this.#giveDecisions(this.#facts);
    for (const waiting of batch) waiting.recorded();
    this.#facts = nothing;
    if (batch.length === 1 && this.#waiting === undefined) this.#batch = undefined;
    else void settled.then(this.#next);
  }

  readonly #next = (): void => this.#writeNext();

  #prepare(facts: readonly Fact[], writer: Append["writer"], release: boolean, first?: FirstAppend): Append {
    const { agent, mailbox, rows = mailbox?.rows } = this.#options;
    return appendOf(this.#host, this.state, { facts, writer, release, agent, rows, first });
  }

  #apply(facts: readonly Fact[], { released, draft }: Pick<Waiting, "released" | "draft">): void {
    for (const fact of facts) reduce(this.state, fact);
    released?.();
    this.#show(facts, draft);
    this.#host.recorded?.(facts);
  }

  /** Gives the decisions that these facts record to the code that waits for them. */
  #giveDecisions(facts: readonly Fact[]): void {
    for (const fact of facts) if (fact.type === "request-answered") this.#answered(fact.id);
  }

  #answered(id: string): void {
    const decision = this.state.requests?.get(id)?.decision;
    if (decision === undefined) return;
    point("answer:taken", id);
    this.#host.schemas.delete(id);
    this.#options.decided?.(id, decision);
  }

  #show(facts: readonly Fact[], draft: Waiting["draft"]): void {
    if (!this.#host.feed.watched) return;
    if (draft === undefined) {
      for (const fact of facts) this.#host.feed.publish(fact);
    } else {
      const events: BelayEvent[] = [...facts];
      const at = facts.length - draft.before();
      events.splice(at, 0, { ...draft.event, seq: facts[0]!.seq - 1 + at });
      for (const event of events) this.#host.feed.publish(event);
    }
  }
}

/**
 * Returns the size of the next batch. Commands are written alone. The recording that returns the lease ends its batch; later
 * ones are dropped.
 */
function batchSize(waiting: readonly Waiting[]): number {
  for (let i = 0; i < waiting.length; i++) {
    const { mail, alone, released } = waiting[i]!;
    if (mail || alone) return Math.max(1, i);
    if (released !== undefined) return i + 1;
  }
  return waiting.length;
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
