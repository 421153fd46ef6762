// The place where journals live. A store has lines, leases and commands; it never parses a line.
//
// 1. An append is one transaction: compare-and-set on the head, fenced by the writer's lease (F3). All or nothing.
// 2. An append with the `appendId` of the last committed one gets the first answer again: an answer lost on the way loses and
//    doubles nothing.
// 3. Time is the store's: a lease that has ended by its clock can be taken, with a higher fence; until another writer takes it,
//    its writer may still write. A fence is never given twice, also not to a thread deleted and made again.
// 4. Requests are opened and closed by appends, in the same transaction; so are the rules that an answer leaves behind.
//    Their rows are copies for finding them: the journal has the truth. A damaged one hides no other.
// 5. Commands are written without a lease, deduplicated by key, and stay until an append consumes them or their
//    sender takes them back; never both: an append that consumes a command that was taken back is refused.
// 6. A fork continues the lines of another thread. Readers see it as any thread, and it keeps the shared lines: the other
//    thread may be deleted, and made again under its name, which is another thread then.

import type { BelayError } from "../error.ts";
import type { Line } from "../journal/codec.ts";
import type { PauseType, SessionState } from "../lifecycle.ts";

/** Names a thread in a store. */
export interface ThreadKey {
  readonly tenant: string;
  readonly threadId: string;
}

/** The right to append to a thread, until a time of the store's clock. */
export interface Lease {
  readonly owner: string;
  readonly fence: number;
  /** Milliseconds since 1970, by the store's clock. */
  readonly until: number;
}

/** Returns the seq after which the lines begin that have the rest state of a thread. */
export function beforeRest({ rest, head }: Pick<ThreadRow, "rest" | "head">): number {
  return (rest?.from ?? head) - 1;
}

/** A thread as a store lists it. */
export interface ThreadRow {
  readonly threadId: string;
  readonly agent: string;
  readonly state: SessionState;
  readonly head: number;
  /** The `at` of its first append. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** An input waits for the next run. */
  readonly queued: boolean;
  /** An answer waits that is not consumed. */
  readonly answered: boolean;
  /** The rest state by its last append; undefined if that had none. */
  readonly rest?: Rest;
  /** The thread and seq that it was forked from, also after that thread was deleted. */
  readonly parent?: Parent;
  /** Present while a process holds it; a lease past its end is not shown. */
  readonly lease?: Lease;
  /** Its title and labels as the last append with `named` set them; undefined if no append has. */
  readonly named?: Named;
  /** The store cannot read it: the row has only its id, and opening it throws the reason. */
  readonly damaged?: true;
}

