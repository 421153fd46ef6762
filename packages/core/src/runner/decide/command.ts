// A command is data: the intent of a caller for a thread. The process that can write decides it against the state of the append
// that records it. A row of the store holds a command as it is.

import { belayError } from "../../error.ts";
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
  sentStop,
  TERMINATE,
} from "../given/options.ts";
import type { Setup } from "../given/setup.ts";
import { bodyOf, damaged, type ResumeMail, type StopMail, type StopVerb } from "./mail.ts";

interface Base {
  /** Unique in its thread: the verb with the caller's id, or with a fresh one. */
  readonly key: string;
  /** The caller's: the same command again under it has the first outcome. */
  readonly id?: string;
  readonly by: string;
}

type AnswerCommand = Base & { readonly do: "answer"; readonly request: string; readonly answer: Answer };

/** A command that ends a segment. In the process that runs the thread its signal is set at once (S1). */
export type SignalCommand = Base & {
  readonly do: StopVerb;
  readonly stop: Stop;
  /** With the run and the segment that it is for, if it is for one. */
  readonly options: InterruptOptions;
  /**
   * True if it has met its segment at work, and is not on record yet, as that of every row. If the segment has ended since, it
   * is one of the stops that ended it.
   */
  readonly joins?: boolean;
};

/** An input that was read. */
export type Inputs = ReturnType<typeof readInput>;

/** The segment that a command is for, if its caller named one; or the one that a thread is in, or was in last. */
export type Aim = Pick<InterruptOptions, "runId" | "segment">;

