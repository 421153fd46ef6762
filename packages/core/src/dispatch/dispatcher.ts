// The seam between threads and an engine. The journal is the truth: an engine only says "look at this thread", and never sees
// a message.

/** A thread, as an engine names it. */
export interface ThreadRef {
  readonly tenant: string;
  readonly threadId: string;
}

/** The outcome of one look at a thread. */
export interface Moved {
  /** Look once more at that time, in milliseconds since 1970; a time in the past means at once. */
  readonly again?: number;
  /** The name of that wake: many deliveries that return the same one leave one timer. */
  readonly id?: string;
}

/** Brings wakes of threads to processes that move them. */
export interface Dispatcher {
  /** Asks for a look at a thread, at `at` or now. Resolves when the engine cannot lose the wake. `id` names its cause. */
  wake(thread: ThreadRef, options?: { at?: number; id?: string }): Promise<void>;
  /** Calls `move` for each wake, never more than `concurrency` at once, until the signal fires and those begun have ended. */
  serve(
    move: (thread: ThreadRef) => Promise<Moved>,
    options: { concurrency: number; signal: AbortSignal },
  ): Promise<void>;
  /** Lets go of the engine. */
  close(): Promise<void>;
  /** Returns how many wakes wait, and since when the oldest does. */
  depth?(): Promise<{ waiting: number; oldestAt?: number }>;
}
