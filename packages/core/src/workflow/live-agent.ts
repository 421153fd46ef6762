// The code of a custom agent while it runs. Invariants:
// 1. Its work is on record (steps): after any cut it begins again and gets its recorded work.
// 2. After a stop it has its grace to end; then it is dropped, and never settles.
// 3. While it waits for a person it stays in memory, and continues from there if possible.
//
// Long, and still one piece: its waits, its present work and its rest are one count.

import { type Agent, definitionOf, type Ended, noCalls } from "../agent.ts";
import { BelayError, belayError, errorText, UserInterrupt } from "../error.ts";
import type { Action, Fact, Patch } from "../event.ts";
import type { Frame, Hot } from "../frame.ts";
import { LazyAbort } from "../interrupt/lazy-abort.ts";
import type { Request } from "../interrupt/request.ts";
import { Rerun, rerun, rerunAddress, rerunInterrupt, WHAT } from "../interrupt/rerun.ts";
import type { StopListener } from "../interrupt/stop-signal.ts";
import { fitting, frozen, type Json, toJson } from "../json.ts";
import { isBlank, type Message, messageText } from "../message.ts";
import { readName } from "../read-name.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { type AskOptions, onRecord, type StepContext, Steps, type StepsHost } from "../steps/steps.ts";
import { type InsideInterrupt, readInsideInterrupt, shortReason } from "../tool/context.ts";
import { asGiven, type ChildEnd, runChild } from "./child.ts";
import { childKey } from "./child-key.ts";
import { type AnyAgent, completed, together, valueOfFrame } from "./composite.ts";
import { Ask, Say } from "./speak.ts";

/** The context of a custom agent: its place, the signal of a stop, durable steps, questions and agents. */
export interface AgentContext<Deps = unknown> {
  readonly threadId: string;
  readonly runId: string;
  readonly agentName: string;
  /** Its path in the run. */
  readonly address: string;
  readonly idempotencyKey: string;
  readonly deps: Deps;
  readonly signal: AbortSignal;
  isInterrupted(): boolean;
  /** Throws `UserInterrupt` once the run is stopped. */
  checkInterrupt(): void;
  ask<T>(request: Request<T>, options?: AskOptions): Promise<T>;
  step<T>(key: string, compute: (ctx: StepContext) => T | Promise<T>): Promise<T>;
  /** Runs an agent inside this one; under its key (by default its name) it is run once. */
  run(agent: Agent<unknown, never>, input: Json, options?: RunChildOptions): Promise<Json>;
  /** Ends the whole run with `output`. */
  exit(output?: unknown): void;
  /** Ends the nearest loop with `output`; outside a loop, the whole run. */
  breakLoop(output?: unknown): void;
  /** Publishes an event of its own to readers. */
  customAction(value: unknown): void;
  /** Ends this code here: the run pauses, and resume() runs it again with its original input. The same as `throw rerun(extra)`. */
  rerun(extra?: unknown): never;
  /**
   * Stops the run as a person's stop does, `by: "agent:<name>"`, and ends this code here: it throws `UserInterrupt`. Code
   * that begins again after resume() continues behind it.
   */
  interrupt(options?: InsideInterrupt): void;
  /**
   * The values that all agents of the thread share, with those that this code has set. Code that begins again reads them
   * anew: keep a value that decides its path in a step.
   */
  readonly values: Readonly<Record<string, Json>>;
  /** Sets a shared value. It is recorded with the end of this code; code that fails sets nothing. */
  setValue(key: string, value: unknown): void;
}

/** The options of `ctx.run`. */
export interface RunChildOptions {
  /** Names this run of the agent; its name by default. */
  readonly key?: string | undefined;
}

const RUN: KnownOptions<RunChildOptions> = { key: true };

export type AgentCode = (ctx: AgentContext<never>, input: Json) => unknown;

const GRACE_MS = 500;

/** A child that waits for people: how it continues, and its part of a stop's receipt. */
interface Waiting {
  again(): void;
  readonly end: Extract<ChildEnd, { how: "asking" }>;
}

