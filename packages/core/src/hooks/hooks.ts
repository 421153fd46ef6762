// The hooks of an agent, or of all agents of a runner. A hook is called for live work, never for recorded work: its change is
// recorded with the step it belongs to, and read from there.

import { belayError, type ErrorRecord } from "../error.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { InterruptView } from "../interrupt/view.ts";
import type { Json } from "../json.ts";
import type { PauseType } from "../lifecycle.ts";
import type { Message, Outcome, Part, Usage } from "../message.ts";
import type { ModelRequest } from "../model/model.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";

/** The place of a hook call. */
export interface HookInfo<Deps = unknown> {
  readonly threadId: string;
  readonly runId: string;
  readonly segment: number;
  readonly agentName: string;
  readonly runPath: string;
  readonly deps: Deps;
  /** Fires when the run is stopped: the runner no longer waits for the hook. */
  readonly signal: AbortSignal;
}

/** The input of an agent: messages of people, or a value of the agent around it. */
export type ReplyInput = { readonly messages: readonly Pick<Message, "parts">[] } | { readonly value: Json };

/** A call of a tool, as a hook sees it. */
export interface HookCall {
  readonly callId: string;
  readonly tool: string;
  readonly address: string;
  /** The arguments that the model wrote. */
  readonly asked: Json;
  /** The arguments that run, or are about to. */
  readonly args: Json;
}

/** The reason for a model call: the next turn, or a summary of the history. */
export interface ModelCalled {
  readonly turn: number;
  readonly reason: "turn" | "summary";
}

type Seen = void | Promise<void>;
type Changed<T> = void | undefined | T | Promise<void | undefined | T>;

/** All are optional. Those of the runner go around those of the agent; of a list the first is the outermost. */
export interface Hooks<Deps = unknown> {
  /** An agent is given something: change it by returning something else. It is recorded as you return it. */
  beforeReply?(info: HookInfo<Deps> & { readonly input: ReplyInput }): Changed<string | ReplyInput>;
  /** Its reply is whole, and about to be recorded as the end. */
  afterReply?(info: HookInfo<Deps> & { readonly text: string; readonly output: unknown }): Seen;
  /** The model is about to be called: return changes to this request. The history stays as it is. */
  beforeModel?(info: HookInfo<Deps> & { readonly request: ModelRequest } & ModelCalled): Changed<Partial<ModelRequest>>;
  /** The model has answered, or was stopped, or has failed. The shown text is kept: it cannot be changed. */
  afterModel?(
    info: HookInfo<Deps> & {
      readonly how: "finished" | "stopped" | "failed";
      readonly parts: readonly Part[];
      readonly text: string;
      readonly usage?: Usage;
      readonly error?: Error;
    } & ModelCalled,
  ): Seen;
  /** A call is about to be judged by rules and people: change its arguments, reject it, or give its result without running it. */
  beforeTool?(
    info: HookInfo<Deps> & HookCall,
  ): Changed<{ readonly args: Json } | { readonly reject: string } | { readonly result: Json }>;
  /** Called when a call has run: may change its recorded output. After a stop the runner does not wait for it. */
  afterTool?(
    info: HookInfo<Deps> & HookCall & { readonly outcome: Outcome; readonly output: Json },
  ): Changed<{ readonly output: Json }>;
  /** session.observe() was called: change the message, or let it go with null. */
  beforeObserve?(info: HookInfo<Deps> & { readonly message: Pick<Message, "parts"> }): Changed<string | Spoken | null>;
  /** The message is on its way into the history, and nothing can lose it. */
  afterObserve?(info: HookInfo<Deps> & { readonly id: string; readonly message: Pick<Message, "parts"> }): Seen;
  /**
   * A person has stopped the run: say something to them. It is shown and recorded. With `remember`, models read it too, as
   * words of the agent before the next input.
   */
  onInterrupt?(
    info: HookInfo<Deps> & {
      readonly interrupt: Interrupt;
      /** The input of the agent. */
      readonly input: ReplyInput;
      readonly partialText: string;
    },
  ): Changed<string | Spoken | InterruptWords>;
  /**
   * A piece of an answer is shown. It is called synchronously, for each piece, and cannot change it: text shown is text
   * kept. One that throws is reported to the log, and is not called again in that run.
   */
  onText?(delta: string, info: TextInfo<Deps>): void;
  /** A request waits for a person. Called after it is on record, in the process that recorded it, at most once. */
  onRequest?(info: Notice<Deps> & { readonly request: Interrupt }): Seen;
  /** The run has paused. Called after that is on record, in the process that recorded it, at most once; not after a crash. */
  onPause?(
    info: Notice<Deps> & {
      readonly pauseType: PauseType;
      readonly interrupts: readonly Interrupt[];
      readonly interrupt: InterruptView;
    },
  ): Seen;
  /** The run has ended. Called after that is on record, in the process that recorded it, at most once. */
  onEnd?(
    info: Notice<Deps> & {
      readonly status: "completed" | "failed" | "terminated";
      readonly usage: Usage;
      /** The output, if it is not the last text. */
      readonly output?: Json;
      readonly error?: ErrorRecord;
    },
  ): Seen;
}

