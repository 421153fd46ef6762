// Where journals live. A store knows lines, leases and commands; it never looks into a line.
//
// 1. An append is one transaction: compare-and-set on the head, fenced by the writer's lease (F3). All or nothing.
// 2. Appending with an `appendId` that was the last one committed is answered as it was then: an answer lost on the
//    way loses and doubles nothing.
// 3. Time is the store's: a lease that has ended by its clock can be taken, with a higher fence; until somebody does,
//    its writer may still write. A fence is never given twice, also not to a thread deleted and made again.
// 4. Requests are opened and closed by appends, in the same transaction; so are the rules that an answer leaves behind.
//    What is listed of them is a copy for finding them: the journal has the truth. One that is damaged hides no other.
// 5. Commands are written without a lease, deduplicated by key, and stay until an append consumes them or their
//    sender takes them back; never both: an append that consumes one that is gone is refused.
// 6. A fork continues the lines of another thread. It is a thread like others to whoever reads it, and keeps what it
//    shares: the other may be deleted, and made again under its name, which is another thread then.

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

/** The seq after which the lines are that tell how a thread rests. */
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
  /** An answer waits that nobody has consumed. */
  readonly answered: boolean;
  /** What its last append said of how it rests; undefined where that said nothing. */
  readonly rest?: Rest;
  /** Where it was forked from, whether or not that is there still. */
  readonly parent?: Parent;
  /** Present while someone holds it; a lease past its end is not shown. */
  readonly lease?: Lease;
  /** Its title and labels as the last append with `named` set them; undefined if no append has. */
  readonly named?: Named;
  /** The store cannot read it: nothing but its id is told, and opening it says what is wrong. */
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

/** Somebody should move it on: it crashed, an input or an answer waits for it, or its time has come. */
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
  /** From when on it can move without anybody's help, in milliseconds since 1970. */
  readonly dueAt?: number;
}

/** A request that waits for a person. */
export interface RequestRow {
  /** Unique in its tenant. */
  readonly id: string;
  readonly threadId: string;
  readonly expiresAt?: number;
  /** What is told of it; a store never looks inside. */
  readonly body: string;
  /** Its place in the order of its tenant's requests; only in a page of them. */
  readonly place?: number;
  /**
   * The store cannot read it. Its id and its thread's are what stands there, to look for it, and may be wrong; nothing
   * else is told.
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
  /** Commands nobody has consumed, oldest first. */
  readonly commands: readonly Command[];
  /** The last snapshot, where it was asked for and there is one: `lines` are those after it. */
  readonly snapshot?: Snapshot;
}

/** What can be read of a thread, damaged or not. */
export interface Past {
  /** Undefined where that cannot be read. */
  readonly agent?: string;
  /** From the first on, each proven; none where nothing can be read. */
  readonly lines: readonly Line[];
  /** What stops it from being read on, and at which seq. */
  readonly damage?: { readonly seq: number; readonly error: BelayError };
}

/** What a writer left to make reading on from `seq` cheap. A cache: a store may lose it, and must not hand out a damaged one. */
export interface Snapshot {
  readonly seq: number;
  readonly body: string;
}

/** What one append writes, in one transaction. */
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
  /** Requests that it raises. One whose id is there already makes the whole append fail. */
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
  /** Rules of the tenant that it adds; one whose id is there already stays as it is. */
  readonly remember?: readonly RuleRow[];
  /**
   * Of a thread that is not there yet: its past is that of another thread of its tenant, up to the line that ends at
   * `seq`; `expect` is that seq, 0 where nothing is shared. Nothing is copied, and deleting the other keeps what this
   * one needs. On a thread that is there it is a conflict, whoever holds that.
   */
  readonly parent?: Parent;
  /**
   * Of one who takes a thread that it knows: when that was made, its `createdAt`. One deleted and made again under its
   * name is another thread, which it cannot take: a conflict, with head 0. Where there is none, it says nothing.
   */
  readonly since?: number | undefined;
}

/** What became of an append. */
export type Appended =
  /** `mail` says that there are commands nobody has consumed. */
  | { readonly ok: true; readonly fence: number; readonly mail: boolean }
  /** Somebody else holds the lease. */
  | { readonly ok: false; readonly why: "busy"; readonly owner: string; readonly until: number }
  /** The writer lost its lease. */
  | { readonly ok: false; readonly why: "fenced"; readonly owner: string | undefined }
  | { readonly ok: false; readonly why: "conflict"; readonly head: number }
  /** The parent is not there, or none of its lines ends at that seq. */
  | { readonly ok: false; readonly why: "orphan" }
  /** These commands cannot be consumed: they are not there any more. */
  | { readonly ok: false; readonly why: "gone"; readonly keys: readonly string[] };

/** What has changed on a thread that is watched. */
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
   * The thread, with its lines (all of them by default) after `after`, after its snapshot, or those that tell how it
   * rests: from `rest.from` on, or the last one; undefined where there is none.
   */
  load(key: ThreadKey, after?: number | "snapshot" | "rest"): Promise<Loaded | undefined>;
  /**
   * What can be read of its lines, up to the last that ends at or before `to`, and what stops it from being read on,
   * where that comes before `to`; undefined where there is no such thread.
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
   * Takes an input, a steer or an answer back; a stop, too, where nobody has the thread: whoever does may heed it already.
   * One whose lease is over and was not given back has it still. False when it was consumed, withdrawn or never sent. The key
   * stays known, but for that of an answer, which may be sent again.
   */
  withdraw(key: ThreadKey, commandKey: string): Promise<boolean>;
  /** All threads of the tenant, the last changed first. */
  threads(tenant: string): Promise<ThreadRow[]>;
  /**
   * Returns threads that can move without anybody's help, as `isMovable` has it by the store's clock: of all tenants, or of
   * one, the longest waiting first, at most `limit`. With `olderThanMs`, those that have waited for longer than that.
   */
  due(limit: number, olderThanMs?: number, tenant?: string): Promise<readonly DueThread[]>;
  /**
   * All open requests of the tenant, the oldest first; with `range`, a page of them, each with its place. One that cannot be read is there as `damaged`, in its place; where it
   * is not known which are missing, it throws `STORE_CORRUPT`.
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
  /** The thread of a request, open or not; undefined where no such request was ever raised, or its thread is deleted. */
  requestThread(tenant: string, id: string): Promise<string | undefined>;
  /** All rules of the tenant, the oldest first. */
  rules(tenant: string): Promise<readonly RuleRow[]>;
  /** Removes a rule; false where there is none. */
  removeRule(tenant: string, id: string): Promise<boolean>;
  /**
   * Removes the thread with its commands and requests. With `head`, only where that is still its head, nobody holds it,
   * and neither an input nor an answer waits. False where it did nothing.
   */
  delete(key: ThreadKey, head?: number): Promise<boolean>;
  /**
   * Calls `changed` some time after each append or command of the thread, and says which where it knows: a hint, never
   * the truth. With `only`, the other kind need not be told. Returns how to end it. One in the `background` keeps no
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
   * Where reading needs no waiting: lets idle sessions forget their history until someone looks at it. With `since`, the
   * thread that was made then; none where it is not there any more, whatever is there under its name.
   */
  linesSync?(key: ThreadKey, since?: number): readonly Line[];
}
