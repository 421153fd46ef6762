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
import { type KnownOptions, refuseUnknown } from "../../refuse-unknown.ts";
import { atLeastZero, flag, oneOf, text } from "./check.ts";
import { COMMAND, type CommandOptions, checkCaller, checkGuard, GUARD, type GuardOptions } from "./command-options.ts";
import type { Input } from "./input.ts";
import type { Where } from "./setup.ts";

type AnyAgent = Definition;

/** The options of `run()`. Under a known id it returns a run that follows the first one. */
export interface RunOptions extends CommandOptions {}

/** The options of `enqueue()` and `observe()`. */
export interface SendOptions extends CommandOptions {}

/** The options of `steer()`. */
export interface SteerOptions extends SendOptions, GuardOptions {}

/** The options of `interrupt()`. A stop for another `runId` or `segment` than the present one is not accepted: a late ESC hits nothing else. */
export interface InterruptOptions extends GuardOptions {
  /** At once (the default), or when the model has ended, or when the turn's calls have. */
  readonly mode?: "now" | "after-model" | "after-tools" | undefined;
  /** With a mode for later: stop at once when it takes longer than this. */
  readonly timeoutMs?: number | undefined;
  /** How long tools that were told to abort may take. */
  readonly graceMs?: number | undefined;
  /** Ends all grace at once. */
  readonly force?: boolean | undefined;
  readonly reason?: "direction_change" | "add_info" | "pause_to_think" | (string & {}) | undefined;
  /** For the record and the event; not part of the conversation. */
  readonly message?: string | undefined;
  /** Drops the cut answer instead of keeping it. */
  readonly rollbackPartial?: boolean | undefined;
  /** What becomes of open requests: withdrawn (the default), or kept, and then the thread rests as by pause(): they are answered as before. */
  readonly requests?: "withdraw" | "keep" | undefined;
}

/** The options of `resume()`. */
export interface ResumeOptions extends GuardOptions {
  /** Continue from the breakpoint, or close what is open and reason again. Input means rethink unless said otherwise. */
  readonly mode?: "continue" | "rethink" | undefined;
  readonly input?: Input | undefined;
  /**
   * The agent that the input is for, by its path, where several were cut; or the graph whose state is changed, by its path
   * or by the address of something that waits in it.
   */
  readonly to?: string | undefined;
  /** Changes the state of the graph that has stopped, or of the whole, by top-level key: what comes next sees it. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
  /** What people say to open requests, by the request's id. */
  readonly answers?: Readonly<Record<string, Answer>> | undefined;
  /** What to do when the agent is not the one that the run began with: tell it as an event (the default), refuse, or ask. */
  readonly drift?: Drift | undefined;
}

/** Of close(). */
export interface EndOptions {
  /** Gives no grace, also not to the work that an earlier close() or terminate() is waiting for. */
  readonly force?: boolean | undefined;
}

/** The options of `terminate()`. */
export interface TerminateOptions extends EndOptions, GuardOptions {}

/** The options of `runner.drain()`. */
export interface DrainOptions {
  /** What takes longer is aborted; ten seconds by default. */
  readonly timeoutMs?: number | undefined;
}

/** The options of `setBreakpoint()`. */
export interface BreakpointOptions extends SendOptions {
  readonly node: string;
  /** The name of its graph; any, where it is not said. */
  readonly graph?: string | undefined;
  readonly at?: "before" | "after" | undefined;
  /** False: it does not stop there any more, also where it was compiled to. */
  readonly stop?: boolean | undefined;
  /** Only where what the node is given, or gave, has this in it: the same value, or an object with at least these keys. */
  readonly when?: Json | undefined;
}

/** The options of `checkpoint()`. */
export interface LookOptions {
  /** The graph, by its path, or by the address of something that waits in it. */
  readonly to?: string | undefined;
}

/** Of runner.removeRule(). */
export interface RemoveRuleOptions extends SendOptions {
  /** The thread that the rule holds for; without it, a rule that holds for all threads. */
  readonly threadId?: string | undefined;
}

/** The process that starts an input, or runs an approved call. */
export interface WhereOptions {
  /** `"here"`: this process. `"worker"`: any process that calls `work()`. */
  readonly start?: Where | undefined;
}

/** Of enqueue(). */
export interface EnqueueOptions extends SendOptions, WhereOptions {}

export function readWhere<O extends WhereOptions>(
  options: O,
): { readonly start: Where | undefined; readonly rest: Omit<O, "start"> } {
  // The check of the verb refuses it.
  if (typeof options !== "object" || options === null) return { start: undefined, rest: options };
  const { start, ...rest } = options;
  oneOf("start", start, ["here", "worker"]);
  return { start, rest };
}

/** Of runner.journal(). */
export interface JournalOptions {
  /** The seq of the last fact that the caller has; 0 by default. */
  readonly after?: number | undefined;
  /** The most facts to return; 1000 by default. */
  readonly limit?: number | undefined;
}

