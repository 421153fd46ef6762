// How facts are written down. One append is one line of JSON: the fields that its facts share stand once at the front, and
// data that can be found elsewhere (the arguments of a started call, an id made of its place) is not written again. The
// first key of a written fact names its kind; a move to a state without other data is its name alone, the beginning
// of a run the word "start".
//
// 1. decode(encode(facts)) gives equal facts.
// 2. All facts of a line are of one thread, run and segment; others are refused, never written as if they were.
// 3. A line of a newer version, or with anything unknown in it, is refused, never guessed at (C4).
//
// Long, and still one piece: each way of writing stands beside its way of reading.

import { BelayError, belayError } from "../error.ts";
import type {
  ActionEvent,
  BreakpointEvent,
  CommandEvent,
  DriftEvent,
  EventBase,
  Fact,
  InputQueuedEvent,
  LabelEvent,
  MessageEvent,
  RequestAnsweredEvent,
  RunEndEvent,
  RunStartEvent,
  StateEvent,
  StepEvent,
  ToolEndEvent,
  ToolLateEvent,
  ToolStartEvent,
} from "../event.ts";
import { type Interrupt, isRequest, waitsForResume } from "../interrupt/interrupt.ts";
import { type InterruptView, isView, mapLeaves } from "../interrupt/view.ts";
import type { Json } from "../json.ts";
import { moves, type SessionState } from "../lifecycle.ts";
import type { Message, Part, Usage } from "../message.ts";

/** A line is written in the oldest version that can hold it: a program one version back reads on as long as it can. */
export const JOURNAL_VERSION = 4;

/** The addition of one append to a journal, as a store keeps it. */
export interface Line {
  /** The seq of its first fact. */
  readonly seq: number;
  readonly count: number;
  readonly at: number;
  readonly body: string;
}

/** `r` run, `s` segment if it is not 1, `n` agent, `p` its path if that is not its name. */
interface Body {
  readonly v: number;
  readonly r: string;
  readonly s?: number;
  readonly n: string;
  readonly p?: string;
  readonly e: readonly (Written | Word)[];
}

type Word = SessionState | "start";

/** `x` is the attempt if it is not 1; `n` and `p` are present if the agent is not the line's. */
type Written = (
  | WrittenMessage
  | ({ readonly run: "start" } & Pick<RunStartEvent, "fingerprint" | "input" | "fresh">)
  | (Pick<RunEndEvent, "error" | "output" | "patch" | "values" | "outputKey"> & {
      readonly run: RunEndEvent["status"];
      /** Present if they differ from those of the line's last message; no finish is null. */
      readonly finish?: RunEndEvent["finish"] | null;
      readonly usage?: WrittenUsage;
    })
  | Own<StateEvent>
  | Own<ActionEvent>
  | (Pick<ToolLateEvent, "id" | "tool" | "address" | "outcome" | "output" | "as" | "values"> & {
      readonly late: string;
    })
  | { readonly queued: InputQueuedEvent["kind"]; readonly id: string }
  | { readonly consumed: InputQueuedEvent["kind"]; readonly id: string }
  | ({ readonly call: string; readonly tool: string; readonly address: string } & Pick<
      ToolStartEvent,
      "ranArgs" | "changedBy" | "rule"
    >)
  | ({ readonly step: string } & Omit<Own<StepEvent>, "key">)
  | ({ readonly answered: string } & Omit<Own<RequestAnsweredEvent>, "id">)
  | ({ readonly command: string } & Pick<CommandEvent, "by" | "refused">)
  | ({ readonly drift: DriftEvent["report"] } & Pick<DriftEvent, "fingerprint">)
  | { readonly unruled: string; readonly by: string }
  | Own<BreakpointEvent>
  | ({ readonly label: Pick<LabelEvent, "title" | "labels"> } & Pick<LabelEvent, "by">)
  | (Pick<ToolEndEvent, "tool" | "address" | "output" | "held" | "values"> & {
      readonly end: string;
      /** Present if it is not ok. */
      readonly outcome?: ToolEndEvent["outcome"];
    })
) & { readonly x?: number; readonly n?: string; readonly p?: string };

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type Own<F extends Fact> = Omit<F, keyof EventBase | "type">;

