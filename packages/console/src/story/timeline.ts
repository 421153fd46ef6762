// A thread over time: lanes of bars, with long waits folded away. Pure.

import type { CallView, ThreadView } from "@belay/client";
import type { Fact, Waiting } from "@belay/core";
import { groupBy } from "./group-by.ts";
import { shownCalls } from "./story.ts";

export interface Bar {
  readonly kind: "model" | "tool" | "now" | "asks" | "held";
  readonly from: number;
  readonly to: number;
}

export interface Lane {
  readonly key: string;
  readonly kind: "people" | "turn" | "call" | "agent";
  readonly name: string;
  readonly note: string;
  readonly indent: boolean;
  readonly bars: readonly Bar[];
  readonly people: readonly { readonly at: number; readonly name: string; readonly words: string }[];
  readonly late: { readonly from: number; readonly to: number } | undefined;
  /** The fact to show when it is chosen. */
  readonly seq: number;
  readonly call: CallView | undefined;
}

export interface Gap {
  readonly from: number;
  readonly to: number;
  /** A person was waited for; otherwise nothing was running. */
  readonly person: boolean;
}

export interface Chart {
  readonly from: number;
  readonly to: number;
  readonly lanes: readonly Lane[];
  readonly gaps: readonly Gap[];
  readonly stops: readonly { readonly at: number; readonly recordedAt: number; readonly by: string }[];
  readonly segments: readonly {
    readonly runId: string;
    readonly segment: number;
    readonly from: number;
    readonly to: number;
    readonly running: boolean;
  }[];
}

const FOLD_MS = 3_000;

export function chartOf(
  facts: readonly Fact[],
  view: ThreadView,
  now: number,
  waiting: readonly Waiting[] = [],
): Chart {
  const first = facts[0]?.at ?? now;
  const isRunning = view.state === "running" && view.draft.ownerLost === undefined;
  // A request that is open is waited for until now.
  const isAsked = view.state === "paused" && view.requests.some(({ decision }) => decision === undefined);
  const last =
    isRunning || isAsked
      ? now
      : Math.max(facts.at(-1)?.at ?? 0, ...waiting.flatMap((each) => (each.kind === "late" ? [each.at] : [])));
  const calls = groupBy(shownCalls(view.calls, waiting, isRunning), ({ messageId }) => messageId ?? "");
  const requests = new Map(view.requests.map((request) => [request.id, request]));
  const stops = view.stops.map(({ askedAt, recordedAt, by }) => ({ at: askedAt, recordedAt, by }));
  const lanes: Lane[] = [];
  const people: { at: number; name: string; words: string }[] = [];
  const segments = view.runs.flatMap((run) =>
    run.segments.map((each) => ({
      runId: run.runId,
      segment: each.segment,
      from: each.startedAt,
      to: each.endedAt ?? last,
      running: each.endedAt === undefined && isRunning,
    })),
  );
  const turns = new Map<string, number>();
  /** The last recorded turn of each agent in the present run. */
  const recorded = new Map<string, number>();
  let before = first;
  for (const fact of facts) {
    if (fact.type === "run-start") recorded.clear();
    if (fact.type === "message") {
      const { message, runPath, turn } = fact;
      const by = (message as { by?: string }).by;
      if (message.origin === "person") people.push({ at: fact.at, name: by ?? "", words: "" });
      if (message.role === "assistant" && message.origin === "model") {
        recorded.set(runPath, turn);
        const lane = `${runPath}#${turn}#${fact.runId}`;
        turns.set(lane, (turns.get(lane) ?? 0) + 1);
        const inside = runPath.includes("/") ? runPath.slice(runPath.indexOf("/") + 1) : "";
        lanes.push({
          key: `m${fact.seq}`,
          kind: "turn",
          name: String(turn),
          note: inside,
          indent: false,
          bars: [{ kind: "model", from: before, to: fact.at }],
          people: [],
          late: undefined,
          seq: fact.seq,
          call: undefined,
        });
        for (const call of calls.get(message.id) ?? []) lanes.push(callLane(call, requests, last, fact));
      }
    }
    if (fact.type === "request-answered" && fact.answer.type !== "expire" && fact.answer.type !== "withdraw")
      people.push({ at: fact.at, name: fact.by, words: fact.answer.type });
    if (fact.type !== "command") before = fact.at;
  }
  for (const answer of view.draft.answers)
    lanes.push({
      key: `d${answer.messageId}`,
      kind: "turn",
      name: String((recorded.get(answer.runPath) ?? 0) + 1),
      note: "",
      indent: false,
      // A reader that joins in mid-answer sees it late: the model was asked after the last fact.
      bars: [{ kind: "now", from: before, to: now }],
      people: [],
      late: undefined,
      seq: view.head,
      call: undefined,
    });
  for (const stop of stops) people.push({ at: stop.at, name: stop.by, words: "stop" });
  people.sort((a, b) => a.at - b.at);
  const all =
    people.length === 0
      ? lanes
      : [
          {
            key: "people",
            kind: "people" as const,
            name: "",
            note: String(people.length),
            indent: false,
            bars: [],
            people,
            late: undefined,
            seq: 0,
            call: undefined,
          },
          ...lanes,
        ];
  return {
    from: first,
    to: Math.max(last, first + 100),
    lanes: all,
    gaps: gapsOf(segments, view, first, last),
    stops,
    segments,
  };
}

