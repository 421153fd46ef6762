// A thread as a list of rows to read, in the order of its facts. The outcome of a call, a stop or a request comes from
// the fold; the facts give the order. Pure.

import type { CallView, DraftAnswer, RequestView, StopView, ThreadView } from "@belay/client";
import type { DriftReport, Fact, Interrupt, Json, Message, Waiting } from "@belay/core";
import { groupBy } from "./group-by.ts";

export type Row =
  | SaidRow
  | StopRow
  | {
      readonly kind: "resumed";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly by: string | undefined;
      readonly mode: "continue" | "rethink" | undefined;
      readonly segment: number;
      readonly waitedMs: number | undefined;
      readonly edits: Json | undefined;
      readonly begins: boolean;
    }
  | {
      readonly kind: "paused";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly why: "node" | "manual" | "crash";
      readonly interrupts: readonly Interrupt[];
    }
  | {
      readonly kind: "asked";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly request: RequestView;
    }
  | {
      readonly kind: "drift";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly report: DriftReport;
    }
  | {
      readonly kind: "ended";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly status: "failed" | "terminated";
      readonly error: { readonly code?: string; readonly message: string } | undefined;
    }
  | {
      readonly kind: "forked";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly from: { readonly threadId: string; readonly seq: number };
    }
  | {
      readonly kind: "note";
      readonly key: string;
      readonly seq: number;
      readonly at: number;
      readonly what: NoteKind;
      readonly words: string;
      readonly value?: Json;
    };

export type NoteKind =
  | "summary"
  | "runtime"
  | "transfer"
  | "exit"
  | "custom"
  | "breakpoint"
  | "rule-removed"
  | "step"
  | "other";

export interface SaidRow {
  readonly kind: "said";
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly from: "person" | "agent" | "hook";
  readonly name: string;
  /** The path inside of the root agent, for an agent inside of others. */
  readonly inside: string | undefined;
  readonly messageId: string;
  readonly turn: number;
  readonly text: string;
  readonly reasoning: string;
  readonly files: readonly { readonly name: string; readonly mediaType: string; readonly url: string | undefined }[];
  readonly cut: boolean;
  readonly continues: boolean;
  readonly calls: readonly CallView[];
  readonly how: "input" | "steer" | "observe" | undefined;
  /** The run ended with it. */
  readonly ended: { readonly runId: string; readonly ms: number } | undefined;
  readonly begins: boolean;
  readonly live: boolean;
  readonly superseded: readonly string[];
}

export interface StopRow {
  readonly kind: "stop";
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly stop: StopView;
  readonly last: boolean;
}

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/**
 * `waiting` has late results that no turn has read yet: their calls show them. If nothing is running, a call without an end
 * was cut by a crash.
 */