/** `m` is the parts, or the text if that is all; `t` the turn. An absent key has the value of `defaults`; no finish is null. */
export type WrittenMessage = { readonly m: string | readonly Part[]; readonly t?: number } & Partial<Defaults> &
  Pick<Message, "by" | "interrupted" | "isInterrupted" | "remembered" | "continues" | "model" | "summary"> & {
    readonly usage?: WrittenUsage;
    readonly finish?: Message["finish"] | null;
  };

type Defaults = Pick<Message, "id" | "role" | "at" | "origin">;

/** Input and output tokens, cached and reasoning ones if there are any; unchanged if a model counts more than that. */
type WrittenUsage = readonly (number | null)[] | Usage;

/** Every key that a written fact can have. */
export const KEYS: ReadonlySet<string> = new Set(
  "m t id role at origin interrupted continues model usage finish run error state pauseType interrupts tokenHash mode repair action call tool address end outcome output held late as queued consumed summary stops fingerprint input fresh ranArgs rule step callId value answered by answer digest open refused remember key ref drift unruled breakpoint tokenUntil to patch edits forked changedBy isInterrupted missed command values outputKey remembered label x n p".split(
    " ",
  ),
);

/** Throws unless they are all of one segment of one run: the line names that only once. */
export function encode(facts: readonly Fact[]): string {
  const { threadId, runId: r, segment, agentName: n, runPath } = facts[0]!;
  const e = new Array<Body["e"][number]>(facts.length);
  let inputs = 0;
  let last: Message | undefined;
  for (let i = 0; i < facts.length; i++) {
    const fact = facts[i]!;
    if (fact.runId !== r || fact.segment !== segment || fact.threadId !== threadId) throw mixed(facts[0]!, fact);
    const word = fact.attempt === 1 && fact.runPath === runPath && fact.agentName === n ? wordFor(fact) : undefined;
    if (word !== undefined) {
      e[i] = word;
      continue;
    }
    const written: Mutable<Written> = write(fact, inputs, last);
    if (fact.attempt !== 1) written.x = fact.attempt;
    if (fact.runPath !== runPath || fact.agentName !== n) {
      written.n = fact.agentName;
      written.p = fact.runPath;
    }
    e[i] = written;
    if (fact.type !== "message") continue;
    if (fact.turn === 0) inputs += 1;
    last = fact.message;
  }
  const v = versionFor(facts);
  if (segment === 1 && runPath === n) return JSON.stringify({ v, r, n, e } satisfies Body);
  return JSON.stringify({
    v,
    r,
    s: segment === 1 ? undefined : segment,
    n,
    p: runPath === n ? undefined : runPath,
    e,
  } satisfies Body);
}

function mixed(first: Fact, other: Fact): Error {
  const place = ({ type, threadId, runId, segment }: Fact) =>
    `${type} of thread ${threadId}, run ${runId}, segment ${segment}`;
  return new Error(`an append holds facts of two stretches: ${place(first)}, and ${place(other)}`);
}

function versionFor(facts: readonly Fact[]): number {
  let version = 1;
  for (const fact of facts) version = Math.max(version, versionOf(fact));
  return version;
}

