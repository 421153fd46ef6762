// A command is data: the intent of a caller for a thread. The process that can write decides it against the state of the append
// that records it. A row of the store holds a command as it is.

import { type BelayError, belayError } from "../../error.ts";
import type { Breakpoint, Patch } from "../../event.ts";
import type { Drift } from "../../fingerprint.ts";
import type { Answer } from "../../interrupt/answer.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import type { ThreadState } from "../../journal/state.ts";
import { keyOf } from "../../journal/taken.ts";
import type { PauseType } from "../../lifecycle.ts";
import type { Command as Row, ThreadKey } from "../../store/store.ts";
import { checkOptions } from "../given/check.ts";
import { GUARD } from "../given/command-options.ts";
import { type Input, readInput } from "../given/input.ts";
import { type LabelChange, type Labelling, readLabelChange } from "../given/label.ts";
import {
  INPUT,
  type InterruptOptions,
  readStop,
  SEND,
  type SendOptions,
  type SteerOptions,
  TERMINATE,
} from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import type { InputMail, ResumeMail, StopMail, StopVerb } from "./mail.ts";

interface Base {
  /** Unique in its thread: the verb with the caller's id, or with a fresh one. */
  readonly key: string;
  /** The caller's: the same command again under it has the first outcome. */
  readonly id?: string;
  readonly by: string;
}

export type AnswerCommand = Base & { readonly do: "answer"; readonly request: string; readonly answer: Answer };

/** A command that ends a segment. In the process that runs the thread its signal is set at once (S1). */
export type SignalCommand = Base & {
  readonly do: StopVerb;
  readonly stop: Stop;
  /** With the run and the segment that it is for, if it is for one. */
  readonly options: InterruptOptions;
};

type Inputs = ReturnType<typeof readInput>;

interface Opener {
  readonly key: string;
  readonly id?: string;
  /** Undefined if the caller gave no name. It is recorded with the input, and in a `command` fact. */
  readonly by?: string;
  readonly inputs: Inputs;
  /** The row of the store that brought the input. */
  readonly row?: string;
}

/**
 * An input that waits in the store until an append consumes it: as a steer, for the next run, to be known only, or to resume a
 * paused thread. Its key is the caller's id: `withdraw` takes it.
 */
export type InputCommand = Omit<Opener, "row"> & {
  readonly do: "input";
  readonly how: "steer" | "enqueue" | "observe" | "resume";
  /** That of an input that resumes. */
  readonly mode?: "rethink" | undefined;
  /** The segment that it is for, if the caller named one. */
  readonly runId?: string | undefined;
  readonly segment?: number | undefined;
};

/** Begins a new run. */
export type RunCommand = Opener & { readonly do: "run" };

/** Begins the next segment of the last run. */
export type ResumeCommand = Opener & {
  readonly do: "resume";
  readonly mode: "continue" | "rethink" | undefined;
  /** By request. */
  readonly answers: ReadonlyMap<string, Answer>;
  /** Narrows new input to one agent, by its path. */
  readonly to: string | undefined;
  /** The changes to the state of graphs. */
  readonly patch: Patch | undefined;
  readonly drift: Drift;
  /** Groups of the caller beside those that the runner names. */
  readonly groups?: readonly string[] | undefined;
  /** The segment that it resumes, if the caller named one. */
  readonly runId?: string | undefined;
  readonly segment?: number | undefined;
  /** The sha256 of the token of the handle. */
  readonly tokenHash?: string | undefined;
  /** The pause that a worker continues. A later pause is for a person: the worker is refused with STALE. */
  readonly ofPause?: PauseType | undefined;
};

/** Continues code that waits in this process for a person, unless another process has written after `head`. */
export type WakeCommand = Base & { readonly do: "wake"; readonly head: number };

/** A command that begins a segment, in the process that was asked. */
export type SegmentCommand = RunCommand | ResumeCommand;

/** A command that begins a tenure of this process. A stop of a thread at rest is a tenure of one append. */
export type OpeningCommand = SegmentCommand | AnswerCommand | WakeCommand | SignalCommand;

export type Command =
  | SignalCommand
  | SegmentCommand
  | WakeCommand
  | InputCommand
  | AnswerCommand
  | (Base & { readonly do: "breakpoint"; readonly breakpoint: Breakpoint })
  | (Base & { readonly do: "unrule"; readonly rule: string })
  | (Base & { readonly do: "label" } & Labelling)
  /** The caller makes the token; only its hash travels. */
  | (Base & { readonly do: "handle"; readonly tokenHash: string; readonly tokenUntil?: number });

