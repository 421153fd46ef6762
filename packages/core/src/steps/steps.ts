// The `ctx.step`s and `ctx.ask`s of a call or a custom agent. Invariants:
// 1. A recorded outcome is handed out, never computed again (Q2), in the order of the journal and one macrotask apart:
//    if all were handed out at once, a race between two of them could end in another way.
// 2. Code that diverges from the record is stopped before it does anything: a new key waits until the
//    recorded ones are asked for and handed out, and fails if some are left.
// 3. An ask that is withdrawn, or whose instance is dropped, never settles: no catch and no finally can mistake it (Q1).
// 4. It is parked while an ask is open and no other work of it is under way, judged a macrotask after its last
//    action. That is a guess: code that does something all the same wakes its holder.
// 5. No step is computed without the thread: parked code takes the thread first, so that the same
//    step is never computed here and elsewhere.
// 6. The value or the error of a step is the same when it has just been computed and when it is read from the record.
//
// Long, and still one piece: handing out recorded outcomes and doing new work must keep their order.

import { type BelayError, belayError, type ErrorRecord, UserInterrupt } from "../error.ts";
import type { Fact } from "../event.ts";
import type { Frame } from "../frame.ts";
import type { Decision } from "../interrupt/decision.ts";
import { digestOf } from "../interrupt/digest.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import { type Request, readRequest } from "../interrupt/request.ts";
import { Rerun } from "../interrupt/rerun.ts";
import type { StepRecord } from "../journal/state.ts";
import { type Json, toStored } from "../json.ts";
import { point } from "../point.ts";
import { readName } from "../read-name.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { answerOf } from "./answer-of.ts";
import { Refusals } from "./refusals.ts";
import { recordOf, thrownAgain } from "./thrown.ts";

/** The runner of the code. */
export interface StepsHost {
  /** Of the code: its steps lie below it. */
  readonly address: string;
  readonly callId?: string;
  readonly tool?: string;
  /** The arguments of the call, and whether they are not the ones that the model asked for. */
  readonly args?: Json;
  readonly edited?: boolean;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** The most that one of its records may take. */
  readonly maxBytes: number;
  /** The frame under the code; undefined while it is parked, and once it is dropped. */
  readonly frame: Frame | undefined;
  /** True once the run no longer waits for it: its later steps are not recorded. */
  readonly leftBehind: boolean;
  /** True once it has ended before its request was recorded: then no request is raised. */
  readonly isOver?: boolean;
  isInterrupted(): boolean;
  /** True if no answer can arrive any more: then it ends here. */
  isDeserted(): boolean;
  /** True if no new work may begin: then it ends here, and does the step when it begins again. */
  parks?(): boolean;
  /** It waits for a person, or no longer does. */
  parked(parked: boolean): void;
  /** Nothing of it is under way any more, whether it waits for a person or for something else. */
  idle?(): void;
  /** It has something to record, and nothing to stand on. */
  wake(): void;
  /** It diverged from the record. */
  broke(error: BelayError): void;
}

/** The options of `ctx.ask()`. */
export interface AskOptions {
  /** Names the ask in its call; needed where several are open at once. */
  readonly key?: string | undefined;
}

const ASK: KnownOptions<AskOptions> = { key: true };

/** Refuses options that do not exist. */
export function readAskOptions(options: AskOptions, where: "ctx.ask()" | "ask()"): void {
  refuseUnknown(where, options, ASK);
}

/** The context of a step: the same key for each try of it, and the call's signal. */
export interface StepContext {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

interface Ask {
  readonly request: Request;
  readonly interrupt: Interrupt;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The time that a new key waits for recorded ones that the code reaches later. */
const PATIENCE_MS = 250;

export class Steps {
  readonly #host: StepsHost;
  /** On record, and not asked for yet. */
  readonly #recorded = new Map<string, StepRecord>();
  readonly #used = new Set<string>();
  /** Asked for, and on record: waiting for their turn. */
  #due: { readonly settled: number; give(): void }[] = [];
  #giving = false;
  #given = 0;
  /** By the id of their request. */
  readonly #open = new Map<string, Ask>();
  #asks = 0;
  /** The key of the one without a key of its own that has not been answered. */
  #unkeyed: string | undefined;
  /** Things under way that are no waiting for a person. */
  #active = 0;
  #isParked = false;
  #waiting: ((frame: Frame) => void)[] = [];
  #broken = false;
  readonly #refusals = new Refusals();