/** Returns the oldest version that can hold this fact. */
function versionOf(fact: Fact): number {
  switch (fact.type) {
    case "label":
      return 4;
    case "command":
      return 3;
    case "step":
    case "request-answered":
    case "drift":
    case "rule-removed":
    case "breakpoint":
      return 2;
    case "action": {
      const { interrupted } = fact.action;
      if (isView(interrupted) || isNewKind(interrupted)) return 4;
      return interrupted === undefined || !isOld(interrupted) ? 2 : 1;
    }
    case "run-start":
      return fact.fingerprint !== undefined || fact.runPath.includes("/") ? 2 : 1;
    case "tool-start":
      return fact.ranArgs !== undefined || fact.rule !== undefined ? 2 : 1;
    case "state": {
      if (fact.interrupts?.some((each) => isRequest(each) || isNewKind(each))) return 4;
      const more = fact.tokenUntil ?? fact.to ?? fact.edits ?? fact.forked ?? fact.missed;
      return more !== undefined || fact.interrupts?.some((each) => !isOld(each)) ? 2 : 1;
    }
    case "tool-end":
    case "tool-late":
      return fact.values !== undefined ? 4 : 1;
    case "run-end":
      if (fact.values !== undefined || fact.outputKey !== undefined) return 4;
      return fact.patch !== undefined ? 2 : 1;
    case "message":
      if (fact.message.by !== undefined || fact.message.remembered) return 4;
      return fact.message.isInterrupted ? 2 : 1;
    case "input-queued":
    case "input-consumed":
      return fact.kind === "observe" ? 2 : 1;
    default:
      return fact satisfies never;
  }
}

/** Code that asks to be run again, or a node that a person approves. */
function isNewKind(interrupt: Interrupt | undefined): boolean {
  if (interrupt === undefined) return false;
  const { kind, node, args } = interrupt;
  return kind === "rerun" || node !== undefined || (args !== undefined && isInside(interrupt));
}

function isOld({ kind }: Interrupt): boolean {
  return kind === "user" || kind === "manual";
}

function wordFor(fact: Fact): Word | undefined {
  if (fact.type === "run-start") {
    return (fact.fingerprint ?? fact.input ?? fact.fresh) === undefined ? "start" : undefined;
  }
  if (fact.type !== "state" || fact.edits !== undefined || fact.forked !== undefined) return undefined;
  const more =
    fact.pauseType ??
    fact.interrupts ??
    fact.tokenHash ??
    fact.to ??
    fact.mode ??
    fact.repair ??
    fact.stops ??
    fact.missed ??
    fact.id ??
    fact.tokenUntil;
  return more === undefined ? fact.state : undefined;
}

// Objects without keys that are undefined: JSON.stringify looks at each of those.
function write(fact: Fact, input: number, last: Message | undefined): Written {
  switch (fact.type) {
    case "run-start":
      if (fact.fingerprint === undefined && fact.fresh === undefined) return { run: "start", input: fact.input };
      return { run: "start", fingerprint: fact.fingerprint, input: fact.input, fresh: fact.fresh };
    case "message":
      return writeMessage(fact, input);
    case "tool-start":
      if (fact.ranArgs === undefined && fact.rule === undefined)
        return { call: fact.callId, tool: fact.tool, address: fact.address };
      return {
        call: fact.callId,
        tool: fact.tool,
        address: fact.address,
        ranArgs: fact.ranArgs,
        changedBy: fact.changedBy,
        rule: fact.rule,
      };
    case "tool-end": {
      const { callId: end, tool, address, outcome, output, held, values } = fact;
      if (values !== undefined) return { end, tool, address, outcome, output, held, values };
      if (outcome === "ok" && held === undefined) return { end, tool, address, output };
      return { end, tool, address, outcome, output, held };
    }
    case "tool-late": {
      const { callId: late, id, tool, address, outcome, output, as, values } = fact;
      return { late, id, tool, address, outcome, output, as, values };
    }
    case "input-queued":
      return { queued: fact.kind, id: fact.id };
    case "input-consumed":
      return { consumed: fact.kind, id: fact.id };
    case "action":
      return { action: writeAction(fact.action) };
    case "step": {
      const { key: step, callId, address, value, error } = fact;
      return { step, callId, address, value, error };
    }
    case "request-answered": {
      const { id: answered, by, answer, digest, open, refused, rule, remember, key, ref } = fact;
      return { answered, by, answer, digest, open, refused, rule, remember, key, ref };
    }
    case "command":
      return { command: fact.key, by: fact.by, refused: fact.refused };
    case "drift":
      return { drift: fact.report, fingerprint: fact.fingerprint };
    case "rule-removed":
      return { unruled: fact.id, by: fact.by };
    case "breakpoint":
      return { breakpoint: fact.breakpoint };
    case "label":
      return { label: { title: fact.title, labels: fact.labels }, by: fact.by };
    case "state": {
      const { state, pauseType, tokenHash, tokenUntil, mode, to, edits, repair, stops, id } = fact;
      const { forked, missed } = fact;
      const interrupts = fact.interrupts?.map(short);
      return {
        state,
        pauseType,
        interrupts,
        tokenHash,
        tokenUntil,
        mode,
        to,
        edits,
        repair,
        stops,
        id,
        forked,
        missed,
      };
    }
    case "run-end": {
      const { status: run, usage, output, error, patch, values, outputKey } = fact;
      const more = error ?? patch ?? values ?? outputKey;
      if (last === undefined && fact.finish === undefined && more === undefined)
        return { run, usage: writeUsage(usage), output };
      const finish = fact.finish === last?.finish ? undefined : (fact.finish ?? null);
      const changed = isSame(usage, last?.usage) ? undefined : writeUsage(usage);
      if (more === undefined) return { run, finish, usage: changed, output };
      return { run, finish, usage: changed, output, error, patch, values, outputKey };
    }
    default:
      return fact satisfies never;
  }
}