export class LiveAgent implements StepsHost, StopListener, Hot {
  readonly #name: string;
  /** All that it has begun was begun by this code. */
  readonly #isNew: boolean;
  #frame: Frame;
  #end: (ended: Ended) => void = () => {};
  readonly #steps: Steps;
  readonly #abort = new LazyAbort();
  #away = false;
  #over = false;
  /** It diverged from the record: it begins no more work. */
  #broken: BelayError | undefined;
  #judging = false;
  /** Children that run, and those that wait for people. */
  #children = 0;
  readonly #waiting = new Map<string, Waiting>();
  /** Some of those inside it have not come to an end of their own. */
  #unended = false;
  /** Children that a stop has cut: their promises never settle for the code. */
  readonly #cut: Extract<ChildEnd, { how: "stopped" }>[] = [];
  #grace: unknown;
  #graceOver = false;
  /** A step was not begun, because of a stop. */
  #parking = false;
  readonly #keys = new Set<string>();
  /** The number of its actions by kind, refused ones included. */
  readonly #acts = new Map<string, number>();
  #action: Action | undefined;
  #values: Patch | undefined;
  /** The stops that it has asked for itself: recorded with the stop, so that it continues behind them. */
  #ownStops: readonly Fact[] = [];
  #meanwhile: (() => void) | undefined;

  constructor(name: string, frame: Frame) {
    this.#name = name;
    this.#frame = frame;
    this.#isNew = frame.isNew;
    this.#steps = new Steps(this, frame.scope.steps);
  }

  get address(): string {
    return this.#frame.place.runPath;
  }
  get idempotencyKey(): string {
    const { threadId, runId } = this.#frame.place;
    return `${threadId}:${runId}:${this.address}`;
  }
  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  get maxBytes(): number {
    return this.#frame.desk.maxBytes;
  }
  get frame(): Frame | undefined {
    return this.#away ? undefined : this.#frame;
  }
  get leftBehind(): boolean {
    return this.#over;
  }
  get isOver(): boolean {
    return this.#over;
  }

  isInterrupted(): boolean {
    return this.#frame.signal.stop !== undefined;
  }

  isDeserted(): boolean {
    if (this.#frame.signal.stop === undefined) return false;
    this.#graceOver = true;
    this.#stop();
    return true;
  }

  /** Begins the code. */
  start(code: AgentCode): Promise<Ended> {
    const ended = this.#ended();
    this.#frame.signal.on(this);
    void this.#execute(code).then(
      (output) => this.#finished(() => this.#completed(output)),
      (error) => this.#finished(() => this.#failed(error)),
    );
    return ended;
  }

  /** False where something that it waits for was withdrawn: then it begins again, and asks anew. */
  canGoOn({ desk }: Frame): boolean {
    return this.#steps.open.every((id) => desk.request(id)?.decision?.how !== "withdrawn");
  }

