// One call of a tool that runs, from its start to its end. Invariants:
// 1. It always reports its end, once: the result of the tool, or, after a stop or a time-out, at the latest when
//    its grace is over. A tool that ignores its signal is left behind, not waited for.
// 2. A result that exists is recorded, also when it came after the stop; an error after it is the stop.
// 3. A result that cannot be stored, or is too large for that, does not make the tool run again.
// 4. A call that waits for a person can be parked: it stays in memory without a frame, and continues when another segment
//    of its run adopts it. A dropped call never ends, and reports nothing.
// 5. A stop that keeps requests, such as that of a process that releases the thread, withdraws no request: a call with an open
//    one has no end by it.
//
// Long, and still one piece: all that may end a call (its code, a stop, a time-out, a person) must agree on one end.

import { type BelayError, belayError, errorText, UserInterrupt } from "../error.ts";
import type { Action, Patch } from "../event.ts";
import type { Frame, Hot, LateResult } from "../frame.ts";
import { approvalOf } from "../interrupt/decision.ts";
import type { Approval } from "../interrupt/request.ts";
import { Rerun, WHAT } from "../interrupt/rerun.ts";
import type { StopListener } from "../interrupt/stop-signal.ts";
import type { CallState } from "../journal/state.ts";
import { bytesOver, type Json, Room } from "../json.ts";
import { messageText, type Outcome } from "../message.ts";
import { point } from "../point.ts";
import { Steps, type StepsHost } from "../steps/steps.ts";
import { CallContext, type ContextCall, type InsideInterrupt, shortReason } from "./context.ts";
import type { ReadyCall } from "./prepare-call.ts";
import { isAsyncIterable, isThenable, storable } from "./returned.ts";
import type { RunningProcess } from "./strays.ts";
import type { Tool } from "./tool.ts";

/** Receives the end of a call. */
export interface CallEnding {
  ended(outcome: Outcome, output: Json): void;
  /** Returns the recorded form of a result that arrived after the call was left behind. Never rejects. */
  late(outcome: Outcome, output: Json): Json | Promise<Json>;
  /** It waits for a person, or no longer does. */
  parked(parked: boolean): void;
  /** It diverged from the record: it has no end. */
  broke(error: BelayError): void;
  /** It asks to be run again: it is held until resume(). */
  again(extra: Json): void;
}

/**
 * A call that runs. It ends with its code, or after a stop by the tool's `onStop` and its grace; it may come before `start`
 * returns.
 */
export class LiveCall implements StopListener, StepsHost, Hot, ContextCall {
  #frame: Frame;
  /** It waits for a person, and the segment that began it has ended. */
  #away = false;
  readonly #tool: Tool;
  readonly #args: unknown;
  readonly call: CallState;
  readonly #context: CallContext;
  readonly #graceMs: number;
  #ending: CallEnding;
  #steps: Steps | undefined;
  #dropped = false;
  /** The yielded values: all of them while they can be recorded, and always the last. */
  #yielded: Json[] | undefined;
  #room: Room | undefined;
  #iterator: AsyncIterator<unknown, unknown> | undefined;
  /** We closed the iterator. */
  #closed = false;
  #timers: unknown[] | undefined;
  /** How long it has run, and since when it does: waiting for a person does not count. */
  #ranMs = 0;
  #runsSince: number | undefined;
  #timedOut: string | undefined;
  #ended = false;
  /** How it ended while it was away. */
  #meanwhile: (() => void) | undefined;
  /** Called with the result when the tool has ended, also long after the run stopped waiting for it. */
  #done: ((late: LateResult | undefined) => void) | undefined;

  constructor(frame: Frame, ready: ReadyCall, defaultGraceMs: number, ending: CallEnding) {
    this.#frame = frame;
    this.#tool = ready.tool;
    this.#args = ready.args;
    this.call = ready.call;
    this.#graceMs = ready.tool.graceMs ?? defaultGraceMs;
    this.#ending = ending;
    const { part, address } = ready.call;
    const { place, deps } = frame;
    this.#context = new CallContext(place, part.id, address, deps, this.#graceMs, this);
    // Recorded steps must be asked for again.
    if (ready.call.steps !== undefined) this.steps();
  }

  steps(): Steps {
    this.#steps ??= new Steps(this, this.call.steps);
    return this.#steps;
  }

