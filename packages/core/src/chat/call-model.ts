// One model call: request → stream → answer, with tries and time limits. Invariants:
// 1. A stop settles it at once, also when the source is deaf or stalled; nothing is published or kept after it (S1).
// 2. Decided from the stop, never from the error: an error after a stop is the stop (S7).
// 3. Another try is made while no call was received whole (I6). Readers get `superseded`: the text of the failed try is void.
//    A model that takes a prefix continues the text instead, and nothing is void.
// 4. An answer that grows larger than one record may be ends while it streams: text that does not fit is not shown (P12).

import type { Clock } from "../clock.ts";
import { BelayError, belayError, errorText, UserInterrupt } from "../error.ts";
import type { DeltaEvent } from "../event.ts";
import type { Frame, Speech } from "../frame.ts";
import { LazyAbort } from "../interrupt/lazy-abort.ts";
import type { StopListener } from "../interrupt/stop-signal.ts";
import type { Finish, Message } from "../message.ts";
import type { Model, ModelEvent, ModelRequest } from "../model/model.ts";
import { point } from "../point.ts";
import { Answer } from "./answer.ts";
import {
  brokeOff,
  isOverflow,
  isWorthRetrying,
  pageWords,
  type RetrySettings,
  retryDelay,
  statusIn,
  statusWords,
} from "./retry.ts";

/** Causes can go in a circle. */
const MOST_CAUSES = 8;

/** How long a model call may take, in milliseconds. A limit that is exceeded is `MODEL_TIMEOUT`. */
export interface ModelTimeouts {
  /** From the request to the first event. */
  readonly firstTokenMs?: number | undefined;
  /** Between two events, and before the first one unless `firstTokenMs` is given; 90 s by default. */
  readonly idleMs?: number | undefined;
  /** The whole call. */
  readonly totalMs?: number | undefined;
}

export interface ModelCall {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly messageId: string;
  /** The id of the cut message that the answer continues. */
  readonly continues?: string | undefined;
  readonly timeouts: ModelTimeouts;
  readonly retry: RetrySettings;
  /** Tries made before, by this process or one that crashed. */
  readonly attempt: number;
  /** Its text is not part of the conversation, and is not streamed. */
  readonly quiet?: boolean;
}

export type ModelCallEnd =
  | { readonly how: "finished" | "stopped"; readonly answer: Answer; readonly attempt: number }
  | { readonly how: "failed"; readonly answer: Answer; readonly attempt: number; readonly error: BelayError };

/** `ended` is called once, and must not throw: a stop calls it from inside itself. */
export function callModel(frame: Frame, call: ModelCall, ended: (end: ModelCallEnd) => void): void {
  new Calling(frame, call, ended).begin();
}

function modelError(model: Model, tries: number, error: unknown): BelayError {
  // One of our own limits.
  if (error instanceof BelayError && (error.code === "MODEL_TIMEOUT" || error.code === "TOO_LARGE")) return error;
  const reason = reasonOf(error);
  if (isOverflow(error)) return belayError("CONTEXT_OVERFLOW", { model: model.id, reason }, error);
  return belayError("MODEL_FAILED", { model: model.id, attempts: tries, reason, status: statusIn(error) }, error);
}

/** Clients wrap errors: only the innermost cause shows that a connection broke. */
function reasonOf(error: unknown): string {
  const page = pageWords(error);
  if (page !== undefined) return page;
  let inner = error;
  for (let depth = 0; depth < MOST_CAUSES && causeOf(inner) !== undefined; depth += 1) inner = causeOf(inner);
  const [reason, first] = [errorText(error), errorText(inner)];
  if (inner !== error && brokeOff(error)) return first;
  return `${reason.includes(first) ? reason : `${reason}: ${first}`}${statusWords(error)}`;
}

function causeOf(error: unknown): Error | undefined {
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
}

function take(frame: Frame, call: ModelCall, answer: Answer, event: ModelEvent, attempt: number): void {
  const { messageId, quiet } = call;
  switch (event.type) {
    case "text":
      if (said(event) === "") return;
      answer.addText(event.text, event.block);
      if (!quiet) frame.delta("text-delta", event.text, call, answer.textLength - event.text.length, attempt);
      return;
    case "reasoning":
      if (said(event) === "") return;
      answer.addReasoning(event.text, event.block);
      if (!quiet) frame.delta("reasoning-delta", event.text, call, answer.reasoningLength - event.text.length, attempt);
      return;
    case "args":
      answer.add(event);
      if (!quiet) {
        const { id: callId = "", tool = "", text } = event;
        frame.draft({ type: "tool-input-delta", callId, tool, text, messageId }, attempt);
      }
      return;
    default:
      return answer.add(event);
  }
}

/** Refuses text before any reader sees it, if the record could not hold it. */
function said({ type, text }: Extract<ModelEvent, { type: "text" | "reasoning" }>): string {
  if (typeof text !== "string") throw new TypeError(`the model's ${type} event has no text`);
  return text;
}

