// The handle on one stretch of a run: what people iterate and await.

import type { BelayError } from "../../error.ts";
import type { BelayEvent } from "../../event.ts";
import type { Handle, Interrupt } from "../../interrupt/interrupt.ts";
import type { InterruptView } from "../../interrupt/view.ts";
import type { PauseType } from "../../lifecycle.ts";
import type { Finish, Message, Usage } from "../../message.ts";
import type { Feed, Reader } from "./feed.ts";

export interface RunPlace {
  readonly runId: string;
  readonly segment: number;
  /** Of the whole run so far. */
  readonly usage: Usage;
}

export type RunResult<Out = unknown> = RunPlace &
  (
    | { readonly status: "completed"; readonly output: Out; readonly text: string; readonly finish: Finish }
    | {
        readonly status: "interrupted";
        readonly interruptType: PauseType;
        readonly handle: Handle;
        readonly interrupts: readonly Interrupt[];
        /** The same as the root sees it: nested, level by level. */
        readonly interrupt: InterruptView;
        readonly partialText: string;
        /** What `onInterrupt` hooks of the root said about it; not there where they said nothing. */
        readonly said?: readonly Message[];
      }
    | { readonly status: "failed"; readonly error: BelayError }
    | { readonly status: "terminated" }
  );

export interface Run<Out = unknown> extends AsyncIterable<BelayEvent> {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  /** Never rejects. */
  readonly result: Promise<RunResult<Out>>;
}

export class LiveRun implements Run<never> {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly result: Promise<RunResult<never>>;
  readonly #feed: Feed;
  #resolve: (result: RunResult<never>) => void = () => {};
  /** Readers that came before it was known where the run begins. */
  #early: Reader[] | undefined = [];
  #open: Set<Reader> | undefined;
  #from: number | undefined;
  #last: number | undefined;

  constructor(threadId: string, runId: string, segment: number, feed: Feed) {
    this.threadId = threadId;
    this.runId = runId;
    this.segment = segment;
    this.#feed = feed;
    this.result = new Promise((resolve) => (this.#resolve = resolve));
  }

  [Symbol.asyncIterator](): AsyncIterator<BelayEvent> {
    const reader = this.#feed.reader(this.#from);
    if (this.#last !== undefined) {
      reader.end(this.#last);
    } else {
      if (this.#from === undefined) this.#early?.push(reader);
      this.#open ??= new Set();
      this.#open.add(reader);
    }
    return reader;
  }

  /** Its facts are the ones after `from`. */
  began(from: number): void {
    this.#from = from;
    for (const reader of this.#early ?? []) reader.begin(from, true);
    this.#early = undefined;
  }

  /** No fact after `last` is part of it. */
  ended(last: number, result: RunResult<never>): void {
    if (this.#last !== undefined) return;
    this.#from ??= last;
    this.#last = last;
    for (const reader of this.#early ?? []) reader.begin(last, true);
    for (const reader of this.#open ?? []) reader.end(last);
    this.#early = undefined;
    this.#open = undefined;
    this.#resolve(result);
  }
}