/**
 * The arguments of a call that waits for an approval stand in the message that made it, unless a hook has changed them. A
 * request in the view of a pause stands in the fact that raised it.
 */
function writeAction(action: ActionEvent["action"]): ActionEvent["action"] {
  const { interrupted: whole } = action;
  if (isView(whole)) return { interrupted: mapLeaves(whole, shortLeaf)! };
  if (whole === undefined || !(isGate(whole) || isInside(whole))) return action;
  const { args: _args, ...interrupted } = whole;
  return { interrupted };
}

function shortLeaf(leaf: InterruptView): InterruptView {
  if (!isOld(leaf) && !waitsForResume(leaf)) return { id: leaf.id, data: leaf.data } as InterruptView;
  const { data, ...interrupt } = leaf;
  return Object.assign(interrupt, { data });
}

/** A request that is on record is written as its id. */
function short(interrupt: Interrupt): Interrupt {
  return isRequest(interrupt) ? ({ id: interrupt.id } as Interrupt) : interrupt;
}

/** A request that was written as its id, as it was raised. */
function long(written: Interrupt, requestOf: RequestOf): Interrupt {
  return written.kind === undefined ? (requestOf(written.id) ?? written) : written;
}

function longView(written: InterruptView, requestOf: RequestOf): InterruptView {
  return mapLeaves(written, (each) =>
    each.kind === undefined ? { data: each.data, ...long(each, requestOf) } : each,
  )!;
}

function isGate({ kind, callId, key, changedBy }: Interrupt): boolean {
  return kind === "approval" && callId !== undefined && key === undefined && changedBy === undefined;
}

/** A request that the code of a call raises, about the arguments that the model asked for. */
function isInside({ callId, key, edited }: Interrupt): boolean {
  return callId !== undefined && key !== undefined && !edited;
}

function writeMessage(fact: MessageEvent, input: number): Written {
  const { turn, message } = fact;
  const { id, role, at, origin, by, interrupted, continues, model, usage, finish, summary } = message;
  const known = defaults(fact, turn, input);
  const m = writeParts(message.parts);
  const usual = id === known.id && role === known.role && at === known.at && origin === known.origin;
  const told = interrupted ?? continues ?? summary ?? message.isInterrupted ?? by;
  // Most answers, in one literal.
  if (
    usual &&
    told === undefined &&
    model !== undefined &&
    usage !== undefined &&
    finish === usualFinish(message, turn)
  )
    return turn === 0 ? { m, model, usage: writeUsage(usage) } : { m, t: turn, model, usage: writeUsage(usage) };
  const written: Mutable<WrittenMessage> = { m };
  if (turn !== 0) written.t = turn;
  if (id !== known.id) written.id = id;
  if (role !== known.role) written.role = role;
  if (at !== known.at) written.at = at;
  if (origin !== known.origin) written.origin = origin;
  if (by !== undefined) written.by = by;
  if (interrupted !== undefined) written.interrupted = interrupted;
  if (message.isInterrupted) written.isInterrupted = true;
  if (message.remembered) written.remembered = true;
  if (continues !== undefined) written.continues = continues;
  if (model !== undefined) written.model = model;
  if (usage !== undefined) written.usage = writeUsage(usage);
  if (finish !== usualFinish(message, turn)) written.finish = finish ?? null;
  if (summary !== undefined) written.summary = summary;
  return written;
}