  /** Continues in another segment. */
  adopt(frame: Frame): Promise<Ended> {
    const ended = this.#ended();
    this.#frame = frame;
    this.#away = false;
    frame.signal.on(this);
    const meanwhile = this.#meanwhile;
    this.#meanwhile = undefined;
    this.#steps.adopted(frame);
    for (const { again } of [...this.#waiting.values()]) again();
    this.#meanwhile = meanwhile;
    this.#settle();
    return ended;
  }

  #ended(): Promise<Ended> {
    return new Promise((resolve) => (this.#end = resolve));
  }

  async #execute(code: AgentCode): Promise<unknown> {
    const result = code(this.#context() as never, valueOfFrame(this.#frame));
    if (!isAsyncIterable(result)) return await result;
    const iterator = result[Symbol.asyncIterator]();
    let step = await iterator.next();
    while (!step.done) step = await this.#yielded(iterator, step.value);
    return step.value;
  }

  /** A `yield` returns the answer of an ask. It throws a refusal, so that the code can clean up or continue. */
  async #yielded(iterator: AsyncIterator<unknown>, value: unknown): Promise<IteratorResult<unknown>> {
    let given: unknown;
    try {
      if (value instanceof Say) await this.#say(value.text);
      else if (value instanceof Ask) given = await this.#steps.ask(value.request, value.options);
      else this.#custom(value);
    } catch (error) {
      if (iterator.throw === undefined) throw error;
      return iterator.throw(error);
    }
    return iterator.next(given as never);
  }

  /** Streams the text and records it as a message, once: by its number. */
  #say(text: string): Promise<void> {
    if (isBlank(text)) return Promise.resolve();
    this.recordable("say", text, "What say() was given");
    return this.#steps.record(`say#${this.#acts.get("say")}`, (frame) => {
      const { runId, runPath, agentName } = frame.place;
      const turn = frame.scope.turn + 1;
      const id = `${runPath === agentName ? runId : `${runId}.${runPath}`}.${turn}`;
      const parts = [{ type: "text", text } as const];
      const at = frame.clock.now();
      const message: Message = { id, role: "assistant", parts, at, origin: "runtime", finish: "stop" };
      frame.delta("text-delta", text, { messageId: id }, 0, 1);
      return [frame.message(message, turn, 1)];
    });
  }

  /** The text that it said last. */
  get #shownText(): string {
    const last = this.#frame.scope.messages.at(-1);
    return last?.role === "assistant" ? messageText(last) : "";
  }

  #interrupt(options: InsideInterrupt): void {
    const { reason, message } = readInsideInterrupt(options);
    const count = (this.#acts.get("interrupt") ?? 0) + 1;
    this.#acts.set("interrupt", count);
    const key = `interrupt#${count}`;
    if (this.#steps.takes(key)) return;
    const { address } = this;
    const before = this.#ownStops;
    // Before the stop, which may end this code at once.
    this.#ownStops = [...before, this.#frame.step(undefined, `${address}/s:${key}`, key, { value: null })];
    try {
      this.#frame.desk.interrupt({ by: `agent:${this.#name}`, reason, message });
    } catch (error) {
      this.#ownStops = before;
      throw error;
    }
    throw new UserInterrupt(this.#frame.signal.stop?.at, reason, this.#shownText);
  }

  #context(): AgentContext {
    const live = this;
    const { threadId, runId, agentName } = this.#frame.place;
    return {
      threadId,
      runId,
      agentName,
      address: this.address,
      idempotencyKey: this.idempotencyKey,
      deps: this.#frame.deps,
      get signal() {
        return live.signal;
      },
      isInterrupted: () => live.#frame.signal.stop !== undefined,
      checkInterrupt: () => {
        const { stop } = live.#frame.signal;
        if (stop !== undefined) throw new UserInterrupt(stop.at, stop.reason, live.#shownText);
      },
      ask: (request, options) => live.#steps.ask(request, options),
      step: (key, compute) => live.#steps.step(key, compute),
      run: (agent, input, options) => live.#run(agent, input, options),
      exit: (output) => live.#act({ exit: { output: live.recordable("exit", output, "The output of exit()") } }),
      breakLoop: (output) =>
        live.#act({ breakLoop: { output: live.recordable("breakLoop", output, "The output of breakLoop()") } }),
      customAction: (value) => live.#custom(value),
      rerun: (extra) => {
        throw rerun(extra);
      },
      interrupt: (options = {}) => live.#interrupt(options),
      get values() {
        return frozen({ ...live.#frame.desk.values, ...live.#values });
      },
      setValue: (key, value) => {
        const all = { ...live.#values, [readName("the key of setValue()", key)]: value === undefined ? null : value };
        live.#values = live.recordable("setValue", all, "The shared values") as Patch;
      },
    };
  }

  /** Returns the recorded form of an `act`. Throws `NOT_SERIALIZABLE`, `TOO_LARGE`. */
  protected recordable(act: string, value: unknown, what: string): Json {
    const count = (this.#acts.get(act) ?? 0) + 1;
    this.#acts.set(act, count);
    return this.#steps.fitting(`${act}#${count}`, toJson(value, what), what);
  }

  #act(action: Action): void {
    this.#action ??= action;
  }

  /** Recorded once, however often the code begins again: by its number. */
  #custom(value: unknown): void {
    const customized = this.recordable("action", value, "A custom action");
    const key = `action#${this.#acts.get("action")}`;
    this.#steps.record(key, (frame) => [frame.acted({ customized })]).catch(() => {});
  }

  /** Runs a child. It never settles if it was cut, and the code meets it again when it begins again. */
  #run(given: Agent<unknown, never>, input: Json, options: RunChildOptions = {}): Promise<Json> {
    if (this.#broken !== undefined) return new Promise(() => {});
    const key = options?.key ?? given?.name;
    let agent: AnyAgent;
    let part: string;
    let value: Json;
    let what: string;
    try {
      refuseUnknown("ctx.run()", options, RUN);
      agent = definitionOf(given, () => {
        const problem = "it runs something inside it that is no agent";
        return belayError("AGENT_INVALID", { agent: this.#name, problem });
      });
      part = childKey(key);
      what = `The input of ${agent.name}`;
      value = toJson(input, what);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#keys.has(part)) return Promise.reject(belayError("KEY_REUSED", { address: this.address, key }));
    const place = { agent, path: `${this.address}/${part}:${agent.name}` };
    const known = this.#frame.desk.scope(place.path);
    const settled = known?.runId === this.#frame.place.runId ? known.settled : undefined;
    const isNew = known?.runId !== this.#frame.place.runId;
    try {
      this.#steps.fitting(`run ${part}`, asGiven(agent, value), what, !isNew);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#keys.add(part);
    const ran = new Promise<Json>((resolve, reject) => {
      const begin = () => {
        this.#waiting.delete(key);
        this.#children += 1;
        void runChild(this.#frame, place, { value }).then((end) => {
          this.#children -= 1;
          if (end.how === "completed") {
            if (end.action?.exit !== undefined) this.#act(end.action);
            this.#handOut(place.path, settled, () => resolve(end.output));
          } else if (end.how === "failed") {
            this.#unended = true;
            const fails = () => reject(end.error);
            // First on record: code that catches the error must meet it again.
            const hands = () => this.#handOut(place.path, settled, fails);
            if (settled !== undefined && end.facts.length === 0) hands();
            else this.#recorded(() => [...this.#closed(place.path), ...end.facts], hands);
          } else if (end.how === "asking") {
            this.#unended = true;
            const waits = () => this.#listen(place.path, key, { again: begin, end: { ...end, facts: [] } });
            this.#recorded(() => end.facts, waits);
          } else this.#cut.push(end);
          setImmediate(() => this.#settle());
        });
      };
      if (isNew) void this.#steps.beginsNew(key).then(begin);
      else begin();
    });
    return onRecord(ran);
  }

  /** Hands out the output of a child in its place: recorded outcomes before it come first, also if it is new. */
  #handOut(path: string, settled: number | undefined, give: () => void): void {
    if (settled === undefined && this.#steps.isCaughtUp) return give();
    this.#steps.handOut(settled ?? this.#frame.desk.scope(path)?.settled ?? Number.POSITIVE_INFINITY, give);
  }

  /** Until they are on record, the child has not come to rest. */
  #recorded(facts: () => readonly Fact[], rests: () => void): void {
    if (facts().length === 0) return rests();
    this.#children += 1;
    const recorded = () => {
      this.#children -= 1;
      rests();
      setImmediate(() => this.#settle());
    };
    this.#frame.desk.record({ facts, recorded });
  }

  /**
   * Withdraws the requests of an agent that has ended, and of those inside it. One that failed may be tried again: agents in
   * calls continue in their place.
   */
  #closed(path: string, forGood = false): readonly Fact[] {
    return this.#frame.desk.closedBelow(this.#frame, path, forGood);
  }

  #listen(path: string, key: string, waiting: Waiting): void {
    this.#waiting.set(key, waiting);
    const decided = () => {
      if (this.#over || this.#away || this.#broken !== undefined || !this.#waiting.has(key)) return false;
      waiting.again();
      return true;
    };
    const { desk } = this.#frame;
    for (const id of desk.openBelow(path)) desk.await(id, { decided });
  }

  parked(): void {
    setImmediate(() => this.#settle());
  }

  /** It may have waited for this to stop, or to be left to people: those inside it rest already. */
  idle(): void {
    setImmediate(() => this.#settle());
  }

  parks(): boolean {
    if (!this.#frame.signal.halts("after-tools")) return false;
    this.#parking = true;
    setImmediate(() => this.#settle());
    return true;
  }

  /** Its facts wait for a resume: while only open calls run, it does not move. */
  wake(): void {}

  broke(error: BelayError): void {
    this.#broken ??= error;
    this.#finished(() => {});
  }

  stopped(): void {
    const { stop, forced } = this.#frame.signal;
    if (this.#over || stop === undefined) return;
    const error = new UserInterrupt(stop.at, stop.reason, this.#shownText);
    this.#abort.abort(() => error);
    const over = () => {
      this.#graceOver = true;
      this.#stop();
    };
    if (forced || this.#isWaiting) return over();
    this.#grace ??= this.#frame.clock.setTimeout(over, stop.graceMs ?? GRACE_MS);
    this.#settle();
  }

  /** Nothing of it moves but by people's answers. */
  get #isWaiting(): boolean {
    return this.#children === 0 && (this.#steps.isParked || (this.#waiting.size > 0 && this.#steps.isIdle));
  }

  drop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#leave(belayError("REQUEST_DROPPED", { address: this.address }));
  }

  #leave(reason: unknown): void {
    this.#frame.clock.clearTimeout(this.#grace);
    this.#frame.signal.off(this);
    this.#abort.abort(() => reason);
  }

  /** Nothing of it moves but by a stop, or by people's answers. */
  #settle(): void {
    if (this.#over || this.#away || this.#children > 0) return;
    if (this.#meanwhile !== undefined) return this.#meanwhile();
    const stops = this.#graceOver || ((this.#cut.length > 0 || this.#parking) && this.#steps.isIdle);
    const { signal } = this.#frame;
    if (stops && (signal.halts("after-tools") || signal.halts("after-model"))) return this.#stop();
    if (!this.#isWaiting || this.#judging) return;
    this.#judging = true;
    setImmediate(() => {
      this.#judging = false;
      if (this.#over || this.#away || !this.#isWaiting || this.#meanwhile !== undefined) return;
      if (this.#cut.length > 0 || this.#frame.signal.stop !== undefined) return this.#stop();
      this.#away = true;
      this.#frame.signal.off(this);
      this.#frame.desk.hot.keep(this.address, this);
      this.#end(this.#together({ how: "asking", facts: [], calls: noCalls }));
    });
  }

  #stop(): void {
    if (this.#over || this.#away) return;
    if (this.#children > 0) return;
    this.#over = true;
    this.#leave(undefined);
    const facts = this.#ownStops;
    this.#end(this.#together({ how: "stopped", facts, partialText: "", calls: noCalls, attempt: 1 }));
  }

  /** With those inside it that were cut, or wait for people. */
  #together(own: ChildEnd): Ended {
    return together([own, ...this.#cut, ...[...this.#waiting.values()].map(({ end }) => end)])!;
  }

  /** Reports its end when it has a frame. */
  #finished(end: () => void): void {
    if (this.#over) return;
    // Those that it has begun and does not wait for come to their end first.
    if (this.#away || this.#children > 0) {
      this.#meanwhile = () => {
        this.#meanwhile = undefined;
        this.#finished(end);
      };
      return;
    }
    // It ended because some of those inside it were cut, or while they were: it begins again.
    if (this.#cut.length > 0) return this.#stop();
    if (this.#frame.signal.stop === undefined) this.#broken ??= this.#steps.leftOut() ?? this.#childLeftOut();
    if (this.#broken === undefined) return end();
    this.#over = true;
    this.#leave(this.#broken);
    this.#end({ how: "failed", facts: [], error: this.#broken });
  }

  #childLeftOut(): BelayError | undefined {
    if (this.#isNew) return undefined;
    const { runId } = this.#frame.place;
    const begun = this.#frame.desk
      .begunBelow(this.address, runId)
      .map(({ path }) => path.slice(this.address.length + 1));
    const left = begun.find((segment) => !this.#keys.has(segment.slice(0, segment.lastIndexOf(":"))));
    if (left === undefined) return undefined;
    const problem = `it ended without ${JSON.stringify(left)}, which has begun`;
    return belayError("REPLAY_DIVERGED", { address: this.address, problem });
  }

  #endsWith(ended: Ended): void {
    const facts = () => this.#closed(this.address, ended.how === "completed" && this.#unended);
    if (facts().length === 0) return this.#end(ended);
    this.#frame.desk.record({ facts, recorded: () => this.#end(ended), alone: true });
  }

  #completed(output: unknown): void {
    this.#over = true;
    this.#leave(undefined);
    const { exit, breakLoop } = this.#action ?? {};
    const given = exit?.output ?? breakLoop?.output ?? output ?? null;
    try {
      const ended = completed(this.#frame, toJson(given, `The output of agent ${this.#name}`), this.#action);
      const values = this.#values;
      this.#endsWith(ended.how === "completed" && values !== undefined ? { ...ended, values } : ended);
    } catch (error) {
      this.#end({ how: "failed", facts: [], error: error as BelayError });
    }
  }

  /** Returns the fact that it asks to be run again. */
  protected rerunFact(frame: Frame, extra: Json): Fact {
    const { place, clock } = frame;
    const { agentName: by, runPath } = place;
    return frame.raised(rerunInterrupt(place, clock, extra, { address: rerunAddress(runPath), by }));
  }

  /** Ends as waiting for resume(). It withdraws its open requests: the code asks anew when it begins again. */
  #asksAgain({ extra }: Rerun): void {
    try {
      fitting(extra, WHAT, this.maxBytes);
    } catch (error) {
      return this.#failed(error);
    }
    this.#over = true;
    this.#leave(undefined);
    this.#endsWith({ how: "asking", facts: [this.rerunFact(this.#frame, extra)], calls: noCalls });
  }

  #failed(error: unknown): void {
    if (error instanceof UserInterrupt && this.#frame.signal.stop === undefined) {
      this.#frame.desk.interrupt({ by: `agent:${this.#name}`, reason: shortReason(error) });
    }
    if (this.#frame.signal.stop !== undefined) return this.#stop();
    if (error instanceof Rerun) return this.#asksAgain(error);
    this.#over = true;
    this.#leave(undefined);
    const known = error instanceof BelayError;
    const failure = known ? error : belayError("AGENT_FAILED", { agent: this.#name, reason: errorText(error) }, error);
    this.#endsWith({ how: "failed", facts: [], error: failure });
  }
}

/** The end of code that asked to be run again, in the same segment. */
export const isToRerun: Ended = { how: "asking", facts: [], calls: noCalls };

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
