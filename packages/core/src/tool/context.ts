// The context of a tool.

import { belayError, shown, UserInterrupt } from "../error.ts";
import type { Action, Patch } from "../event.ts";
import type { FramePlace } from "../frame.ts";
import { LazyAbort } from "../interrupt/lazy-abort.ts";
import type { Approval, Request } from "../interrupt/request.ts";
import { rerun } from "../interrupt/rerun.ts";
import type { Stop } from "../interrupt/stop-signal.ts";
import { frozen, type Json, toJson, toStored } from "../json.ts";
import { readName } from "../read-name.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import type { AskOptions, StepContext, Steps } from "../steps/steps.ts";
import { type EndProcess, type OwnedProcess, type SpawnedProcess, type SpawnOptions, spawnGroup } from "./spawn.ts";
import type { RunningProcess } from "./strays.ts";

/** The second argument of a tool: its place, the signal of a stop, and durable steps and questions. */
export interface ToolContext<Deps = unknown> {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly agentName: string;
  readonly callId: string;
  /** The address of the call: agent › turn › call. */
  readonly address: string;
  /** The same for each try of this call, in any process: hand it to services that know such keys. */
  readonly idempotencyKey: string;
  /** The `deps` of the runner. */
  readonly deps: Deps;
  /** The decision of the person that approved this call; undefined if it needed no approval. */
  readonly approval?: Approval | undefined;
  /** Fires when the run is stopped, with any `onStop`, or when the call takes too long. */
  readonly signal: AbortSignal;
  isInterrupted(): boolean;
  /** Throws `UserInterrupt` once the run is stopped. */
  checkInterrupt(): void;
  /** Asks a person and resolves to the answer, in this process or another one, now or next week. */
  ask<T>(request: Request<T>, options?: AskOptions): Promise<T>;
  /**
   * Does something once: its value, or its error, is recorded under `key` and never computed again. Returns the recorded
   * form, the first time too: JSON (a Date is its ISO text), or an error with the name, message and code of the one thrown.
   */
  step<T>(key: string, compute: (ctx: StepContext) => T | Promise<T>): Promise<T>;
  /** Ends the whole run with `output` (by default the result of this call) once this call has its result. */
  exit(output?: unknown): void;
  /** Ends the nearest loop in the same way; outside a loop, the whole run. */
  breakLoop(output?: unknown): void;
  /** Hands the conversation over to another agent of the family. */
  transferTo(name: string): void;
  /** Sends readers a custom action, with the call's result. */
  customAction(value: unknown): void;
  /**
   * Ends this call here: the run pauses, the other calls keep their results, and resume() runs this one again with its
   * original arguments and its recorded steps. The same as `throw rerun(extra)`.
   */
  rerun(extra?: unknown): never;
  /**
   * Stops the run as a person's stop does, `by: "tool:<name>"`, and ends this call here: it throws `UserInterrupt`. A
   * `UserInterrupt` of the tool's own does the same.
   */
  interrupt(options?: InsideInterrupt): void;
  /** The values that all agents of the thread share, with those that this call has set. */
  readonly values: Readonly<Record<string, Json>>;
  /** Sets a shared value. It is recorded with the result of this call; a call that fails sets nothing. */
  setValue(key: string, value: unknown): void;
  /**
   * Starts a child process that dies, with all it started, at the end of the call, and on a stop that does not wait for the
   * tool to finish.
   */
  spawn(command: string, args?: readonly string[], options?: SpawnOptions): SpawnedProcess;
}

/** Of `ctx.interrupt`. */
export interface InsideInterrupt {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

const INTERRUPT: KnownOptions<InsideInterrupt> = { reason: true, message: true };

/** Checks the options of `ctx.interrupt`. Throws `OPTION_UNKNOWN`, `OPTION_INVALID`. */
export function readInsideInterrupt(options: InsideInterrupt): InsideInterrupt {
  refuseUnknown("ctx.interrupt()", options, INTERRUPT);
  for (const option of ["reason", "message"] as const) {
    const value = options[option];
    if (value === undefined || typeof value === "string") continue;
    throw belayError("OPTION_INVALID", { option, value: shown(value), needed: "a text" });
  }
  return options;
}

/** The reason of a thrown stop. It is not checked when it is made, so it is cut to a length that every record can hold. */
export function shortReason({ reason }: UserInterrupt): string {
  return String(reason).slice(0, 500);
}

/** The call around a context. A tool that is called on its own has none. */
export interface ContextCall {
  steps(): Steps;
  readonly approval: Approval | undefined;
  readonly values: Patch;
  /** The text that was shown in the turn of the call. */
  readonly shownText: string;
  interrupt(options: InsideInterrupt): void;
}

export class CallContext implements ToolContext {
  #place: FramePlace;
  readonly #call: ContextCall | undefined;
  readonly #abort = new LazyAbort();
  /** Children get half of it, so that the tool can still report how they ended. */
  readonly #graceMs: number;
  #stop: Stop | undefined;
  #actions: Action[] | undefined;
  #values: Patch | undefined;
  /** The number of its actions, refused ones included. */
  #acts = 0;
  /** True once child processes must end. */
  #ending = false;
  #onEnding: EndProcess[] | undefined;
  #processes: OwnedProcess[] | undefined;
  readonly callId: string;
  readonly address: string;
  readonly deps: unknown;

  constructor(place: FramePlace, callId: string, address: string, deps: unknown, graceMs: number, call?: ContextCall) {
    this.#place = place;
    this.#call = call;
    this.callId = callId;
    this.address = address;
    this.deps = deps;
    this.#graceMs = graceMs;
  }

