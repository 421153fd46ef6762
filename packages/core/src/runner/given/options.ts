// The options of the verbs, and how each is read: an option that a verb cannot use is refused before anything is changed.
//
// Long, and still one piece: a list of verbs, each with its options and a few lines that read them.

import type { Definition } from "../../agent.ts";
import { belayError, shown } from "../../error.ts";
import type { Breakpoint, Patch } from "../../event.ts";
import type { Drift } from "../../fingerprint.ts";
import { type Answer, readAnswer } from "../../interrupt/answer.ts";
import type { Stop } from "../../interrupt/stop-signal.ts";
import { fitting, type Json, toJson } from "../../json.ts";
import {
  anything,
  type Check,
  type Checks,
  checkOptions,
  flag,
  milliseconds,
  names,
  oneOf,
  optional,
  required,
  text,
} from "./check.ts";
import { COMMAND, type CommandOptions, GUARD, type GuardOptions } from "./command-options.ts";
import type { Input } from "./input.ts";
import type { Where } from "./setup.ts";

/** The options of `run()`. Under a known id it returns a run that follows the first one. */
export interface RunOptions extends CommandOptions {}

/** The options of `enqueue()` and `observe()`. */
export interface SendOptions extends CommandOptions {}

/** The options of `steer()`. */
export interface SteerOptions extends SendOptions, GuardOptions {}

/** The options of `interrupt()`. A stop for another `runId` or `segment` than the present one is not accepted: a late ESC hits nothing else. */
export interface InterruptOptions extends GuardOptions {
  /** When to stop: at once (the default), after the model's answer, or after the calls of the turn. */
  readonly mode?: "now" | "after-model" | "after-tools" | undefined;
  /** With a later mode: stops at once if that point is not reached within this time. */
  readonly timeoutMs?: number | undefined;
  /** How long the stop waits for tools whose signal it has fired. */
  readonly graceMs?: number | undefined;
  /** Ends all grace at once. */
  readonly force?: boolean | undefined;
  readonly reason?: "direction_change" | "add_info" | "pause_to_think" | (string & {}) | undefined;
  /** Recorded, and part of the event. It does not enter the conversation. */
  readonly message?: string | undefined;
  /** Drops the cut answer instead of keeping it. */
  readonly rollbackPartial?: boolean | undefined;
  /** Withdraws open requests (the default), or keeps them: then the thread rests as by pause(), and they are answered as before. */
  readonly requests?: "withdraw" | "keep" | undefined;
}

/** The options of `resume()`. */
export interface ResumeOptions extends GuardOptions {
  /** Continues from the point of the stop, or closes open calls and reasons again. With input, the default is rethink. */
  readonly mode?: "continue" | "rethink" | undefined;
  readonly input?: Input | undefined;
  /**
   * The agent that the input is for, by its path, if several were cut; or the graph to change, by its path or by the address of
   * a request inside it.
   */
  readonly to?: string | undefined;
  /** Changes the state of the graph that has stopped, or of the root, by top-level key. The next nodes read it. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
  /** Answers to open requests, by the id of the request. */
  readonly answers?: Readonly<Record<string, Answer>> | undefined;
  /** Groups of the person that answers beside those that the runner's `groups` names, such as those of a login. */
  readonly groups?: readonly string[] | undefined;
  /** The reaction to an agent that differs from the one that the run began with: report an event (the default), refuse, or call a function. */
  readonly drift?: Drift | undefined;
}

/** The options of `close()`. */
export interface EndOptions {
  /** Ends all grace, also for the work that an earlier close() or terminate() waits for. */
  readonly force?: boolean | undefined;
}

/** The options of `terminate()`. */
export interface TerminateOptions extends EndOptions, GuardOptions {}

/** The options of `runner.drain()`. */
export interface DrainOptions {
  /** Work that takes longer is aborted. Ten seconds by default. */
  readonly timeoutMs?: number | undefined;
}

/** The options of `setBreakpoint()`. */
export interface BreakpointOptions extends SendOptions {
  readonly node: string;
  /** The name of its graph. Any graph by default. */
  readonly graph?: string | undefined;
  readonly at?: "before" | "after" | undefined;
  /** `false` clears the breakpoint, also one that the graph was compiled with. */
  readonly stop?: boolean | undefined;
  /** Stops only if the input of the node, or its output, matches: the same value, or an object with at least these keys. */
  readonly when?: Json | undefined;
}