/** A notice of something that is on record: nothing waits for the hook. */
type Notice<Deps> = Omit<HookInfo<Deps>, "signal">;

/** The place of a piece of shown text. */
export interface TextInfo<Deps = unknown> extends Omit<HookInfo<Deps>, "signal"> {
  readonly messageId: string;
  /** The position of the piece in the text of the message so far. */
  readonly offset: number;
}

/** Words after a stop. */
export interface InterruptWords {
  readonly text: string;
  /** True if they become part of the history that models read. */
  readonly remember?: boolean | undefined;
}

/** One object of hooks, or several. */
export type HooksGiven<Deps> = Hooks<Deps> | readonly Hooks<Deps>[];

/** Something said: the text and files of a message. */
export type Spoken = Pick<Message, "parts">;

export type HookName = keyof Hooks;

/** `call` is the hook itself, on the object it came in. */
export type Hook = (...given: never[]) => unknown;

/** By name, in the order they are called. */
export type HookTable = { readonly [N in HookName]?: readonly Hook[] };

const NAMES: KnownOptions<Hooks> = {
  beforeReply: true,
  afterReply: true,
  beforeModel: true,
  afterModel: true,
  beforeTool: true,
  afterTool: true,
  beforeObserve: true,
  afterObserve: true,
  onInterrupt: true,
  onText: true,
  onRequest: true,
  onPause: true,
  onEnd: true,
};

/** Reads the hooks of an agent or a runner. Refuses an unknown name: such a hook would never be called. */
export function readHooks(given: HooksGiven<never> | undefined): HookTable | undefined {
  if (given === undefined) return undefined;
  const table: { [N in HookName]?: Hook[] } = {};
  for (const hooks of Array.isArray(given) ? (given as readonly Hooks<never>[]) : [given as Hooks<never>]) {
    if (typeof hooks !== "object" || hooks === null) throw invalid("hooks", hooks, "an object of hooks");
    refuseUnknown("hooks", hooks, NAMES);
    for (const name of Object.keys(NAMES) as HookName[]) {
      const hook: unknown = hooks[name];
      if (hook === undefined) continue;
      if (typeof hook !== "function") throw invalid(`hooks.${name}`, hook, "a function");
      const called: Hook = (...given) => hook.apply(hooks, given);
      const known = table[name] ?? [];
      table[name] = isAfter(name) ? [called, ...known] : [...known, called];
    }
  }
  return Object.keys(table).length === 0 ? undefined : table;
}

function isAfter(name: string): boolean {
  return name.startsWith("after") || name === "onInterrupt";
}

/** Returns the runner's hooks around the agent's; undefined if there are none. */
export function hooksNamed(
  outer: HookTable | undefined,
  inner: HookTable | undefined,
  name: HookName,
): readonly Hook[] | undefined {
  const around = outer?.[name];
  const own = inner?.[name];
  if (around === undefined) return own;
  if (own === undefined) return around;
  return isAfter(name) ? [...own, ...around] : [...around, ...own];
}

function invalid(option: string, value: unknown, needed: string): Error {
  return belayError("OPTION_INVALID", { option, value: String(value), needed });
}