/** Of runner.effects(). */
export interface EffectsOptions {
  /** The seq after which effects count. */
  readonly after: number;
}

/** The options of `events()`. */
export interface EventOptions {
  /** The seq of the last fact that was seen; all facts by default. */
  readonly after?: number | undefined;
  /** Ends the reading, and nothing else. */
  readonly signal?: AbortSignal | undefined;
}

/** Of runner.rules(). */
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

const ANSWER: KnownOptions<AnswerOptions> = { ...COMMAND, start: true, groups: true };

export function readAnswerOptions(options: AnswerOptions) {
  refuseUnknown("answer()", options, ANSWER);
  const { groups, ...others } = options;
  if (groups !== undefined && !(Array.isArray(groups) && groups.every((each) => typeof each === "string"))) {
    throw belayError("OPTION_INVALID", { option: "groups", value: shown(groups), needed: "a list of names" });
  }
  const { start, rest } = readWhere(others);
  checkCaller(rest);
  return { groups, start, rest };
}

const STOP: KnownOptions<InterruptOptions> = {
  ...GUARD,
  mode: true,
  timeoutMs: true,
  graceMs: true,
  force: true,
  reason: true,
  message: true,
  rollbackPartial: true,
  requests: true,
};

const FOR_EVER_MS = Number.MAX_SAFE_INTEGER;

const END: KnownOptions<EndOptions> = { force: true };

const DRAIN: KnownOptions<DrainOptions> = { timeoutMs: true };

const TERMINATE: KnownOptions<TerminateOptions> = { ...GUARD, ...END };

const RESUME: KnownOptions<ResumeOptions> = {
  ...GUARD,
  mode: true,
  input: true,
  to: true,
  state: true,
  answers: true,
  drift: true,
};

const BREAKPOINT: KnownOptions<BreakpointOptions> = {
  node: true,
  graph: true,
  at: true,
  stop: true,
  when: true,
  ...COMMAND,
};

/** Of a run or an answer. */
export function checkRun(options: RunOptions): void {
  refuseUnknown("run()", options, COMMAND);
  checkCaller(options);
}

export function checkPause(options: GuardOptions): void {
  refuseUnknown("pause()", options, GUARD);
  checkGuard(options);
}

export function checkSend(options: SteerOptions, where: string): void {
  refuseUnknown(where, options, where === "steer()" ? GUARD : COMMAND);
  checkGuard(options);
  if (options.id === undefined || !isOwnKey(options.id)) return;
  const needed =
    "text that does not begin with stop:, answer:, late:, breakpoint:, unrule:, label: or handle:, which name other commands";
  throw belayError("OPTION_INVALID", { option: "id", value: JSON.stringify(options.id), needed });
}

const OWN_KEY = /^(stop|answer|late|breakpoint|unrule|label|handle):/;

/** Of a command that is no steer and no input: nothing that people say has such a key. */
export function isOwnKey(id: string): boolean {
  return OWN_KEY.test(id);
}

export function readStop(options: InterruptOptions, now: number, most = Number.POSITIVE_INFINITY): Stop {
  refuseUnknown("interrupt()", options, STOP);
  oneOf("mode", options.mode, ["now", "after-model", "after-tools"]);
  atLeastZero("timeoutMs", options.timeoutMs);
  atLeastZero("graceMs", options.graceMs);
  oneOf("requests", options.requests, ["withdraw", "keep"]);
  checkGuard(options);
  for (const option of ["reason", "message"] as const) text(option, options[option]);
  for (const option of ["force", "rollbackPartial"] as const) flag(option, options[option]);
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

export function readEnd(options: EndOptions): Required<EndOptions> {
  refuseUnknown("close()", options, END);
  flag("force", options.force);
  return { force: options.force ?? false };
}

export function checkTerminate(options: TerminateOptions): void {
  refuseUnknown("terminate()", options, TERMINATE);
  flag("force", options.force);
  checkGuard(options);
}

export function readDrain(options: DrainOptions): number {
  refuseUnknown("drain()", options, DRAIN);
  atLeastZero("timeoutMs", options.timeoutMs);
  return options.timeoutMs ?? 10_000;
}

/** The answers, each checked for its form and its size. */
export function checkResume(options: ResumeOptions, most: number): ReadonlyMap<string, Answer> {
  refuseUnknown("resume()", options, RESUME);
  oneOf("mode", options.mode, ["continue", "rethink"]);
  checkGuard(options);
  text("to", options.to);
  fitting(options.to ?? null, "`to` of resume()", most);
  const { drift, answers = {} } = options;
  if (typeof drift !== "function") oneOf("drift", drift, ["warn", "refuse"]);
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) {
    throw belayError("OPTION_INVALID", { option: "answers", value: String(answers), needed: "answers by request id" });
  }
  return new Map(Object.entries(answers).map(([id, answer]) => [id, readAnswer(id, answer, most)]));
}