interface Opener extends Omit<Base, "by"> {
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
export type InputCommand = Omit<Opener, "row"> &
  Aim & {
    readonly do: "input";
    readonly how: "steer" | "enqueue" | "observe" | "resume";
    /** That of an input that resumes. */
    readonly mode?: "rethink" | undefined;
  };

/** Begins a new run. */
export type RunCommand = Opener & { readonly do: "run" };

/** Begins the next segment of the last run. */
export type ResumeCommand = Opener &
  Aim & {
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
    /** The sha256 of the token of the handle. */
    readonly tokenHash?: string | undefined;
    /** The pause that a worker continues. A later pause is for a person: the worker is refused with STALE. */
    readonly ofPause?: PauseType | undefined;
  };

/** Continues code that waits in this process for a person, unless another process has written after `head`. */
type WakeCommand = Base & { readonly do: "wake"; readonly head: number };

/** A command that begins a segment, in the process that was asked. */
export type SegmentCommand = RunCommand | ResumeCommand;

/** A command that begins a tenure of this process. A stop of a thread at rest is a tenure of one append. */
export type OpeningCommand = SegmentCommand | AnswerCommand | WakeCommand | SignalCommand;

/** A command with no effect beyond the facts that it leaves. A row of the store holds it as it is. */
type Plain =
  | { readonly do: "breakpoint"; readonly breakpoint: Breakpoint }
  | { readonly do: "unrule"; readonly rule: string }
  | ({ readonly do: "label" } & Labelling)
  /** The caller makes the token; only its hash travels. */
  | { readonly do: "handle"; readonly tokenHash: string; readonly tokenUntil?: number };

export type Command = SignalCommand | SegmentCommand | WakeCommand | InputCommand | AnswerCommand | (Base & Plain);

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

/** How each input waits: the verb of its caller, the kind of its row, and the mark in the body of the row. */
const inputRows: Readonly<
  Record<InputCommand["how"], { readonly verb: string; readonly kind: Row["kind"]; readonly mark: Partial<ResumeMail> }>
> = {
  steer: { verb: "steer()", kind: "steer", mark: {} },
  enqueue: { verb: "enqueue()", kind: "input", mark: {} },
  observe: { verb: "observe()", kind: "steer", mark: { observed: true } },
  resume: { verb: "send()", kind: "answer", mark: { do: "resume" } },
};

/** Returns the verb that a caller used, for errors. */
export function verbOf(command: Command): string {
  return command.do === "input" ? inputRows[command.how].verb : verbs[command.do];
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
  if (command.id !== undefined) return true;
  return (
    isSignal(command) && (command.joins || (command.do === "terminate" && command.options.by !== undefined)) === true
  );
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
  return { do: verb, ...keyed(keyOf.stop(options.id ?? clock.id()), options.id), by: stop.by, stop, options };
}

/** Aims a stop or a pause at the first segment that it meets, unless its caller named one. A termination is for the thread. */
export function aimedAt(command: SignalCommand, { runId, segment }: Aim): SignalCommand {
  const { options } = command;
  if (command.do === "terminate" || runId === undefined) return command;
  return { ...command, options: { ...options, runId: options.runId ?? runId, segment: options.segment ?? segment } };
}

/** Returns the row that holds a stop for this segment. */
export function stopRow({ do: verb, key, options }: SignalCommand, { runId = "", segment = 0 }: Aim, at: number): Row {
  const mail: StopMail = { do: verb, runId, segment, options: sentStop(options) };
  return { key, kind: "stop", body: JSON.stringify(mail), at };
}

/** Reads the command in a `stop` row. A newer release may send options that this one refuses: stop all the same. */
export function signalIn({ do: verb = "stop", options, ...aim }: StopMail, key: string, now: number): SignalCommand {
  const by = typeof options?.by === "string" ? options.by : "user";
  const base = { do: verb, key, by, joins: true } as const;
  try {
    return aimedAt({ ...base, options, stop: readSignal[verb](options, now, Number.POSITIVE_INFINITY) }, aim);
  } catch {
    return aimedAt({ ...base, options: {}, stop: readStop({ by }, now) }, aim);
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
  checkOptions(inputRows[how].verb, options, INPUT[how]);
  const { id, by, runId, segment } = options;
  const inputs = readInput(input, setup.maxBytes);
  if (inputs.length === 0) throw belayError("INPUT_EMPTY", { threadId: key.threadId });
  const own = keyed(id ?? setup.clock.id(), id);
  return { do: "input", how, ...own, ...(by !== undefined && { by }), inputs, mode, runId, segment };
}

export function answerCommand(request: string, answer: Answer, id: string | undefined, fresh: string): AnswerCommand {
  return { do: "answer", ...keyed(keyOf.answer(request, id ?? fresh), id), by: answer.by ?? "user", request, answer };
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

export function plainCommand<P extends Plain>(plain: P, { id, by = "user" }: Caller, fresh: string): Base & P {
  return { ...plain, ...keyed(`${plain.do}:${id ?? fresh}`, id), by };
}

/** Returns the command for a change of title and labels. Throws `LABELS_INVALID`. */
export function labelCommand(threadId: string, change: LabelChange, caller: SendOptions, fresh: string) {
  checkOptions("label()", caller, SEND);
  return plainCommand({ do: "label", ...readLabelChange(threadId, change) }, caller, fresh);
}

/** Returns the key of a command, with its id if the caller gave one. */
export function keyed(key: string, id: string | undefined): Omit<Base, "by"> {
  return { key, ...(id !== undefined && { id }) };
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
  const { kind, mark } = inputRows[how];
  return { key, kind, body: JSON.stringify({ ...mark, messages, by, mode }), at };
}

/** The verbs of rows that hold a command as it is. */
const SENT: ReadonlySet<string | undefined> = new Set(["breakpoint", "unrule", "label", "handle"]);

/** Reads the command in an `answer` row. Rows of the release before have an answer, and do not say so. */
export function commandIn(thread: ThreadKey, row: Row): Command {
  const body = bodyOf(row);
  const { do: verb, id, ref, answer, ...sent } = (body ?? {}) as Partial<AnswerCommand & { readonly ref: string }>;
  if (SENT.has(verb)) return body as Command;
  const [request, own] = verb === undefined ? [id, ref] : [sent.request, id];
  if (typeof request !== "string" || typeof answer !== "object" || answer === null) throw damaged(thread, row, body);
  return { ...answerCommand(request, answer, own, ""), key: row.key };
}