function usualFinish({ parts, interrupted }: Pick<Message, "parts" | "interrupted">, turn: number): Message["finish"] {
  if (turn === 0 || interrupted !== undefined) return undefined;
  for (const part of parts) if (part.type === "call") return "tool-calls";
  return "stop";
}

function isSame(a: Usage, b: Usage | undefined): boolean {
  if (b === undefined || size(a) !== size(b)) return false;
  for (const key in a) if (a[key as keyof Usage] !== b[key as keyof Usage]) return false;
  return true;
}

/** How a message reads by its place alone: the turn's answer, or the line's next input. */
function defaults({ runId, segment, at, agentName, runPath }: EventBase, turn: number, input: number): Defaults {
  if (turn === 0) return { id: `${runId}.i${segment}.${input}`, role: "user", at, origin: "person" };
  const place = runPath === agentName ? runId : `${runId}.${runPath}`;
  return { id: `${place}.${turn}`, role: "assistant", at, origin: "model" };
}

function writeParts(parts: readonly Part[]): string | readonly Part[] {
  const [part] = parts;
  return parts.length === 1 && part!.type === "text" && size(part!) === 2 ? part!.text : parts;
}

function writeUsage(usage: Usage): WrittenUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  const keys = size(usage);
  if (keys === 2) return [inputTokens, outputTokens];
  if (keys === 3 && cachedInputTokens !== undefined) return [inputTokens, outputTokens, cachedInputTokens];
  if (keys === 3 && reasoningTokens !== undefined) return [inputTokens, outputTokens, null, reasoningTokens];
  if (keys !== 4 || cachedInputTokens === undefined || reasoningTokens === undefined) return usage;
  return [inputTokens, outputTokens, cachedInputTokens, reasoningTokens];
}

function size(value: object): number {
  let keys = 0;
  for (const _key in value) keys += 1;
  return keys;
}

function readUsage(written: WrittenUsage): Usage {
  if (!isList(written)) return written;
  const [inputTokens, outputTokens, cachedInputTokens, reasoningTokens] = written;
  const usage = { inputTokens: inputTokens!, outputTokens: outputTokens! };
  if (written.length === 2) return usage;
  const cached = cachedInputTokens == null ? usage : { ...usage, cachedInputTokens };
  return reasoningTokens == null ? cached : { ...cached, reasoningTokens };
}

function isList(value: WrittenUsage): value is readonly (number | null)[] {
  return Array.isArray(value);
}

/**
 * Reads a line back. If they are not in the same line, `argsOf` finds the arguments of a started call and `requestOf` the
 * requests that a pause waits for. A request that is not found has only its id.
 */
export function decode(threadId: string, line: Line, argsOf?: ArgsOf, requestOf?: RequestOf): Fact[] {
  try {
    return readLine(threadId, line, argsOf, requestOf);
  } catch (error) {
    throw damageAt(threadId, line.seq, error);
  }
}

type ArgsOf = (callId: string) => Json | undefined;
type RequestOf = (id: string) => Interrupt | undefined;

/** Returns the error for a line that the store proves to be as it was written, and that cannot be read or folded. */
export function damageAt(threadId: string, seq: number, error: unknown): BelayError {
  if (error instanceof BelayError && error.code.startsWith("JOURNAL_")) return error;
  const problem = error instanceof Error ? error.message : String(error);
  return belayError("JOURNAL_CORRUPT", { threadId, seq, problem }, error);
}