const verbs: Readonly<Record<Exclude<Command["do"], "input">, string>> = {
  run: "run()",
  resume: "resume()",
  wake: "answer()",
  stop: "interrupt()",
  pause: "pause()",
  terminate: "terminate()",
  answer: "answer()",
  breakpoint: "setBreakpoint()",
  unrule: "removeRule()",
  label: "label()",
  handle: "handle()",
};

const inputVerbs: Readonly<Record<InputCommand["how"], string>> = {
  steer: "steer()",
  enqueue: "enqueue()",
  observe: "observe()",
  resume: "send()",
};

/** Returns the verb that a caller used, for errors. */
export function verbOf(command: Command): string {
  return command.do === "input" ? inputVerbs[command.how] : verbs[command.do];
}

export function isSignal(command: Command): command is SignalCommand {
  return command.do === "stop" || command.do === "pause" || command.do === "terminate";
}

export function beginsSegment(command: Command): command is SegmentCommand {
  return command.do === "run" || command.do === "resume";
}

/**
 * True if the command is put on record under its key, also if no row brought it. A stop without an id names its caller in the
 * interrupt.
 */
export function isKept(command: Command): boolean {
  return command.id !== undefined || (command.do === "terminate" && command.options.by !== undefined);
}

const readSignal: Readonly<Record<StopVerb, (options: InterruptOptions, now: number, most: number) => Stop>> = {
  stop: readStop,
  pause: (options, now) => {
    checkOptions("pause()", options, GUARD);
    return readStop({ by: options.by }, now);
  },
  terminate: (options, now) => {
    checkOptions("terminate()", options, TERMINATE);
    return readStop({ reason: "terminate", by: options.by }, now);
  },
};

/** Returns the command for a stop, a pause or a termination. Throws if its options are invalid. */
export function signalCommand(
  verb: StopVerb,
  options: InterruptOptions,
  { clock, maxBytes }: Pick<Setup, "clock" | "maxBytes">,
): SignalCommand {
  const stop = readSignal[verb](options, clock.now(), maxBytes);
  const { id } = options;
  return {
    do: verb,
    key: keyOf.stop(id ?? clock.id()),
    by: stop.by,
    stop,
    options,
    ...(id !== undefined && { id }),
  };
}

/** Aims a stop or a pause at the first segment that it meets, unless its caller named one. A termination is for the thread. */
export function aimedAt(command: SignalCommand, { runId, segment }: Aim): SignalCommand {
  const { options } = command;
  if (command.do === "terminate" || runId === undefined) return command;
  return { ...command, options: { ...options, runId: options.runId ?? runId, segment: options.segment ?? segment } };
}

/** The segment that a thread is in, or was in last. */
export type Aim = Pick<InterruptOptions, "runId" | "segment">;

/** Reads the command in a `stop` row. A newer release may send options that this one refuses: stop all the same. */
export function signalIn({ do: verb = "stop", options }: StopMail, key: string, now: number): SignalCommand {
  const by = typeof options?.by === "string" ? options.by : "user";
  try {
    return { do: verb, key, by, options, stop: readSignal[verb](options, now, Number.POSITIVE_INFINITY) };
  } catch {
    return { do: verb, key, by, options: {}, stop: readStop({ by }, now) };
  }
}

/** Returns the command for an input that is to wait. Throws if it or its options are invalid. */
export function inputCommand(
  how: InputCommand["how"],
  input: Input,
  options: SteerOptions,
  { key, setup }: { readonly key: ThreadKey; readonly setup: Pick<Setup, "clock" | "maxBytes"> },
  mode?: InputCommand["mode"],
): InputCommand {
  checkOptions(inputVerbs[how], options, INPUT[how]);
  const { id, by, runId, segment } = options;
  const inputs = readInput(input, setup.maxBytes);
  if (inputs.length === 0) throw belayError("INPUT_EMPTY", { threadId: key.threadId });
  const caller = { key: id ?? setup.clock.id(), ...(id !== undefined && { id }), ...(by !== undefined && { by }) };
  return { do: "input", how, ...caller, inputs, mode, runId, segment };
}