  get address(): string {
    return this.call.address;
  }
  get callId(): string {
    return this.call.part.id;
  }
  get tool(): string {
    return this.#tool.name;
  }
  get args(): Json {
    return this.call.ranArgs ?? this.call.part.args;
  }
  get edited(): boolean {
    return this.call.ranArgs !== undefined;
  }
  /** The decision of the person that let it run. */
  get approval(): Approval | undefined {
    const { gate } = this.call;
    return gate === undefined ? undefined : approvalOf(this.#frame.desk.request(gate)?.decision);
  }
  get isSerial(): boolean {
    return this.#tool.serial;
  }
  get idempotencyKey(): string {
    return this.#context.idempotencyKey;
  }
  get signal(): AbortSignal {
    return this.#context.signal;
  }
  get maxBytes(): number {
    return this.#frame.desk.maxBytes;
  }
  get frame(): Frame | undefined {
    return this.#away || this.#dropped ? undefined : this.#frame;
  }
  get leftBehind(): boolean {
    return this.#ended;
  }
  isInterrupted(): boolean {
    return this.#context.isInterrupted();
  }

  isDeserted(): boolean {
    if (this.#ended) this.#done?.(undefined);
    else if (this.#timedOut !== undefined) this.#end("error", this.#timedOut);
    else if (this.#frame.signal.stop !== undefined) this.#cut();
    return this.#ended || this.#dropped;
  }

  /** Ids of requests of its own that are open, also of those on record that its code, begun again, has not come to yet. */
  get asks(): readonly string[] {
    const open = this.#steps?.open ?? [];
    const { steps } = this.call;
    if (steps === undefined) return open;
    const recorded = steps.flatMap(({ requestId }) => {
      const request = requestId === undefined ? undefined : this.#frame.desk.request(requestId);
      return request !== undefined && request.decision === undefined ? [request.interrupt.id] : [];
    });
    return [...new Set([...open, ...recorded])];
  }
  get isParked(): boolean {
    return this.#steps?.isParked ?? false;
  }
  actions(output: Json): readonly Action[] | undefined {
    return this.#context.actions(output);
  }

  get values(): Patch {
    return this.#frame.desk.values;
  }
  /** The values that it has set: they are recorded with its result. */
  get ownValues(): Patch | undefined {
    return this.#context.ownValues;
  }
  get shownText(): string {
    const { messages } = this.#frame.scope;
    const made = messages.findLast(({ parts }) =>
      parts.some((part) => part.type === "call" && part.id === this.callId),
    );
    return made === undefined ? "" : messageText(made);
  }

  /** Stops the run, unless it is stopped or this call stands on nothing: then its end does. */
  interrupt({ reason, message }: InsideInterrupt): void {
    if (this.#ended || this.frame === undefined || this.#context.isInterrupted()) return;
    this.#frame.desk.interrupt({ by: `tool:${this.#tool.name}`, reason, message });
  }

  parked(parked: boolean): void {
    if (this.#ended || this.#dropped) return;
    if (this.#away) {
      if (!parked) this.wake();
      return;
    }
    if (!parked) this.#limit();
    else if (this.#timedOut !== undefined) return this.#end("error", this.#timedOut);
    else if (this.#frame.signal.stop !== undefined) this.drop();
    else this.#rest();
    this.#ending.parked(parked);
  }

  /** Waiting for a person takes as long as it takes. */
  #rest(): void {
    this.#clearTimers();
    if (this.#runsSince !== undefined) this.#ranMs += this.#frame.clock.now() - this.#runsSince;
    this.#runsSince = undefined;
  }

  wake(): void {
    if (this.#away && !this.#dropped) this.#frame.desk.hot.wake(this.address);
  }

  broke(error: BelayError): void {
    if (this.#ended) return this.#done?.(undefined);
    if (this.#dropped || this.#later(() => this.broke(error))) return;
    this.drop();
    this.#ending.broke(error);
  }

  /** The segment ends while it waits for a person. */
  leave(): void {
    this.#away = true;
    this.#frame.signal.off(this);
    this.#frame.desk.hot.keep(this.address, this);
  }

  /** Continues in another segment. */
  adopt(frame: Frame, ending: CallEnding): void {
    this.#frame = frame;
    this.#ending = ending;
    this.#away = false;
    this.#context.move(frame.place);
    frame.signal.on(this);
    if (!this.isParked) this.#limit();
    const meanwhile = this.#meanwhile;
    this.#meanwhile = undefined;
    this.#steps?.adopted(frame);
    meanwhile?.();
  }

  drop(): void {
    if (this.#dropped || this.#ended) return;
    this.#dropped = true;
    this.#clearTimers();
    this.#frame.signal.off(this);
    this.#context.abort(belayError("REQUEST_DROPPED", { address: this.address }));
    this.#closeIterator();
    const gone = this.#context.release();
    if (gone !== undefined) this.#frame.desk.hot.leaves(gone, () => this.#context.force());
  }

  start(): void {
    this.#frame.signal.on(this);
    this.#limit();
    let returned: unknown;
    try {
      returned = this.#tool.execute(this.#args as never, this.#context as never);
      if (isAsyncIterable(returned)) returned = this.#drain(returned);
      if (isThenable(returned)) {
        returned.then(
          (value) => this.#returned(value),
          (error) => this.#threw(error),
        );
        return;
      }
    } catch (error) {
      return this.#threw(error);
    }
    this.#returned(returned);
  }

  async #drain(generator: AsyncIterable<unknown>): Promise<unknown> {
    const iterator = generator[Symbol.asyncIterator]();
    this.#iterator = iterator;
    for (;;) {
      const step = await iterator.next();
      point("tool:yield", this.call);
      if (step.done) return step.value === undefined ? this.#lastYield() : step.value;
      if (this.#ended) continue;
      const data = this.#storable(step.value);
      this.#keep(data);
      if (this.#frame.signal.stop === undefined) this.#frame.progress(this.call, this.#fitting("interrupted", data));
    }
  }

  #keep(data: Json): void {
    this.#room ??= new Room(this.maxBytes);
    if (this.#room.take(data)) {
      this.#yielded ??= [];
      this.#yielded.push(data);
    } else this.#yielded = [data];
  }

  /** Returns the last yield, for a generator that returns nothing, unless the runtime closed it. */
  #lastYield(): unknown {
    if (this.#closed) throw this.#context.signal.reason;
    return this.#yielded?.at(-1);
  }

  #limit(): void {
    const { timeoutMs } = this.#tool;
    if (timeoutMs === undefined) return;
    this.#runsSince = this.#frame.clock.now();
    this.#after(Math.max(0, timeoutMs - this.#ranMs), () => this.#timeOut(timeoutMs));
  }

  /** Keeps an end that arrived without a frame, until the call is adopted. */
  #later(end: () => void): boolean {
    if (!this.#away) return false;
    this.#meanwhile = end;
    this.wake();
    return true;
  }

  #returned(value: unknown): void {
    if (this.#dropped || this.#later(() => this.#returned(value))) return;
    point("tool:end", this.call);
    const left = this.#leftOut();
    if (left !== undefined) return this.broke(left);
    if (this.#ended) return this.#late("ok", this.#fitting("ok", this.#storable(value)));
    if (this.#timedOut !== undefined) return this.#end("error", this.#timedOut);
    this.#end("ok", this.#storable(value));
  }

  #storable(value: unknown): Json {
    return storable(value, this.#tool.name, (error) => {
      const { desk, place } = this.#frame;
      const { threadId, runId, agentName, runPath } = place;
      desk.log({ level: "warn", error, threadId, runId, agentName, runPath });
    });
  }

  #late(outcome: Outcome, output: Json): void {
    const done = this.#done;
    if (done === undefined) return;
    const tell = (made: Json) => {
      const actions = outcome === "ok" ? this.actions(made) : undefined;
      const values = outcome === "ok" ? this.ownValues : undefined;
      done({ outcome, output: made, ...(actions && { actions }), ...(values && { values }) });
    };
    const made = this.#ending.late(outcome, output);
    if (made instanceof Promise) void made.then(tell);
    else tell(made);
  }

  #threw(error: unknown): void {
    if (this.#dropped || this.#later(() => this.#threw(error))) return;
    point("tool:failed", this.call);
    // Thrown because of the stop: the reported outcome is still true.
    if (this.#ended && this.#context.isInterrupted()) return this.#done?.(undefined);
    if (this.#ended) return this.#late("error", this.#fitting("error", errorText(error)));
    // It is held, also after a stop: it runs again on continue, and asks for its recorded steps then.
    if (error instanceof Rerun && this.#timedOut === undefined) return this.#again(error.extra);
    // A stop of its own: the signal is set before this returns.
    if (error instanceof UserInterrupt && this.#timedOut === undefined) this.interrupt({ reason: shortReason(error) });
    if (this.#context.isInterrupted()) return this.#cut();
    const left = this.#leftOut();
    if (left !== undefined) return this.broke(left);
    this.#end("error", this.#timedOut ?? errorText(error));
  }

  /** A stop may leave recorded steps unasked. */
  #leftOut(): BelayError | undefined {
    if (this.#ended || this.#timedOut !== undefined || this.#context.isInterrupted()) return undefined;
    return this.#steps?.leftOut();
  }

  stopped(): void {
    const { signal } = this.#frame;
    const stop = signal.stop;
    if (this.#ended || stop === undefined) return;
    this.#context.stopped(stop);
    // It only waits, and no answer can arrive any more.
    if (this.isParked) return this.drop();
    if (this.#tool.onStop === "finish" && !signal.forced) return;
    this.#context.abort(this.#context.signal.reason);
    this.#closeIterator();
    if (signal.forced) return this.#leaveBehind();
    this.#after(stop.graceMs ?? this.#graceMs, () => this.#leaveBehind());
  }

  #timeOut(ms: number): void {
    if (this.#ended) return;
    this.#timedOut = `Timed out after ${ms} ms. It may have taken effect.`;
    this.#context.abort(belayError("TOOL_TIMEOUT", { tool: this.#tool.name, ms }));
    this.#closeIterator();
    this.#after(this.#graceMs, () => this.#leaveBehind());
  }

  #leaveBehind(): void {
    if (this.#ended || this.#dropped) return;
    this.#context.force();
    if (this.#asksOn) return this.#cut();
    this.#frame.desk.leaveBehind(this.#frame, this.call, new Promise((resolve) => (this.#done = resolve)));
    if (this.#timedOut !== undefined) this.#end("error", this.#timedOut);
    else this.#cut();
  }

  #cut(): void {
    const bytes = this.#room?.bytes ?? 0;
    const output = bytes > this.maxBytes ? tooLarge("interrupted", bytes) : (this.#yielded ?? null);
    if (!this.#asksOn) return this.#end("interrupted", output);
    this.drop();
    this.#ending.parked(true);
  }

  /** True while it waits for a person and no stop arrived: after the answer it begins again, from its steps. */
  get #asksOn(): boolean {
    return this.#timedOut === undefined && this.#frame.signal.stop?.keepsRequests === true && this.asks.length > 0;
  }

  #fitting(outcome: Outcome, output: Json): Json {
    return fittingResult(outcome, output, this.maxBytes);
  }

  #end(outcome: Outcome, given: Json): void {
    this.#ended = true;
    const output = this.#fitting(outcome, given);
    this.#frame.signal.off(this);
    this.#clearTimers();
    const gone = this.#context.release();
    if (gone === undefined || this.#frame.signal.stop === undefined) return this.#ending.ended(outcome, output);
    // Report a stop only after the processes of the call have ended, too (X3).
    const forced = { stopped: () => this.#context.force() };
    this.#frame.signal.on(forced);
    void gone.then(() => {
      this.#frame.signal.off(forced);
      const survivors = outcome === "interrupted" ? this.#context.survivors() : [];
      const told = survivors.length === 0 ? output : this.#fitting(outcome, withSurvivors(given, survivors));
      this.#ending.ended(outcome, told);
    });
  }

  #again(extra: Json): void {
    const bytes = bytesOver(extra, this.maxBytes);
    if (bytes !== undefined) {
      const { message } = belayError("TOO_LARGE", { what: WHAT, bytes, most: this.maxBytes });
      return this.#end("error", message);
    }
    this.#ended = true;
    this.#frame.signal.off(this);
    this.#clearTimers();
    void this.#context.release();
    this.#ending.again(extra);
  }

  #clearTimers(): void {
    if (this.#timers === undefined) return;
    for (const timer of this.#timers) this.#frame.clock.clearTimeout(timer);
    this.#timers = undefined;
  }

  #closeIterator(): void {
    this.#closed = true;
    try {
      this.#iterator?.return?.()?.then(undefined, () => {});
    } catch {
      // A call that cannot be closed has to end with its code; the stop continues with the others.
    }
  }

  #after(ms: number, run: () => void): void {
    this.#timers ??= [];
    this.#timers.push(this.#frame.clock.setTimeout(run, ms));
  }
}

/** Returns the recorded form of a result: a sentence that says so if it takes more than `most` bytes. */
export function fittingResult(outcome: Outcome, output: Json, most: number): Json {
  const bytes = bytesOver(output, most);
  return bytes === undefined ? output : tooLarge(outcome, bytes);
}

/** The output of an interrupted call is the list of its yields: the processes that survived the stop are one more. */
function withSurvivors(output: Json, survivors: readonly RunningProcess[]): Json {
  const yielded = Array.isArray(output) ? output : output === null ? [] : [output];
  return [...yielded, { stillRunning: survivors.map(({ pid, command }) => ({ pid, command })) }] as Json;
}

function tooLarge(outcome: Outcome, bytes: number): string {
  return `${outcome === "interrupted" ? "Output" : "Ran, result"} too large to store (${bytes} bytes).`;
}