function readLine(threadId: string, line: Line, argsOf?: ArgsOf, requestOf?: RequestOf): Fact[] {
  const body = parse(threadId, line);
  const { at } = line;
  const { r: runId, e, n, p = n, s: segment = 1 } = body;
  if (typeof runId !== "string") throw corrupt(threadId, line.seq, "a line without a run");
  refuseNoPlace(threadId, line.seq, n, p, segment);
  const facts = new Array<Fact>(e.length);
  let asked: Map<string, Json> | undefined;
  let raised: Map<string, Interrupt> | undefined;
  const found = (id: string) => raised?.get(id) ?? requestOf?.(id);
  let inputs = 0;
  let last: Message | undefined;
  for (let i = 0; i < e.length; i++) {
    const seq = line.seq + i;
    const one = e[i]!;
    if (one === "start") {
      facts[i] = { type: "run-start", seq, at, threadId, runId, segment, attempt: 1, agentName: n, runPath: p };
      continue;
    }
    if (typeof one === "string") {
      const place = { seq, at, threadId, runId, segment, attempt: 1, agentName: n, runPath: p };
      facts[i] = readState({ state: one }, place);
      continue;
    }
    refuseUnknown(threadId, seq, one);
    const { x: attempt = 1, n: agentName = n, p: runPath = one.n ?? p } = one;
    refuseNoPlace(threadId, seq, agentName, runPath, attempt);
    const place: EventBase = { seq, at, threadId, runId, segment, attempt, agentName, runPath };
    if ("m" in one) {
      const fact = readMessage(one, place, inputs);
      if (fact.turn === 0) inputs += 1;
      last = fact.message;
      for (const part of last.parts) {
        if (part.type !== "call") continue;
        asked ??= new Map();
        asked.set(part.id, part.args);
      }
      facts[i] = fact;
    } else if ("call" in one) {
      const { call: callId, tool, address, ranArgs, changedBy, rule } = one;
      const args = asked?.get(callId) ?? argsOf?.(callId) ?? null;
      const start: Mutable<ToolStartEvent> = {
        type: "tool-start",
        seq,
        at,
        threadId,
        runId,
        segment,
        attempt,
        agentName,
        runPath,
        callId,
        tool,
        address,
        args,
      };
      if (ranArgs !== undefined) start.ranArgs = ranArgs;
      if (changedBy !== undefined) start.changedBy = changedBy;
      if (rule !== undefined) start.rule = rule;
      facts[i] = start;
    } else if ("action" in one) {
      const { interrupted } = one.action;
      if (isView(interrupted)) {
        facts[i] = { type: "action", action: { interrupted: longView(interrupted, found) }, ...place };
        continue;
      }
      // Before version 4 a request inside a call had no arguments.
      const hasArgs = interrupted !== undefined && (isGate(interrupted) || (body.v >= 4 && isInside(interrupted)));
      const gate = hasArgs ? interrupted : undefined;
      const args = gate && (asked?.get(gate.callId!) ?? argsOf?.(gate.callId!) ?? null);
      const action = gate === undefined ? one.action : { interrupted: { args: args!, ...gate } };
      facts[i] = { type: "action", action, ...place };
      if (isRequest(action.interrupted)) {
        raised ??= new Map();
        raised.set(action.interrupted.id, action.interrupted);
      }
    } else if ("state" in one && one.interrupts !== undefined) {
      facts[i] = readState({ ...one, interrupts: one.interrupts.map((each) => long(each, found)) }, place);
    } else {
      facts[i] = read(one, place, last);
    }
  }
  return facts;
}