export function storyOf(
  facts: readonly Fact[],
  view: ThreadView,
  waiting: readonly Waiting[] = [],
  isRunning = true,
): readonly Row[] {
  const rows: Row[] = [];
  const shown = shownCalls(view.calls, waiting, isRunning);
  const calls = groupBy(shown, ({ messageId }) => messageId ?? "");
  const stops = new Map(view.stops.map((stop) => [stop.seq, stop]));
  const requests = new Map(view.requests.map((request) => [request.id, request]));
  const inCalls = new Set(view.calls.flatMap((call) => call.requests));
  const starts = new Map<string, number>();
  let how: SaidRow["how"];
  let begins = true;
  let pausedAt: number | undefined;
  let wasRunning = false;

  for (const fact of facts) {
    const { seq, at } = fact;
    const base = { key: `f${seq}`, seq, at };
    switch (fact.type) {
      case "run-start":
        if (!fact.runPath.includes("/") && !starts.has(fact.runId)) starts.set(fact.runId, at);
        break;
      case "input-consumed":
        how = fact.kind;
        break;
      case "message": {
        const row = said(fact, calls.get(fact.message.id) ?? [], how, begins);
        if (row !== undefined) {
          rows.push(row);
          if (row.kind === "said") begins = false;
        }
        how = undefined;
        break;
      }
      case "action": {
        const { interrupted, transferToAgent, exit, customized } = fact.action;
        const stop = stops.get(seq);
        if (stop !== undefined) rows.push({ ...base, kind: "stop", stop, last: false });
        else if (interrupted !== undefined && requests.has(interrupted.id) && !inCalls.has(interrupted.id))
          rows.push({ ...base, kind: "asked", request: requests.get(interrupted.id)! });
        if (transferToAgent !== undefined)
          rows.push({ ...base, kind: "note", what: "transfer", words: transferToAgent.name });
        if (exit !== undefined) rows.push({ ...base, kind: "note", what: "exit", words: "", value: exit.output });
        if (customized !== undefined)
          rows.push({ ...base, kind: "note", what: "custom", words: "", value: customized });
        break;
      }
      case "step":
        if (fact.callId === undefined)
          rows.push({
            ...base,
            kind: "note",
            what: "step",
            words: fact.key,
            ...(fact.value !== undefined && { value: fact.value }),
          });
        break;
      case "drift":
        rows.push({ ...base, kind: "drift", report: fact.report });
        break;
      case "breakpoint": {
        const { node, at: where, stop } = fact.breakpoint;
        rows.push({ ...base, kind: "note", what: "breakpoint", words: `${stop ? "●" : "○"} ${where} ${node}` });
        break;
      }
      case "rule-removed":
        rows.push({ ...base, kind: "note", what: "rule-removed", words: fact.id, value: fact.by });
        break;
      case "run-end": {
        if (fact.runPath.includes("/")) break;
        const ms = at - (starts.get(fact.runId) ?? at);
        if (fact.status === "completed") end(rows, fact.runId, ms);
        else rows.push({ ...base, kind: "ended", status: fact.status, error: fact.error });
        begins = true;
        break;
      }
      case "state":
        state(fact);
        break;
      case "tool-start":
      case "tool-end":
      case "tool-late":
      case "input-queued":
      case "request-answered":
      case "command":
        break;
      default:
        // A type of a later release: shown as it is, never hidden.
        if (!Object.hasOwn(silent, (fact as Fact).type))
          rows.push({
            ...base,
            kind: "note",
            what: "other",
            words: (fact as Fact).type,
            value: fact as unknown as Json,
          });
    }
  }

  function state(fact: Of<"state">): void {
    const { seq, at, pauseType, interrupts = [] } = fact;
    const base = { key: `f${seq}`, seq, at };
    if (fact.forked !== undefined) rows.push({ ...base, kind: "forked", from: fact.forked });
    if (fact.state === "paused") {
      pausedAt = at;
      if (pauseType === "node_interrupt") rows.push({ ...base, kind: "paused", why: "node", interrupts });
    }
    if (fact.state === "running" && fact.segment > 1) {
      if (wasRunning) rows.push({ ...base, key: `c${seq}`, kind: "paused", why: "crash", interrupts: [] });
      rows.push({
        ...base,
        kind: "resumed",
        by: byOf(fact),
        mode: fact.mode,
        segment: fact.segment,
        waitedMs: pausedAt === undefined ? undefined : at - pausedAt,
        edits: (fact.edits as unknown as Json) ?? undefined,
        begins,
      });
      begins = false;
      pausedAt = undefined;
    }
    wasRunning = fact.state === "running";
  }

  // It was running at the last fact, and no process runs it: the crash is where the facts end.
  const lastFact = facts.at(-1);
  if (wasRunning && !isRunning && lastFact !== undefined)
    rows.push({ key: "crash", seq: lastFact.seq, at: lastFact.at, kind: "paused", why: "crash", interrupts: [] });
  // A process that is gone writes no more, and text that was on its way is not on record.
  for (const answer of isRunning ? view.draft.answers : [])
    rows.push(...drafted(answer, view, begins, turnOf(facts, false)));
  const lastStop = rows.findLastIndex(({ kind }) => kind === "stop");
  if (lastStop !== -1 && lastStop === rows.length - 1) rows[lastStop] = { ...(rows[lastStop] as StopRow), last: true };
  return rows;
}

/** The calls with late results that wait to be read; without a run, one without an end was cut by a crash. */
export function shownCalls(
  calls: readonly CallView[],
  waiting: readonly Waiting[],
  isRunning: boolean,
): readonly CallView[] {
  const late = new Map(waiting.flatMap((each) => (each.kind === "late" ? [[each.callId, each] as const] : [])));
  return calls.map((call): CallView => {
    if (call.state === "running" && !isRunning) return { ...call, state: "held", cut: true };
    const found = call.late === undefined ? late.get(call.id) : undefined;
    if (found === undefined) return call;
    const { at, outcome, output } = found;
    return { ...call, late: { at, outcome, output, as: "replace" } };
  });
}