export function readBreakpoint(agent: AnyAgent, given: BreakpointOptions, most: number): Breakpoint {
  refuseUnknown("setBreakpoint()", given ?? {}, BREAKPOINT);
  checkCaller(given ?? {});
  const { node, graph, at = "before", stop = true, when } = given ?? {};
  oneOf("at", at, ["before", "after"]);
  if (typeof node !== "string" || node === "") {
    throw belayError("OPTION_INVALID", { option: "node", value: String(node), needed: "the key of a node" });
  }
  flag("stop", stop);
  const condition = when === undefined ? {} : { when: toJson(when, "`when` of a breakpoint", most) };
  refuseUnknownNode(agent, node, graph);
  return { node, at, stop, ...(graph !== undefined && { graph }), ...condition };
}

const REMOVE_RULE: KnownOptions<RemoveRuleOptions> = { ...COMMAND, threadId: true };

/** A session's rule is of its thread: only a runner takes a `threadId`. */
export function checkRemoveRule(options: RemoveRuleOptions, of: "session" | "runner"): void {
  refuseUnknown("removeRule()", options, of === "runner" ? REMOVE_RULE : COMMAND);
  checkCaller(options);
}

const JOURNAL: KnownOptions<JournalOptions> = { after: true, limit: true };

const PAGE = 1000;

export function readJournal(options: JournalOptions): { readonly after: number; readonly limit: number } {
  refuseUnknown("journal()", options, JOURNAL);
  const { limit = PAGE } = options;
  if (Number.isSafeInteger(limit) && limit >= 1) return { after: readCursor(options.after), limit };
  throw belayError("OPTION_INVALID", { option: "limit", value: shown(limit), needed: "a whole number, 1 or more" });
}

const EFFECTS: KnownOptions<EffectsOptions> = { after: true };

export function readEffects(options: EffectsOptions): number {
  refuseUnknown("effects()", options, EFFECTS);
  if (options.after !== undefined) return readCursor(options.after);
  throw belayError("OPTION_INVALID", { option: "after", value: "undefined", needed: "the seq of a fact, or 0" });
}

/** A breakpoint where nothing ever comes by is a slip of the pen. */
function refuseUnknownNode(agent: AnyAgent, node: string, graph: string | undefined): void {
  const all = [...graphsIn(agent, new Set())];
  const named = graph === undefined ? all : all.filter(({ name }) => name === graph);
  if (named.some(({ nodes }) => nodes?.includes(node))) return;
  const [option, value] = named.length === 0 && graph !== undefined ? ["graph", graph] : ["node", node];
  const known = (named.length === 0 ? all : named).map(({ name, nodes }) => `${name}: ${nodes?.join(", ")}`);
  const needed =
    known.length === 0 ? "the key of a node, and there is no graph in this agent" : `one of ${known.join("; ")}`;
  throw belayError("OPTION_INVALID", { option, value: JSON.stringify(value), needed });
}

function* graphsIn(agent: AnyAgent, seen: Set<AnyAgent>): Generator<AnyAgent> {
  if (seen.has(agent)) return;
  seen.add(agent);
  if (agent.nodes !== undefined) yield agent;
  for (const child of agent.children) yield* graphsIn(child, seen);
}

/** What is to change in the state of a graph. */
export function readPatch({ state }: ResumeOptions, most: number): Patch | undefined {
  if (state === undefined) return undefined;
  const patch = toJson(state, "The state given to resume()", most);
  if (typeof patch === "object" && patch !== null && !Array.isArray(patch)) return patch as Patch;
  throw belayError("OPTION_INVALID", { option: "state", value: JSON.stringify(patch), needed: "values by key" });
}

const LOOK: KnownOptions<LookOptions> = { to: true };

export function readLook(options: LookOptions): LookOptions {
  refuseUnknown("checkpoint()", options, LOOK);
  return options;
}

const RULES: KnownOptions<RulesOptions> = { threadId: true };

export function readRules(options: RulesOptions): RulesOptions {
  refuseUnknown("rules()", options, RULES);
  return options;
}

const REPAIR: KnownOptions<RepairOptions> = { as: true };

export function readRepair(options: RepairOptions): RepairOptions {
  refuseUnknown("repair()", options, REPAIR);
  return options;
}

const EVENTS: KnownOptions<EventOptions> = { after: true, signal: true };

/** The options of events(); `after` is 0 by default, which means all facts. */
export function readEvents(options: EventOptions): {
  readonly after: number;
  readonly signal: AbortSignal | undefined;
} {
  refuseUnknown("events()", options, EVENTS);
  return { after: readCursor(options.after), signal: options.signal };
}

/** The seq of the last fact that a reader has; 0 if it has none. */
function readCursor(after = 0): number {
  if (Number.isSafeInteger(after) && after >= 0) return after;
  throw belayError("OPTION_INVALID", { option: "after", value: String(after), needed: "the seq of a fact, or 0" });
}

export function readId(option: string, id: unknown): string {
  if (typeof id === "string" && id !== "" && id.length <= 200) return id;
  throw belayError("OPTION_INVALID", { option, value: shown(id), needed: "text of 1–200 characters" });
}