// Literals, and no objects spread into one another: spreads were most of the cost of reading a thread.
function read(
  written: Exclude<Written, { m: unknown } | { call: unknown } | { action: unknown }>,
  place: EventBase,
  last: Message | undefined,
): Fact {
  const { seq, at, threadId, runId, segment, attempt, agentName, runPath } = place;
  if ("state" in written) return readState(written, place);
  if ("end" in written) {
    const { end: callId, tool, address, outcome = "ok", output, held, values } = written;
    const fact: Mutable<ToolEndEvent> = {
      type: "tool-end",
      seq,
      at,
      threadId,
      runId,
      segment,
      attempt,
      agentName,
      runPath,
      callId,
      tool,
      address,
      outcome,
      output,
    };
    if (held) fact.held = held;
    if (values) fact.values = values;
    return fact;
  }
  if ("run" in written) {
    if (written.run === "start") {
      const { fingerprint, input, fresh } = written;
      const fact: Mutable<RunStartEvent> = {
        type: "run-start",
        seq,
        at,
        threadId,
        runId,
        segment,
        attempt,
        agentName,
        runPath,
      };
      if (fingerprint) fact.fingerprint = fingerprint;
      if (input !== undefined) fact.input = input;
      if (fresh) fact.fresh = fresh;
      return fact;
    }
    const { run: status, output, error, patch, values, outputKey } = written;
    const finish = written.finish === undefined ? last?.finish : written.finish;
    const usage = written.usage === undefined ? last?.usage : readUsage(written.usage);
    if (usage === undefined) throw corrupt(threadId, seq, "the end of a run without its usage");
    const fact: Mutable<RunEndEvent> = {
      type: "run-end",
      seq,
      at,
      threadId,
      runId,
      segment,
      attempt,
      agentName,
      runPath,
      status,
      usage,
    };
    if (finish) fact.finish = finish;
    if (output !== undefined) fact.output = output;
    if (error) fact.error = error;
    if (patch) fact.patch = patch;
    if (values) fact.values = values;
    if (outputKey !== undefined) fact.outputKey = outputKey;
    return fact;
  }
  if ("late" in written) {
    const { late: callId, id, tool, address, outcome, output, as, values } = written;
    const fact: ToolLateEvent = { type: "tool-late", id, callId, tool, address, outcome, output, as, ...place };
    return values === undefined ? fact : { values, ...fact };
  }
  if ("queued" in written) return { type: "input-queued", id: written.id, kind: written.queued, ...place };
  if ("consumed" in written) return { type: "input-consumed", id: written.id, kind: written.consumed, ...place };
  if ("step" in written) {
    const { step: key, callId, address, value, error } = written;
    const fact: StepEvent = { type: "step", address, key, ...place, ...(callId !== undefined && { callId }) };
    return error === undefined ? { value: value ?? null, ...fact } : { error, ...fact };
  }
  if ("answered" in written) {
    const { answered: id, by, answer, n: _n, p: _p, x: _x, ...more } = written;
    return { type: "request-answered", id, by, answer, ...more, ...place };
  }
  if ("command" in written) {
    const { command: key, by, refused } = written;
    return { type: "command", key, by, ...place, ...(refused !== undefined && { refused }) };
  }
  if ("breakpoint" in written) return { type: "breakpoint", breakpoint: written.breakpoint, ...place };
  if ("label" in written) return { type: "label", ...written.label, by: written.by, ...place };
  if ("unruled" in written) return { type: "rule-removed", id: written.unruled, by: written.by, ...place };
  if ("drift" in written) {
    return { type: "drift", report: written.drift, fingerprint: written.fingerprint, ...place };
  }
  written satisfies never;
  throw corrupt(threadId, seq, `a fact of no known kind: ${JSON.stringify(written)}`);
}

function readState(written: Own<StateEvent>, place: EventBase): StateEvent {
  const { seq, at, threadId, runId, segment, attempt, agentName, runPath } = place;
  const { state, pauseType, interrupts, tokenHash, tokenUntil, mode, to, edits, repair, stops, id } = written;
  if (!Object.hasOwn(moves, state)) throw corrupt(threadId, seq, `unknown state ${JSON.stringify(state)}`);
  const fact: Mutable<StateEvent> = {
    type: "state",
    seq,
    at,
    threadId,
    runId,
    segment,
    attempt,
    agentName,
    runPath,
    state,
  };
  if (pauseType !== undefined) fact.pauseType = pauseType;
  if (interrupts !== undefined) fact.interrupts = interrupts;
  if (tokenHash !== undefined) fact.tokenHash = tokenHash;
  if (tokenUntil !== undefined) fact.tokenUntil = tokenUntil;
  if (mode !== undefined) fact.mode = mode;
  if (to !== undefined) fact.to = to;
  if (edits !== undefined) fact.edits = edits;
  if (repair !== undefined) fact.repair = repair;
  if (stops !== undefined) fact.stops = stops;
  if (id !== undefined) fact.id = id;
  if (written.forked !== undefined) fact.forked = written.forked;
  if (written.missed !== undefined) fact.missed = written.missed;
  return fact;
}