export function answerCommand(request: string, answer: Answer, id: string | undefined, fresh: string): AnswerCommand {
  const key = keyOf.answer(request, id ?? fresh);
  return { do: "answer", key, by: answer.by ?? "user", request, answer, ...(id !== undefined && { id }) };
}

/** Returns the answer with the name of the caller that gives it. Throws if the two name different people. */
export function signed(request: string, answer: Answer, { by }: Caller): Answer {
  if (by === undefined || by === answer.by) return answer;
  if (answer.by === undefined) return { ...answer, by };
  throw belayError("OPTION_INVALID", {
    option: "by",
    value: JSON.stringify(by),
    needed: `${JSON.stringify(answer.by)}, which the answer to ${request} names, or left out`,
  });
}

/** The parts of a command that a caller may choose. */
export interface Caller {
  readonly id?: string | undefined;
  readonly by?: string | undefined;
}

export function breakpointCommand(breakpoint: Breakpoint, caller: Caller, fresh: string) {
  return { do: "breakpoint", ...baseOf("breakpoint", caller, fresh), breakpoint } as const;
}

export function unruleCommand(rule: string, caller: Caller, fresh: string) {
  return { do: "unrule", ...baseOf("unrule", caller, fresh), rule } as const;
}

export type LabelCommand = Extract<Command, { readonly do: "label" }>;

/** Returns the command for a change of title and labels. Throws `LABELS_INVALID`. */
export function labelCommand(threadId: string, change: LabelChange, caller: SendOptions, fresh: string): LabelCommand {
  checkOptions("label()", caller, SEND);
  return { do: "label", ...baseOf("label", caller, fresh), ...readLabelChange(threadId, change) };
}

function baseOf(verb: string, { id, by = "user" }: Caller, fresh: string): Base {
  return { key: `${verb}:${id ?? fresh}`, by, ...(id !== undefined && { id }) };
}

/**
 * Returns the command under the key of its next try. A refusal is not remembered, except that of a stop that met nothing (V2),
 * but a store takes a row under each key once.
 */
export function nextTry<C extends Command>(state: ThreadState, command: C): C {
  const known = state.taken?.get(command.key);
  if (known?.refused === undefined || isSignal(command)) return command;
  return nextTry(state, { ...command, key: `${command.key}~${known.seq}` });
}

/** Returns the row that holds the command. A worker may take one of the kind `answer`. */
export function rowOf(command: Command, at: number): Row {
  const { key } = command;
  if (command.do !== "input") return { key, kind: "answer", body: JSON.stringify(command), at };
  const { how, inputs: messages, by, mode } = command;
  const mail: InputMail = { messages, ...(by !== undefined && { by }) };
  const bodies: Record<InputCommand["how"], InputMail | ResumeMail> = {
    steer: mail,
    enqueue: mail,
    observe: { ...mail, observed: true },
    resume: { do: "resume", ...mail, ...(mode !== undefined && { mode }) },
  };
  const kind = ({ steer: "steer", observe: "steer", enqueue: "input", resume: "answer" } as const)[how];
  return { key, kind, body: JSON.stringify(bodies[how]), at };
}

/** The verbs of rows that hold a command as it is. */
const SENT: ReadonlySet<string | undefined> = new Set(["breakpoint", "unrule", "label", "handle"]);

/** Reads the command in an `answer` row. Rows of the release before have an answer, and do not say so. */
export function commandIn(thread: ThreadKey, row: Row): Command {
  const body = bodyOf(row) as (Partial<Command> & { readonly ref?: string }) | undefined;
  const { do: verb } = body ?? {};
  if (SENT.has(verb)) return body as Command;
  const given = body as Partial<AnswerCommand & { readonly ref: string }> | undefined;
  const request = given?.do === undefined ? given?.id : given.request;
  const { answer } = given ?? {};
  if (typeof request !== "string" || typeof answer !== "object" || answer === null) throw damaged(thread, row);
  const id = given?.do === undefined ? given?.ref : given.id;
  return { do: "answer", key: row.key, by: answer.by ?? "user", request, answer, ...(id !== undefined && { id }) };
}

function bodyOf(row: Row): object | undefined {
  try {
    const body: unknown = JSON.parse(row.body);
    return typeof body === "object" && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}

function damaged({ threadId }: ThreadKey, { key, kind }: Row): BelayError {
  return belayError("JOURNAL_CORRUPT", { threadId, seq: 0, problem: `command ${key} is no ${kind}` });
}