/** The title and labels of a thread, as lists show them. A copy: the journal has the truth. */
export interface Named {
  readonly title?: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The pause and the run of a thread, as lists show them. A copy: the journal has the truth. */
export interface Listed {
  readonly pauseType?: PauseType;
  readonly runId?: string;
}

/** A thread in a list. */
export interface ListedRow extends ThreadRow {
  readonly pauseType?: PauseType;
  readonly runId?: string;
  /** How many of its requests are open. */
  readonly open: number;
  /** True for a thread of an earlier release that no append has changed since: its pause and its run are unknown. */
  readonly unlisted?: true;
}

/** Which threads to list. Each property that is given must hold. */
export interface ThreadQuery {
  /** The state on record. */
  readonly state?: SessionState | undefined;
  /** `unlisted`: paused threads of which the store does not know the pause. */
  readonly pauseType?: PauseType | "unlisted" | undefined;
  readonly agent?: string | undefined;
  /** Every pair must be among the labels. */
  readonly label?: Readonly<Record<string, string>> | undefined;
  /** Each must be the beginning of a word of the title or of a label's value, as `wordsOf` makes them. */
  readonly words?: readonly string[] | undefined;
  /** Only these threads. */
  readonly threadIds?: readonly string[] | undefined;
  /** Only threads after this place in the order of the list. */
  readonly after?: ListPlace | undefined;
  readonly limit: number;
}

/** A place in a list: by time, the last first, and then by id, as UTF-8, the last first. */
export interface ListPlace {
  readonly at: number;
  readonly id: string;
}

/** Which requests to list. */
export interface RequestQuery {
  readonly threadId?: string | undefined;
  /** Only requests after this place in the order of the list. */
  readonly after?: ListPlace | undefined;
  readonly limit: number;
}

/** A page of open requests. */
export interface RequestRange {
  /** Only requests after this place. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** The thread that a fork continues, and the seq after which it does. */
export interface Parent {
  readonly threadId: string;
  readonly seq: number;
}

/** Returns whether a worker can move it: it crashed, an input or an answer waits for it, or it is due. */
export function isMovable({ state, lease, damaged, queued, answered, rest }: ThreadRow, now: number): boolean {
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

/** A thread that waits for a worker. */
export interface DueThread extends ThreadKey {
  readonly head: number;
  /** The last fence that it gave. */
  readonly fence: number;
  /** Since when it could have moved, by the store's clock. */
  readonly since: number;
}

/** How a thread rests while calls are open: set, or cleared, by each append. */
export interface Rest {
  /** Everything that is open can be folded from the line with this seq in it. */
  readonly from: number;
  /** The time at which it can move without a person, in milliseconds since 1970. */
  readonly dueAt?: number;
}

/** A request that waits for a person. */
export interface RequestRow {
  /** Unique in its tenant. */
  readonly id: string;
  readonly threadId: string;
  readonly expiresAt?: number;
  /** The request as JSON; a store never parses it. */
  readonly body: string;
  /** Its place in the order of its tenant's requests; only in a page of them. */
  readonly place?: number;
  /**
   * The store cannot read it. Its id and its thread's are the stored ones, to look for it, and may be wrong; the row has no
   * other field.
   */
  readonly damaged?: true;
}

/** A request that was decided. */
export interface DecidedRow extends Omit<RequestRow, "expiresAt" | "place"> {
  /** The `at` of the append that closed it. */
  readonly decidedAt: number;
}

/** A request as an append brings it. */
export type RaisedRequest = Omit<RequestRow, "threadId" | "damaged" | "place">;

/** A permission that a person gave for good. */
export interface RuleRow {
  /** Unique in its tenant. */
  readonly id: string;
  readonly at: number;
  readonly body: string;
}

/** A command that waits for the owner of a thread. */
export interface Command {
  /** Idempotency key, unique in its thread. */
  readonly key: string;
  readonly kind: "input" | "steer" | "stop" | "answer" | "late";
  readonly body: string;
  readonly at: number;
}

/** A thread as it was loaded. */
export interface Loaded {
  readonly row: ThreadRow;
  readonly lines: readonly Line[];
  /** Commands that are not consumed, oldest first. */
  readonly commands: readonly Command[];
  /** The last snapshot, if it was asked for and exists: `lines` are those after it. */
  readonly snapshot?: Snapshot;
}

/** The readable part of a thread, damaged or not. */
export interface Past {
  /** Undefined if it cannot be read. */
  readonly agent?: string;
  /** From the first on, each proven; none if none can be read. */
  readonly lines: readonly Line[];
  /** The damage at which reading stopped, and its seq. */
  readonly damage?: { readonly seq: number; readonly error: BelayError };
}

/** A fold by a writer, which makes reading from `seq` cheap. A cache: a store may lose it, and must not return a damaged one. */
export interface Snapshot {
  readonly seq: number;
  readonly body: string;
}

/** The content of one append, written in one transaction. */
export interface Append {
  /** Another one for each append, the same one when an append is tried again. */
  readonly appendId: string;
  /** The head the writer has seen. */
  readonly expect: number;
  readonly count: number;
  readonly at: number;
  readonly body: string;
  /** Either takes the lease in this append, or writes under the fence it has. */
  readonly writer:
    | { readonly take: string; readonly ttlMs: number }
    | { readonly fence: number; readonly ttlMs: number };
  /** Gives the lease back in this append. */
  readonly release: boolean;
  readonly agent: string;
  readonly state: SessionState;
  /** A snapshot of the thread as it was before this append; it takes the place of an earlier one. */
  readonly snapshot?: string;
  /** Keys of commands that take effect by this append. */
  readonly consume?: readonly string[];
  /** How the thread rests after it; without it, it does not. */
  readonly rest?: Rest;
  /** Requests that it raises. A known id makes the whole append fail. */
  readonly raise?: readonly RaisedRequest[];
  /** Ids of the thread's requests that are open no more. Unknown ones are ignored. */
  readonly close?: readonly string[];
  /** Requests of the thread that stay open, with another body. Unknown and closed ones are ignored. */
  readonly amend?: readonly RaisedRequest[];
  /** How requests that it closes were decided. A request that is closed without it is not listed among the decided ones. */
  readonly decided?: readonly Pick<RequestRow, "id" | "body">[];
  /** How lists show it from now on; without it, as they did. */
  readonly listed?: Listed;
  /** Its title and labels from now on; without it, those that it had. */
  readonly named?: Named;
  /** Rules of the tenant that it adds; a rule with a known id stays as it is. */
  readonly remember?: readonly RuleRow[];
  /**
   * For a new thread: its past is that of another thread of its tenant, up to the line that ends at `seq`; `expect` is that
   * seq, 0 if no line is shared. Nothing is copied, and deleting the other keeps the lines that this one needs. For an
   * existing thread it is a conflict, with any holder of its lease.
   */
  readonly parent?: Parent;
  /**
   * For a writer that takes a known thread: its `createdAt`. A thread deleted and made again under its name is another
   * thread, which the writer cannot take: a conflict, with head 0. Without a thread of that name it has no effect.
   */
  readonly since?: number | undefined;
}

/** The outcome of an append. */
export type Appended =
  /** `mail` is true if commands wait that are not consumed. */
  | { readonly ok: true; readonly fence: number; readonly mail: boolean }
  /** Another owner holds the lease. */
  | { readonly ok: false; readonly why: "busy"; readonly owner: string; readonly until: number }
  /** The writer lost its lease. */
  | { readonly ok: false; readonly why: "fenced"; readonly owner: string | undefined }
  | { readonly ok: false; readonly why: "conflict"; readonly head: number }
  /** The parent is not there, or none of its lines ends at that seq. */
  | { readonly ok: false; readonly why: "orphan" }
  /** These commands cannot be consumed: they are not there any more. */
  | { readonly ok: false; readonly why: "gone"; readonly keys: readonly string[] };

/** The kind of a change on a watched thread. */
export type Change = "append" | "command";

/** One end of the relay of a thread (L1). */
export interface RelayLine {
  /** Sends a body to the other side, at best once and in order. Never throws. */
  say(body: string): void;
  leave(): void;
}

/**
 * The place where journals live. Its contract is at the top of the file that declares it; `storeSuite()` in
 * `@belay/core/testing` checks a store against it.
 */
export interface Store {
  /**
   * Returns the thread, with its lines (all of them by default) after `after`, after its snapshot, or those that have its rest
   * state: from `rest.from` on, or the last one; undefined if there is no such thread.
   */
  load(key: ThreadKey, after?: number | "snapshot" | "rest"): Promise<Loaded | undefined>;
  /**
   * Returns the readable lines, up to the last that ends at or before `to`, and the damage that ends them, if it comes before
   * `to`; undefined if there is no such thread.
   */
  past(key: ThreadKey, to?: number): Promise<Past | undefined>;
  append(key: ThreadKey, append: Append): Promise<Appended>;
  /** Makes the lease last `ttlMs` from now; false when it is lost. */
  renew(key: ThreadKey, fence: number, ttlMs: number): Promise<boolean>;
  /** Gives the lease back; does nothing when it is lost already. */
  release(key: ThreadKey, fence: number): Promise<void>;
  /** Writes a command; false when one with that key was written before. Throws `THREAD_UNKNOWN`. */
  send(key: ThreadKey, command: Command): Promise<boolean>;
  /**
   * Takes an input, a steer or an answer back; a stop only while no process has the thread, because its owner may obey it
   * already. An owner whose lease is over and was not given back still has it. Returns false if the command was consumed,
   * withdrawn or never sent. Its key stays known, but that of an answer may be sent again.
   */
  withdraw(key: ThreadKey, commandKey: string): Promise<boolean>;
  /** All threads of the tenant, the last changed first. */
  threads(tenant: string): Promise<ThreadRow[]>;
  /**
   * Returns threads that can move without a person, by `isMovable` at the store's clock: of all tenants, or of one, the
   * longest waiting first, at most `limit`. With `olderThanMs`, those that have waited for longer than that.
   */
  due(limit: number, olderThanMs?: number, tenant?: string): Promise<readonly DueThread[]>;
  /**
   * Returns the open requests of the tenant, the oldest first; with `range`, a page of them, each with its place. One that
   * cannot be read is in its place as `damaged`; throws `STORE_CORRUPT` if the missing ones are not known.
   */
  requests(tenant: string, range?: RequestRange): Promise<readonly RequestRow[]>;
  /**
   * Threads that `query` describes, at most `limit`, in the order of their last append, the last first. One that cannot be
   * read is there as `damaged`, with the time that it is listed by.
   */
  page(tenant: string, query: ThreadQuery): Promise<readonly ListedRow[]>;
  /** The decided requests that are on record, the last decided first, at most `limit`. */
  decided(tenant: string, query: RequestQuery): Promise<readonly DecidedRow[]>;
  /** One request, open or decided; undefined if there is none, or a release without lists decided it. */
  request(tenant: string, id: string): Promise<RequestRow | DecidedRow | undefined>;
  /**
   * Calls `changed` some time after each append to a thread of the tenant, by whichever process, with the thread's id, or
   * without one if any may have changed: a hint, never the truth. Returns a function that ends it.
   */
  watchTenant(tenant: string, changed: (threadId?: string) => void, background?: boolean): () => void;
  /** Returns the thread of a request, open or not; undefined if it was never raised, or its thread is deleted. */
  requestThread(tenant: string, id: string): Promise<string | undefined>;
  /** All rules of the tenant, the oldest first. */
  rules(tenant: string): Promise<readonly RuleRow[]>;
  /** Removes a rule; returns false if there is none. */
  removeRule(tenant: string, id: string): Promise<boolean>;
  /**
   * Removes the thread with its commands and requests. With `head`, only if that is still its head, no process holds it, and
   * neither an input nor an answer waits. Returns false if it did nothing.
   */
  delete(key: ThreadKey, head?: number): Promise<boolean>;
  /**
   * Calls `changed` some time after each append or command of the thread, with the kind if it is known: a hint, never the
   * truth. With `only`, the other kind may be left out. Returns a function that ends it. A watch in the `background` keeps no
   * process alive.
   */
  watch(key: ThreadKey, changed: (what?: Change) => void, only?: Change, background?: boolean): () => void;
  /**
   * Joins the relay of a thread: bodies of its owner reach the readers in every process, those of a reader reach the owner.
   * A body is opaque, and of any length. One may be lost; nothing is stored, and nothing depends on it. Undefined, like the
   * method, if there is no way to relay. A line keeps no process alive.
   */
  relay?(key: ThreadKey, side: "owner" | "reader", heard: (body: string) => void): RelayLine | undefined;
  /**
   * Present if reads need no waiting: lets idle sessions drop their history until a caller reads it. With `since`, only of the
   * thread that was made then: no lines if it was deleted, also if its name has another thread.
   */
  linesSync?(key: ThreadKey, since?: number): readonly Line[];
}
