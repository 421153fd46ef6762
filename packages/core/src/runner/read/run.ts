// The handle on one segment of a run: its events, its beginning and its result.

import { type BelayError, belayError, UserInterrupt } from "../../error.ts";
import type { BelayEvent } from "../../event.ts";
import type { Handle, Interrupt } from "../../interrupt/interrupt.ts";
import type { InterruptView } from "../../interrupt/view.ts";
import type { PauseType } from "../../lifecycle.ts";
import type { Finish, Message, Usage } from "../../message.ts";
import type { Feed } from "./feed.ts";
import type { Reader } from "./reader.ts";

/** The run and the segment of a result. */
export interface RunPlace {
  readonly runId: string;
  readonly segment: number;
  /** The usage of the whole run so far. */
  readonly usage: Usage;
}

/** How a segment ended. */
export type RunResult<Out = unknown> = RunPlace &
  (
    | { readonly status: "completed"; readonly output: Out; readonly text: string; readonly finish: Finish }
    | {
        readonly status: "interrupted";
        readonly interruptType: PauseType;
        readonly handle: Handle;
        readonly interrupts: readonly Interrupt[];
        /** The interrupts as the root agent sees them, nested by agents. */
        readonly interrupt: InterruptView;
        readonly partialText: string;
        /** The messages of the root's `onInterrupt` hooks. Absent if there are none. */
        readonly said?: readonly Message[];
      }
    | { readonly status: "failed"; readonly error: BelayError }
    | { readonly status: "terminated" }
  );

/** The place on record at which a segment began. */
export interface Started {
  readonly runId: string;
  readonly segment: number;
  /** The seq of the `state` fact that begins it. */
  readonly seq: number;
}

/** One segment of a run: its events, and its result. It can be iterated any number of times. */
export interface Run<Out = unknown> extends AsyncIterable<BelayEvent> {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  /**
   * Resolves when the first append is on record. Rejects if the run does not begin: the store refuses it, or a stop comes
   * first. A caller that does not await it gets no unhandled rejection.
   */
  readonly started: Promise<Started>;
  /** Never rejects. */
  readonly result: Promise<RunResult<Out>>;
}

export class LiveRun implements Run<never> {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly started: Promise<Started>;
  readonly result: Promise<RunResult<never>>;
  readonly #feed: Feed;
  #start!: (started: Started) => void;
  #refuse!: (error: BelayError) => void;
  #resolve!: (result: RunResult<never>) => void;
  /** The readers to end with it. */
  readonly #readers: Reader[] = [];
  #from: number | undefined;
  #last: number | undefined;

  constructor(threadId: string, runId: string, segment: number, feed: Feed) {
    this.threadId = threadId;
    this.runId = runId;
    this.segment = segment;
    this.#feed = feed;
    this.started = new Promise((resolve, reject) => {
      this.#start = resolve;
      this.#refuse = reject;
    });
    // `result` has the same error.
    this.started.catch(() => {});
    this.result = new Promise((resolve) => (this.#resolve = resolve));
  }

  [Symbol.asyncIterator](): AsyncIterator<BelayEvent> {
    const reader = this.#feed.reader(this.#from);
    if (this.#last !== undefined) reader.end(this.#last);
    else this.#readers.push(reader);
    return reader;
  }

  /** Its facts are the ones after `from`; the one at `seq` says that it runs. */
  began(from: number, seq: number): void {
    this.#from = from;
    const { runId, segment } = this;
    this.#start({ runId, segment, seq });
    for (const reader of this.#readers) reader.begin(from);
  }

  /** No fact after `last` is part of it. */
  ended(last: number, result: RunResult<never>): void {
    if (this.#last !== undefined) return;
    // A run that has begun is not refused. Making an error for it would cost more than its end.
    if (this.#from === undefined) this.#refuse(whyNot(this.threadId, result));
    this.#from ??= last;
    this.#last = last;
    for (const reader of this.#readers.splice(0)) {
      reader.begin(last);
      reader.end(last);
    }
    this.#resolve(result);
  }
}

/** Returns why a run with this result did not begin. A stop of the work that it waited for also ended it. */
function whyNot(threadId: string, result: RunResult<never>): BelayError {
  if (result.status === "failed") return result.error;
  if (result.status === "terminated") {
    return belayError("INVALID_STATE", { threadId, state: "terminated", action: "resume()" });
  }
  const [interrupt] = result.status === "interrupted" ? result.interrupts : [];
  return new UserInterrupt(interrupt?.raisedAt ?? 0, interrupt?.reason);
}