function callLane(
  call: CallView,
  requests: ReadonlyMap<string, ThreadView["requests"][number]>,
  last: number,
  made: Fact,
): Lane {
  const bars: Bar[] = [];
  for (const id of call.requests) {
    const ask = requests.get(id);
    if (ask !== undefined) bars.push({ kind: "asks", from: ask.raisedAt, to: ask.decision?.at ?? last });
  }
  if (call.startedAt !== undefined)
    bars.push({ kind: call.state === "running" ? "now" : "tool", from: call.startedAt, to: call.endedAt ?? last });
  else if (call.state === "held" || call.outcome === "not-executed")
    bars.push({ kind: "held", from: made.at, to: call.endedAt ?? last });
  return {
    key: `c${call.id}`,
    kind: "call",
    name: call.tool,
    note: "",
    indent: true,
    bars,
    people: [],
    late: call.late === undefined ? undefined : { from: call.endedAt ?? made.at, to: call.late.at },
    seq: made.seq,
    call,
  };
}

/** The times between segments that last long enough to be folded. */
function gapsOf(segments: Chart["segments"], view: ThreadView, first: number, last: number): readonly Gap[] {
  const edges = [...segments].sort((a, b) => a.from - b.from);
  const gaps: Gap[] = [];
  let end = first;
  for (const { from, to } of edges) {
    if (from - end > FOLD_MS) gaps.push({ from: end, to: from, person: waited(view, end, from) });
    end = Math.max(end, to);
  }
  if (last - end > FOLD_MS) gaps.push({ from: end, to: last, person: waited(view, end, last) });
  return gaps;
}

function waited(view: ThreadView, from: number, to: number): boolean {
  return (
    view.requests.some((each) => each.raisedAt <= to && (each.decision?.at ?? to) >= from) ||
    view.stops.some(({ recordedAt }) => Math.abs(recordedAt - from) < 2_000)
  );
}

/** From a time to a place between 0 and 1, with each folded gap as wide as `gapShare` of the chart. */
export function scaleOf({ from, to, gaps }: Chart, folds: boolean, gapShare = 0.07): (at: number) => number {
  if (!folds || gaps.length === 0) return (at) => clamp((at - from) / (to - from));
  const share = Math.min(gapShare, 0.6 / gaps.length);
  const busy = Math.max(1, to - from - gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0));
  const rest = 1 - share * gaps.length;
  return (at) => {
    let x = 0;
    let start = from;
    for (const gap of gaps) {
      if (at <= gap.from) break;
      x += ((gap.from - start) / busy) * rest;
      if (at < gap.to) return clamp(x + ((at - gap.from) / (gap.to - gap.from)) * share);
      x += share;
      start = gap.to;
    }
    return clamp(x + ((Math.min(at, to) - start) / busy) * rest);
  };
}

/** The last moment is a little before the edge, so that a bar that ends there is seen to end. */
const WIDTH = 0.985;

const clamp = (value: number) => Math.max(0, Math.min(1, value)) * WIDTH;