/**
 * Reads a source to its end, by callbacks: a read that is under way can be given up at once, without a race against a
 * long-lived promise, which would leak, and without a promise of our own for each event.
 */
class Calling implements StopListener, Speech {
  readonly #frame: Frame;
  readonly #call: ModelCall;
  readonly #resolve: (end: ModelCallEnd) => void;
  #attempt: number;
  #tries = 0;
  #request: ModelRequest;
  // Of the present try:
  #answer: Answer;
  #abort: LazyAbort;
  #source: AsyncIterator<ModelEvent> | undefined;
  #limits: Limits | undefined;
  #over = false;

  constructor(frame: Frame, call: ModelCall, resolve: (end: ModelCallEnd) => void) {
    this.#frame = frame;
    this.#call = call;
    this.#resolve = resolve;
    this.#attempt = call.attempt;
    this.#request = call.request;
    this.#answer = new Answer(call.model, frame.desk, frame.place.runPath);
    this.#abort = new LazyAbort();
  }

  begin(): void {
    const { model, timeouts, quiet, messageId } = this.#call;
    const { signal } = this.#frame;
    const request = this.#request;
    this.#tries += 1;
    this.#attempt += 1;
    if (this.#attempt > 1 && !quiet && !this.#answer.begun) this.#frame.superseded(messageId, this.#attempt);
    signal.on(this);
    if (!quiet) this.#frame.desk.speak(this);
    try {
      point("model:request", request);
      this.#source = model.stream(request, this.#abort)[Symbol.asyncIterator]();
    } catch (error) {
      return this.#failed(error);
    }
    // The stop may have come from inside stream() itself.
    if (signal.stop !== undefined) return this.stopped();
    if (hasLimits(timeouts)) this.#limits = new Limits(this.#frame.clock, timeouts, this.#exceeded);
    this.#read();
  }

  soFar(): readonly DeltaEvent[] {
    const deltaOf = (type: DeltaEvent["type"], text: string) =>
      text === "" ? [] : [this.#frame.deltaOf(type, text, this.#call, 0, this.#attempt)];
    const answer = this.#answer;
    return [...deltaOf("reasoning-delta", answer.text("reasoning")), ...deltaOf("text-delta", answer.text())];
  }

  #again(): void {
    const { model, request, messageId } = this.#call;
    const prefix = model.prefill === true ? this.#answer.prefix : undefined;
    this.#request = prefix === undefined ? request : withPrefix(request, messageId, prefix);
    if (prefix === undefined) this.#answer = new Answer(model, this.#frame.desk, this.#frame.place.runPath);
    this.#abort = new LazyAbort();
    this.#source = undefined;
    this.#limits = undefined;
    this.#over = false;
    this.begin();
  }

  #read(): void {
    try {
      this.#source!.next().then(this.#heard, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  readonly #heard = (step: IteratorResult<ModelEvent>): void => {
    if (this.#over) return;
    point("model:event", step);
    if (this.#over) return;
    try {
      if (step.done) return this.#end("finished");
      this.#limits?.heard();
      take(this.#frame, this.#call, this.#answer, step.value, this.#attempt);
      // A reader may have stopped the run because of the text that was just published.
      if (this.#over) return;
      if (step.value.type === "finish") return this.#finished(step.value.finish);
    } catch (error) {
      // The rest of the model's answer is not awaited.
      return this.#expire(error);
    }
    this.#read();
  };

  #finished(finish: Finish): void {
    if (finish === "error") return this.#failed(new Error("it said that its answer ended with an error"));
    this.#end("finished");
  }

  readonly #failed = (error: unknown): void => {
    point("model:failed", error);
    if (!this.#close()) return;
    if (this.#frame.signal.stop !== undefined) return this.#tell("stopped");
    const next = this.#judge(error);
    if (next instanceof BelayError) {
      return this.#done({ how: "failed", answer: this.#answer, attempt: this.#attempt, error: next });
    }
    this.#announce(error, next);
    void sleep(this.#frame, next).then((waited) => (waited ? this.#again() : this.#tell("stopped")));
  };

  #announce(error: unknown, delayMs: number): void {
    const { retry, quiet } = this.#call;
    const status = statusIn(error);
    const next = {
      dueAt: this.#frame.clock.now() + delayMs,
      try: this.#tries + 1,
      tries: retry.attempts,
      ...(status !== undefined && { status }),
      problem: reasonOf(error),
    };
    const reason = quiet ? "summary" : "turn";
    this.#frame.draft({ type: "model-wait", reason, retry: next }, this.#attempt + 1);
  }

  /** Returns the wait before the next try, or the error of this one if there is no other. */
  #judge(error: unknown): number | BelayError {
    const { retry, model } = this.#call;
    const tries = this.#tries;
    try {
      // An answer that is too long for `totalMs` has not stalled: the next one would be as long.
      const tooLong = this.#answer.begun && error instanceof BelayError && error.details.phase === "totalMs";
      const again = this.#answer.calls === 0 && !tooLong && tries < retry.attempts && isWorthRetrying(error);
      if (!again) return modelError(model, tries, error);
      return retryDelay(retry, tries, error, this.#frame.clock.now(), Math.random());
    } catch {
      // Anything can be thrown, also a value that throws when it is read: no other code would report it.
      return belayError("MODEL_FAILED", { model: model.id, attempts: tries, reason: errorText(error) }, error);
    }
  }

  stopped(): void {
    const { stop } = this.#frame.signal;
    this.#abort.abort(() => new UserInterrupt(stop?.at ?? 0, stop?.reason));
    this.#end("stopped");
  }

  readonly #exceeded = (phase: keyof ModelTimeouts): void => {
    const { model, timeouts } = this.#call;
    this.#expire(belayError("MODEL_TIMEOUT", { model: model.id, phase, ms: timeouts[phase]! }));
  };

  #expire(error: unknown): void {
    this.#abort.abort(() => error);
    this.#failed(error);
  }

  #end(how: "finished" | "stopped"): void {
    if (this.#close()) this.#tell(how);
  }

  #tell(how: "finished" | "stopped"): void {
    this.#done({ how, answer: this.#answer, attempt: this.#attempt });
  }

  #done(end: ModelCallEnd): void {
    if (!this.#call.quiet) this.#frame.desk.hush(this);
    this.#resolve(end);
  }

  /** True the first time. */
  #close(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#frame.signal.off(this);
    this.#limits?.clear();
    try {
      this.#source?.return?.()?.then(undefined, ignore);
    } catch {
      // A source that cannot even be closed has nothing more to say to us.
    }
    return true;
  }
}

function ignore(): void {}

/** The request of a try that continues `text`: the text is a last message of the assistant, or the end of the present last one. */
function withPrefix(request: ModelRequest, messageId: string, text: string): ModelRequest {
  // A stream may break in the middle of a character, and providers refuse half of one.
  const part = { type: "text" as const, text: text.toWellFormed() };
  const last = request.messages.at(-1);
  if (last?.role === "assistant") {
    const messages = [...request.messages.slice(0, -1), { ...last, parts: [...last.parts, part] }];
    return { ...request, messages };
  }
  const prefix: Message = { id: messageId, role: "assistant", parts: [part], at: 0, origin: "model" };
  return { ...request, messages: [...request.messages, prefix] };
}

function hasLimits({ firstTokenMs, idleMs, totalMs }: ModelTimeouts): boolean {
  return firstTokenMs !== undefined || idleMs !== undefined || totalMs !== undefined;
}

/** Time limits with one timer each, however many chunks come. */
class Limits {
  readonly #clock: Clock;
  readonly #timeouts: ModelTimeouts;
  readonly #exceeded: (phase: keyof ModelTimeouts) => void;
  #heardAt: number;
  #first = true;
  #total: unknown;
  #firstToken: unknown;
  #idle: unknown;