  constructor(host: StepsHost, records: readonly StepRecord[] | undefined) {
    this.#host = host;
    for (const record of records ?? []) this.#recorded.set(record.key, record);
  }

  /** Ids of the requests that are open. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Nothing of it is under way. */
  get isIdle(): boolean {
    return this.#active === 0 && this.#waiting.length === 0;
  }

  get isParked(): boolean {
    return this.#isParked;
  }

  /** True when all recorded outcomes have been asked for and handed out. */
  get isCaughtUp(): boolean {
    return this.#recorded.size === 0 && !this.#giving;
  }

  /** Returns, after the end of the code, whether it left out a recorded step. */
  leftOut(): BelayError | undefined {
    const [left] = this.#recorded.keys();
    return left === undefined ? undefined : this.#diverged(`it ended without ${JSON.stringify(left)}`);
  }

  /**
   * Returns `value`, to be recorded under `name`; if that is on record, it is not judged again. Throws `TOO_LARGE`, and
   * then does so each time that the code comes here.
   */
  fitting<T>(name: string, value: T, what: string, isOnRecord = this.#recorded.has(name)): T {
    const most = isOnRecord ? Number.POSITIVE_INFINITY : this.#host.maxBytes;
    const refused = (key: string) => {
      const { error } = this.#recorded.get(key) ?? {};
      if (error !== undefined) this.#recorded.delete(key);
      return error;
    };
    const error = this.#refusals.judge(name, value as Json, what, most, refused);
    if (error !== undefined) throw error;
    return value;
  }