/** Facts that the thread's rows do not show: they are under Facts. */
const silent: Readonly<Record<string, true>> = { label: true };

/** The name of the person that a fact records, if it records one. */
export function byOf(fact: object): string | undefined {
  const { by } = fact as { readonly by?: unknown };
  return typeof by === "string" ? by : undefined;
}

function said(fact: Of<"message">, calls: readonly CallView[], how: SaidRow["how"], begins: boolean): Row | undefined {
  const { message, seq, at, turn, runPath, agentName } = fact;
  const { role, origin, parts } = message;
  const base = { key: `f${seq}`, seq, at };
  const text = textOf(message);
  if (message.summary !== undefined) return { ...base, kind: "note", what: "summary", words: text };
  if (role === "tool" || role === "system") return undefined;
  if (origin === "runtime") return { ...base, kind: "note", what: "runtime", words: text };
  const slash = runPath.indexOf("/");
  return {
    ...base,
    kind: "said",
    from: role === "assistant" ? (message.isInterrupted ? "hook" : "agent") : "person",
    name: role === "assistant" ? agentName : (byOf(message) ?? ""),
    inside: slash === -1 ? undefined : runPath.slice(slash + 1),
    messageId: message.id,
    turn,
    text,
    reasoning: parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join(""),
    files: parts.flatMap((part) =>
      part.type === "file"
        ? [
            {
              name: part.name ?? part.mediaType,
              mediaType: part.mediaType,
              url: "url" in part.data ? part.data.url : undefined,
            },
          ]
        : [],
    ),
    cut: message.interrupted !== undefined,
    continues: message.continues !== undefined,
    calls,
    how: role === "user" && how !== "input" ? how : undefined,
    ended: undefined,
    begins,
    live: false,
    superseded: [],
  };
}

/** The visible words. The runtime's mark at the end of a cut answer is for the model: the page shows the cut itself. */
export function textOf({ parts, interrupted }: Pick<Message, "parts"> & Pick<Partial<Message>, "interrupted">): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const marked = interrupted !== undefined && texts.length > 1 && /^\s*\[.*\]\s*$/s.test(texts.at(-1)!);
  return (marked ? texts.slice(0, -1) : texts).join("");
}

function end(rows: Row[], runId: string, ms: number): void {
  const at = rows.findLastIndex((row) => row.kind === "said" && row.from === "agent");
  const row = rows[at];
  if (row?.kind === "said" && at === rows.length - 1) rows[at] = { ...row, ended: { runId, ms } };
}

function drafted(answer: DraftAnswer, view: ThreadView, begins: boolean, present: number | undefined): Row[] {
  const { messageId, runPath, agentName, text, reasoning, at, superseded, inputs } = answer;
  if (text + reasoning === "" && superseded.length === 0 && inputs.length === 0) return [];
  const slash = runPath.indexOf("/");
  return [
    {
      kind: "said",
      key: `d${messageId}`,
      seq: view.head,
      at,
      from: "agent",
      name: agentName,
      inside: slash === -1 ? undefined : runPath.slice(slash + 1),
      messageId,
      // A reader that joins in mid-answer has not seen the turn begin.
      turn: view.draft.turns.find((each) => each.runPath === runPath)?.turn ?? (slash === -1 ? (present ?? 0) : 0),
      text,
      reasoning,
      files: [],
      cut: false,
      continues: answer.continues !== undefined,
      calls: [],
      how: undefined,
      ended: undefined,
      begins,
      live: true,
      superseded,
    },
  ];
}

/** The turn of the model now. While its calls run it is that of the answer; after their results the next one has begun. */
export function turnOf(facts: readonly Fact[], inCalls: boolean): number | undefined {
  const begun = facts.findLastIndex(({ type, runPath }) => type === "run-start" && !runPath.includes("/"));
  for (const fact of facts.slice(begun + 1).reverse())
    if (fact.type === "message" && fact.turn > 0) return inCalls ? fact.turn : fact.turn + 1;
  return begun === -1 ? undefined : 1;
}

/** The tools of the calls that a crash cut: they have begun, and nothing says how they ended. */
export function cutCalls(view: ThreadView): readonly string[] {
  return [...new Set(view.calls.filter(({ state }) => state === "running").map(({ tool }) => tool))];
}

/** The calls that run on continue, and read "not executed" after another input of a person. */
export function heldCalls(view: ThreadView): readonly CallView[] {
  return view.calls.filter(({ state }) => state === "held");
}