  constructor(clock: Clock, timeouts: ModelTimeouts, exceeded: (phase: keyof ModelTimeouts) => void) {
    this.#clock = clock;
    this.#timeouts = timeouts;
    this.#exceeded = exceeded;
    const { totalMs, firstTokenMs, idleMs } = timeouts;
    this.#heardAt = idleMs === undefined ? 0 : clock.now();
    if (totalMs !== undefined) this.#total = clock.setTimeout(() => exceeded("totalMs"), totalMs);
    if (firstTokenMs !== undefined)
      this.#firstToken = clock.setTimeout(() => this.#first && exceeded("firstTokenMs"), firstTokenMs);
    if (idleMs !== undefined) this.#watch(idleMs, idleMs);
  }

  heard(): void {
    this.#first = false;
    if (this.#timeouts.idleMs !== undefined) this.#heardAt = this.#clock.now();
  }

  clear(): void {
    for (const timer of [this.#total, this.#firstToken, this.#idle]) this.#clock.clearTimeout(timer);
  }

  #watch(wait: number, idleMs: number): void {
    this.#idle = this.#clock.setTimeout(() => {
      const left = this.#heardAt + idleMs - this.#clock.now();
      // Before the first event its own limit holds, if there is one.
      if (this.#first && this.#timeouts.firstTokenMs !== undefined) this.#watch(idleMs, idleMs);
      else if (left <= 0) this.#exceeded("idleMs");
      else this.#watch(left, idleMs);
    }, wait);
  }
}

/** False when a stop came first. */
function sleep(frame: Frame, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listener = {
      stopped: () => {
        frame.clock.clearTimeout(timer);
        frame.signal.off(listener);
        resolve(false);
      },
    };
    frame.signal.on(listener);
    const timer = frame.clock.setTimeout(() => {
      frame.signal.off(listener);
      resolve(true);
    }, ms);
  });
}