  step<T>(key: string, compute: (ctx: StepContext) => T | Promise<T>): Promise<T> {
    let record: StepRecord | undefined;
    try {
      record = this.#use(key, "step");
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#broken) return never();
    return onRecord(record === undefined ? this.#compute(key, compute) : this.#replayed<T>(record));
  }

  async #compute<T>(key: string, compute: (ctx: StepContext) => T | Promise<T>): Promise<T> {
    this.#begin();
    if (!this.isCaughtUp) await this.#novel(key);
    const host = this.#host;
    if (host.frame === undefined) await new Promise<Frame>((stands) => this.#on(stands));
    if (host.parks?.()) {
      this.#end();
      return never();
    }
    this.#recordRefusals();
    const { callId, address, idempotencyKey, signal } = host;
    const at = `${address}/s:${key}`;
    let outcome: { readonly value: Json } | { readonly error: ErrorRecord };
    let thrown: unknown;
    let computed = false;
    try {
      point("step:start", at);
      const ctx = { idempotencyKey: `${idempotencyKey}/s:${key}`, signal };
      const given = await compute(ctx);
      computed = true;
      outcome = { value: toStored(given, `The value of step ${key}`, host.maxBytes) };
    } catch (error) {
      thrown = error;
      outcome = { error: recordOf(error) };
    }
    point("step:end", at);
    // Thrown because of a stop, as a stop, or to be run again: it was cut off, and has no outcome. A value that cannot be
    // recorded is an outcome.
    const cut = !computed && (host.isInterrupted() || thrown instanceof Rerun || thrown instanceof UserInterrupt);
    if (!host.leftBehind && !cut) await this.#record((frame) => [frame.step(callId, at, key, outcome)]);
    this.#end();
    if ("value" in outcome) return outcome.value as T;
    throw cut ? thrown : thrownAgain(outcome.error, thrown);
  }

  /** Records facts once, with a step of this key in the same append. */
  async record(key: string, facts: (frame: Frame) => readonly Fact[]): Promise<void> {
    const known = this.#use(key, "step");
    if (this.#broken) return never();
    if (known !== undefined) return this.#replayed<void>(known);
    this.#begin();
    if (!this.isCaughtUp) await this.#novel(key);
    const host = this.#host;
    if (host.frame === undefined) await new Promise<Frame>((stands) => this.#on(stands));
    if (host.parks?.()) {
      this.#end();
      return never();
    }
    this.#recordRefusals();
    const { callId, address } = host;
    const at = `${address}/s:${key}`;
    const made = (frame: Frame) => [...facts(frame), frame.step(callId, at, key, { value: null })];
    if (!host.leftBehind) await this.#record(made);
    this.#end();
  }

  /** Returns true, once, if a step of this key is on record. */
  takes(key: string): boolean {
    this.#used.add(key);
    return this.#recorded.delete(key);
  }

  /** Something that is on record elsewhere: given out in its place among the steps. */
  handOut(settled: number, give: () => void): void {
    this.#begin();
    this.#give(settled, () => {
      give();
      setImmediate(() => this.#end());
    });
  }

  /** Settles when all recorded outcomes have been asked for and handed out: new work may begin. */
  async beginsNew(key: string): Promise<void> {
    if (!this.isCaughtUp) {
      this.#begin();
      await this.#novel(key);
      this.#end();
    }
    this.#recordRefusals();
  }

  ask<T>(request: Request<T>, options: AskOptions = {}): Promise<T> {
    const asked = new Promise<T>((resolve, refuse) => {
      const reject = (error: unknown) => {
        void onRecord(asked);
        refuse(error);
      };
      this.#ask(request, options, resolve as (value: unknown) => void, reject).catch(refuse);
    });
    return asked;
  }

  async #ask(
    request: Request,
    options: AskOptions,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    const { address, callId, tool, args, edited } = this.#host;
    readAskOptions(options, "ctx.ask()");
    const { key: given } = options;
    const asked = readRequest(request);
    if (given === undefined && this.#unkeyed !== undefined) {
      throw belayError("KEY_REQUIRED", { address, open: this.#unkeyed });
    }
    const key = given ?? `ask#${this.#asks}`;
    this.#refuseKey(key);
    this.fitting(key, asked, "The request");
    const { expiresAt: _when, ...lasting } = asked;
    const digest = digestOf(lasting as Json);
    const record = this.#use(key, "ask", digest);
    if (this.#broken) return;
    if (given === undefined) {
      this.#asks += 1;
      this.#unkeyed = key;
    }
    if (record !== undefined) {
      return this.#on((frame) => {
        const { interrupt } = frame.desk.request(record.requestId!)!;
        this.#wait({ request, interrupt, resolve, reject });
      });
    }
    this.#begin();
    if (!this.isCaughtUp) await this.#novel(key);
    const raised = await new Promise<Interrupt>((recorded) =>
      this.#on((frame) => {
        if (this.#host.isDeserted()) return;
        this.#recordRefusals();
        const id = frame.clock.id();
        const { agentName: by } = frame.place;
        const raisedAt = frame.clock.now();
        const call = { ...(tool !== undefined && { tool }), ...(args !== undefined && { args }) };
        const of = { ...(callId !== undefined && { callId }), ...call, ...(edited && { edited: true as const }) };
        const interrupt: Interrupt = { id, address: `${address}/s:${key}`, raisedAt, by, key, digest, ...asked, ...of };
        // Before it can be seen: an answer may follow at once.
        this.#wait({ request, interrupt, resolve, reject });
        const facts = () => {
          if (this.#host.isOver) return [];
          return [frame.raised(interrupt), ...(frame.desk.unattended ? [frame.declined(id)] : [])];
        };
        void frame.record(facts).then(() => recorded(interrupt));
      }),
    );
    point("ask:raised", raised);
    this.#end();
  }

  #wait(ask: Ask): void {
    const { id } = ask.interrupt;
    this.#open.set(id, ask);
    this.#listen(id, ask);
    this.#judge();
  }

  #listen(id: string, ask: Ask): void {
    const desk = this.#host.frame?.desk;
    if (desk === undefined) return;
    const decision = desk.request(id)?.decision;
    if (decision !== undefined) return void this.#decided(id, decision);
    const { schema } = ask.request;
    desk.await(id, { schema, decided: (made) => this.#decided(id, made) });
  }

  /** It has the thread again: waiting work is done, and answers that came in the meantime are read. */
  adopted(frame: Frame): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const work of waiting) work(frame);
    for (const [id, ask] of [...this.#open]) this.#listen(id, ask);
    this.#judge();
  }

  #decided(id: string, decision: Decision): boolean {
    const ask = this.#open.get(id);
    if (ask === undefined || decision.how === "withdrawn") return false;
    // It has no frame now: the resume of the call hands it the answer.
    if (this.#host.frame === undefined) return false;
    this.#open.delete(id);
    // The code gets a macrotask for its next action, before it counts as parked again.
    this.#begin();
    const settled = this.#host.frame?.desk.request(id)?.settled ?? 0;
    this.#give(settled, () => {
      if (ask.interrupt.key === this.#unkeyed) this.#unkeyed = undefined;
      void conclude(ask, decision).then(() => setImmediate(() => this.#end()));
    });
    return true;
  }

  #refuseKey(key: string): void {
    if (this.#used.has(key)) throw belayError("KEY_REUSED", { address: this.#host.address, key });
    if (!this.#recorded.has(key)) readName("key", key);
  }

  #use(key: string, kind: StepRecord["kind"], digest?: string): StepRecord | undefined {
    this.#refuseKey(key);
    const record = this.#recorded.get(key);
    this.#used.add(key);
    if (record === undefined) return undefined;
    if (record.kind !== kind || (digest !== undefined && record.digest !== digest)) {
      const was = record.kind === kind ? `another ${kind}` : a(record.kind);
      this.#break(this.#diverged(`it uses ${JSON.stringify(key)} for ${a(kind)}, where ${was} is on record`));
    }
    this.#recorded.delete(key);
    return record;
  }

  #replayed<T>(record: StepRecord): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#begin();
      this.#give(record.settled ?? 0, () => {
        if (record.error === undefined) resolve(record.value as T);
        else reject(thrownAgain(record.error));
        setImmediate(() => this.#end());
      });
    });
  }