/** `count` is the segment, or the attempt. */
function refuseNoPlace(threadId: string, seq: number, agentName: unknown, runPath: unknown, count: number): void {
  if (typeof agentName === "string" && typeof runPath === "string" && Number.isInteger(count) && count > 0) return;
  throw corrupt(threadId, seq, `no place is ${JSON.stringify([agentName, runPath, count])}`);
}

function refuseUnknown(threadId: string, seq: number, written: object): void {
  if (typeof written !== "object" || written === null) throw corrupt(threadId, seq, `unknown ${String(written)}`);
  for (const key in written) if (!KEYS.has(key)) throw corrupt(threadId, seq, `unknown ${JSON.stringify(key)}`);
}

function readMessage(written: WrittenMessage, place: EventBase, input: number): MessageEvent {
  const { seq, at, threadId, runId, segment, attempt, agentName, runPath } = place;
  const message = messageOf(written, place, input);
  const { t: turn = 0 } = written;
  return { type: "message", seq, at, threadId, runId, segment, attempt, agentName, runPath, turn, message };
}

// The literal has the fields of most answers: a field that is added to an object later costs more than the rest.
export function messageOf(written: WrittenMessage, place: EventBase, input: number): Message {
  const { m, t: turn = 0, model, interrupted, continues } = written;
  const known = defaults(place, turn, input);
  const id = written.id ?? known.id;
  const role = written.role ?? known.role;
  const parts: readonly Part[] = typeof m === "string" ? [{ type: "text", text: m }] : m;
  const at = written.at ?? known.at;
  const origin = written.origin ?? known.origin;
  const usage = written.usage === undefined ? undefined : readUsage(written.usage);
  const finish = written.finish === undefined ? usualFinish({ parts, interrupted }, turn) : written.finish;
  let message: Mutable<Message>;
  if (model !== undefined && usage !== undefined && finish) {
    message = { id, role, parts, at, origin, model, usage, finish };
  } else {
    message = { id, role, parts, at, origin };
    if (model !== undefined) message.model = model;
    if (usage !== undefined) message.usage = usage;
    if (finish) message.finish = finish;
  }
  if (written.by !== undefined) message.by = written.by;
  if (continues !== undefined) message.continues = continues;
  if (interrupted !== undefined) message.interrupted = interrupted;
  if (written.isInterrupted) message.isInterrupted = true;
  if (written.remembered) message.remembered = true;
  if (written.summary !== undefined) message.summary = written.summary;
  return message;
}

function parse(threadId: string, line: Line): Body {
  let body: Body;
  try {
    body = JSON.parse(line.body) as Body;
  } catch (error) {
    throw corrupt(threadId, line.seq, error instanceof Error ? error.message : String(error));
  }
  if (typeof body !== "object" || body === null || typeof body.v !== "number") {
    throw corrupt(threadId, line.seq, "a line without a version");
  }
  if (body.v > JOURNAL_VERSION) {
    throw belayError("JOURNAL_VERSION", { threadId, seq: line.seq, found: body.v, known: JOURNAL_VERSION });
  }
  if (!Array.isArray(body.e) || body.e.length !== line.count) {
    throw corrupt(threadId, line.seq, `a line of ${line.count} facts with ${body.e?.length ?? "no"} in it`);
  }
  return body;
}

function corrupt(threadId: string, seq: number, problem: string): Error {
  return belayError("JOURNAL_CORRUPT", { threadId, seq, problem });
}