  get threadId(): string {
    return this.#place.threadId;
  }
  get runId(): string {
    return this.#place.runId;
  }
  get segment(): number {
    return this.#place.segment;
  }
  get agentName(): string {
    return this.#place.agentName;
  }
  get idempotencyKey(): string {
    return `${this.#place.threadId}:${this.#place.runId}:${this.address}`;
  }
  get approval(): Approval | undefined {
    return this.#call?.approval;
  }
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  isInterrupted(): boolean {
    return this.#stop !== undefined;
  }

  checkInterrupt(): void {
    if (this.#stop !== undefined) throw this.#userInterrupt(this.#stop);
  }

  // Not async: a promise of their own would be rejected beside the one that is taken care of.
  ask<T>(request: Request<T>, options?: AskOptions): Promise<T> {
    if (this.#call === undefined) return Promise.reject(belayError("ASK_DETACHED", { address: this.address }));
    return this.#call.steps().ask(request, options);
  }

  step<T>(key: string, compute: (ctx: StepContext) => T | Promise<T>): Promise<T> {
    if (this.#call !== undefined) return this.#call.steps().step(key, compute);
    const alone = async () => {
      const value = await compute({ idempotencyKey: `${this.idempotencyKey}/s:${key}`, signal: this.signal });
      return toStored(value, `The value of step ${key}`) as T;
    };
    return alone();
  }

  exit(output: unknown = null): void {
    this.#act({ exit: { output: this.#recordable(output, "The output of exit()") } });
  }

  breakLoop(output: unknown = null): void {
    this.#act({ breakLoop: { output: this.#recordable(output, "The output of breakLoop()") } });
  }

  transferTo(name: string): void {
    this.#act({ transferToAgent: { name: readName("transferTo()", name) } });
  }

  customAction(value: unknown): void {
    this.#act({ customized: this.#recordable(value, "A custom action") });
  }

  rerun(extra?: unknown): never {
    throw rerun(extra);
  }

  interrupt(options: InsideInterrupt = {}): void {
    const { reason } = readInsideInterrupt(options);
    this.#call?.interrupt(options);
    throw this.#stop === undefined ? new UserInterrupt(undefined, reason) : this.#userInterrupt(this.#stop);
  }

  #userInterrupt({ at, reason }: Stop): UserInterrupt {
    return new UserInterrupt(at, reason, this.#call?.shownText);
  }

  get values(): Readonly<Record<string, Json>> {
    return frozen({ ...this.#call?.values, ...this.#values });
  }

  setValue(key: string, value: unknown): void {
    const all = { ...this.#values, [readName("the key of setValue()", key)]: value === undefined ? null : value };
    this.#values = this.#recordable(all, "The shared values") as Patch;
  }

  /** The values to record with the result. */
  get ownValues(): Patch | undefined {
    return this.#values;
  }

  #recordable(value: unknown, what: string): Json {
    this.#acts += 1;
    const json = toJson(value, what);
    return this.#call === undefined ? json : this.#call.steps().fitting(`action#${this.#acts}`, json, what);
  }

  /** Returns its other actions: they take effect with the result, `output`. */
  actions(output: Json): readonly Action[] | undefined {
    return this.#actions?.map((action) => filled(action, output));
  }

  #act(action: Action): void {
    this.#actions ??= [];
    this.#actions.push(action);
  }

  /** Moves it to another segment of its run. */
  move(place: FramePlace): void {
    this.#place = place;
  }

  spawn(command: string, args: readonly string[] = [], options: SpawnOptions = {}): SpawnedProcess {
    const child = spawnGroup(command, args, options, (listener) => this.#listen(listener), this.#graceMs / 2);
    this.#processes ??= [];
    this.#processes.push(child);
    return child;
  }

  /** Passes a stop of the run to the tool. */
  stopped(stop: Stop): void {
    this.#stop = stop;
    const error = this.#userInterrupt(stop);
    this.#abort.abort(() => error);
  }

  /** The call must end, and its child processes with it. */
  abort(reason: unknown): void {
    this.#abort.abort(() => reason);
    if (this.#ending) return;
    this.#ending = true;
    const listeners = this.#onEnding ?? [];
    this.#onEnding = undefined;
    for (const listener of listeners) listener(this.#stopGraceMs());
  }

  /** No grace is left. */
  force(): void {
    for (const child of this.#processes ?? []) child.kill("SIGKILL");
  }

  /** Ends the processes of a call that has ended. Resolves when none is left; returns undefined if none was started. */
  release(): Promise<unknown> | undefined {
    return this.#processes && Promise.all(this.#processes.map((child) => child.release()));
  }

  /** Processes of the call that still run after a stop: they could not be ended. */
  survivors(): readonly RunningProcess[] {
    return (this.#processes ?? []).flatMap((child) => child.strays());
  }

  #listen(listener: EndProcess): () => void {
    if (this.#ending) {
      listener(this.#stopGraceMs());
      return () => {};
    }
    this.#onEnding ??= [];
    this.#onEnding.push(listener);
    return () => {
      this.#onEnding = this.#onEnding?.filter((other) => other !== listener);
    };
  }

  #stopGraceMs(): number | undefined {
    const graceMs = this.#stop?.graceMs;
    return graceMs === undefined ? undefined : graceMs / 2;
  }
}

/** For a tool called on its own, outside any run: nothing can interrupt it. */
export function detachedContext(deps?: unknown): ToolContext {
  const place = { threadId: "detached", runId: "detached", segment: 1, agentName: "detached", runPath: "detached" };
  return new CallContext(place, "detached", "detached", deps, 500);
}

/** An exit or a break without an output has the result of the call as its output. */
function filled(action: Action, output: Json): Action {
  if (action.exit !== undefined && action.exit.output === null) return { exit: { output } };
  if (action.breakLoop !== undefined && action.breakLoop.output === null) return { breakLoop: { output } };
  return action;
}