  /** In the order of the journal, one macrotask apart. */
  #give(settled: number, give: () => void): void {
    this.#due.push({ settled, give });
    if (this.#giving) return;
    this.#giving = true;
    const next = () => {
      if (this.#broken) return;
      let first = 0;
      for (let i = 1; i < this.#due.length; i++) if (this.#due[i]!.settled < this.#due[first]!.settled) first = i;
      const [due] = this.#due.splice(first, 1);
      this.#given += 1;
      due?.give();
      if (this.#due.length > 0) setImmediate(next);
      else this.#giving = false;
    };
    setImmediate(next);
  }

  /** A new step: recorded ones are asked for and handed out before it. */
  async #novel(key: string): Promise<void> {
    let patience = PATIENCE_MS;
    while (!this.isCaughtUp) {
      const { size } = this.#recorded;
      const given = this.#given;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#broken) await never();
      if (this.#giving || given !== this.#given || this.#recorded.size < size) {
        patience = PATIENCE_MS;
      } else if (patience > 0) {
        // Code may wait for work of its own before it reaches them.
        patience -= 10;
        await new Promise((resolve) => setTimeout(resolve, 10));
      } else {
        const [left] = this.#recorded.keys();
        this.#break(this.#diverged(`it asks for ${JSON.stringify(key)}, where ${JSON.stringify(left)} is on record`));
        await never();
      }
    }
  }

  #break(error: BelayError): void {
    if (!this.#broken) {
      this.#broken = true;
      this.#host.broke(error);
    }
  }

  #diverged(problem: string): BelayError {
    return belayError("REPLAY_DIVERGED", { address: this.#host.address, problem });
  }

  /** Does it now, or when there is something to stand on. */
  #on(work: (frame: Frame) => void): void {
    const { frame } = this.#host;
    if (frame !== undefined) return work(frame);
    this.#waiting.push(work);
    this.#host.wake();
  }

  #record(facts: (frame: Frame) => ReturnType<Parameters<Frame["record"]>[0]>): Promise<void> {
    return new Promise((recorded) => this.#on((frame) => void frame.record(() => facts(frame)).then(recorded)));
  }

  /** Called before a step begins that is not on record: the step is written after the refusals, so nothing has to wait. */
  #recordRefusals(): void {
    const refusals = this.#refusals.take();
    if (refusals.length === 0 || this.#host.leftBehind) return;
    const { callId, address } = this.#host;
    void this.#record((frame) =>
      refusals.map(({ key, error }) => frame.step(callId, `${address}/s:${key}`, key, { error })),
    );
  }

  #begin(): void {
    this.#active += 1;
    this.#judge();
  }

  #end(): void {
    this.#active -= 1;
    this.#judge();
    if (this.isIdle) this.#host.idle?.();
  }

  #judge(): void {
    const parked = this.#open.size > 0 && this.#active === 0 && this.#waiting.length === 0;
    if (parked === this.#isParked || this.#broken) return;
    this.#isParked = parked;
    this.#host.parked(parked);
  }
}

/** Each is a promise of its own: a shared one would keep them, and their values, in memory without end. */
function never(): Promise<never> {
  return new Promise(() => {});
}

function a(kind: StepRecord["kind"]): string {
  return kind === "ask" ? "an ask" : "a step";
}

async function conclude(ask: Ask, decision: Decision): Promise<void> {
  try {
    ask.resolve(await answerOf(ask.request, ask.interrupt, decision));
  } catch (error) {
    ask.reject(error);
  }
}

/** How it fails is on record: code that does not wait for it, or not yet, must not end the process by that. */
export function onRecord<T>(outcome: Promise<T>): Promise<T> {
  outcome.catch(() => {});
  return outcome;
}