/** The options of `checkpoint()`. */
export interface LookOptions {
  /** The graph, by its path, or by the address of a request inside it. */
  readonly to?: string | undefined;
}

/** The options of `runner.removeRule()`. */
export interface RemoveRuleOptions extends SendOptions {
  /** The thread that the rule holds for; without it, a rule that holds for all threads. */
  readonly threadId?: string | undefined;
}

/** The process that starts an input, or runs an approved call. */
export interface WhereOptions {
  /** `"here"`: this process. `"worker"`: any process that calls `work()`. */
  readonly start?: Where | undefined;
}

/** The options of `enqueue()`. */
export interface EnqueueOptions extends SendOptions, WhereOptions {}

/** The options of `runner.journal()`. */
export interface JournalOptions {
  /** The seq of the last fact that the caller has; 0 by default. */
  readonly after?: number | undefined;
  /** The most facts to return; 1000 by default. */
  readonly limit?: number | undefined;
}

/** The options of `runner.effects()`. */
export interface EffectsOptions {
  /** The seq after which effects count. */
  readonly after: number;
}

/** The options of `events()`. */
export interface EventOptions {
  /** The seq of the last fact that the reader has. All facts by default. */
  readonly after?: number | undefined;
  /** Ends the iteration. The thread is not changed. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of `runner.rules()`. */
export interface RulesOptions {
  /** The rules of this thread instead of those that hold for all. */
  readonly threadId?: string | undefined;
}

/** The options of `runner.repair()`. */
export interface RepairOptions {
  /** The id of the new thread. */
  readonly as?: string | undefined;
}

/** The options of `answer()`. The answer's own `by` must not differ. */
export interface AnswerOptions extends CommandOptions, WhereOptions {
  /** Groups of the person beside those that the runner's `groups` names, such as those of a login. */
  readonly groups?: readonly string[] | undefined;
}

export const where = oneOf("here", "worker");

const seq = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const SEQ = "the seq of a fact, or 0";

export const ANSWER: Checks<AnswerOptions> = { ...COMMAND, start: where, groups: names };

const STOP: Checks<InterruptOptions> = {
  ...GUARD,
  mode: oneOf("now", "after-model", "after-tools"),
  timeoutMs: milliseconds,
  graceMs: milliseconds,
  force: flag,
  reason: text,
  message: text,
  rollbackPartial: flag,
  requests: oneOf("withdraw", "keep"),
};

const FOR_EVER_MS = Number.MAX_SAFE_INTEGER;

export const END: Checks<EndOptions> = { force: flag };

export const DRAIN: Checks<DrainOptions> = { timeoutMs: milliseconds };

export const TERMINATE: Checks<TerminateOptions> = { ...GUARD, ...END };

const RESUME: Checks<ResumeOptions> = {
  ...GUARD,
  mode: oneOf("continue", "rethink"),
  input: anything,
  to: text,
  state: anything,
  answers: optional("answers by request id", isByKey),
  groups: names,
  drift: optional(
    "one of warn, refuse",
    (drift) => typeof drift === "function" || drift === "warn" || drift === "refuse",
  ),
};

const BREAKPOINT: Checks<BreakpointOptions> = {
  node: required("the key of a node", (node) => typeof node === "string" && node !== ""),
  graph: anything,
  at: oneOf("before", "after"),
  stop: flag,
  when: anything,
  ...COMMAND,
};

/** The caller's id is the key of the row: it must not look like the key of another command. */
const inputId: Check = (option, id) => {
  COMMAND.id(option, id);
  if (id === undefined || !isOwnKey(id as string)) return;
  const needed =
    "text that does not begin with stop:, answer:, late:, breakpoint:, unrule:, label: or handle:, which name other commands";
  throw belayError("OPTION_INVALID", { option, value: shown(id), needed });
};

export const SEND: Checks<SendOptions> = { ...COMMAND, id: inputId };

const STEER: Checks<SteerOptions> = { ...GUARD, id: inputId };

const ENQUEUE: Checks<EnqueueOptions> = { ...SEND, start: where };

/** The options of the verbs that send an input. send() leaves one that resumes. */
export const INPUT = { steer: STEER, enqueue: ENQUEUE, observe: SEND, resume: SEND };

const OWN_KEY = /^(stop|answer|late|breakpoint|unrule|label|handle):/;

/** Matches the keys of commands other than steers and inputs: no caller's id may look like one. */
export function isOwnKey(id: string): boolean {
  return OWN_KEY.test(id);
}

export function readStop(options: InterruptOptions, now: number, most = Number.POSITIVE_INFINITY): Stop {
  checkOptions("interrupt()", options, STOP);
  fitting([options.reason ?? null, options.message ?? null], "What is said of the stop", most);
  return {
    at: now,
    by: options.by ?? "user",
    reason: options.reason,
    message: options.message,
    rollbackPartial: options.rollbackPartial ?? false,
    graceMs: options.graceMs,
    ...(options.requests === "keep" && { keepsRequests: true as const }),
  };
}

/** The options to send with a remote stop: known keys only, `Infinity` replaced because JSON has none. */
export function sentStop({ waitMs: _waitMs, signal: _signal, ...options }: InterruptOptions): InterruptOptions {
  const known = Object.entries(options).filter(([option, value]) => Object.hasOwn(STOP, option) && value !== undefined);
  const ends = ([option, value]: [string, unknown]) => [
    option,
    value === Number.POSITIVE_INFINITY ? FOR_EVER_MS : value,
  ];
  return Object.fromEntries(known.map(ends));
}

/** Returns the answers, each checked for its form and its size. */
export function checkResume(options: ResumeOptions, most: number): ReadonlyMap<string, Answer> {
  checkOptions("resume()", options, RESUME);
  const { to = null, answers = {} } = options;
  fitting(to, "`to` of resume()", most);
  return new Map(Object.entries(answers).map(([id, answer]) => [id, readAnswer(id, answer, most)]));
}

export function readBreakpoint(agent: Definition, given: BreakpointOptions, most: number): Breakpoint {
  const options = given ?? {};
  checkOptions("setBreakpoint()", options, BREAKPOINT);
  const { node, graph, at = "before", stop = true, when } = options;
  const condition = when === undefined ? {} : { when: toJson(when, "`when` of a breakpoint", most) };
  refuseUnknownNode(agent, node, graph);
  return { node, at, stop, ...(graph !== undefined && { graph }), ...condition };
}

/** Only a runner takes a `threadId`: the rule of a session belongs to its thread. */
export const REMOVE_RULE: Checks<RemoveRuleOptions> = { ...COMMAND, threadId: anything };

export const JOURNAL: Checks<JournalOptions> = {
  after: optional(SEQ, seq),
  limit: optional("a whole number, 1 or more", (limit) => Number.isSafeInteger(limit) && (limit as number) >= 1),
};

export const EFFECTS: Checks<EffectsOptions> = { after: required(SEQ, seq) };

/** Returns the breakpoint. Throws if the agent has no such node: the name is a mistake. */
function refuseUnknownNode(agent: Definition, node: string, graph: string | undefined): void {
  const all = [...graphsIn(agent, new Set())];
  const named = graph === undefined ? all : all.filter(({ name }) => name === graph);
  if (named.some(({ nodes }) => nodes?.includes(node))) return;
  const [option, value] = named.length === 0 && graph !== undefined ? ["graph", graph] : ["node", node];
  const known = (named.length === 0 ? all : named).map(({ name, nodes }) => `${name}: ${nodes?.join(", ")}`);
  const needed =
    known.length === 0 ? "the key of a node, and there is no graph in this agent" : `one of ${known.join("; ")}`;
  throw belayError("OPTION_INVALID", { option, value: shown(value), needed });
}

function* graphsIn(agent: Definition, seen: Set<Definition>): Generator<Definition> {
  if (seen.has(agent)) return;
  seen.add(agent);
  if (agent.nodes !== undefined) yield agent;
  for (const child of agent.children) yield* graphsIn(child, seen);
}

/** Returns the change to the state of a graph. */
export function readPatch({ state }: ResumeOptions, most: number): Patch | undefined {
  if (state === undefined) return undefined;
  const patch = toJson(state, "The state given to resume()", most);
  if (isByKey(patch)) return patch as Patch;
  throw belayError("OPTION_INVALID", { option: "state", value: JSON.stringify(patch), needed: "values by key" });
}

function isByKey(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const LOOK: Checks<LookOptions> = { to: anything };

export const RULES: Checks<RulesOptions> = { threadId: anything };

export const REPAIR: Checks<RepairOptions> = { as: anything };

export const EVENTS: Checks<EventOptions> = { after: optional(SEQ, seq), signal: anything };

export function readId(option: string, id: unknown): string {
  if (typeof id === "string" && id !== "" && id.length <= 200) return id;
  throw belayError("OPTION_INVALID", { option, value: shown(id), needed: "text of 1–200 characters" });
}
