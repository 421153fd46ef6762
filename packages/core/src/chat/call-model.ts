// One model call: request → stream → answer, with tries and time limits. Invariants:
// 1. A stop settles it at once, also when the source is deaf or stalled; nothing is published or kept after it (S1).
// 2. Decided from the stop, never from the error: what is thrown after a stop is the stop (S7).
// 3. Another try is made only while nothing of this one has been shown.

import type { BelayError } from "../error.ts";
import { belayError, errorText, UserInterrupt } from "../error.ts";
import type { Frame } from "../frame.ts";
import { LazyAbort } from "../interrupt/lazy-abort.ts";
import type { Model, ModelEvent, ModelRequest } from "../model/model.ts";
import { Answer } from "./answer.ts";
import { isOverflow, isWorthRetrying, type RetrySettings, retryDelay } from "./retry.ts";

export interface ModelTimeouts {
  /** From the request to the first event. */
  readonly firstTokenMs?: number;
  /** Between two events. */
  readonly idleMs?: number;
  /** The whole call. */
  readonly totalMs?: number;
}

export interface ModelCall {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly messageId: string;
  readonly timeouts: ModelTimeouts;
  readonly retry: RetrySettings;
  /** Tries made before, by this process or one that crashed. */
  readonly attempt: number;
}

export type ModelCallEnd =
  | { readonly how: "finished" | "stopped"; readonly answer: Answer; readonly attempt: number }
  | { readonly how: "failed"; readonly answer: Answer; readonly attempt: number; readonly error: BelayError };

export async function callModel(frame: Frame, call: ModelCall): Promise<ModelCallEnd> {
  let attempt = call.attempt;
  for (let tries = 1; ; tries++) {
    attempt += 1;
    if (attempt > 1) frame.superseded(call.messageId, attempt);
    const answer = new Answer(call.model, (id) => frame.desk.callId(id));
    try {
      const how = await stream(frame, call, answer, attempt);
      return { how, answer, attempt };
    } catch (error) {
      if (frame.signal.stop !== undefined) return { how: "stopped", answer, attempt };
      const last = answer.begun || tries >= call.retry.attempts || !isWorthRetrying(error);
      if (last) return { how: "failed", answer, attempt, error: modelError(call.model, tries, error) };
      const { clock } = frame;
      const waited = await sleep(frame, retryDelay(call.retry, tries, error, clock.now(), Math.random()));
      if (!waited) return { how: "stopped", answer, attempt };
    }
  }
}

function modelError(model: Model, tries: number, error: unknown): BelayError {
  if (isOverflow(error)) return belayError("CONTEXT_OVERFLOW", { model: model.id, reason: errorText(error) }, error);
  if (isTimeout(error)) return error;
  return belayError("MODEL_FAILED", { model: model.id, attempts: tries, reason: errorText(error) }, error);
}

function isTimeout(error: unknown): error is BelayError {
  return (error as Partial<BelayError> | null)?.code === "MODEL_TIMEOUT";
}

async function stream(frame: Frame, call: ModelCall, answer: Answer, attempt: number): Promise<"finished" | "stopped"> {
  const { signal } = frame;
  const abort = new LazyAbort();
  const source = call.model.stream(call.request, abort)[Symbol.asyncIterator]();
  const pump = new Pump(source);
  const halt = () => {
    abort.abort(new UserInterrupt(signal.stop?.at ?? 0, signal.stop?.reason));
    pump.close();
  };
  const unlisten = signal.on(halt);
  // The stop may have come from inside stream() itself.
  if (signal.stop !== undefined) halt();
  const limits = new Limits(frame, call, (error) => {
    abort.abort(error);
    pump.fail(error);
  });
  try {
    for (;;) {
      if (signal.stop !== undefined) return "stopped";
      const step = await pump.next();
      if (signal.stop !== undefined) return "stopped";
      if (step === undefined || step.done) break;
      limits.heard();
      take(frame, call.messageId, answer, step.value, attempt);
      if (step.value.type === "finish") break;
    }
    return "finished";
  } finally {
    unlisten();
    limits.clear();
    pump.close();
  }
}

function take(frame: Frame, messageId: string, answer: Answer, event: ModelEvent, attempt: number): void {
  switch (event.type) {
    case "text":
      if (event.text === "") return;
      frame.delta("text-delta", event.text, messageId, answer.textLength, attempt);
      return answer.addText(event.text, event.block);
    case "reasoning":
      if (event.text === "") return;
      frame.delta("reasoning-delta", event.text, messageId, answer.reasoningLength, attempt);
      return answer.addReasoning(event.text, event.block);
    default:
      return answer.add(event);
  }
}

/** Reads an iterator such that a pending read can be given up: no race against a long-lived promise, which would leak. */
class Pump {
  readonly #source: AsyncIterator<ModelEvent>;
  #resolve: ((step: IteratorResult<ModelEvent> | undefined) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #closed = false;

  constructor(source: AsyncIterator<ModelEvent>) {
    this.#source = source;
  }

  next(): Promise<IteratorResult<ModelEvent> | undefined> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#source.next().then(resolve, reject);
    });
  }

  fail(error: unknown): void {
    this.#reject?.(error);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#resolve?.(undefined);
    try {
      this.#source.return?.()?.then(undefined, () => {});
    } catch {
      // A source that cannot even be closed has nothing more to say to us.
    }
  }
}

/** Time limits with one timer each, however many chunks come. */
class Limits {
  readonly #frame: Frame;
  readonly #timers: unknown[] = [];
  #heardAt: number;
  #first = true;
  /** Before the first event its own limit holds, if there is one. */
  readonly #hasFirst: boolean;
  readonly #idleMs: number | undefined;

  constructor(frame: Frame, call: ModelCall, fail: (error: BelayError) => void) {
    this.#frame = frame;
    const { firstTokenMs, idleMs, totalMs } = call.timeouts;
    this.#idleMs = idleMs;
    this.#hasFirst = firstTokenMs !== undefined;
    this.#heardAt = idleMs === undefined ? 0 : frame.clock.now();
    const expire = (phase: string, ms: number) =>
      fail(belayError("MODEL_TIMEOUT", { model: call.model.id, phase, ms }));
    if (totalMs !== undefined) this.#after(totalMs, () => expire("totalMs", totalMs));
    if (firstTokenMs !== undefined)
      this.#after(firstTokenMs, () => this.#first && expire("firstTokenMs", firstTokenMs));
    if (idleMs !== undefined) this.#watch(idleMs, idleMs, () => expire("idleMs", idleMs));
  }

  heard(): void {
    this.#first = false;
    if (this.#idleMs !== undefined) this.#heardAt = this.#frame.clock.now();
  }

  clear(): void {
    for (const timer of this.#timers) this.#frame.clock.clearTimeout(timer);
  }

  #watch(wait: number, idleMs: number, expire: () => void): void {
    this.#after(wait, () => {
      const left = this.#heardAt + idleMs - this.#frame.clock.now();
      if (this.#first && this.#hasFirst) this.#watch(idleMs, idleMs, expire);
      else if (left <= 0) expire();
      else this.#watch(left, idleMs, expire);
    });
  }

  #after(ms: number, run: () => void): void {
    this.#timers.push(this.#frame.clock.setTimeout(run, ms));
  }
}

/** False when a stop came first. */
function sleep(frame: Frame, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const unlisten = frame.signal.on(() => {
      frame.clock.clearTimeout(timer);
      unlisten();
      resolve(false);
    });
    const timer = frame.clock.setTimeout(() => {
      unlisten();
      resolve(true);
    }, ms);
  });
}
